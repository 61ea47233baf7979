"""bpref, inferred AP and Judged@k: ties, labels below 0, judged items that were not retrieved."""

import numpy as np
import pytest
from reference.metrics import judged as slow
from reference.metrics.ranking import expected, in_input_order
from small_judging import values

from rerank.data.columns.offsets import Ragged
from rerank.data.lists import CandidateLists
from rerank.metrics.base import parse, prepare_all
from rerank.metrics.judges import statistics
from rerank.metrics.judging import Judging

NAN = float("nan")
NAMES = ["bpref", "bpref(rel=2)", "infAP", "infAP(rel=2)", "Judged@2", "Judged"]


def one_list(labels, missed=(), **more):
    """The list of these labels; ``missed`` are those of judged items that are not in it."""
    unretrieved = Ragged(np.array(missed, dtype=float), np.array([0, len(missed)])) if len(missed) else None
    made = CandidateLists.from_arrays(np.zeros((len(labels), 1)), np.array(labels, dtype=float), **more)
    return CandidateLists(made.offsets, made.features, labels=made.labels, unretrieved=unretrieved)


def slow_measure(name, labels, missed):
    metric = parse(name)
    if metric.family == "Judged":
        return slow.measure_of(metric)
    kind = slow.bpref if metric.family == "bpref" else slow.inferred_ap
    return lambda ranked: kind(ranked, metric.rel, [*labels, *missed])


@pytest.mark.parametrize("seed", range(6))
def test_expected_ties_are_the_mean_over_all_orders_and_judged_items_may_be_missed(seed):
    rng = np.random.default_rng(seed)
    for _ in range(6):
        n = int(rng.integers(1, 7))
        labels = rng.choice([0.0, 0.0, 1.0, 2.0, -1.0, NAN], n).tolist()
        missed = rng.choice([-1.0, 0.0, 1.0, 2.0], rng.integers(1, 4)).tolist()
        scores = rng.integers(0, rng.integers(1, 4), n).astype(float)
        lists = one_list(labels, missed)
        for ties, twin in (("expected", expected), ("input", in_input_order)):
            judges = prepare_all(lists, NAMES, Judging(ties=ties))
            for name, rows in zip(NAMES, statistics(judges, scores), strict=True):
                wanted = twin(slow_measure(name, labels, missed), labels, scores.tolist())
                assert rows[0].tolist() == [pytest.approx(wanted, abs=1e-12), 1.0], (name, ties)


def test_long_lists_equal_the_slow_twin_and_large_groups_of_ties_a_sample_of_orders():
    rng = np.random.default_rng(1)
    labels = rng.choice([0.0, 1.0, -1.0, NAN], 300, p=[0.3, 0.1, 0.2, 0.4])
    lists, scores = one_list(labels), rng.permutation(300).astype(float)
    found = values(lists, scores, NAMES)
    for name in NAMES:
        measure = slow_measure(name, labels.tolist(), ())
        assert found[name] == pytest.approx(in_input_order(measure, labels.tolist(), scores.tolist()))
    judges = prepare_all(lists, ["bpref", "infAP"])
    orders = np.array([[rows[0, 0] for rows in statistics(judges, rng.random(300))] for _ in range(300)])
    error = orders.std(axis=0) / np.sqrt(len(orders))
    for judge, mean, one in zip(judges, orders.mean(axis=0), error, strict=True):
        assert abs(judge.random() - mean) < 4 * one, judge.name


@pytest.mark.parametrize("seen", [(0, 0, 0), (1, 0, 0), (0, 7, 2), (2, 400, 0), (300, 0, 50)])
def test_large_groups_of_ties_equal_the_slow_twin(seen):
    before = [1.0] * seen[0] + [0.0] * seen[1] + [-1.0] * seen[2] + [NAN]
    for size, *group in (
        (900, 1, 0, 0),
        (900, 900, 0, 0),
        (700, 2, 698, 0),
        (1500, 10, 300, 700),
        (1500, 700, 10, 0),
        (50, 3, 0, 47),
    ):
        here = [1.0] * group[0] + [0.0] * group[1] + [-1.0] * group[2]
        labels = before + here + [NAN] * (size - sum(group))
        scores = np.repeat([1.0, 0.0], [len(before), size]) * np.arange(len(labels), 0, -1)
        (judge,) = prepare_all(one_list(labels), ["infAP"])
        found = judge.per_list(scores)[0, 0] * (seen[0] + group[0])
        wanted = slow.inferred_ap(before, 1.0, before) * seen[0]
        wanted += group[0] * slow.tied_inferred(len(before), size, seen, group)
        assert found == pytest.approx(wanted, rel=1e-12)


def test_worked_numbers():
    # Places 1 and 4 are relevant, 2 is not, 3 is sampled out, 5 unjudged; one relevant item was missed.
    labels, missed = [1.0, 0.0, -1.0, 1.0, NAN], [0.0, 1.0]
    found = values(one_list(labels, missed), -np.arange(5.0), ["bpref", "infAP", "Judged@5", "Judged@2"])
    assert found["bpref"] == pytest.approx((1 + (1 - 1 / 2)) / 3)  # 2 not relevant, 3 relevant
    precision = (1 + 1e-5) / (2 + 2e-5)
    assert found["infAP"] == pytest.approx((1 + 1 / 4 + 3 / 4 * (3 / 3) * precision) / 3)
    assert found["Judged@5"] == 4 / 5
    assert found["Judged@2"] == 1.0
    assert values(one_list([1.0, NAN]), np.array([0.0, 1.0]), ["Judged@10"]) == {"Judged@10": 0.5}


def test_a_list_without_judged_items_that_are_not_relevant_has_perfect_preferences():
    assert values(one_list([NAN, 1.0]), np.array([1.0, 0.0]), ["bpref"]) == {"bpref": 1.0}


def test_judged_counts_what_a_system_returned():
    """One of the two returned items is judged, and nothing was returned of the other list."""
    lists = CandidateLists.from_arrays(np.zeros((5, 1)), np.array([1.0, NAN, 0.0, 1.0, 0.0]), group=[3, 2])
    scores = np.array([2.0, 1.0, NAN, NAN, NAN])
    judges = prepare_all(lists, ["Judged", "Judged@1", "bpref", "infAP", "RBP.residual(p=0.5)", "ERR"])
    found = [rows[:, 0].tolist() for rows in statistics(judges, scores)]
    assert found == [[0.5, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.5, 1.0], [0.5, 0.0]]


def test_signatures_state_how_unjudged_items_count():
    signatures = [
        judge.signature for judge in prepare_all(one_list([1.0, 0.0]), ["bpref", "infAP", "Judged"])
    ]
    for signature, policy in zip(signatures, ("skip", "not-pooled", "counted"), strict=True):
        assert f"|unjudged:{policy}|" in signature
