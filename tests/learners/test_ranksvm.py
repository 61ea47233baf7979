"""Ranking SVM: its sums over pairs, its minimum, and inputs that are hard for it."""

from functools import cache, partial

import numpy as np
import pytest
from make import LAYOUTS, lists
from reference import ranksvm as slow_svm
from reference.ranksvm import ExplicitPairs
from scipy.optimize import minimize

from rerank.core.errors import ConfigError, DataNote, FitError
from rerank.core.workers import parallel
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation, make_pairs
from rerank.learners import pair_loss
from rerank.learners.pair_loss import PairLoss, Place
from rerank.learners.ranksvm import STRENGTHS, RankSVM
from rerank.learners.sums.pairs import PairPart, PairSums
from rerank.learners.sums.parts import Parts
from rerank.metrics.base import parse
from rerank.training.train import train

some_lists = partial(lists, grades=None, noise=2.0, tied=3)


def loss_of(lists, *, neighbours=False):
    pairs = make_pairs(lists, PairRelation("neighbours" if neighbours else "all"))
    weight = np.full(pairs.n_lists, 1.0 / pairs.n_pairs)
    return PairLoss(lists.features, pairs, weight, neighbours=neighbours), pairs


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("neighbours", [False, True])
@pytest.mark.parametrize("low", [-np.inf, -1.0, 0.5, 1.0 - 1e-6])
@pytest.mark.parametrize("levels", [2, 30])
def test_sums_slopes_and_curvature_are_those_of_the_pairs(layout, neighbours, low, levels):
    lists = some_lists(seed=3, layout=layout, noise=levels / 2)
    loss, pairs = loss_of(lists, neighbours=neighbours)
    slow = ExplicitPairs(lists, neighbours=neighbours)
    assert len(slow.pairs) == pairs.n_pairs
    w = np.array([0.5, -1.0, 0.25, 0.125])  # scores are exact, so that many are equal or differ by 1
    high, second = loss.set_point(loss.scores(w), low)
    lacks, others = slow.lacks(w), slow.lacks(w, low) if low > -np.inf else 0.0 * slow.weight
    expected = [slow.weight @ lacks, slow.weight @ lacks**2, slow.weight @ others, slow.weight @ others**2]
    np.testing.assert_allclose([*high, *second], expected, rtol=1e-12, atol=1e-15)
    slope = slow.differences.T @ (slow.weight * (lacks - others))
    np.testing.assert_allclose(loss.transposed_product(loss.slope), slope, atol=1e-12)
    scores = slow.differences @ w
    curved = slow.weight * ((scores <= 1.0) & (scores > low))
    matrix = slow.differences.T @ (curved[:, None] * slow.differences)
    np.testing.assert_allclose(np.triu(loss.curvature()), np.triu(matrix), atol=1e-12)
    v = np.array([1.0, 2.0, -0.5, 3.0])
    np.testing.assert_allclose(loss.hessian_vector(v), matrix @ v, atol=1e-12)


def test_sums_are_those_of_the_pairs_on_random_lists():
    rng = np.random.default_rng(1)
    for seed in range(100):
        lengths = rng.integers(1, 25, 5)
        labels = rng.integers(0, rng.integers(2, 25), lengths.sum()).astype(float)
        X = np.round(rng.standard_normal((len(labels), 2)) * 4) / 4
        lists = CandidateLists.from_arrays(X, labels, group=lengths)
        neighbours = bool(seed % 2)
        loss, pairs = loss_of(lists, neighbours=neighbours)
        slow = ExplicitPairs(lists, neighbours=neighbours)
        assert len(slow.pairs) == pairs.n_pairs
        high, low = loss.set_point(loss.scores(np.ones(2)), 0.25)
        assert high.squares == pytest.approx(slow.weight @ slow.lacks(np.ones(2)) ** 2)
        assert low.total == pytest.approx(slow.weight @ slow.lacks(np.ones(2), 0.25))


@pytest.mark.parametrize("loss", ["l1", "l2"])
@pytest.mark.parametrize("strength", [0.01, 3.0, 50.0])
@pytest.mark.parametrize("how", [{}, {"pairs": "neighbours"}, {"list_balance": False}])
@pytest.mark.parametrize("weights", [None, [2.0, 1.0, 0.5, 1.0, 0.0]])
def test_the_minimum_is_that_of_explicit_pairs(loss, strength, how, weights):
    lists = some_lists(seed=4)
    slow = ExplicitPairs(
        lists,
        neighbours=how.get("pairs") == "neighbours",
        list_balance=how.get("list_balance", True),
        list_weights=weights,
    )
    expected, value = slow.minimum(strength, loss, gap=1e-6)
    given = None if weights is None else np.array(weights)
    model = RankSVM(C=strength, loss=loss, **how).fit(lists, list_weights=given)
    found = slow.objective(model.weights, strength, loss)
    assert value * (1 - 1e-6) <= found <= value * (1 + 1e-4)
    np.testing.assert_allclose(model.weights, expected, atol=0.02 * np.abs(expected).max())
    rounds = model.training.rounds
    assert strength == rounds.C
    assert rounds.loss == pytest.approx(
        slow.objective(model.weights, 1.0, loss) - 0.5 * model.weights @ model.weights
    )
    assert model.training.data.lists_without_pair == 2


MARGINS = [
    {"margin": "uneven"},
    {"margin": "uneven", "margin_power": 0.5},
    {"margin": "label"},
    {"margin": "label", "pairs": "neighbours"},
]


@pytest.mark.parametrize("loss", ["l1", "l2"])
@pytest.mark.parametrize("strength", [0.01, 3.0, 50.0])
@pytest.mark.parametrize("how", MARGINS, ids=str)
def test_margins_are_those_of_the_pairs(loss, strength, how):
    lists, power = some_lists(seed=4), how.get("margin_power", 1.0)
    margin = partial(slow_svm.uneven, power=power) if how["margin"] == "uneven" else slow_svm.by_label
    slow = ExplicitPairs(lists, neighbours="pairs" in how, list_balance=True, margin=margin)
    value = slow.minimum(strength, loss, gap=1e-6)[1]
    for tolerance in (1e-4, 1e-7):
        model = RankSVM(C=strength, loss=loss, tolerance=tolerance, **how).fit(lists)
        found = slow.objective(model.weights, strength, loss)
        assert value * (1 - 1e-6) <= found <= value * (1 + 10 * tolerance)
    own = 0.5 * model.weights @ model.weights
    assert model.training.rounds.loss == pytest.approx(slow.objective(model.weights, 1.0, loss) - own)


def test_the_units_of_labels_do_not_matter():
    lists = some_lists(seed=6)
    other = lists.replace_labels(1000.0 * lists.labels + 7.0)
    a, b = (RankSVM(margin="label").fit(one).weights for one in (lists, other))
    np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-6)
    huge = lists.replace_labels(np.where(lists.labels > 0, 1.7e308, -1.7e308))
    with pytest.raises(FitError, match="margins overflow"):
        RankSVM(margin="label").fit(huge)


@cache
def lowest(layout, loss):
    """Lists, the loss of their explicit pairs, and its least value."""
    found = some_lists(seed=5, layout=layout, sizes=(20, 15, 30, 2), d=7)
    slow = ExplicitPairs(found, list_balance=True)
    return found, slow, slow.minimum(20.0, loss, gap=1e-6)[1]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("loss", ["l1", "l2"])
@pytest.mark.parametrize("explicit", [512, 0])
def test_every_layout_and_both_ways_to_solve_reach_the_minimum(layout, loss, explicit, monkeypatch):
    monkeypatch.setattr(pair_loss, "EXPLICIT", explicit)
    lists, slow, value = lowest(layout, loss)
    model = RankSVM(C=20.0, loss=loss, tolerance=1e-5).fit(lists)
    assert slow.objective(model.weights, 20.0, loss) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("loss", ["l1", "l2"])
@pytest.mark.parametrize("how", [{}, {"pairs": "neighbours"}, {"list_balance": False}])
def test_many_lists_start_from_the_minimum_of_a_part(loss, how):
    lists = some_lists(seed=20, sizes=np.random.default_rng(20).integers(3, 8, 400), noise=1.5)
    assert some_of(lists, lists.n_features) is not None
    neighbours = "pairs" in how
    slow = ExplicitPairs(lists, neighbours=neighbours, list_balance=how.get("list_balance", True))
    model = RankSVM(loss=loss, **how).fit(lists)
    pulled = RankSVM(loss=loss, tolerance=1e-7, **how).fit(lists)
    assert slow.objective(model.weights, 10.0, loss) == pytest.approx(
        slow.objective(pulled.weights, 10.0, loss), rel=1e-4
    )
    reference = minimize(slow.objective, pulled.weights, args=(10.0, loss), method="Nelder-Mead")
    assert slow.objective(pulled.weights, 10.0, loss) <= reference.fun * (1 + 1e-7)


def some_of(lists, d):
    """The loss of evenly spaced lists, None if there are too few."""
    pairs = make_pairs(lists, PairRelation("all"))
    weight = np.arange(1.0, pairs.n_lists + 1)
    part = PairPart(lists.features, pairs, weight, neighbours=False, balanced=True)
    return PairSums.of(Parts([part], lists.n_lists), d, uneven=False)[1]


def test_a_part_has_the_pairs_of_its_lists():
    lists = some_lists(seed=21, sizes=np.full(300, 6))
    part = some_of(lists, 2)
    pairs = make_pairs(lists, PairRelation("all"))
    weights = np.arange(1.0, pairs.n_lists + 1)[::16]
    expected = ExplicitPairs(lists.subset(pairs.lists[::16]), list_balance=True, list_weights=weights)
    w = np.array([0.5, -1.0, 0.25, 0.125])
    lacks = expected.lacks(w)
    assert part.sums(Place(w, -np.inf))[0].squares == pytest.approx(expected.weight @ lacks**2)
    assert some_of(lists, 1000) is None
    assert some_of(lists.subset(np.arange(100)), 2) is None


def test_more_features_than_items():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((12, 600))
    lists = CandidateLists.from_arrays(X, rng.integers(0, 3, 12).astype(float), group=[6, 6])
    for loss in ("l1", "l2"):
        for strength in (1e-4, 1.0, 1e4):
            slow = ExplicitPairs(lists, list_balance=True)
            value = slow.minimum(strength, loss, gap=1e-6)[1]
            model = RankSVM(C=strength, loss=loss).fit(lists)
            assert slow.objective(model.weights, strength, loss) == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_a_wide_margin_of_separable_lists(loss):
    lists = CandidateLists.from_arrays(
        [[3.0, 1.0], [1.0, 5.0], [0.0, 0.0], [0.5, 9.0]], [1, 0, 0, 1], group=[2, 2]
    )
    model = RankSVM(C=1e6, loss=loss, tolerance=1e-6).fit(lists)
    slow = ExplicitPairs(lists, list_balance=True)
    assert slow.lacks(model.weights).max() < 1e-4
    assert 0.5 * model.weights @ model.weights == pytest.approx(
        slow.minimum(1e6, loss, gap=1e-5)[1], rel=1e-4
    )


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_weak_and_strong_losses(loss):
    lists = some_lists(seed=6)
    means = ExplicitPairs(lists, list_balance=True)
    direction = means.differences.T @ means.weight
    model = RankSVM(C=1e-100, loss=loss).fit(lists)
    found = model.weights / np.abs(model.weights).max()
    np.testing.assert_allclose(found, direction / np.abs(direction).max(), rtol=1e-9)
    strong = RankSVM(C=1e12, loss=loss).fit(lists)
    less = RankSVM(C=1e8, loss=loss).fit(lists)
    np.testing.assert_allclose(
        means.lacks(strong.weights).mean(), means.lacks(less.weights).mean(), rtol=1e-2
    )


@pytest.mark.parametrize("loss", ["l1", "l2"])
@pytest.mark.parametrize("strength", [1e30, 1e60])
def test_a_c_beyond_the_digits_of_a_double_is_reported_and_never_worse_than_nothing(loss, strength):
    lists = some_lists(seed=6)
    with pytest.warns(DataNote, match=r"^some lists: ranksvm stopped after \d+ iterations?, up to"):
        model = RankSVM(C=strength, loss=loss).fit(lists)
    assert model.training.rounds.loss <= 1.0


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_threads_do_not_change_a_bit(loss):
    lists = some_lists(seed=8, sizes=(1000, 900, 1100, 2000, 700), noise=25.0)
    one = RankSVM(loss=loss).fit(lists)
    with parallel.using(3):
        three = RankSVM(loss=loss).fit(lists)
    assert one.weights.tobytes() == three.weights.tobytes()
    assert one.training.rounds == three.training.rounds


def test_the_unit_of_list_weights_does_not_matter():
    lists = some_lists(seed=9)
    weights = np.array([1.0, 2.0, 3.0, 1.0, 0.5])
    model = RankSVM().fit(lists, list_weights=weights)
    same = RankSVM().fit(lists, list_weights=1e300 * weights)
    np.testing.assert_allclose(model.weights, same.weights, rtol=1e-9)


def test_only_the_order_of_labels_matters():
    lists = some_lists(seed=10)
    far = lists.replace_labels(1e6 * np.exp(lists.labels))
    assert RankSVM().fit(lists).weights.tobytes() == RankSVM().fit(far).weights.tobytes()


def test_a_constant_of_a_list_changes_little():
    lists = some_lists(seed=11)
    X = lists.features.to_dense() + 1e6 * lists.list_index[:, None]
    moved = CandidateLists.from_arrays(X, lists.labels, group=lists.lengths)
    for loss in ("l1", "l2"):
        a, b = (RankSVM(loss=loss, tolerance=1e-6).fit(x).weights for x in (lists, moved))
        np.testing.assert_allclose(a, b, atol=2e-3 * np.abs(a).max())


def test_features_that_are_constant_in_every_list_get_no_weight():
    lists = some_lists(seed=12)
    X = np.column_stack([lists.features.to_dense(), lists.list_index, np.ones(lists.n_items)])
    model = RankSVM().fit(CandidateLists.from_arrays(X, lists.labels, group=lists.lengths))
    assert np.abs(model.weights[4:]).max() < 1e-12 < np.abs(model.weights[:4]).min()
    equal = CandidateLists.from_arrays(np.ones((4, 2)), [1.0, 2.0, 1.0, 0.0], group=[2, 2], source="equal")
    with pytest.warns(DataNote, match=r"^equal: ranksvm learnt nothing, all weights are 0$"):
        assert not RankSVM().fit(equal).weights.any()


def test_pairs_of_equal_items_are_no_obstacle():
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    lists = CandidateLists.from_arrays(X, [3.0, 2.0, 1.0, 0.0], group=[4])
    for loss in ("l1", "l2"):
        slow = ExplicitPairs(lists, list_balance=True)
        value = slow.minimum(5.0, loss)[1]
        model = RankSVM(C=5.0, loss=loss).fit(lists)
        assert slow.objective(model.weights, 5.0, loss) == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize("loss", ["l1", "l2"])
@pytest.mark.parametrize("size", [1e160, 1e300])
def test_an_overflow_is_one_clear_error(loss, size):
    lists = CandidateLists.from_arrays(
        np.array([[size, 1.0], [-size, 2.0], [1.0, size]]), [2.0, 1.0, 0.0], group=[3], source="large"
    )
    with pytest.raises(FitError, match=r"^large: the loss overflows with C = 10; scale the features"):
        RankSVM(loss=loss).fit(lists)


def test_too_few_steps_are_reported_with_a_bound():
    with pytest.warns(DataNote, match=r"^some lists: ranksvm stopped after 1 iteration, up to \d+\.\d\d% of"):
        RankSVM(iterations=1).fit(some_lists())


@pytest.mark.parametrize("C", [0, -1, "deV", float("inf"), float("nan")])
def test_c_is_above_0_or_dev(C):
    with pytest.raises(ConfigError, match=r"^C: found .*, expected"):
        RankSVM(C=C)


def test_c_is_chosen_on_dev_among_minima():
    lists, dev = some_lists(seed=13, noise=6.0), some_lists(seed=14, noise=6.0)
    judge = parse("AP(rel=2)").prepare(dev)
    model = RankSVM(C="dev", tolerance=1e-9).fit(lists, dev=(dev, judge))
    values = [row["dev"] for row in model.curve]
    best = int(np.argmax(values))
    assert [row["C"] for row in model.curve] == list(STRENGTHS[: len(values)])
    assert STRENGTHS[best] == model.training.rounds.C
    assert model.training.rounds.dev == values[best]
    alone = RankSVM(C=STRENGTHS[best], tolerance=1e-9).fit(lists)
    np.testing.assert_allclose(model.weights, alone.weights, atol=1e-3)
    with pytest.raises(FitError, match=r"^learner ranksvm: C=dev needs development lists and a metric$"):
        RankSVM(C="dev").fit(lists)


def test_ohsumed_with_settings_chosen_on_vali(shared_data):
    from rerank.formats import load

    folder = shared_data / "ohsumed"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    values = []
    for fold in range(1, 6):
        train_lists, vali, test = (
            load(str(folder / f"Fold{fold}" / f"{p}.txt.gz")) for p in ("train", "vali", "test")
        )
        model = train(train_lists, "ranksvm", dev=vali, metric="AP", C="dev")
        judge = parse("AP").prepare(test)
        values.append(judge.per_list(model.score(test)).mean())
    assert np.mean(values) > 0.442
