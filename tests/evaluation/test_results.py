"""Results in memory: per-list values over folds and seeds, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from small_judging import evaluate, of_systems, part_of
from small_judging import results as results_

from rerank.core.errors import ConfigError, DataError
from rerank.data.columns.strings import StringColumn
from rerank.data.joining import joined
from rerank.data.lists import CandidateLists
from rerank.evaluation.results import FIRST_BEST, Run
from rerank.metrics.base import parse


def fold_lists(seed, n_lists=6, size=5, ids=True, unjudged=False):
    """Lists with random labels; ids differ between seeds."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n_lists * size).astype(float)
    if unjudged:
        labels[:size] = np.nan
    lists = CandidateLists.from_arrays(rng.random((len(labels), 2)), labels, group=[size] * n_lists)
    names = StringColumn.from_strings([f"f{seed}-{i}" for i in range(n_lists)]) if ids else None
    return CandidateLists(
        lists.offsets,
        lists.features,
        labels=lists.labels,
        list_ids=names,
        first_best=rng.random(len(labels)),
        source=f"fold{seed}",
    )


def two_folds(metrics=("AP", "nDCG@3"), sizes=(6, 4), **options):
    """Two folds of different sizes, a row with three seeds and one without."""
    sets = [fold_lists(k, n, unjudged=k == 1) for k, n in enumerate(sizes)]
    rng = np.random.default_rng(9)
    drawn = tuple(tuple(Run(rng.random(lists.n_items), seed=s) for s in (1, 2, 3)) for lists in sets)
    plain = tuple((Run(rng.random(lists.n_items)),) for lists in sets)
    parts = tuple(part_of(str(k), lists, metrics) for k, lists in enumerate(sets, 1))
    return results_("two", parts, {"drawn": {100: drawn}, "plain": {100: plain}}, **options)


def test_per_list_values_are_those_of_each_fold_and_the_mean_of_seeds():
    results = two_folds()
    found = results.list_values("drawn", "AP")
    expected = []
    for part, fold in zip(results.parts, results.runs["drawn"][100], strict=True):
        judge = parse("AP").prepare(part.lists)
        by_seed = [judge.score_from_sums(judge.per_list(outcome.scores)) for outcome in fold]
        expected += [np.mean(values) for values in zip(*by_seed, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-15)
    assert len(found) == 10
    assert np.flatnonzero(np.isnan(found)).tolist() == [6]  # the first list of the second fold
    assert results.list_keys()[6] == ("2", "f1-0")
    assert np.isnan(results.list_values(FIRST_BEST, "nDCG@3")).sum() == 1


def test_one_set_gives_the_values_of_an_evaluation():
    lists = fold_lists(3, 20, unjudged=True)
    systems = {name: np.random.default_rng(i).random(lists.n_items) for i, name in enumerate("ab")}
    results = of_systems(lists, systems, ["AP", "RR"])
    found = evaluate(lists, systems, ["AP", "RR"])
    assert (results.name, tuple(results.metrics), results.baseline, results.fraction) == (
        *("fold3", ("AP", "RR"), FIRST_BEST),
        100,
    )
    for name in ("a", "b", FIRST_BEST):
        for metric in ("AP", "RR"):
            np.testing.assert_array_equal(results.list_values(name, metric), found.list_values(name, metric))


def test_scores_are_in_the_order_of_the_callers_rows():
    lists = fold_lists(4, 3)
    shuffled = lists.regrouped(["a", "b", "c"] * 5)
    scores = np.arange(15.0)
    judge = parse("AP").prepare(shuffled)
    results = of_systems(shuffled, {"a": scores}, ["AP"])
    np.testing.assert_array_equal(
        results.list_values("a", "AP"),
        judge.score_from_sums(judge.per_list(shuffled.from_input_order(scores))),
    )


def test_rows_are_compared_at_the_largest_share_that_all_have():
    both = two_folds()
    shares = {row: {40: folds[100], 100: folds[100]} for row, folds in both.runs.items()}
    results = results_("r", both.parts, shares)
    assert (results.fraction, results.fractions) == (100, (40, 100))
    results = results_("r", both.parts, {**shares, "plain": {40: shares["plain"][40]}})
    assert (results.fraction, results.fractions) == (40, (40, 100))
    assert results.runs_of("plain") is shares["plain"][40]
    with pytest.raises(ConfigError, match="plain: no results of 100 % of the training lists, found 40"):
        results.list_values("plain", "AP", 100)
    apart = results_("r", both.parts, {"a": {40: shares["plain"][40]}, "b": {60: shares["plain"][40]}})
    with pytest.raises(DataError, match="no share of the training lists is common"):
        _ = apart.fraction


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "plane"}, "unknown baseline 'plane'; did you mean 'plain'"),
        ({"metrics": ["APP"]}, "APP"),
    ],
)
def test_unknown_names(options, message):
    with pytest.raises(ConfigError, match=message):
        two_folds(**options)
    results = two_folds()
    with pytest.raises(ConfigError, match="unknown system"):
        results.list_values("nobody", "AP")
    with pytest.raises(ConfigError, match="unknown metric"):
        results.list_values("plain", "RR")


def test_a_baseline_of_first_best_needs_an_order():
    lists = CandidateLists.from_arrays(np.zeros((4, 1)), [0, 1, 1, 0], group=[2, 2])
    with pytest.raises(ConfigError, match="no order of their own"):
        of_systems(lists, {"a": np.zeros(4)}, ["AP"], baseline=FIRST_BEST)
    results = of_systems(lists, {"a": np.zeros(4)}, ["AP"])
    assert results.baseline is None
    with pytest.raises(ConfigError, match="no order of their own"):
        results.list_values(FIRST_BEST, "AP")
    with pytest.raises(ConfigError, match="call the system something else"):
        of_systems(lists, {FIRST_BEST: np.zeros(4)}, ["AP"])


@pytest.mark.parametrize("ids", [True, False])
def test_a_list_in_two_folds_is_refused(ids):
    message = "list 'f0-0' is in the lists of folds 1 and 2;" if ids else "have the same lists"
    parts = tuple(part_of(name, fold_lists(0, ids=ids), ["AP"]) for name in "12")
    with pytest.raises(DataError, match=message):
        results_("r", parts, {})


def test_one_list_that_is_in_two_folds_is_enough():
    first, second = fold_lists(0), fold_lists(1)
    mixed = joined([second, first.subset([3])])
    parts = (part_of("1", first, ["AP"]), part_of("2", mixed, ["AP"]))
    with pytest.raises(DataError, match="list 'f0-3' is in the lists of folds 1 and 2;"):
        results_("r", parts, {})


def test_folds_may_number_their_lists_alike():
    lists = [replace(fold_lists(k), list_ids=StringColumn.from_strings("abcdef")) for k in (0, 1)]
    parts = tuple(part_of(str(k), part, ["AP"]) for k, part in enumerate(lists))
    results = results_("r", parts, {}, samples=5)
    assert results.list_keys()[5:7] == [("0", "f"), ("1", "a")]
    assert results.remarks() == [
        "6 list ids are in several folds, with other contents: taken as different lists"
    ]


def test_rows_that_do_not_fit_are_refused():
    good = two_folds()
    plain = good.runs["plain"][100]
    with pytest.raises(DataError, match="a: results of 1 fold, expected 2"):
        results_("r", good.parts, {"a": {100: plain[:1]}})
    with pytest.raises(DataError, match=r"a in fold 1: scores have shape \(20,\), expected \(30,\)"):
        results_("r", good.parts, {"a": {100: plain[::-1]}})
    with pytest.raises(DataError, match="different seeds"):
        results_("r", good.parts, {"a": {100: (plain[0], (*plain[1], *plain[1]))}})
    with pytest.raises(DataError, match="no results"):
        results_("r", good.parts, {"a": {}})
    with pytest.raises(DataError, match="judged by other metrics"):
        results_("r", (good.parts[0], part_of("2", good.parts[1].lists, ["RR"])), {})
    bare = CandidateLists.from_arrays(np.zeros((2, 1)), [np.nan, np.nan])
    with pytest.raises(DataError, match="no list has a judged item"):
        of_systems(bare, {}, ["AP"])
    with pytest.raises(DataError, match="one part"):
        results_("r", (), {})


def test_corpus_statistics_of_seeds_are_averaged_for_each_list():
    texts = ["a b c d", "a b x y", "e f g h", "e f g z"]
    lists = CandidateLists(
        np.array([0, 2, 4]),
        CandidateLists.from_arrays(np.zeros((4, 1))).features,
        texts=StringColumn.from_strings(texts),
        references=(StringColumn.from_strings(["a b c d", "e f g h"]),),
    )
    part = part_of("1", lists, ["WER"])
    ends = [np.array([1.0, 0, 1, 0]), np.array([0.0, 1, 1, 0])]
    outcomes = tuple(Run(scores, seed=k) for k, scores in enumerate(ends))
    results = results_("r", (part,), {"a": {100: (outcomes,)}})
    np.testing.assert_allclose(results.list_values("a", "WER"), [25.0, 0.0])
