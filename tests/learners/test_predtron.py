"""Predtron on lists: whole runs against the slow twin, its bounds, its settings and odd data."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from make import LAYOUTS, features
from reference import predtron as slow

from rerank.core.errors import FitError
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.learners.predtron import Predtron
from rerank.learners.predtron.ranking import graded_lists
from rerank.learners.predtron.steps import discounts, linked, radius2
from rerank.metrics.base import parse
from rerank.models.dual import with_width
from rerank.similarity.vectors import VectorKernel


def some_lists(seed=0, layout="dense", lengths=(5, 1, 6, 4, 12, 3), n_features=4):
    """Lists with ties, an item alone, an unjudged item and a list of equal labels."""
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    X = np.where(rng.random((n, n_features)) < 0.3, 0.0, rng.standard_normal((n, n_features)))
    if layout == "indicators":
        X = (X > 0).astype(float)
    if layout == "float32":
        X = X.astype(np.float32).astype(float)
    labels = np.round(X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(n)).clip(-1, 2)
    labels[3] = np.nan
    labels[-3:] = 1.0
    return CandidateLists.from_arrays(features(layout, X), labels, group=lengths, source="some lists")


def weights_of(learner, lists, **inputs):
    model = learner.fit(lists, **inputs)
    return model.weights, [(row["updates"], row["loss"]) for row in model.curve]


def same(learner, lists, eta=None, **inputs):
    """Assert that a run equals the twin's."""
    found, curve = weights_of(
        learner, lists, list_weights=inputs.get("list_weights"), initial=inputs.get("start")
    )
    expected, rounds = slow.fit(learner, lists, learner.eta if eta is None else eta, **inputs)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(curve, rounds, rtol=1e-12, atol=1e-12)
    assert curve[0][0] > 0


SETTINGS = [
    {},
    {"average": "last", "shuffle": False},
    {"positions": "reciprocal"},
    {"exponent": 2.0, "gain": "linear"},
    {"exponent": 0.3, "eta": 0.01},
    {"ties": "index"},
    {"variant": "loss-driven"},
    {"variant": "loss-driven", "ties": "index", "positions": "reciprocal"},
    {"norm": "p"},
    {"norm": "p", "variant": "loss-driven", "average": "last"},
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_run_equals_the_twins(layout, settings):
    for seed in range(3):
        same(Predtron(epochs=4, seed=seed, **settings), some_lists(seed, layout))


@pytest.mark.parametrize("variant", ["standard", "loss-driven"])
@pytest.mark.parametrize("cutoff", [1, 2, 5])
def test_a_cutoff_lets_places_beyond_it_follow_the_scores(variant, cutoff):
    start = np.array([0.3, -0.7, 0.2, 1.1])  # scores of 0 would leave the places beyond the cutoff open
    for seed, ties in itertools.product(range(3), ("score", "index")):
        learner = Predtron(epochs=3, cutoff=cutoff, variant=variant, ties=ties, eta=0.2)
        same(learner, some_lists(seed), start=start)


@pytest.mark.parametrize("norm", ["l2", "p"])
def test_initial_weights_and_list_weights(norm):
    lists = some_lists(5)
    weights = np.array([1.0, 3.0, 0.0, 0.5, 2.0, 1.0])
    same(Predtron(epochs=3, norm=norm), lists, start=np.array([0.3, 0.0, 0.2, -1.1]), list_weights=weights)


@pytest.mark.parametrize(
    ("settings", "function"),
    [
        ({"kernel": "linear"}, lambda X: X @ X.T),
        ({"kernel": "polynomial", "degree": 3, "gamma": 0.5}, lambda X: (0.5 * X @ X.T + 1) ** 3),
        (
            {"kernel": "gaussian", "gamma": 0.3},
            lambda X: np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2)),
        ),
    ],
)
@pytest.mark.parametrize("layout", ["dense", "sparse", "mixed"])
def test_a_kernel_form_equals_the_twins(settings, function, layout):
    lists = some_lists(2, layout)
    learner = Predtron(epochs=3, eta=0.5, **settings)
    model = learner.fit(lists)
    gram = function(lists.features.to_dense())
    coefficients, curve = slow.fit(learner, lists, 0.5, gram=gram)
    np.testing.assert_allclose([(r["updates"], r["loss"]) for r in model.curve], curve, rtol=1e-9)
    np.testing.assert_allclose(model.score_aligned(lists), gram @ coefficients, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        np.sort(model.coefficients), np.sort(coefficients[coefficients != 0]), atol=1e-9
    )


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_the_gaussian_has_the_median_distance_as_its_width(layout):
    lists = some_lists(2, layout)
    X = lists.features.to_dense()
    graded = graded_lists(lists, "exponential").items  # those that are learnt from
    every = itertools.combinations(X[graded].tolist(), 2)
    apart = [d for a, b in every if (d := math.dist(a, b)) > 0]
    model = Predtron(kernel="gaussian", epochs=3).fit(lists)
    assert model.kernel.gamma == pytest.approx(1 / (2 * np.median(apart) ** 2))
    given = Predtron(kernel="gaussian", gamma=model.kernel.gamma, epochs=3).fit(lists)
    np.testing.assert_array_equal(model.score(lists), given.score(lists))


@pytest.mark.parametrize("n", [2, 5, 2500])
def test_the_median_is_that_of_different_items(n):
    X = np.zeros((n, 1))
    X[1::2] = 3.0
    by_data = VectorKernel("gaussian", gamma=0.0)
    assert with_width(by_data, Dense(X)).gamma == pytest.approx(1 / 18)
    assert with_width(by_data, Dense(np.ones((n, 1)))).gamma == 1.0
    assert with_width(VectorKernel("gaussian", gamma=0.3), Dense(X)).gamma == 0.3


def test_gamma_of_a_polynomial_is_1_by_default():
    lists = some_lists(2)
    assert Predtron(kernel="polynomial", epochs=2).fit(lists).kernel.gamma == 1.0
    assert Predtron(kernel="gaussian", gamma=1.0, epochs=2).fit(lists).kernel.gamma == 1.0


def test_the_linear_kernel_is_the_plain_form():
    lists, more = some_lists(3), some_lists(4)
    judge = parse("nDCG-exp").prepare(lists)
    dev = (more, parse("nDCG-exp").prepare(more))
    plain = Predtron(epochs=6, keep="best").fit(lists, judge=judge, dev=dev)
    dual = Predtron(epochs=6, keep="best", kernel="linear").fit(lists, judge=judge, dev=dev)
    np.testing.assert_allclose(dual.score(more), plain.score(more), rtol=1e-9, atol=1e-12)
    assert dual.training.rounds == plain.training.rounds
    for row, other in zip(dual.curve, plain.curve, strict=True):
        assert row == pytest.approx(other, rel=1e-9)


def all_losses(learner, gains):
    """The losses of all rankings that are not correct."""
    rankings = itertools.permutations(range(1, len(gains) + 1))
    return [slow.loss(learner, r, gains) for r in rankings if not slow.is_correct(learner, r, gains)]


@pytest.mark.parametrize("cutoff", [None, 1, 2, 3, 4])
def test_the_range_of_losses_is_that_of_all_rankings(cutoff):
    learner = Predtron(cutoff=cutoff)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, 4, 10).astype(float)
        labels[[0, 4]], labels[[3, 9]] = 0.0, 3.0
        lists = CandidateLists.from_arrays(np.ones((10, 1)), labels, group=[4, 6])
        found = graded_lists(lists, "exponential").losses(discounts(6, cutoff), cutoff or 6)
        losses = [x for _, _, gains in slow.used_lists(learner, lists) for x in all_losses(learner, gains)]
        assert found.least == pytest.approx(min(losses), rel=1e-12)
        assert found.most == pytest.approx(max(losses), rel=1e-12)


def separable(seed, direction, m=5, n_lists=30):
    """Lists whose labels are the ranks of X·direction, which are well apart, and X."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_lists * m, len(direction)))
    ranks = np.argsort(np.argsort((X @ direction).reshape(n_lists, m), axis=1), axis=1).reshape(-1)
    X += np.outer(0.3 * ranks, direction) / (direction @ direction)
    return CandidateLists.from_arrays(X, ranks.astype(float), group=[m] * n_lists), X


def margin_of(learner, X, direction, m=5):
    """The least difference of products with scores between the right ranking and another one."""
    right = vector = slow.vector(learner, range(1, m + 1))
    others = [vector[list(p)] for p in itertools.permutations(range(m)) if list(p) != list(range(m))]
    scores = -np.sort(-(X @ direction).reshape(-1, m), axis=1)
    return min(float((right - other) @ t) for t in scores for other in others)


@pytest.mark.parametrize("variant", ["standard", "loss-driven"])
@pytest.mark.parametrize("norm", ["l2", "p"])
@pytest.mark.parametrize("positions", [{"exponent": 1.0}, {"exponent": 2.0}, {"positions": "reciprocal"}])
def test_the_bounds_of_the_losses(variant, norm, positions):
    rng = np.random.default_rng(1)
    for seed in range(3):
        direction = rng.standard_normal(10)
        if norm == "p":
            direction *= np.arange(10) < 2
        direction /= np.linalg.norm(direction, 1 if norm == "p" else 2)
        lists, X = separable(seed, direction)
        learner = Predtron(
            eta="theorem", variant=variant, norm=norm, average="last", epochs=200, gain="linear", **positions
        )
        model = learner.fit(lists)
        total = sum(row["loss"] for row in model.curve) * lists.n_lists
        graded = graded_lists(lists, "linear")
        losses = graded.losses(discounts(5, None), 5)
        R2 = radius2(lists.features, graded.offsets, graded.items, by_column=norm == "p")
        if norm == "p":
            R2 *= math.e**2 * (math.log(10) - 1)
        unit = losses.least if variant == "standard" else losses.most
        bound = 4 * R2 * losses.most**2 / (unit * margin_of(learner, X, direction) ** 2)
        assert 0 < total <= bound
        assert model.training.notes["eta"] == pytest.approx(
            (losses.least if variant == "standard" else 1 / losses.most) / (4 * R2), rel=1e-12
        )


def test_the_radius_is_at_least_the_operator_norm():
    lists = some_lists(1)
    graded = graded_lists(lists, "exponential")
    X = lists.features.to_dense()
    blocks = [X[graded.items[a:b]] for a, b in itertools.pairwise(graded.offsets)]
    for by_column, expected in (
        (False, max((block**2).sum() for block in blocks)),
        (True, max((block**2).sum(axis=0).max() for block in blocks)),
    ):
        found = radius2(lists.features, graded.offsets, graded.items, by_column)
        assert found == pytest.approx(expected, rel=1e-12)
    assert radius2(lists.features, graded.offsets, graded.items, False) >= max(
        np.linalg.norm(block, 2) ** 2 for block in blocks
    )


@pytest.mark.parametrize("shape", [(3,), (9,), (2, 9), (4, 30)])
def test_the_link_is_a_gradient_and_has_an_inverse(shape):
    rng = np.random.default_rng(0)
    theta = rng.standard_normal(shape)
    theta[..., 1] = 0.0
    q = math.log(shape[-1])
    w = linked(theta, q)
    np.testing.assert_allclose(linked(w, q / (q - 1)), theta, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(linked(1e-200 * theta, q), 1e-200 * w, rtol=1e-9)

    def half_square(x):
        norms = np.abs(x) if x.ndim == 1 else np.linalg.norm(x, axis=0)
        return 0.5 * np.linalg.norm(norms, q) ** 2

    for place in np.ndindex(*shape):
        if place[-1] != 1:
            step = np.zeros(shape)
            step[place] = 1e-6
            slope = (half_square(theta + step) - half_square(theta - step)) / 2e-6
            assert w[place] == pytest.approx(slope, abs=1e-6)
    assert not linked(np.zeros(shape), q).any()


def test_the_order_of_a_file_is_not_taken_for_something_learnt():
    lists = some_lists(7, lengths=(5, 6, 4, 12))
    labels = np.where(np.isnan(lists.labels), 0.0, lists.labels)
    order = np.lexsort((-labels, lists.list_index))
    best_first = CandidateLists.from_arrays(lists.features.take(order), labels[order], group=lists.lengths)
    assert Predtron(epochs=1).fit(best_first).weights.any()


def test_lists_without_two_gains_are_counted_and_left_out():
    lists = some_lists()
    model = Predtron(epochs=2).fit(lists)
    assert model.training.data.lists_without_pair == 3
    assert model.training.data.judged == sum(len(rows) for _, rows, _ in slow.used_lists(Predtron(), lists))
    kept = replace(lists, labels=np.where(lists.labels == -1, 0.0, lists.labels))
    np.testing.assert_array_equal(model.weights, Predtron(epochs=2).fit(kept).weights)


def test_a_run_that_makes_no_mistake_ends():
    lists, _ = separable(0, np.eye(4)[0])
    model = Predtron(epochs=500, eta=0.1, average="last").fit(lists)
    assert model.training.rounds.converged
    assert model.curve[-1] == {"round": model.training.rounds.run, "updates": 0, "loss": 0.0}


@pytest.mark.parametrize(
    ("settings", "changes", "message"),
    [
        ({}, {"label": 2e6}, r"label 2e\+06 is too large for the gain 2\^label - 1; use gain=linear"),
        ({}, {"scale": 1e300}, "scores or weights overflow; scale the features"),
        ({"norm": "p"}, {"scale": 1e300}, "scores or weights overflow; scale the features"),
        ({"kernel": "linear"}, {"scale": 1e300}, "the kernel overflows; scale the features"),
        ({"eta": "theorem"}, {"scale": 1e300}, "eta=theorem: the features or losses are out of range"),
        ({"eta": "theorem"}, {"scale": 0.0}, "eta=theorem: the features are all 0"),
        ({"eta": "theorem", "norm": "p"}, {}, "with norm=p the bound needs 8 features"),
        ({"norm": "p"}, {"n_features": 2}, "norm=p: found 2 features, expected 3 or more"),
        ({"exponent": 1e-30}, {}, "exponent=1e-30: -i\\^exponent is not finite and falling over 12 places"),
    ],
)
def test_data_that_cannot_be_learnt_from(settings, changes, message):
    lists = some_lists(n_features=changes.get("n_features", 4))
    X = lists.features.to_dense() * changes.get("scale", 1.0)
    labels = lists.labels.copy()
    labels[0] = changes.get("label", labels[0])
    odd = CandidateLists.from_arrays(X, labels, group=lists.lengths, source="odd")
    with pytest.raises(FitError, match=message):
        Predtron(**settings).fit(odd)


def test_labels_may_be_large_if_gains_are_linear():
    lists = some_lists()
    model = Predtron(gain="linear", epochs=3).fit(lists)
    large = replace(lists, labels=lists.labels * 1e300)
    np.testing.assert_allclose(Predtron(gain="linear", epochs=3).fit(large).weights, model.weights, rtol=1e-9)


def test_inputs_that_do_not_fit():
    lists = some_lists()
    with pytest.raises(FitError, match="no list has two different gains"):
        Predtron().fit(replace(lists, labels=-np.ones(lists.n_items)))
    with pytest.raises(FitError, match="every list with two different gains has weight 0"):
        Predtron().fit(lists, list_weights=np.array([0.0, 1.0, 0.0, 0.0, 0.0, 1.0]))
    with pytest.raises(FitError, match="kernel=linear has no weights of features to start from"):
        Predtron(kernel="linear").fit(lists, initial=np.ones(4))
    with pytest.raises(FitError, match="scores under the initial weights overflow"):
        Predtron().fit(lists, initial=np.full(4, 1e308))
