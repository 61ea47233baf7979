"""Measures of retrieval against slow twins, trec_eval and worked numbers."""

import gzip
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.metrics import ranking as slow
from small_judging import values

from rerank.core.errors import ConfigError, DataError
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.metrics.base import parse, prepare_all
from rerank.metrics.judges import statistics
from rerank.metrics.judging import Judging
from rerank.metrics.relevance import Relevance

MEASURES = [
    ("AP", None, 1.0),
    ("AP", 3, 1.0),
    ("AP", None, 2.0),
    ("RR", None, 1.0),
    ("RR", 2, 1.0),
    ("P", 3, 1.0),
    ("P", 50, 2.0),
    ("R", 3, 1.0),
    ("Success", 1, 1.0),
    ("Success", 3, 2.0),
    ("nDCG", None, 1.0),
    ("nDCG", 2, 1.0),
    ("nDCG-exp", 4, 1.0),
    ("nDCG-letor", 4, 1.0),
    ("nDCG-letor", None, 1.0),
]
NAN = float("nan")


def name_of(measure: str, cutoff: int | None, rel: float) -> str:
    return measure + (f"(rel={rel})" if rel != 1 else "") + (f"@{cutoff}" if cutoff else "")


NAMES = [name_of(*parts) for parts in MEASURES]


def lists_of(labels: list[list[float]], ids: list[str] | None = None) -> CandidateLists:
    flat = np.array([label for row in labels for label in row], dtype=np.float64)
    lengths = [len(row) for row in labels]
    return CandidateLists.from_arrays(np.zeros((len(flat), 1)), flat, group=lengths, item_ids=ids)


def random_lists(seed: int, longest: int, grid: float | None) -> tuple[CandidateLists, np.ndarray]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, 40)
    n = int(lengths.sum())
    labels = np.where(rng.random(n) < rng.choice([0.05, 0.3, 0.8]), rng.integers(-1, 4, n), 0).astype(float)
    scores = rng.normal(size=n) + 0.3 * labels
    if grid is not None:
        scores = np.round(scores / grid) * grid
    # Ids that differ late, in length only, and in bytes above ASCII.
    ids = [
        f"shared-{'é' if j % 3 else 'z'}{j % 7}{'x' * (j % 2)}-{j}"
        for m in lengths
        for j in rng.permutation(m)
    ]
    return CandidateLists.from_arrays(np.zeros((n, 1)), labels, group=lengths, item_ids=ids), scores


@settings(deadline=None, max_examples=150)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 1.0, 2.0, 3.0, 0.5, -1.0, NAN]),
            st.sampled_from([0.1, 0.2, 0.2 + 1e-12, -1.0, -np.inf, np.inf]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_expected_ties_are_the_mean_over_all_orders(items: list[tuple[float, float]]) -> None:
    labels, scores = [label for label, _ in items], [score for _, score in items]
    lists = lists_of([labels, [1.0, 0.0]])  # a second list, so that one is always judged
    together = np.array([*scores, 2.0, 1.0])
    judges = prepare_all(lists, NAMES, Judging(ties="expected"))
    for parts, judge, found in zip(MEASURES, judges, statistics(judges, together), strict=True):
        wanted = slow.expected(slow.of_order(*parts), labels, scores)
        judged = not np.isnan(labels).all()
        assert found[0] == pytest.approx([wanted if judged else 0.0, float(judged)], abs=1e-12), judge.name


@pytest.mark.parametrize("longest", [1, 12, 400])
@pytest.mark.parametrize("grid", [None, 0.1, 0.5])
@pytest.mark.parametrize("no_relevant", ["zero", "one"])
def test_input_ties_are_in_the_order_of_the_items(longest: int, grid: float | None, no_relevant: str) -> None:
    lists, scores = random_lists(longest, longest, grid)
    assert lists.labels is not None
    judges = prepare_all(lists, NAMES, Judging(ties="input", no_relevant=no_relevant))
    for parts, found in zip(MEASURES, statistics(judges, scores), strict=True):
        measure = slow.of_order(*parts, none=float(no_relevant == "one"))
        wanted = [
            slow.in_input_order(measure, lists.labels[a:b].tolist(), scores[a:b].tolist())
            for a, b in zip(lists.offsets[:-1], lists.offsets[1:], strict=True)
        ]
        np.testing.assert_allclose(found[:, 0], wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("some", [[0.25, 1.0, -3.0], [1.0, 2.0, 2.5], [1.0, 31.0, 31.5], [2.0, 31.0, 40.0]])
def test_labels_may_be_any_numbers(some: list[float]) -> None:
    rng = np.random.default_rng(len(some))
    labels = rng.choice(some, (5, 40))
    lists, scores = lists_of(labels.tolist()), rng.normal(size=200)
    for parts in [("nDCG", 10, 1.0), ("nDCG-exp", None, 1.0), ("nDCG-letor", 3, 1.0), ("AP", None, 2.25)]:
        wanted = [
            slow.in_input_order(slow.of_order(*parts), row.tolist(), s.tolist())
            for row, s in zip(labels, scores.reshape(5, 40), strict=True)
        ]
        found = parse(name_of(*parts)).prepare(lists).per_list(scores)[:, 0]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("longest", [12, 400])
def test_places_are_counts_of_items_above_and_equal(longest: int) -> None:
    """Also where float32 takes different scores for equal, by passes (short lists) and by search."""
    lists, scores = random_lists(longest + 1, longest, 0.25)
    assert lists.labels is not None
    for i in range(lists.n_lists):
        a, b = lists.offsets[i : i + 2]
        y = lists.labels[a:b]
        s = scores[a:b] + 1e-13 * np.random.default_rng(i).integers(0, 3, b - a)
        placed = Relevance(lists_of([y.tolist()]), "expected").place(s)
        good = np.flatnonzero(y > 0)[placed.order]
        assert placed.above.tolist() == [(s > s[j]).sum() for j in good]
        assert placed.tied.tolist() == [(s == s[j]).sum() for j in good]
        assert np.all(np.diff(placed.above) >= 0)


def test_places_of_extreme_scores_in_long_and_short_lists() -> None:
    rng = np.random.default_rng(6)
    odd = [0.0, -0.0, 1e300, 1e301, -1e300, np.inf, -np.inf, 5e-324, -5e-324, 1e-40, 1.0, 1.0 + 2**-52, -1.0]
    for length in (5, 40, 700):
        scores = rng.choice(odd, length)
        labels = rng.integers(0, 2, length).astype(float)
        labels[0] = 1.0
        placed = Relevance(lists_of([labels.tolist()]), "expected").place(scores)
        good = np.flatnonzero(labels)[placed.order]
        assert sorted(good) == np.flatnonzero(labels).tolist()
        assert placed.above.tolist() == [(scores > scores[j]).sum() for j in good]
        assert placed.tied.tolist() == [(scores == scores[j]).sum() for j in good]
        assert np.all(np.diff(placed.above) >= 0)


@pytest.mark.parametrize("length", [5, 40, 700])
def test_broken_ties_of_extreme_scores(length: int) -> None:
    """By the order of the items and by ids, whose order is kept from the first tie on."""
    rng = np.random.default_rng(length)
    odd = [0.0, -0.0, 1e300, 1e301, -1e300, np.inf, -np.inf, 1e-40, 1.0, 1.0 + 2**-52, -1.0]
    labels, ids = rng.integers(0, 2, length).astype(float), [f"d{n}" for n in rng.permutation(length)]
    lists = CandidateLists.from_arrays(np.zeros((length, 1)), labels, group=[length], item_ids=ids)
    stages = {ties: Relevance(lists, ties) for ties in ("input", "trec")}
    for scores in (rng.choice(odd, length), rng.normal(size=length), rng.choice(odd, length)):
        with np.errstate(over="ignore"):
            low = scores.astype(np.float32)
        orders = {
            "input": sorted(range(length), key=lambda i, s=scores: (-s[i], i)),
            "trec": sorted(
                sorted(range(length), key=ids.__getitem__, reverse=True), key=lambda i, s=low: -s[i]
            ),
        }
        for ties, order in orders.items():
            placed = stages[ties].place(scores)
            wanted = [i for i in order if labels[i] > 0]
            assert np.flatnonzero(labels)[placed.order].tolist() == wanted, ties
            assert placed.above.tolist() == [order.index(i) for i in wanted], ties
            assert set(placed.tied.tolist()) <= {1}, ties


TREC = {
    "AP": "map",
    "AP@10": "map_cut_10",
    "RR": "recip_rank",
    "P@5": "P_5",
    "P@100": "P_100",
    "R@20": "recall_20",
    "Success@1": "success_1",
    "Success@5": "success_5",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg_cut_10",
    "AP(rel=2)": "map",
    "RR(rel=2)": "recip_rank",
}


def trec_values(lists: CandidateLists, scores: np.ndarray, level: int) -> list[dict[str, float]]:
    import pytrec_eval

    assert lists.labels is not None
    assert lists.item_ids is not None
    ids = list(lists.item_ids)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for i in range(lists.n_lists):
        span = range(lists.offsets[i], lists.offsets[i + 1])
        qrels[str(i)] = {ids[j]: int(lists.labels[j]) for j in span}
        run[str(i)] = {ids[j]: float(scores[j]) for j in span}
    measures = {"map", "map_cut", "recip_rank", "P", "recall", "success", "ndcg", "ndcg_cut"}
    found = pytrec_eval.RelevanceEvaluator(qrels, measures, relevance_level=level).evaluate(run)
    return [found[str(i)] for i in range(lists.n_lists)]


def assert_equal_to_trec(lists: CandidateLists, scores: np.ndarray) -> None:
    judges = prepare_all(lists, list(TREC))  # trec is the default where items have ids
    theirs = {level: trec_values(lists, scores, level) for level in (1, 2)}
    for judge, found in zip(judges, statistics(judges, scores), strict=True):
        assert "ties:trec" in judge.signature
        level = 2 if "rel=2" in judge.name else 1
        wanted = [query[TREC[judge.name]] for query in theirs[level]]
        assert found[:, 0].tolist() == wanted, judge.name  # to the last bit
        assert found[:, 1].all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("longest", "grid"), [(8, 1.0), (60, 0.5), (60, 1e-9), (300, 0.2), (300, None)])
def test_trec_mode_equals_trec_eval(seed: int, longest: int, grid: float | None) -> None:
    assert_equal_to_trec(*random_lists(100 + seed, longest, grid))


def test_trec_mode_holds_scores_as_float32_like_trec_eval() -> None:
    lists, scores = random_lists(7, 50, None)
    assert_equal_to_trec(lists, 1.0 + scores * 1e-8)  # all but tied in float32
    assert_equal_to_trec(lists, scores * 1e40)  # infinite there
    assert_equal_to_trec(lists, np.where(scores > 0, scores, -np.inf))


def test_trec_mode_equals_trec_eval_on_ohsumed(shared_data: Path) -> None:
    labels, qids, ids, rows = [], [], [], []
    with gzip.open(shared_data / "ohsumed" / "Fold1" / "test.txt.gz", "rt") as file:
        for line in file:
            data, _, comment = line.partition("#")
            label, qid, *pairs = data.split()
            labels.append(float(label))
            qids.append(qid)
            ids.append(comment.split("=")[1].split()[0])
            rows.append([float(pair.partition(":")[2]) for pair in pairs])
    X = np.array(rows)
    lists = CandidateLists.from_arrays(X, labels, qid=qids, item_ids=ids)
    assert lists.n_lists > 15
    for column in (0, 4, 14, 20):
        assert_equal_to_trec(lists, lists.features.column(column))
    assert_equal_to_trec(lists, np.zeros(lists.n_items))


def test_worked_numbers() -> None:
    lists = lists_of([[1.0, 0.0, 1.0]])
    scores = np.array([3.0, 2.0, 1.0])
    assert values(lists, scores, ["AP"])["AP"] == pytest.approx(0.8333, abs=5e-5)
    assert values(lists, scores, ["RR", "P@2", "R@1"]) == {"RR": 1.0, "P@2": 0.5, "R@1": 0.5}
    # LETOR's nDCG: gains 3, 0, 1 with discounts 1, 1, 1/log2(3).
    graded = lists_of([[2.0, 0.0, 1.0]])
    ideal = 3.0 + 1.0
    found = values(graded, np.array([1.0, 2.0, 3.0]), ["nDCG-letor@10", "nDCG-exp@10", "nDCG@10"])
    assert found["nDCG-letor@10"] == pytest.approx((1.0 + 0.0 + 3.0 / np.log2(3)) / ideal)
    assert found["nDCG-exp@10"] == pytest.approx((1.0 + 3.0 / 2.0) / (3.0 + 1.0 / np.log2(3)))
    assert found["nDCG@10"] == pytest.approx((1.0 + 2.0 / 2.0) / (2.0 + 1.0 / np.log2(3)))


def test_success_of_a_random_order_is_the_unbiased_estimator_of_pass_at_k() -> None:
    """1 - C(n - c, k) / C(n, k), for n samples of which c are right (Chen et al. 2021, equation 1)."""
    for n, c, k in itertools.product(range(1, 9), range(9), range(1, 10)):
        if c > n or k > n:
            continue
        judge = parse(f"Success@{k}").prepare(lists_of([[1.0] * c + [0.0] * (n - c)]))
        assert judge.random() == pytest.approx(1 - math.comb(n - c, k) / math.comb(n, k), abs=1e-15)
        assert judge.oracle() == float(c > 0)


def test_lists_without_a_relevant_item_follow_the_policy() -> None:
    lists = lists_of([[0.0, 0.0], [1.0, 0.0], [NAN, NAN], [NAN, 0.0]])
    scores = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    wanted = {"zero": 1 / 3, "one": 1.0, "skip": 1.0}
    for policy, value in wanted.items():
        judge = prepare_all(lists, ["AP"], Judging(no_relevant=policy))[0]
        assert f"no_relevant:{policy}" in judge.signature
        per_list = judge.per_list(scores)
        assert corpus_value(judge, per_list) == pytest.approx(value)
        assert per_list[2].tolist() == [0.0, 0.0]
    assert per_list[:, 1].tolist() == [0.0, 1.0, 0.0, 0.0]


def test_a_mean_over_no_list_is_no_number() -> None:
    assert np.isnan(values(lists_of([[0.0, 0.0]]), np.zeros(2), ["AP"], no_relevant="skip")["AP"])


def test_ties_default_to_trec_only_if_ids_are_unique() -> None:
    labels = [[1.0, 0.0], [0.0, 1.0]]
    assert Relevance(lists_of(labels)).ties == "expected"
    assert Relevance(lists_of(labels, ["a", "b", "a", "b"])).ties == "trec"
    assert Relevance(lists_of(labels, ["a", "a", "a", "b"])).ties == "expected"
    assert Relevance(lists_of(labels, ["a", "b", "", "b"])).ties == "expected"
    assert Relevance(lists_of(labels, ["", "", "", ""])).ties == "expected"
    with pytest.raises(DataError, match="list 2 has the id 'long-id-x' twice"):
        Relevance(lists_of(labels, ["a", "b", "long-id-x", "long-id-x"]), "trec")
    with pytest.raises(DataError, match="list 2 has an item without an id"):
        Relevance(lists_of(labels, ["a", "b", "", "b"]), "trec")
    with pytest.raises(DataError, match="there are none"):
        Relevance(lists_of(labels), "trec")
    with pytest.raises(ConfigError, match="found 'trek', expected 'trec'"):
        prepare_all(lists_of(labels), ["AP"], Judging(ties="trek"))


def test_repeated_ids_are_found_anywhere() -> None:
    rng = np.random.default_rng(5)
    for length in (2, 3, 9, 64, 1000):
        ids = [f"{'d' * (j % 9)}{j}" for j in rng.permutation(length)]
        lists = lists_of([[1.0] * length], ids)
        assert Relevance(lists).ties == "trec"
        first, second = sorted(rng.choice(length, 2, replace=False))
        ids[second] = ids[first]
        assert Relevance(lists_of([[1.0] * length], ids)).ties == "expected"


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1.0, NAN, 2.0], "score of item 1 is NaN"),
        ([1.0, 2.0], r"shape \(2,\), expected \(3,\)"),
        (["a", "b", "c"], "must be numbers"),
    ],
)
@pytest.mark.parametrize("metric", ["AP", "PairAcc"])
def test_scores_that_are_not_numbers_are_refused(scores: list[object], message: str, metric: str) -> None:
    with pytest.raises(DataError, match=message):
        parse(metric).prepare(lists_of([[1.0, 0.0, 0.0]])).per_list(scores)


def test_lists_without_labels_and_labels_too_large_are_refused() -> None:
    unlabelled = CandidateLists.from_arrays(np.zeros((3, 1)))
    for metric in ("AP", "nDCG", "PairAcc"):
        with pytest.raises(DataError, match="no labels"):
            parse(metric).prepare(unlabelled)
    with pytest.raises(DataError, match="too large"):
        parse("nDCG-exp").prepare(lists_of([[2000.0, 1.0]]))
    with pytest.raises(ConfigError, match="expected 'zero', 'skip' or 'one'"):
        prepare_all(lists_of([[1.0]]), ["AP"], Judging(no_relevant="skp"))


def test_first_best_breaks_its_ties_by_input_order() -> None:
    lists = lists_of([[0.0, 1.0, 0.0]], ["c", "b", "a"]).with_first_best("input")
    judge = parse("RR").prepare(lists)
    first = judge.first_best()
    assert first is not None
    assert first.tolist() == [[0.5, 1.0]]
    flat = lists.with_first_best("1")  # a feature that is 0 everywhere
    assert parse("RR").prepare(flat).first_best().tolist() == [[0.5, 1.0]]  # type: ignore[union-attr]
    assert parse("PairAcc").prepare(flat).first_best().tolist() == [[0.5, 1.0]]  # type: ignore[union-attr]
    assert parse("RR").prepare(lists_of([[1.0]])).first_best() is None


def test_many_judges_place_the_scores_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lists, scores = random_lists(1, 10, None)
    judges = prepare_all(lists, ["AP", "nDCG@10", "RR"])
    calls = []
    place = Relevance.place
    monkeypatch.setattr(Relevance, "place", lambda self, *a: (calls.append(1), place(self, *a))[1])
    together = statistics(judges, scores)
    assert len(calls) == 1
    for judge, found in zip(judges, together, strict=True):
        assert np.array_equal(found, judge.per_list(scores))


@pytest.mark.parametrize("longest", [1, 5, 60, 200])
@pytest.mark.parametrize("grid", [None, 0.5])
def test_pair_accuracy_equals_the_loop_over_pairs(longest: int, grid: float | None) -> None:
    lists, scores = random_lists(longest + 50, longest, grid)
    labels = np.where(np.random.default_rng(1).random(lists.n_items) < 0.1, NAN, lists.labels)
    lists = CandidateLists(lists.offsets, lists.features, labels=labels)
    wanted = [
        slow.pair_accuracy(labels[a:b].tolist(), scores[a:b].tolist())
        for a, b in zip(lists.offsets[:-1], lists.offsets[1:], strict=True)
    ]
    by_list, pooled = prepare_all(lists, ["PairAcc", "PairAcc(over=pairs)"])
    assert pooled.per_list(scores).tolist() == [list(pair) for pair in wanted]
    shares = [right / pairs for right, pairs in wanted if pairs]
    found = corpus_value(by_list, by_list.per_list(scores))
    assert found == pytest.approx(np.mean(shares) if shares else NAN, nan_ok=True)
    if shares:
        assert by_list.random() == pytest.approx(0.5)
        assert pooled.oracle() == 1.0
