"""LDA and RankLDA: scatter and maxima against slow twins and brute force, degenerate lists, refusals."""

import numpy as np
import pytest
from make import LAYOUTS, features
from reference import discriminant as slow
from small_training import fit, make_learner

from rerank.core.errors import ConfigError, FitError
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Concordance
from rerank.learners.discriminants import BETAS, Criterion, discriminant_vectors
from rerank.learners.scatter import Scatter
from rerank.learners.sums import scatter as scatters


def some_lists(seed=0, layout="dense", lengths=(9, 1, 7, 12, 8, 2), d=3, n_labels=3, labels=None):
    """Lists with noise, an item alone, unjudged items and a feature that knows the label."""
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    if labels is None:
        labels = rng.integers(0, n_labels, n).astype(float)
        labels[rng.random(n) < 0.1] = np.nan
    X = np.round(rng.standard_normal((n, d)) * 8) / 8
    X[:, 0] += np.nan_to_num(labels)
    X[:, 1] += np.nan_to_num(labels) == 1
    if layout == "indicators":
        X = (X > 0).astype(float)
    return CandidateLists.from_arrays(features(layout, X), labels, group=lengths, source="some lists")


def reversed_lists(seed=0, d=3):
    """Figure 5.2: along one feature the middle label is furthest from the others."""
    rng = np.random.default_rng(seed)
    labels = np.tile([0.0, 0.0, 1.0, 1.0, 2.0, 2.0], 6)
    X = 0.3 * rng.standard_normal((36, d))
    X[:, 0] += 3 * (labels == 1)
    X[:, 1] += labels
    return CandidateLists.from_arrays(X, labels, group=[6] * 6, source="reversed")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(3))
def test_scatter_is_that_of_the_definitions(layout, seed, monkeypatch):
    monkeypatch.setattr(scatters, "_BLOCK", 30)  # several blocks of lists
    lists = some_lists(seed, layout)
    weights = None if seed == 0 else np.array([1.0, 1.0, 0.5, 2.0, 0.0, 1.0])
    found = Scatter.of(lists, 0.01, weights, "lda", pairs=True)
    W, B, of_pairs, count = slow.scatters(lists, 0.01, weights)
    M = found.whitener
    np.testing.assert_allclose(M.T @ W @ M, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(M.T @ B @ M, found.between, atol=1e-12)
    assert [tuple(map(float, pair)) for pair in found.pairs] == sorted(of_pairs)
    for pair, matrix, n in zip(found.pairs, found.of_pairs, found.n_lists, strict=True):
        np.testing.assert_allclose(M.T @ of_pairs[pair] @ M, matrix, atol=1e-12)
        assert n == count[pair]


@pytest.mark.parametrize("seed", range(4))
def test_lda_is_the_generalised_eigenvector(seed):
    lists = some_lists(seed, d=5)
    model = make_learner("lda", {"ridge": 0.1}).fit(lists)
    values, vectors = slow.fisher(lists, 0.1)
    assert abs(model.weights @ slow.scatters(lists, 0.1)[0] @ vectors[:, 0]) == pytest.approx(1, abs=1e-9)
    assert model.training.notes["ratio"] == pytest.approx(values[0], rel=1e-9)
    assert model.training.data.grades == 3


def sphere(k, seed=0, n=40_000):
    """Unit vectors: all angles by a fine step in a plane, many random ones in space."""
    if k == 2:
        angles = np.linspace(0, np.pi, n)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points = np.random.default_rng(seed).standard_normal((n, k))
    return points / np.sqrt((points**2).sum(axis=1))[:, None]


def best_of_sphere(lists, beta, points):
    """The largest criterion of points in the coordinates of the twin's W."""
    W, _, of_pairs, count = slow.scatters(lists, 0.1)
    M = np.linalg.inv(np.linalg.cholesky(W)).T
    most = max(count.values())
    b = {pair: np.einsum("ni,ij,nj->n", points, M.T @ B @ M, points) for pair, B in of_pairs.items()}
    value = sum(b.values())
    for i, j in b:
        for r, z in b:
            if i <= r and z <= j and (r, z) != (i, j):
                value = value - beta * np.maximum(0.0, most * (b[r, z] / count[r, z] - b[i, j] / count[i, j]))
    return value.max()


@pytest.mark.parametrize("beta", [0.0, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("make", [some_lists, reversed_lists])
@pytest.mark.parametrize(("d", "seed"), [(2, 0), (2, 1), (3, 2), (3, 3), (3, 4)])
def test_ranklda_is_no_worse_than_any_point_of_the_sphere(make, beta, d, seed):
    lists = make(seed, d=d)
    found = Criterion(Scatter.of(lists, 0.1, None, "ranklda", pairs=True), beta).maximum()
    weights = Scatter.of(lists, 0.1, None, "ranklda", pairs=True).whitener @ found.vector
    assert slow.criterion(lists, 0.1, beta, weights) == pytest.approx(found.value, rel=1e-9)
    best = best_of_sphere(lists, beta, sphere(d, seed))
    assert found.value >= best - 1e-5 * found.bound
    assert found.bound >= max(best, found.value) - 1e-9 * found.bound


@pytest.mark.parametrize("n_labels", [4, 6])
def test_many_constraints_leave_a_bound(n_labels):
    lists = some_lists(1, d=4, n_labels=n_labels, lengths=(40, 30, 30))
    for beta in (1.0, 50.0):
        found = Criterion(Scatter.of(lists, 0.1, None, "ranklda", pairs=True), beta).maximum()
        best = best_of_sphere(lists, beta, sphere(4))
        assert found.bound >= max(best, found.value) - 1e-9 * abs(found.bound)
        assert found.value >= best - 0.01 * abs(found.bound)


def test_the_middle_label_separates_lda_but_not_ranklda():
    lists = reversed_lists()
    plain = fit(make_learner("lda", {}), lists, metric="PairAcc", scaling="none")
    ranked = fit(make_learner("ranklda", {}), lists, metric="PairAcc", scaling="none")
    assert np.argmax(np.abs(plain.weights)) == 0
    assert np.argmax(np.abs(ranked.weights)) == 1
    assert ranked.training.rounds.train > 0.8 > plain.training.rounds.train
    assert ranked.training.notes["beta"] in BETAS
    assert ranked.training.notes["gap"] < 1e-5


@pytest.mark.parametrize("beta", [None, 0.0, 10.0, "train"])
@pytest.mark.parametrize("make", [some_lists, reversed_lists])
def test_vectors_are_at_right_angles_under_w_and_rank_upwards(make, beta):
    lists = make(3, d=5)
    vectors = discriminant_vectors(lists, 3, beta=beta, ridge=0.1)
    W = slow.scatters(lists, 0.1)[0]
    np.testing.assert_allclose(vectors.T @ W @ vectors, np.eye(3), atol=1e-8)
    pairs = Concordance(lists.labels, lists.offsets)
    assert all(pairs.accuracy(lists.features.scores(w)) >= 0.5 for w in vectors.T.copy())
    if beta is None:
        expected = slow.fisher(lists, 0.1)[1][:, :3]
        np.testing.assert_allclose(np.abs(vectors), np.abs(expected), atol=1e-8)
    elif beta != "train":
        model = make_learner("ranklda", {"beta": beta, "ridge": 0.1}).fit(lists)
        np.testing.assert_array_equal(model.weights, vectors[:, 0])


def test_each_next_vector_is_the_best_of_what_is_left():
    lists = reversed_lists(1, d=3)
    vectors = discriminant_vectors(lists, 2, beta=10.0, ridge=0.1)
    W = slow.scatters(lists, 0.1)[0]
    plane = np.linalg.svd((W @ vectors[:, 0])[None])[2][1:]  # all a with aᵀW vectors[:, 0] = 0
    second = slow.criterion(lists, 0.1, 10.0, vectors[:, 1])
    others = [slow.criterion(lists, 0.1, 10.0, point @ plane) for point in sphere(2, n=400)]
    assert second >= max(others) - 1e-9


def test_beta_is_chosen_on_the_training_lists():
    lists = reversed_lists(2)
    chosen = fit(make_learner("ranklda", {}), lists, metric="AP", scaling="none")
    values = [
        fit(make_learner("ranklda", {"beta": beta}), lists, metric="AP", scaling="none").training.rounds.train
        for beta in BETAS
    ]
    assert chosen.training.notes["beta"] == BETAS[int(np.argmax(values))]
    assert chosen.training.rounds.train == max(values)


@pytest.mark.parametrize("name", ["lda", "ranklda"])
def test_units_constant_and_repeated_features_do_not_matter(name):
    lists = some_lists(5, d=4)
    X, labels = lists.features.to_dense(), lists.labels
    learner = make_learner(name, {})

    def scores(X):
        other = CandidateLists.from_arrays(X, labels, group=lists.lengths)
        return learner.fit(other).score(other)

    expected = scores(X)
    np.testing.assert_allclose(scores(X * [1e-200, 1e120, 1.0, 7.0]), expected, rtol=1e-9, atol=1e-9)
    constant = lists.list_index + 0.1
    found = scores(np.column_stack([X, constant, np.zeros(len(X))]))
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-9)
    # Of two equal features each has a ridge of its own.
    assert np.corrcoef(scores(np.column_stack([X, X[:, 0]])), expected)[0, 1] > 0.999


@pytest.mark.parametrize("name", ["lda", "ranklda"])
@pytest.mark.parametrize("n", [2, 3, 8])
def test_more_features_than_items_give_a_model(name, n):
    rng = np.random.default_rng(n)
    lists = CandidateLists.from_arrays(rng.standard_normal((n, 30)), np.arange(n) % 2, group=[n])
    scores = make_learner(name, {}).fit(lists).score(lists)
    assert scores[1::2].min() > scores[::2].max()


def test_pairs_of_labels_that_no_list_has_are_in_no_constraint():
    lists = some_lists(0, lengths=(6, 6), labels=np.repeat([0.0, 1.0, 1.0, 2.0], 3))
    found = Scatter.of(lists, 0.1, None, "ranklda", pairs=True)
    assert found.pairs == [(0, 1), (1, 2)]
    assert Criterion(found, 10.0).maximum().gap == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", ["lda", "ranklda"])
@pytest.mark.parametrize(
    ("X", "y", "expected"),
    [
        (np.eye(4), [1, 1, 0, 0], "no list has two different labels; learner {} needs one"),
        (np.ones((4, 2)), [1, 0, 1, 0], "no feature varies between the labels of a list; learner {} needs"),
        (np.zeros((4, 2)), [1, 0, 1, 0], "no feature varies between the labels of a list"),
        (np.full((4, 2), np.nan), [1, 0, 1, 0], r".*missing \(NaN\).* learner {} accepts none"),
    ],
)
def test_what_has_no_discriminant_is_refused(name, X, y, expected):
    lists = CandidateLists.from_arrays(X, y, group=[2, 2], source="odd")
    with pytest.raises(FitError, match="odd: " + expected.format(name)):
        make_learner(name, {}).fit(lists)


def test_continuous_labels_are_refused_with_the_remedy():
    lists = some_lists(labels=np.arange(39) / 7)
    with pytest.raises(FitError, match="39 different labels, learner lda takes 10 at most; quantise them"):
        make_learner("lda", {}).fit(lists)
    with pytest.raises(FitError, match="missing"):
        discriminant_vectors(CandidateLists.from_arrays([[np.nan], [1.0]], [0, 1]), 1)
    with pytest.raises(FitError, match="span 2 dimensions, so there are no 4 discriminants"):
        discriminant_vectors(some_lists(lengths=(6,), d=5, labels=np.arange(6.0) % 3), 4)
    with pytest.raises(ConfigError, match="beta: found -1, expected 0 or more, or train"):
        make_learner("ranklda", {"beta": -1})


def test_too_many_features_are_refused_before_a_matrix_is_made():
    from scipy.sparse import csr_array

    rows = np.repeat(np.arange(4), 2000)
    X = csr_array((np.ones(8000), (rows, np.arange(8000))), shape=(4, 150_000))
    lists = CandidateLists.from_arrays(X, [1, 0, 1, 0], group=[2, 2])
    with pytest.raises(FitError, match=r"8,000 features, learner lda takes 4,096 at most \(--features\)"):
        make_learner("lda", {}).fit(lists)
    few = CandidateLists.from_arrays(X[:, :150_000:50], [1, 0, 1, 0], group=[2, 2])
    assert np.isfinite(make_learner("lda", {}).fit(few).score(few)).all()


@pytest.mark.parametrize("name", ["lda", "ranklda"])
@pytest.mark.parametrize("weights", [[1e-320, 1, 1], [1e-300] * 3, [0, 0, 1]])
def test_odd_list_weights_give_a_model(name, weights):
    labels = [0, 0, 1, 1, 1, 1, 2, 2, 0, 0, 2, 2]
    X = np.random.default_rng(0).standard_normal((12, 4))
    lists = CandidateLists.from_arrays(X, labels, group=[4, 4, 4])
    model = make_learner(name, {}).fit(lists, list_weights=np.array(weights, dtype=float))
    assert np.isfinite(model.weights).all()
    assert model.weights.any()
