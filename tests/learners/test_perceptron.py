"""Algorithms 1 and 2 against their pseudo-code; settings; the data it refuses."""

import numpy as np
import pytest
from reference.perceptron import perceptron as slow_perceptron
from scipy.sparse import csr_array
from small_training import fit

from rerank.core.errors import FitError
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Concordance, Margin, PairRelation, make_pairs
from rerank.learners.perceptron import Perceptron
from rerank.metrics.base import parse
from rerank.models.training import DataRecord

RELATIONS = [
    {"pairs": "best-rest"},
    {"pairs": "split"},
    {"pairs": "split", "split_top": 2, "split_bottom": 5},
    {"pairs": "ordinal"},
    {"pairs": "ordinal", "ordinal_factor": 2.0, "ordinal_gap": 1.0},
    {"pairs": "neighbours"},
    {"pairs": "all", "label_gap": 1.0},
]
MARGINS = [
    {"margin": "even"},
    {"margin": "uneven"},
    {"margin": "uneven", "margin_power": 0.5},
    {"margin": "label"},
]


def integer_lists(seed: int, n_lists: int = 8, levels: int = 6, noise: float = 0.0) -> CandidateLists:
    """Lists of whole numbers with ties among labels and scores, one unjudged item, one list of one.

    With ``noise`` no scores are tied but for rounding.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 14, n_lists)
    sizes[0] = 1
    n = int(sizes.sum())
    X = rng.integers(-3, 4, (n, 5)) * (rng.random((n, 5)) < 0.7)
    y = rng.integers(0, levels, n).astype(float)
    y[-1] = np.nan
    return CandidateLists.from_arrays(X + noise * rng.standard_normal(X.shape), y, group=sizes)


def as_sparse(lists: CandidateLists) -> CandidateLists:
    return CandidateLists.from_arrays(csr_array(lists.features.to_dense()), lists.labels, group=lists.lengths)


def orders_of(learner: Perceptron, n_lists: int) -> list[list[int]]:
    rng = np.random.default_rng(learner.seed)
    return [rng.permutation(n_lists).tolist() for _ in range(learner.epochs)]


ALGORITHMS = [{"algorithm": 1}, {"algorithm": 1, "pair_order": "fixed"}, {"algorithm": 2}]


def pair_seed(learner: Perceptron) -> int | None:
    """The seed by which the slow twin shuffles pairs."""
    random = learner.algorithm == 1 and learner.rivals == "all" and learner.pair_order == "random"
    return learner.seed if random else None


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("margin", MARGINS, ids=str)
def test_weights_are_those_of_the_pseudo_code(algorithm, relation, margin):
    inexact = algorithm == ALGORITHMS[0] and margin["margin"] == "uneven"
    for seed, tau in ((1, 0.0), (2, 0.5), (3, 40.0)):
        lists = integer_lists(seed, noise=0.1 * inexact)
        for average in ("last", "average"):
            learner = Perceptron(
                **algorithm, tau=tau, epochs=4, average=average, seed=seed, **relation, **margin
            )
            pairs = make_pairs(lists, learner.relation, learner.margin_function)
            last, mean, history = slow_perceptron(
                lists,
                learner.relation,
                learner.margin_function,
                algorithm=learner.algorithm,
                tau=tau,
                epochs=4,
                orders=orders_of(learner, pairs.n_lists),
                seed=pair_seed(learner),
            )
            for data in (lists, as_sparse(lists)):
                model = learner.fit(data)
                wanted = last if average == "last" else mean
                np.testing.assert_allclose(model.weights, wanted, rtol=1e-12, atol=1e-12)
                assert [(row["updates"], row["violated"]) for row in model.curve] == history


WEIGHTED = [
    {"algorithm": 1},
    {"algorithm": 1, "pair_order": "fixed"},
    {"algorithm": 2, "engine": "reference"},
    {"algorithm": 2, "engine": "fast"},
    {"rivals": "top", "pairs": "best-rest"},
    {"algorithm": 2, "margin": "label", "dimension": 1.5},
]


@pytest.mark.parametrize("settings", WEIGHTED, ids=str)
def test_weights_of_lists_multiply_their_updates(settings):
    for seed in range(3):
        lists = integer_lists(seed, n_lists=12)
        given = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], 12)
        learner = Perceptron(tau=0.5, epochs=4, seed=seed, average="last", **settings)
        pairs = make_pairs(lists, learner.relation, learner.margin_function)
        last, _, history = slow_perceptron(
            lists,
            learner.relation,
            learner.margin_function,
            algorithm=learner.algorithm,
            tau=0.5,
            epochs=4,
            dimension=learner.dimension**2,
            orders=orders_of(learner, int(np.count_nonzero(given[pairs.lists]))),
            rivals=learner.rivals,
            list_weights=given,
            seed=pair_seed(learner),
        )
        for data in (lists, as_sparse(lists)):
            model = learner.fit(data, list_weights=given)
            np.testing.assert_allclose(model.weights, last, rtol=1e-12, atol=1e-12)
            assert [(row["updates"], row["violated"]) for row in model.curve] == history


@pytest.mark.parametrize("average", ["average", "voted"])
@pytest.mark.parametrize("settings", [*WEIGHTED, {"tau": 1.0, "tau_scale": "norm"}], ids=str)
def test_a_list_of_weight_0_is_as_if_absent_and_of_weight_1_as_if_unweighted(settings, average):
    lists = integer_lists(5, n_lists=14)
    learner = Perceptron(epochs=4, average=average, **settings)
    some = np.arange(14) % 3 > 0
    alone = learner.fit(lists.subset(np.flatnonzero(some)))
    absent = learner.fit(lists, list_weights=some.astype(float))
    plain, ones = learner.fit(lists), learner.fit(lists, list_weights=np.ones(14))
    for a, b in ((alone, absent), (plain, ones)):
        for name, array in a.arrays().items():
            np.testing.assert_array_equal(array, b.arrays()[name])
    assert plain.curve == ones.curve


def with_own_dimensions(lists: CandidateLists, value: float) -> CandidateLists:
    """The same lists with a column for each item, ``value`` there and 0 elsewhere."""
    X = np.hstack([lists.features.to_dense(), value * np.eye(lists.n_items)])
    return CandidateLists.from_arrays(X, lists.labels, group=lists.lengths)


@pytest.mark.parametrize("algorithm", [1, 2])
@pytest.mark.parametrize("margin", ["even", "uneven"])
@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_the_separating_dimension_is_that_of_explicit_columns(algorithm, margin, engine):
    lists = integer_lists(11, n_lists=12)
    settings = {"algorithm": algorithm, "margin": margin, "tau": 1.0, "epochs": 5, "engine": engine}
    for data in (lists, as_sparse(lists)):
        model = Perceptron(dimension=2.0, **settings).fit(data)
        explicit = Perceptron(**settings).fit(with_own_dimensions(lists, 2.0))
        np.testing.assert_allclose(
            model.weights, explicit.weights[: lists.n_features], rtol=1e-12, atol=1e-12
        )
        assert [row["violated"] for row in model.curve] == [row["violated"] for row in explicit.curve]


def test_a_separating_dimension_makes_any_lists_separable():
    rng = np.random.default_rng(12)
    lists = CandidateLists.from_arrays(
        np.round(rng.random((40, 2)), 1), rng.integers(0, 5, 40), group=[10] * 4
    )
    assert not Perceptron(epochs=200).fit(lists).training.rounds.converged
    model = Perceptron(epochs=200, dimension=3.0).fit(lists)
    assert model.training.rounds.converged
    # Theorem 2 with R^2 + dimension^2, for the unit vector that lies in the own dimensions alone:
    # an item's coordinate falls evenly by rank, so gamma is at least the least step over the norm.
    pairs = make_pairs(lists, PairRelation())
    levels = np.zeros(40)
    levels[pairs.items] = -pairs.rank
    gamma = 3.0 / np.linalg.norm(levels)
    radius2 = float((lists.features.to_dense() ** 2).sum(axis=1).max()) + 9.0
    assert sum(row["violated"] for row in model.curve) <= 10**2 * radius2 / gamma**2


def test_voted_weights_vote_by_the_visits_they_survived():
    lists = integer_lists(13, n_lists=10)
    model = Perceptron(average="voted", epochs=3, shuffle=False).fit(lists)
    pairs = make_pairs(lists, PairRelation())
    # Every vector, by training on ever more visits with the last weights kept.
    w, votes, mean = np.zeros(5), np.zeros(lists.n_items), np.zeros(lists.n_items)
    X = lists.features.to_dense()
    for visit in range(3 * pairs.n_lists):
        here = slice(pairs.offsets[visit % pairs.n_lists], pairs.offsets[visit % pairs.n_lists + 1])
        items, start, stop = pairs.items[here], pairs.start[here], pairs.stop[here]
        s = X[items] @ w
        u = np.zeros(len(items))
        for j in range(len(items)):
            for l in range(start[j], stop[j]):
                if s[j] <= s[l]:
                    u[j] += 1
                    u[l] -= 1
        w = w + u @ X[items]
        scores = X @ w
        mean += scores
        for i in range(lists.n_lists):
            votes[lists.offsets[i] + np.argmax(scores[lists.offsets[i] : lists.offsets[i + 1]])] += 1
    found = model.score(lists)
    np.testing.assert_array_equal(np.floor(found), votes)
    for i in range(lists.n_lists):
        part = slice(lists.offsets[i], lists.offsets[i + 1])
        order = np.lexsort((-mean[part], -votes[part]))
        np.testing.assert_array_equal(np.argsort(-found[part], kind="stable"), order)


def test_the_best_round_of_a_vote_scores_as_it_did_then():
    lists, dev = integer_lists(14, n_lists=20), integer_lists(15, n_lists=9)
    model = fit(Perceptron(average="voted", epochs=6, keep="best"), lists, dev=dev, metric="AP")
    judge = parse("AP").prepare(dev)
    value = judge.score_from_sums(judge.per_list(model.score(dev)).sum(axis=0))
    assert value == max(row["dev"] for row in model.curve) == model.training.rounds.dev


def test_voted_weights_that_would_fill_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr("rerank.learners.perceptron.MAX_BYTES", 100)
    with pytest.raises(FitError, match="use average=average"):
        Perceptron(average="voted").fit(integer_lists(13))


def separable_lists(relation: PairRelation, margin: Margin, seed: int) -> tuple[CandidateLists, float, float]:
    """Lists that a unit vector separates; gamma = least w*.dx / g, and R of the theorems."""
    rng = np.random.default_rng(seed)
    best = rng.standard_normal(6)
    best /= np.linalg.norm(best)
    sizes = rng.integers(3, 12, 15)
    X = rng.standard_normal((int(sizes.sum()), 6))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.round(X @ best * 4)
    X += 0.25 * np.outer(y, best)
    lists = CandidateLists.from_arrays(X, y, group=sizes)
    pairs = make_pairs(lists, relation, margin)
    gamma = np.inf
    for i in range(pairs.n_lists):
        first, last = pairs.offsets[i], pairs.offsets[i + 1]
        for at in range(first, last):
            for other in range(first + pairs.start[at], first + pairs.stop[at]):
                g = pairs.h[at] - pairs.h[other] + pairs.c
                gamma = min(gamma, float(best @ (X[pairs.items[at]] - X[pairs.items[other]])) / g)
    return lists, gamma, float(np.linalg.norm(X, axis=1).max())


def least_margin(pairs) -> float:
    """lambda of Theorem 1: the least g over the pairs."""
    return min(
        pairs.h[at] - pairs.h[other] + pairs.c
        for i in range(pairs.n_lists)
        for at in range(pairs.offsets[i], pairs.offsets[i + 1])
        for other in range(pairs.offsets[i] + pairs.start[at], pairs.offsets[i] + pairs.stop[at])
    )


BOUND_RELATIONS = [r for r in RELATIONS if r != {"pairs": "split", "split_top": 2, "split_bottom": 5}]


@pytest.mark.parametrize("relation", BOUND_RELATIONS, ids=str)
@pytest.mark.parametrize("margin", MARGINS, ids=str)
@pytest.mark.parametrize("tau", [0.0, 0.1, 5.0])
@pytest.mark.parametrize("pair_order", ["random", "fixed"])
def test_algorithm_1_stops_within_the_bound_of_theorem_1(relation, margin, tau, pair_order):
    given = {"algorithm": 1, "pair_order": pair_order, "epochs": 100_000, "average": "last"}
    learner = Perceptron(tau=tau, **given, **relation, **margin)
    lists, gamma, radius = separable_lists(learner.relation, learner.margin_function, 7)
    assert gamma > 0
    model = learner.fit(lists)
    assert model.training.rounds.converged
    lam = least_margin(make_pairs(lists, learner.relation, learner.margin_function))
    assert sum(row["violated"] for row in model.curve) <= (2 * tau + 4 * radius**2) / (lam * gamma) ** 2


@pytest.mark.parametrize("relation", BOUND_RELATIONS, ids=str)
@pytest.mark.parametrize("tau", [0.0, 0.1, 5.0])
@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_algorithm_2_stops_within_the_bound_of_theorem_2(relation, tau, engine):
    learner = Perceptron(tau=tau, epochs=100_000, average="last", engine=engine, **relation)
    lists, gamma, radius = separable_lists(learner.relation, learner.margin_function, 8)
    assert gamma > 0
    model = learner.fit(lists)
    assert model.training.rounds.converged
    k = int(lists.lengths.max())
    mistakes = sum(row["violated"] for row in model.curve)
    assert mistakes <= (2 * tau + k**2 * radius**2) / gamma**2
    margins = model.score(lists) / np.linalg.norm(model.weights)
    pairs = make_pairs(lists, learner.relation)
    least = min(
        margins[pairs.items[at]] - margins[pairs.items[other]]
        for i in range(pairs.n_lists)
        for at in range(pairs.offsets[i], pairs.offsets[i + 1])
        for other in range(pairs.offsets[i] + pairs.start[at], pairs.offsets[i] + pairs.stop[at])
    )
    assert least >= gamma * tau / (2 * tau + k**2 * radius**2) - 1e-12


def test_pairs_are_shuffled_in_chunks_of_any_size(monkeypatch):
    lists = integer_lists(16, n_lists=25)
    for average in ("average", "voted"):
        learner = Perceptron(algorithm=1, epochs=5, average=average, shuffle=False)
        whole = learner.fit(lists).arrays()
        for name, array in whole.items():
            np.testing.assert_array_equal(learner.fit(lists).arrays()[name], array)
        with monkeypatch.context() as patched:
            patched.setattr("rerank.learners.perceptron._SHUFFLED", 20)
            for name, array in learner.fit(lists).arrays().items():
                np.testing.assert_array_equal(array, whole[name])
    fixed = Perceptron(algorithm=1, epochs=5, shuffle=False, pair_order="fixed").fit(lists)
    assert not np.array_equal(
        fixed.weights, Perceptron(algorithm=1, epochs=5, shuffle=False).fit(lists).weights
    )


def test_the_last_pairs_of_a_list_do_not_decide():
    """Graded lists: in the order of labels the last pairs are all of one kind, and decide."""
    rng = np.random.default_rng(3)
    n = 60
    grade = np.tile(np.repeat([2.0, 1.0, 0.0], n // 3), 12)
    X = rng.standard_normal((len(grade), 6))
    X[:, 0] += 0.5 * (grade == 2)
    X[:, 1] += 0.5 * (grade >= 1)
    lists = CandidateLists.from_arrays(X, grade, group=[n] * 12)
    right = [
        Concordance(lists.labels, lists.offsets).accuracy(
            Perceptron(algorithm=1, pair_order=order, epochs=10).fit(lists).score(lists)
        )
        for order in ("random", "fixed")
    ]
    assert right[0] > right[1] + 0.05


def test_the_same_seed_gives_the_same_weights_and_another_order_others():
    lists = integer_lists(9, n_lists=20)
    for settings in ({}, {"algorithm": 1, "shuffle": False}):
        fit = [Perceptron(seed=seed, epochs=3, **settings).fit(lists).weights for seed in (1, 1, 2)]
        np.testing.assert_array_equal(fit[0], fit[1])
        assert not np.array_equal(fit[0], fit[2])


def test_lists_without_a_pair_are_counted():
    lists = CandidateLists.from_arrays(np.eye(5), [1, 1, 1, 0, 2], group=[2, 3])
    model = Perceptron().fit(lists)
    assert model.training.data == DataRecord(pairs=3, lists_without_pair=1)


def test_overflow_is_an_error_and_not_nan():
    lists = CandidateLists.from_arrays([[1e308, -1e308], [-1e308, 1e308], [1e308, 1e308]], [2, 1, 0])
    with pytest.raises(FitError, match="scale the features"):
        Perceptron(epochs=50).fit(lists)
