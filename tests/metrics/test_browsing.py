"""ERR and rank-biased precision: ties, grades, what is refused."""

import numpy as np
import pytest
from reference.metrics import browsing as slow
from reference.metrics.ranking import expected, in_input_order
from small_judging import values

from rerank.core.errors import ConfigError, DataError
from rerank.data.columns.offsets import Ragged
from rerank.data.lists import CandidateLists
from rerank.metrics.base import parse, prepare_all
from rerank.metrics.judges import statistics
from rerank.metrics.judging import Judging

NAN = float("nan")
NAMES = ["ERR", "ERR(max=4)@2", "RBP(p=0.3)", "RBP(rel=2)@3", "RBP(graded=1)", "RBP.residual(p=0.6)@2"]


def one_list(labels, unretrieved=None):
    made = CandidateLists.from_arrays(np.zeros((len(labels), 1)), np.array(labels, dtype=float))
    return CandidateLists(made.offsets, made.features, labels=made.labels, unretrieved=unretrieved)


@pytest.mark.parametrize("seed", range(4))
def test_expected_ties_are_the_mean_over_all_orders(seed):
    rng = np.random.default_rng(seed)
    for _ in range(5):
        n = int(rng.integers(1, 7))
        labels = rng.choice([0.0, 0.5, 1.0, 2.0, 4.0, -1.0, NAN], n).tolist()
        labels[0] = 1.0
        lists, scores = one_list(labels), rng.integers(0, rng.integers(1, 4), n).astype(float)
        for ties, twin in (("expected", expected), ("input", in_input_order)):
            judges = prepare_all(lists, NAMES, Judging(ties=ties))
            for name, rows in zip(NAMES, statistics(judges, scores), strict=True):
                wanted = twin(slow.measure_of(parse(name), lists), labels, scores.tolist())
                assert rows[0].tolist() == [pytest.approx(wanted, abs=1e-12), 1.0], (name, ties)


def test_large_groups_of_ties_are_the_mean_of_a_sample_of_orders():
    rng = np.random.default_rng(2)
    lists = one_list(rng.choice([0.0, 1.0, 3.0], 400, p=[0.8, 0.15, 0.05]))
    (judge,) = prepare_all(lists, ["ERR"])
    orders = np.array([judge.per_list(rng.random(400))[0, 0] for _ in range(300)])
    assert abs(judge.random() - orders.mean()) < 4 * orders.std() / np.sqrt(len(orders))


@pytest.mark.parametrize("grades", [[1], [1, 2, 3, 4], range(1, 21), None])
@pytest.mark.parametrize("most", [4, 20])
def test_large_groups_of_ties_equal_the_slow_twin(grades, most):
    rng = np.random.default_rng(most)
    for size, share in ((1200, 1.0), (1100, 0.999), (900, 0.5), (8000, 0.01)):
        m = int(size * share)
        labels = most * (1 - rng.random(m)) if grades is None else np.minimum(rng.choice(grades, m), most)
        for above, depth in ((0, size), (3, size), (0, size * 2 // 3)):
            list_ = one_list(np.concatenate([np.zeros(above), labels, np.zeros(size - m)]))
            (judge,) = prepare_all(list_, [f"ERR(max={most})@{above + depth}"])
            found = judge.per_list(np.repeat([1.0, 0.0], [above, size]) * np.arange(above + size, 0, -1))
            stops = np.exp2(labels - most) - 2.0**-most
            wanted = slow.tied_reciprocal_rank(stops, size, above, depth)
            assert found[0, 0] == pytest.approx(wanted, rel=1e-12)


def test_tied_items_at_which_hardly_any_user_stops_count_little():
    labels = np.repeat([0.0, 1.0, 2000.0, 0.0], [10_000, 3_000, 1, 7_000])  # 2 ** -1999 is 0
    (judge,) = prepare_all(one_list(labels), ["ERR"])
    assert judge.random() == pytest.approx(np.mean(1 / np.arange(1, 20_002)), rel=1e-12)
    (judge,) = prepare_all(one_list(np.repeat([1.0, 0.0], [3_000, 9_000])), ["ERR(max=2000)"])
    assert judge.random() == 0.0


def test_worked_numbers():
    lists, scores = one_list([2.0, 0.0, 1.0]), np.array([3.0, 2.0, 1.0])
    found = values(lists, scores, ["ERR", "ERR(max=4)", "RBP", "RBP(graded=1)", "RBP.residual"])
    assert found["ERR"] == pytest.approx(3 / 4 + (1 - 3 / 4) * (1 / 4) / 3)
    assert found["ERR(max=4)"] == pytest.approx(3 / 16 + (1 - 3 / 16) * (1 / 16) / 3)  # gdeval.pl: 0.20443
    assert found["RBP"] == pytest.approx(0.2 * (1 + 0.64))
    assert found["RBP(graded=1)"] == pytest.approx(0.2 * (1 + 0.64 / 2))
    assert found["RBP.residual"] == pytest.approx(0.8**3)


def test_the_largest_label_may_be_one_that_was_not_retrieved_and_is_in_the_signature():
    lists = one_list([1.0, 0.0], Ragged(np.array([3.0]), np.array([0, 1])))
    err, rbp = prepare_all(lists, ["ERR", "RBP(graded=1)"])
    assert "|gain:(2^rel-1)/2^3|" in err.signature
    assert "|gain:rel/3|" in rbp.signature
    assert rbp.name == "RBP(graded=1)"
    assert err.per_list(np.array([1.0, 0.0]))[0, 0] == 1 / 8
    assert parse("ERR").prepare(one_list([0.0, 0.0])).oracle() == 0.0


def test_what_cannot_be_is_refused():
    with pytest.raises(DataError, match=r"arrays: label 5 is above max=4"):
        parse("ERR(max=4)@10").prepare(one_list([5.0]))
    with pytest.raises(DataError, match=r"label 5 is above max=4"):
        parse("RBP(graded=1, max=4)").prepare(one_list([5.0]))
    with pytest.raises(ConfigError, match="max changes something only with graded=1"):
        parse("RBP(max=4)")
    with pytest.raises(ConfigError, match="rel changes nothing with graded=1"):
        parse("RBP(graded=1, rel=2)")
    with pytest.raises(ConfigError, match="p: found 1, expected less than 1"):
        parse("RBP(p=1)")
