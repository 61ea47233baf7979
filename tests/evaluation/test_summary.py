"""Numbers over folds, seeds and shares: against loops over lists, `evaluate` and `compare_all`."""

import json
from dataclasses import replace

import numpy as np
import pytest
from evaluation.test_results import fold_lists, two_folds
from msgspec import structs
from reference import over_folds
from scipy import stats
from small_judging import compare_all, evaluate, every_pair, of_systems, part_of
from small_judging import results as results_

from rerank.core.errors import DataError
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.evaluation.results import FIRST_BEST, Run
from rerank.evaluation.significance import holm

METRICS = ("AP", "nDCG@3", "label", "P@1")


def one_set():
    lists = fold_lists(3, 25, unjudged=True)
    rng = np.random.default_rng(2)
    return lists, {name: rng.integers(0, 4, lists.n_items).astype(float) for name in "abc"}


@pytest.mark.parametrize("baseline", [None, "b"])
@pytest.mark.parametrize("no_relevant", ["zero", "skip"])
def test_one_fold_and_seed_give_the_numbers_of_an_evaluation(baseline, no_relevant):
    lists, systems = one_set()
    options = {"baseline": baseline, "no_relevant": no_relevant, "samples": 200, "seed": 5}
    found = of_systems(lists, systems, METRICS, **options)
    expected = evaluate(lists, systems, METRICS, **options)
    assert found.against == expected.against
    assert found.as_json()["folds"][0]["unjudged"] == expected.unjudged == 1
    for summary in found.metrics.values():
        reported = found.as_json()["metrics"][summary.name]["references"]
        for name, value in expected.as_json()["metrics"][summary.name].items():
            assert name == "signature" or reported.get(name, {"value": None})["value"] == value
        for name in systems:
            row, result = summary.rows[name][100], expected.systems[name][summary.name]
            assert (row.value, row.ci, row.gap) == (result.value, result.ci, result.gap)
            assert (row.by_fold, row.by_seed, row.sd_seeds) == ((row.value,), (row.value,), None)
            pair = summary.against(name, found.baseline)
            if name == baseline:
                assert pair is None is result.test
                continue
            test = result.test
            assert (pair.p_bootstrap, pair.p_wilcoxon, pair.wins, pair.ties, pair.losses) == (
                *(test.p_bootstrap, test.p_wilcoxon, test.wins, test.ties, test.losses),
            )


def of_texts(metric, **options):
    """The rows of two_folds, judged by a metric of texts."""
    rng = np.random.default_rng(4)
    both = two_folds(["AP"], **options)

    def words(n):
        return StringColumn.from_strings([" ".join(rng.choice(list("abcd"), 6)) for _ in range(n)])

    parts = []
    for part in both.parts:
        lists = replace(part.lists, texts=words(part.lists.n_items), references=(words(part.lists.n_lists),))
        parts.append(part_of(part.name, lists, [metric]))
    return structs.replace(both, parts=tuple(parts))


@pytest.mark.parametrize("metric", ["AP", "nDCG@3", "label", "WER", "BLEU"])
def test_folds_and_seeds_are_those_of_loops(metric):
    make = of_texts if metric in ("WER", "BLEU") else lambda name, **options: two_folds([name], **options)
    results = make(metric, samples=40, seed=3, baseline="plain")
    found = results
    (summary,) = found.metrics.values()
    judges = [part.judges[metric] for part in results.parts]
    judged = [np.flatnonzero(judge.judged).tolist() for judge in judges]
    statistics = {name: results.bootstrap_table().rows[name][0] for name in ("drawn", "plain")}
    sampled = {name: over_folds.sampled(judges, of, judged, 40, 3) for name, of in statistics.items()}
    for name, of in statistics.items():
        row = summary.rows[name][100]
        assert row.value == pytest.approx(over_folds.value(judges, of, judged), abs=1e-14)
        assert row.ci == pytest.approx(np.quantile(sampled[name], [0.025, 0.975]), abs=1e-14)
        for k in range(2):
            one = [judged[j] if j == k else [] for j in range(2)]
            assert row.by_fold[k] == pytest.approx(over_folds.value(judges, of, one), abs=1e-14)
        for s in range(len(of[0])):
            one = [[seeds[s]] for seeds in of]
            assert row.by_seed[s] == pytest.approx(over_folds.value(judges, one, judged), abs=1e-14)
    drawn = summary.rows["drawn"][100]
    np.testing.assert_allclose(np.mean(drawn.values, axis=1), drawn.by_fold)
    np.testing.assert_allclose(np.mean(drawn.values, axis=0), drawn.by_seed)
    assert drawn.sd_seeds == pytest.approx(np.std(drawn.by_seed, ddof=1))
    assert (drawn.seeds, summary.rows["plain"][100].seeds) == ((1, 2, 3), (None,))
    (pair,) = summary.pairs
    assert (pair.a, pair.b, pair.difference) == ("drawn", "plain", pair.value_a - pair.value_b)
    differing = np.subtract(sampled["drawn"], sampled["plain"])
    assert pair.ci == pytest.approx(np.quantile(differing, [0.025, 0.975]), abs=1e-14)
    assert pair.p_bootstrap == over_folds.shift_p(sampled["drawn"], sampled["plain"], pair.difference)
    assert pair.p_randomisation == over_folds.randomisation_p(
        judges, statistics["drawn"], statistics["plain"], judged, 40, 3
    )
    d = results.list_values("drawn", metric) - results.list_values("plain", metric)
    d = d[np.isfinite(d)]
    assert len(d) == (10 if metric in ("WER", "BLEU") else 9)
    assert pair.p_wilcoxon == stats.wilcoxon(np.round(d, 12)).pvalue
    assert pair.p_t == stats.ttest_1samp(np.round(d, 12), 0).pvalue
    d *= judges[0].better
    assert (pair.wins, pair.losses) == ((d > 1e-9).sum(), (d < -1e-9).sum())
    assert pair.ties == len(d) - pair.wins - pair.losses


def test_the_value_is_the_mean_over_folds_not_over_lists():
    results = two_folds(["AP"], sizes=(12, 2), samples=20)
    row = results.metrics["AP"].rows["plain"][100]
    assert row.value == np.mean(row.by_fold)
    assert row.value != pytest.approx(np.nanmean(results.list_values("plain", "AP")))
    info = results.metrics["AP"]
    for name, of in results.metrics["AP"].references.items():
        assert getattr(info, name) == pytest.approx(np.mean(of))


def test_folds_are_drawn_apart():
    """Folds of the same size whose draws were equal would vary together."""
    lists = [fold_lists(k, 30) for k in range(2)]
    parts = tuple(part_of(str(k), part, ["AP"]) for k, part in enumerate(lists))
    scores = np.random.default_rng(0).random(150)
    results = results_("r", parts, {"a": {100: tuple((Run(scores),) for _ in parts)}}, samples=400)
    both = results.metrics["AP"].rows["a"][100].ci
    single = results_("r", parts[:1], {"a": {100: ((Run(scores),),)}}, samples=400)
    one = single.metrics["AP"].rows["a"][100].ci
    assert (both[1] - both[0]) == pytest.approx((one[1] - one[0]) / np.sqrt(2), rel=0.2)


def with_empty_fold(**options):
    """Two folds; nothing of the second one is judged."""
    lists = fold_lists(1)
    bare = CandidateLists.from_arrays(np.zeros((4, 1)), [np.nan] * 4, group=[2, 2])
    parts = (part_of("1", lists, ["AP"]), part_of("2", bare, ["AP"]))
    rng = np.random.default_rng(0)
    systems = {name: {100: tuple((Run(rng.random(part.lists.n_items)),) for part in parts)} for name in "ab"}
    return results_("r", parts, systems, samples=30, **options)


def test_a_fold_without_judged_lists_is_left_out_with_a_note():
    results = with_empty_fold(baseline="b")
    found = results
    summary = found.metrics["AP"]
    assert summary.folds_left_out == ("2",)
    assert found.remarks() == ["AP: no list of fold 2 counts; means are over the other 1 fold"]
    first = results_("r", results.parts[:1], {n: {100: s[100][:1]} for n, s in results.runs.items()}, "b")
    alone = first
    row, expected = summary.rows["a"][100], alone.metrics["AP"].rows["a"][100]
    assert row.value == expected.value
    assert summary.pairs[0].difference == alone.metrics["AP"].pairs[0].difference
    assert np.isnan(row.by_fold[1])
    json.dumps(found.as_json(), allow_nan=False)


def test_no_list_that_counts_is_no_value():
    lists = CandidateLists.from_arrays(np.zeros((4, 1)), [0, 0, 0, 0], group=[2, 2])
    systems = {"a": np.arange(4.0), "b": np.zeros(4)}
    results = of_systems(lists, systems, ["AP"], no_relevant="skip", baseline="b", samples=10)
    found = results
    row = found.metrics["AP"].rows["a"][100]
    assert np.isnan(row.value)
    assert row.ci is None
    assert found.metrics["AP"].pairs[0].p_bootstrap is None
    assert found.remarks() == ["AP: no list counts, so that there is no value"]
    record = json.dumps(found.as_json(), allow_nan=False)
    assert json.loads(record)["metrics"]["AP"]["rows"][0]["value"] is None
    compared = compare_all(lists, systems, ["AP"], no_relevant="skip", samples=10)
    json.dumps(compared.as_json(), allow_nan=False)


def test_folds_of_one_list_leave_nothing_to_resample():
    parts = tuple(part_of(str(k), fold_lists(k, 1), ["AP"]) for k in range(3))
    rng = np.random.default_rng(0)
    systems = {name: {100: tuple((Run(rng.random(5)),) for _ in parts)} for name in "ab"}
    found = results_("r", parts, systems, "b", samples=20)
    (pair,) = found.metrics["AP"].pairs
    assert found.remarks() == ["no fold has two judged lists: intervals and the bootstrap's p show nothing"]
    assert pair.p_bootstrap is None
    assert pair.holm is None
    assert pair.detectable is None
    assert pair.wins + pair.ties + pair.losses == 3


def test_holm_corrects_for_what_is_tested():
    results = two_folds(["AP"], samples=99, baseline=FIRST_BEST)
    against = results.metrics["AP"].pairs
    assert [(pair.a, pair.b) for pair in against] == [("drawn", FIRST_BEST), ("plain", FIRST_BEST)]
    assert [pair.holm for pair in against] == holm([pair.p_bootstrap for pair in against])
    every = every_pair(results).metrics["AP"].pairs
    assert [(pair.a, pair.b) for pair in every] == [("drawn", "plain")]
    assert every[0].holm == every[0].p_bootstrap


def test_each_share_has_a_value_and_tests_are_at_the_largest_common_one():
    both = two_folds(["AP"], samples=20)
    drawn, plain = (both.runs[name][100] for name in ("drawn", "plain"))
    systems = {"drawn": {40: plain, 100: drawn}, "plain": {40: drawn, 100: plain}}
    found = results_("r", both.parts, systems, "plain", samples=20)
    rows = found.metrics["AP"].rows
    alone = both.metrics["AP"].rows
    assert (found.fraction, found.fractions) == (100, (40, 100))
    assert rows["drawn"][100].as_json() == alone["drawn"][100].as_json()
    assert rows["drawn"][40].as_json() == alone["plain"][100].as_json()
    assert rows["plain"][40].seeds == (1, 2, 3)
    assert found.metrics["AP"].pairs[0].value_a == rows["drawn"][100].value


def test_a_metric_that_judges_fewer_lists_is_noted():
    lists = fold_lists(0, 4)
    texts = StringColumn.from_strings(["a"] * lists.n_items)
    labels = lists.labels.copy()
    labels[:5] = np.nan
    with_texts = CandidateLists(
        lists.offsets,
        lists.features,
        labels=labels,
        texts=texts,
        references=(StringColumn.from_strings(["a"] * 4),),
    )
    found = of_systems(with_texts, {"a": np.arange(20.0)}, ["WER", "AP"], samples=5)
    assert found.remarks() == ["AP: judges 3 of the 4 judged lists"]


def test_folds_must_be_measured_alike():
    plain = fold_lists(0)
    named = fold_lists(1)
    ids = StringColumn.from_strings([f"i{i}" for i in range(named.n_items)])
    named = CandidateLists(named.offsets, named.features, labels=named.labels, item_ids=ids)
    parts = (part_of("1", plain, ["AP"]), part_of("2", named, ["AP"]))
    with pytest.raises(DataError, match=r"AP in fold 2: found .*ties:trec.*, expected .*ties:expected"):
        results_("r", parts, {})
