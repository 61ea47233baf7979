"""Metrics over the number of samples, and pages of curves."""

import json
import re
from dataclasses import replace

import make
import numpy as np
import pytest

import rerank as product
from rerank.core.errors import ConfigError
from rerank.evaluation.judged import judge_systems
from rerank.evaluation.significance import holm
from rerank.extensions.selection.samples import SampleCurve, by_sizes, sizes_to
from rerank.metrics.judging import Judging


def drawn(n_lists=30, n=8, seed=0, skill=1.0):
    """Lists of n samples with answers, and a verifier's scores."""
    rng = np.random.default_rng(seed)
    lists = make.lists(sizes=[n] * n_lists, seed=seed, grades=(0, 1), unjudged=0.0)
    labels = (rng.random(lists.n_items) < rng.beta(1, 2, n_lists)[lists.list_index]).astype(float)
    lists = replace(lists, labels=labels)
    return lists, skill * labels + rng.normal(size=lists.n_items)


def curve_of(lists, systems, metrics, largest):
    judged = judge_systems(lists, systems, Judging(metrics=tuple(by_sizes(metrics, largest))))
    return SampleCurve(judged, metrics, largest)


def test_sizes_are_powers_of_two_and_the_largest():
    assert [sizes_to(n) for n in (2, 3, 8, 9)] == [[1, 2], [1, 2, 3], [1, 2, 4, 8], [1, 2, 4, 8, 9]]
    assert by_sizes(["best", "wmaj(weight=exp)"], 3)[2:5] == [
        "best@3",
        "wmaj(weight=exp)@1",
        "wmaj(weight=exp)@2",
    ]
    with pytest.raises(ConfigError, match="curve-n: found 1, expected 2 or more"):
        sizes_to(1)
    with pytest.raises(ConfigError, match="found no metric"):
        by_sizes([], 4)
    with pytest.raises(ConfigError, match="found metric best@4, expected best: k is varied"):
        by_sizes(["best@4"], 4)


def test_steps_are_values_of_single_evaluations_and_their_paired_tests():
    lists, scores = drawn()
    found = curve_of(lists, {"orm": scores}, ["best", "pass"], 8)
    assert [(one.metric, one.k) for one in found.steps] == [
        (m, k) for m in ("best", "pass") for k in (1, 2, 4, 8)
    ]
    for one in found.steps:
        alone = product.evaluate(lists, scores, f"{one.metric}@{one.k}")
        assert one.value == pytest.approx(next(iter(alone.values())))
    by = {(one.metric, one.k): one for one in found.steps}
    assert by["best", 4].gain == pytest.approx(by["best", 4].value - by["best", 2].value)
    assert by["best", 2].rest == pytest.approx(by["best", 8].value - by["best", 2].value)
    # The test by hand: resampled lists, shifted differences.
    values = [found.judged.list_values("orm", f"best@{k}") for k in (2, 4)]
    a, b = (
        found.judged.bootstrap_table().sampled["orm"][found.judged.metric(f"best@{k}").place] for k in (4, 2)
    )
    d = a - b
    by_hand = (np.sum(np.abs(d - d.mean()) >= abs(np.mean(values[1] - values[0])) - 1e-12) + 1) / (len(d) + 1)
    assert by["best", 4].p == pytest.approx(by_hand, abs=2e-3)
    assert [one.holm for one in found.steps] == holm([one.p for one in found.steps])
    assert by["best", 1].gain is None
    assert by["best", 8].rest is None


def test_enough_is_the_least_number_that_the_largest_does_not_beat():
    lists, scores = drawn(n_lists=200, skill=3.0)
    found = curve_of(lists, {"good": scores, "none": -scores * 0}, ["best", "pass"], 8)
    enough = found.enough()
    assert enough["none", "best"] == 1  # ties are broken in expectation: no sample is better than another
    assert enough["good", "pass"] == 8
    alpha = 0.05
    for (system, metric), k in enough.items():
        rows = {one.k: one for one in found.steps if (one.system, one.metric) == (system, metric)}
        assert all(not (row.rest > 0 and row.rest_holm < alpha) for n, row in rows.items() if k <= n < 8)
        assert k == 1 or (rows[k // 2].rest > 0 and rows[k // 2].rest_holm < alpha)


def test_the_command_prints_the_curve_and_draws_it(rerank, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    lists, scores = drawn()
    product.save(lists, "l.store")
    np.savetxt("s.txt", scores)
    given = ("eval", "l.store", "s.txt", "-m", "best", "-m", "pass", "--curve-n", "8")
    text = rerank(*given, "--html", "page.html").out
    assert re.search(r"s\.txt +best +4 +0\.\d{4}", text)
    assert "best@k|draw:subsets" in text
    assert re.search(r"s\.txt, pass: (k = \d is enough|8 is significantly better)", text)
    page = (tmp_path / "page.html").read_text()
    assert "Value by number of samples" in page
    assert "best@k for k from 1 to 8: s.txt 0." in page
    found = json.loads(rerank(*given, "--as", "json").out)
    assert [step["k"] for step in found["steps"]] == [1, 2, 4, 8] * 2
    assert {one["metric"] for one in found["enough"]} == {"best", "pass"}
    assert "--curve-n: not used with --by-list" in rerank(*given, "--by-list", code=2).err
    assert "--curve-n: not used with --replicas" in rerank(*given, "--replicas", code=2).err
    assert "expected 2 or more samples" in rerank(*given[:-1], "1", code=2).err
    short = rerank(*given[:-1], "16", code=2).err
    assert "has 8 samples, expected 16 at least for best@16" in short


def test_the_page_of_selective_has_curves_and_reliability_diagrams(rerank, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    lists, scores = drawn(40, skill=1.5)
    lists = replace(
        lists, first_best=0.7 * lists.labels + np.random.default_rng(9).normal(size=lists.n_items)
    )
    product.save(lists, "l.store")
    np.savetxt("s.txt", scores)
    given = ("selective", "l.store", "s.txt", "-m", "RR", "--rule", "margin", "--rule", "gap")
    found = json.loads(rerank(*given, "--html", "page.html", "--as", "json").out)
    page = (tmp_path / "page.html").read_text()
    areas = {row["choice"]: row["area"] for row in found["choices"] if "area" in row}
    assert (
        f"areas: margin {areas['margin']:.4f}; gap {areas['gap']:.4f}; oracle {areas['oracle']:.4f}" in page
    )
    error = found["reliability"]["right"]["error"]
    assert f"by P(right); calibration error {error:.3f}" in page
    assert "expected a name that ends in .html" in rerank(*given, "--html", "page.txt", code=2).err
