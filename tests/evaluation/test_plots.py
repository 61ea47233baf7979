"""``plot`` of results: what is drawn are the numbers of the tables, on the axes that are given."""

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
    with pytest.raises(ConfigError, match="kind: unknown 'pie'"):
        found.plot(kind="pie")
    with pytest.raises(ConfigError, match="metric"):
        found.plot("nDCG@7")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"pip install 'rerank\[report\]'"):
        found.plot()


def drawn(ax: Any) -> dict[str, Any]:
    """The lines by their labels."""
    return {line.get_label(): line.get_ydata() for line in ax.lines if line.get_label()[0] != "_"}


def test_learning_curves(lists, ax):  # type: ignore[no-untyped-def]
    model = rerank.train(lists, "perceptron", dev=lists, metric="AP", epochs=4)
    arrays = model.curve.arrays()
    assert arrays["dev"].tolist() == [row["dev"] for row in model.curve]
    assert model.curve.plot(ax=ax) is ax
    assert np.array_equal(drawn(ax)["dev"], arrays["dev"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("round", "AP")
    assert model.training.rounds is not None
    assert model.curve.kept == model.training.rounds.kept  # type: ignore[attr-defined]
    assert ax.lines[-1].get_xdata()[0] == model.curve.kept
    assert model.curve.to_dataframe()["dev"].max() == arrays["dev"].max()
    ax.clear()
    model.curve.plot("updates", ax=ax)
    assert np.array_equal(drawn(ax)["updates"], arrays["updates"])
    with pytest.raises(ConfigError, match="unknown column 'dve'"):
        model.curve.plot("dve", ax=ax)
    with pytest.raises(ConfigError, match="no learning curve"):
        rerank.train(lists, "ridge").curve.plot(ax=ax)
    ax.clear()
    boosted = rerank.train(lists, "boosting", rounds=5)
    boosted.curve.plot(ax=ax)  # without a metric: the first count of the learner
    assert list(drawn(ax)) == [next(name for name in boosted.curve[0] if name != "round"), "kept: round 5"]


def test_gains_over_the_baseline(lists, ax):  # type: ignore[no-untyped-def]
    systems = {"a": lists.features.column(0), "b": lists.features.column(1)}
    found = rerank.evaluate(lists, systems, "AP", baseline="b")
    gains = found.list_values("a", "AP") - found.list_values("b", "AP")
    found.plot(kind="lists", ax=ax)
    assert drawn(ax)["a"] == pytest.approx(sorted(gains[np.isfinite(gains)], reverse=True))
    ax.clear()
    found.plot(kind="sizes", ax=ax)
    assert sum(bar.get_height() for bar in ax.patches) == np.isfinite(gains).sum()
    ax.clear()
    found.plot(kind="length", ax=ax)  # all lists are of one length: one bin
    assert ax.lines[0].get_ydata() == pytest.approx([np.nanmean(gains)])
    ax.clear()
    found.plot(kind="difficulty", ax=ax)
    assert "gain in AP over b" in ax.get_ylabel()
    ax.clear()
    found.plot(kind="recall", ax=ax)
    assert len(drawn(ax)["a"]) == 11
    for kind in ("shares", "oracles", "rounds", "weights"):
        with pytest.raises(ConfigError, match=f"found {kind}, which needs"):
            found.plot(kind=kind, ax=ax)
    with pytest.raises(ConfigError, match="needs a baseline"):
        rerank.evaluate(lists, systems, "AP").plot(kind="lists", ax=ax)


def test_oracles_by_size(lists, ax):  # type: ignore[no-untyped-def]
    metrics = ["label@1", "oracle2.label@1", "oracle4.label@1"]
    found = rerank.evaluate(lists, {"a": lists.features.column(0)}, metrics)
    found.plot(kind="oracles", ax=ax)
    assert drawn(ax)["a"] == pytest.approx(
        [of["a"][100].value for of in (m.rows for m in found.metrics.values())]
    )
    assert ax.lines[0].get_xdata().tolist() == [1, 2, 4]


def test_reports_of_runs(lists, tmp_path, ax):  # type: ignore[no-untyped-def]
    rerank.save(lists, tmp_path / "a.store")
    learners = {f"p{k}": {"name": "perceptron", "epochs": k} for k in (2, 3, 4)}
    made = {"train": str(tmp_path / "a.store")}
    own = {
        "folds": 3,
        "metrics": ["AP", "RR"],
        "select": {"metric": "AP"},
        "train_fractions": [60, 100],
        "learners": learners,
    }
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(str({**own, "name": name, "data": made, "baseline": "p2"}))
        rerank.run(tmp_path / f"{name}.yaml", out=tmp_path / name)
    report = rerank.read_report([tmp_path / "one"])
    result = report.results[0]
    report.plot(kind="shares", ax=ax)
    rows = result.metrics["AP"].rows["p3"]
    assert drawn(ax)["p3"].tolist() == [rows[60].value, rows[100].value]
    ax.clear()
    report.plot(kind="rounds", ax=ax)
    curves = [run.curve for fold in result.runs_of("p3") for run in fold]
    common = range(min(map(len, curves)))  # a curve may end early
    assert drawn(ax)["p3, dev"].tolist() == [np.mean([curve[k]["dev"] for curve in curves]) for k in common]
    ax.clear()
    report.plot(kind="weights", ax=ax)
    assert "p2: x" in points(ax)
    ax.clear()
    both = rerank.read_report([tmp_path / "one", tmp_path / "two"])
    both.plot(ax=ax)
    assert {name: point[0] for name, point in points(ax).items()} == dict(both.ranks["AP"].average)
    with pytest.raises(ConfigError, match=r"report\.results\[0\]\.plot"):
        both.plot(kind="values")
