"""``plot`` of results: what is drawn are the numbers of the tables, on the axes that are given."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.core.errors import ConfigError
from rerank.evaluation.curves import by_depth

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def lists() -> Any:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] + rng.standard_normal(60) > 0.5).astype(float)
    return rerank.CandidateLists.from_arrays(X, y, group=[6] * 10, feature_names=["x", "a $b$ c$", "z"])


@pytest.fixture
def ax() -> Any:
    from matplotlib.figure import Figure

    return Figure().add_subplot()


def points(ax: Any) -> dict[str, tuple[float, float, float]]:
    """Value and ends of the interval of each row."""
    names = [label.get_text().replace("\\$", "$") for label in ax.get_yticklabels()]
    bars = [one for one in ax.containers if hasattr(one, "has_xerr")]
    found = {}
    for name, bar in zip(names, bars, strict=True):
        line, _, segments = bar
        ends = segments[0].get_segments()[0][:, 0] if segments else (np.nan, np.nan)
        found[name] = (float(line.get_xdata()[0]), float(ends[0]), float(ends[1]))
    return found


def test_values_and_references(lists, ax):  # type: ignore[no-untyped-def]
    systems = {"a": lists.features.column(0), "b $1$": lists.features.column(1)}
    found = rerank.evaluate(lists, systems, ["AP", "nDCG@3"], baseline="a")
    assert found.plot("nDCG@3", ax=ax) is ax
    for name, point in points(ax).items():
        row = found.systems[name]["nDCG@3"]
        assert point == pytest.approx((row.value, *row.ci))
    lines = {line.get_label(): line.get_xdata()[0] for line in ax.lines if line.get_label()[0] != "_"}
    metric = found.metrics["nDCG@3"]
    assert lines == {"random": metric.random, "oracle": metric.oracle}
    assert ax.get_xlabel() == "nDCG@3"
    ax.figure.canvas.draw()  # names are no formulas


def test_differences_are_those_of_the_pairs(lists, ax):  # type: ignore[no-untyped-def]
    systems = {str(j): lists.features.column(j) for j in range(3)}
    found = rerank.compare(lists, systems, "AP")
    found.plot(ax=ax)
    assert points(ax) == {
        f"{test.a} - {test.b}": pytest.approx((test.difference, *test.ci)) for test in found.pairs["AP"]
    }
    with pytest.raises(ConfigError, match="no two systems were tested"):
        rerank.evaluate(lists, systems, "AP").plot(kind="differences")
    with pytest.raises(ConfigError, match="needs a first stage's order"):
        found.plot(kind="depth")


def test_depths_are_those_of_the_page(tmp_path, ax):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(2)
    text = [f"{i} ||| w{rng.integers(3)} w{k} ||| x= {k} ||| {-k}" for i in range(6) for k in range(8)]
    (tmp_path / "a.moses").write_text("\n".join(text) + "\n")
    (tmp_path / "a.ref").write_text("w0 w1\n" * 6)
    lists = rerank.load(tmp_path / "a.moses", refs=[str(tmp_path / "a.ref")])
    found = rerank.evaluate(lists, {"a": rng.random(lists.n_items)}, "WER")
    depths = by_depth(found, "WER", ["a"])
    assert depths is not None
    found.plot(kind="depth", ax=ax)
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    for name, values in (("a", depths.systems["a"]), ("random", depths.random), ("oracle", depths.oracle)):
        assert np.array_equal(drawn[name], values)
    assert drawn["first-best"][0] == depths.first_best


def test_importance(lists, ax):  # type: ignore[no-untyped-def]
    model = rerank.train(lists, "ridge")
    weights = rerank.standardised_weights(model, lists)
    weights.plot(top=2, ax=ax)
    largest = sorted(weights, key=lambda one: -abs(one.standardised))[:2]
    assert {name: point[0] for name, point in points(ax).items()} == {
        one.feature: one.standardised for one in largest
    }
    ax.clear()
    found = rerank.permutation_importance(model, lists, "AP", repeats=3)
    found.plot(ax=ax)
    assert points(ax) == {one.feature: pytest.approx((one.loss, *one.ci)) for one in found.drops}


def test_risk_and_coverage(lists, ax):  # type: ignore[no-untyped-def]
    scores, baseline = lists.features.column(0), lists.features.column(1)
    found = rerank.selective(lists, scores, "AP", baseline=baseline, rules=("margin",))
    found.plot(ax=ax)
    for line in ax.lines:
        curve = found.curves[line.get_label()]
        assert np.array_equal(line.get_ydata(), curve.values)
        assert line.get_xdata()[[0, -1]].tolist() == [0.0, 1.0]


def test_new_axes_and_errors(lists, monkeypatch):  # type: ignore[no-untyped-def]
    import matplotlib.pyplot as plt

    found = rerank.evaluate(lists, {"a": lists.features.column(0)}, "AP")
    ax = found.plot()
    assert ax.get_xlabel() == "AP"
    plt.close(ax.figure)
    with pytest.raises(ConfigError, match="kind: found 'pie'"):
        found.plot(kind="pie")
    with pytest.raises(ConfigError, match="metric"):
        found.plot("nDCG@7")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"pip install 'rerank\[report\]'"):
        found.plot()
