"""Spearman, Kendall and Pearson per list: equal to scipy's, with lists that have none."""

import csv
import gzip
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import lists as lists_of
from scipy import stats
from small_judging import evaluate, values

from rerank.core.errors import ConfigError, DataError
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.metrics.base import parse, prepare_all
from rerank.metrics.judges import statistics

NAN = float("nan")
SCIPY = {"Spearman": stats.spearmanr, "Kendall": stats.kendalltau, "Pearson": stats.pearsonr}


def expected(name, labels, scores):
    """[value, counted] of one list."""
    labels, scores = np.array(labels), np.array(scores)
    judged = ~np.isnan(labels)
    labels, scores = labels[judged], scores[judged]
    if len(set(labels.tolist())) < 2:
        return [0.0, 0.0]
    if len(set(scores.tolist())) < 2:
        return [0.0, 1.0]
    return [float(SCIPY[name](scores, labels).statistic), 1.0]


PART = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0, 2.0, 3.5, NAN]), st.sampled_from([-1.0, 0.0, 0.5, 2.0, 1e300])),
    min_size=1,
    max_size=9,
)


@given(st.lists(PART, min_size=1, max_size=5))
def test_every_list_is_as_scipy_has_it(parts):
    lists = lists_of([*([label for label, _ in part] for part in parts)])
    scores = [score for part in parts for _, score in part]
    for name in SCIPY:
        found = parse(name).prepare(lists).per_list(scores)
        wanted = [expected(name, *zip(*part, strict=True)) for part in parts]
        assert found == pytest.approx(np.array(wanted), abs=1e-12)


def test_without_ties_and_of_many_lists():
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=rng.integers(2, 60)) for _ in range(50)]
    lists = lists_of([*parts])
    scores = np.concatenate(parts) + rng.normal(size=lists.n_items)
    judges = prepare_all(lists, list(SCIPY))
    assert judges[0].stage is judges[1].stage
    for judge, rows in zip(judges, statistics(judges, scores), strict=True):
        for part, own, (value, counted) in zip(
            parts, np.split(scores, lists.offsets[1:-1]), rows, strict=True
        ):
            assert value == pytest.approx(SCIPY[judge.name](own, part).statistic, abs=1e-12)
            assert counted == 1.0


def test_lists_without_a_correlation():
    lists = lists_of([[1.0, 1.0], [2.0], [NAN, NAN], [1.0, NAN], [1.0, 2.0], [1.0, 3.0]])
    scores = [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 5.0, 5.0, 0.0, 1.0]
    for name in SCIPY:
        judge = parse(name).prepare(lists)
        assert judge.judged.tolist() == [False] * 4 + [True] * 2
        assert values(lists, scores, [name])[name] == 0.5  # (0 + 1) / 2
        assert "constant_labels:skip" in judge.signature
        assert "constant_scores:0" in judge.signature
    none = parse("Kendall").prepare(lists_of([[1.0, 1.0]]))
    assert np.isnan(none.random())
    assert np.isnan(none.oracle())


def test_bounds_and_first_best():
    lists = lists_of([[3.0, 2.0, 1.0, 1.0], [1.0, 2.0]]).with_first_best("input")
    for name in SCIPY:
        judge = parse(name).prepare(lists)
        assert judge.oracle() == pytest.approx(1.0)
        assert judge.random() == 0.0
        down = -np.arange(6.0)
        assert np.array_equal(judge.first_best(), judge.per_list(down))
        assert corpus_value(judge, judge.per_list(down)) == pytest.approx(
            (expected(name, [3.0, 2.0, 1.0, 1.0], down[:4])[0] - 1.0) / 2
        )
    record = evaluate(lists, {"s": lists.labels}, ["rho", "tau-b", "label@1"], samples=20).as_json()
    assert [m["gap"] for m in record["systems"][0]["metrics"].values()] == [pytest.approx(1.0)] * 3


def exact(x, y):
    """Pearson's r of rational numbers."""
    x, y = ([Fraction(v) - sum(map(Fraction, part)) / len(part) for v in part] for part in (x, y))
    product = sum(a * b for a, b in zip(x, y, strict=True))
    square = product**2 / (sum(a * a for a in x) * sum(b * b for b in y))
    return float(square) ** 0.5 * (1 if product > 0 else -1)


@pytest.mark.parametrize("unit", [1.0, 2.0**-1060, 2.0**970])
@pytest.mark.parametrize("offset", [0.0, 2.0**40, -1e15, 3e5])
def test_pearson_keeps_its_digits_in_every_unit_and_at_every_offset(unit, offset):
    rng = np.random.default_rng(0)
    parts = [(rng.normal(50, 20, n), offset + rng.integers(0, 40, n) / 8) for n in (2, 3, 30, 200)]
    lists = lists_of([*(labels for labels, _ in parts)])
    # In units so small that digits are lost, the numbers that are left count.
    scores = unit * np.concatenate([part for _, part in parts])
    found = parse("Pearson").prepare(lists).per_list(scores)[:, 0]
    wanted = [
        exact(part, own) for (part, _), own in zip(parts, np.split(scores, lists.offsets[1:-1]), strict=True)
    ]
    assert found == pytest.approx(wanted, abs=1e-12)


def test_pearson_takes_the_lowest_score_for_what_was_not_returned():
    lists = lists_of([[1.0, 5.0, 3.0, NAN, 4.0], [1.0, 2.0], [NAN, 3.0, 2.0]])
    scores = np.array([2.0, 7.0, NAN, -9.0, 4.0, NAN, NAN, NAN, 1.0, 2.0])
    judge = parse("Pearson").prepare(lists)
    rows = judge.of(judge.stage.place(scores))
    first = stats.pearsonr([1.0, 5.0, 3.0, 4.0], [2.0, 7.0, 2.0, 4.0]).statistic
    assert rows[:, 0] == pytest.approx([first, 0.0, -1.0], abs=1e-12)
    assert "not_returned:lowest" in judge.signature
    with pytest.raises(DataError, match=r"the score of .* is infinite \(1 in all\)"):
        judge.per_list([0.0, np.inf, *range(8)])
    judge.per_list([0.0, 1.0, 2.0, np.inf, *range(6)])  # of an unjudged item


def test_pearson_of_first_best_is_of_places():
    """An order of interleaved lines has numbers of lines, which are no scores."""
    lists = CandidateLists.from_arrays(
        np.array([[9.0], [0.0], [8.0], [0.0], [0.0]]), [3.0, 1.0, 2.5, 1.0, 2.0], qid=[1, 2, 1, 2, 1]
    )
    for how in ("input", lists.names()[0]):
        judge = parse("Pearson").prepare(lists.with_first_best(how))
        assert judge.first_best()[0, 0] == pytest.approx(1.0)  # 3, 2.5, 2 at places 1, 2, 3


def test_names_and_wrong_use():
    assert parse("spearman").name == "Spearman"
    assert parse("tau-b").name == "Kendall"
    with pytest.raises(ConfigError, match="Kendall takes no cutoff"):
        parse("Kendall@5")
    with pytest.raises(DataError, match="no labels"):
        parse("Spearman").prepare(CandidateLists.from_arrays(np.zeros((2, 1))))
    with pytest.raises(DataError, match="NaN"):
        parse("Spearman").prepare(lists_of([[1.0, 2.0]])).per_list([NAN, 1.0])


def test_protein_models_are_as_scipy_has_them(shared_data):
    with gzip.open(shared_data / "casp13" / "casp13_merged.csv.gz", "rt", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["ProQ4"]]
    labels = [float(row["GDT_TS"]) for row in rows]
    scores = np.array([float(row["ProQ4"]) for row in rows])
    lists = CandidateLists.from_arrays(scores[:, None], labels, qid=[row["target"] for row in rows])
    scores = lists.features.column(0)
    cut = lists.offsets[1:-1]
    for name in SCIPY:
        wanted = [
            expected(name, *pair)
            for pair in zip(np.split(lists.labels, cut), np.split(scores, cut), strict=True)
        ]
        assert parse(name).prepare(lists).per_list(scores) == pytest.approx(np.array(wanted), abs=1e-12)
