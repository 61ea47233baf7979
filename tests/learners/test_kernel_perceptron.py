"""The perceptron under kernels: against a table of kernel values, and against the perceptron itself."""

import dataclasses
import functools

import numpy as np
import pytest
from learners.test_perceptron import MARGINS, RELATIONS, integer_lists, orders_of
from reference.item_kernels import text, value
from reference.kernel_perceptron import kernel_perceptron as slow
from reference.kernel_perceptron import mean
from small_training import fit, saved

from rerank.core.errors import ConfigError, DataError, FitError
from rerank.data.columns.forests import Forest
from rerank.data.lists import CandidateLists
from rerank.data.pairs import make_pairs
from rerank.learners.kernel_perceptron import KernelPerceptron
from rerank.learners.perceptron import Perceptron
from rerank.metrics.base import parse
from rerank.models.preference import PreferenceModel
from rerank.models.voted_preference import VotedPreferenceModel

LEAVES = ["(A a)", "(A b)", "(B b)", "(B (C a))", "(C c)", "(C (A a) (B c))"]
TREE = ("sst", "tree", {"decay": 0.5})
EXPRESSIONS = [
    TREE,
    ("sst", "tree", {"decay": 0.5, "normalise": False}),
    ("st", "tree", {}),
    ("+", (("bow", "tree", {}), ("*", (0.01, ("linear", ("c",), {}))))),
    ("+", (("ptk", "tree", {}), ("*", (0.25, ("linear", ("a", "b"), {}))))),
    ("+", (("*", (("sst-leaves", "tree", {}), ("gaussian", ("a",), {}))), ("st", "tree", {}), 2.0)),
    ("gaussian", ("a", "b", "c"), {"gamma": 0.3}),
]


def tree_lists(seed: int, n_lists: int = 9, *, equal: bool = True) -> CandidateLists:
    """Lists of trees and numbers, with a missing tree, equal items in a list, ties and an unjudged item.

    Other scores are not tied, as rounding would decide.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, n_lists)
    n = int(sizes.sum())
    y = rng.integers(0, 4, n).astype(float)
    y[n // 2] = np.nan
    X = rng.standard_normal((n, 3))
    leaves = rng.integers(len(LEAVES), size=(n, 3)).tolist()
    trees = [f"(S {' '.join(LEAVES[k] for k in some)})" for some in leaves]
    trees[0] = ""
    last = int(np.flatnonzero(sizes > 1)[-1])
    at = int(sizes[:last].sum())
    if equal:
        X[at + 1], trees[at + 1] = X[at], trees[at]
    lists = CandidateLists.from_arrays(X, y, group=sizes, feature_names=list("abc"))
    return dataclasses.replace(lists, trees=Forest.from_strings(trees))


@functools.cache
def with_table(place: int, seed: int, *, equal: bool = True) -> tuple[CandidateLists, np.ndarray]:
    """Lists, and K of all items under an expression."""
    lists = tree_lists(seed, 7, equal=equal)
    return lists, table(EXPRESSIONS[place], lists)


def table(expression, lists: CandidateLists) -> np.ndarray:
    """K of all items by the definition of the kernels."""
    trees, X = list(lists.trees.to_strings()), lists.features.to_dense()
    items = [({"tree": tree}, dict(zip("abc", row, strict=True))) for tree, row in zip(trees, X, strict=True)]
    return np.array([[value(expression, x, y) for y in items] for x in items])


def expected(learner: KernelPerceptron, lists: CandidateLists, K):
    pairs = make_pairs(lists, learner.relation, learner.margin_function)
    return slow(
        lists,
        K,
        learner.relation,
        learner.margin_function,
        tau=learner.tau,
        epochs=learner.epochs,
        orders=orders_of(learner, pairs.n_lists),
        rivals=learner.rivals,
        budget=learner.budget,
        rule=learner.budget_rule,
    )


@pytest.mark.parametrize("place", range(len(EXPRESSIONS)))
@pytest.mark.parametrize("settings", [{}, {"rivals": "all", "pairs": "ordinal", "tau": 0.37}], ids=str)
def test_scores_are_those_of_the_definition(place, settings):
    kernel = text(EXPRESSIONS[place])
    for seed in range(2):
        lists, K = with_table(place, seed)
        for average in ("last", "average"):
            learner = KernelPerceptron(kernel=kernel, epochs=3, average=average, seed=seed, **settings)
            versions, history = expected(learner, lists, K)
            judge = parse("AP").prepare(lists)
            model = learner.fit(lists, judge=judge, dev=(lists, judge))
            wanted = versions[-1][0] if average == "last" else mean(versions)
            np.testing.assert_allclose(model.score(lists), K @ wanted, rtol=1e-9, atol=1e-9)
            assert [(row["updates"], row["violated"]) for row in model.curve] == history
            again = judge.score_from_sums(judge.per_list(np.round(model.score(lists), 9)).sum(axis=0))
            assert model.curve[-1]["dev"] == model.curve[-1]["train"] == pytest.approx(again, abs=0.1)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("margin", MARGINS, ids=str)
@pytest.mark.parametrize("rivals", ["all", "top"])
def test_with_a_linear_kernel_it_decides_as_the_perceptron(relation, margin, rivals):
    for seed, tau in ((1, 0.0), (2, 0.5), (3, 40.0)):
        lists = integer_lists(seed, n_lists=12, noise=0.1)
        given = {"tau": tau, "epochs": 4, "seed": seed, "rivals": rivals, **relation, **margin}
        for average in ("last", "average", "voted"):
            dual = KernelPerceptron(kernel="linear", average=average, **given).fit(lists)
            primal = Perceptron(average=average, **given).fit(lists)
            np.testing.assert_allclose(dual.score(lists), primal.score(lists), rtol=1e-9, atol=1e-9)
            counts = [[(row["updates"], row["violated"]) for row in model.curve] for model in (dual, primal)]
            assert counts[0] == counts[1]


@pytest.mark.parametrize("rule", ["oldest", "smallest", "merge"])
@pytest.mark.parametrize("rivals", ["all", "top"])
def test_a_budget_is_kept_as_defined(rule, rivals):
    expression = EXPRESSIONS[4]
    for seed in range(2):
        lists, K = with_table(4, seed, equal=False)  # coefficients of equal items may leave f = 0: ties
        for budget in (2, 5):
            for average in ("last", "average"):
                given = {"budget": budget, "budget_rule": rule, "average": average, "rivals": rivals}
                learner = KernelPerceptron(kernel=text(expression), epochs=3, seed=seed, **given)
                versions, history = expected(learner, lists, K)
                model = learner.fit(lists)
                assert [(row["updates"], row["violated"]) for row in model.curve] == history
                wanted = versions[-1][0] if average == "last" else mean(versions)
                np.testing.assert_allclose(model.score(lists), K @ wanted, rtol=1e-9, atol=1e-9)
                assert len(model.coefficients) <= budget
                assert max(row["support"] for row in model.curve) <= budget


def test_a_budget_that_is_never_reached_changes_nothing():
    lists = tree_lists(3)
    plain = KernelPerceptron(kernel="sst").fit(lists)
    for rule in ("oldest", "smallest", "merge"):
        model = KernelPerceptron(kernel="sst", budget=1000, budget_rule=rule).fit(lists)
        np.testing.assert_array_equal(model.coefficients, plain.coefficients)


def test_voted_versions_vote_by_the_visits_that_they_survived(tmp_path):
    lists, new = tree_lists(4, 12), tree_lists(5)
    K = table(TREE, lists)
    learner = KernelPerceptron(kernel="sst(decay=0.5)", average="voted", epochs=3)
    versions, _ = expected(learner, lists, K)
    model = learner.fit(lists)
    votes = np.zeros(lists.n_items)
    for coefficients, visits in versions[1:]:
        scores = np.round(K @ coefficients, 9)
        for first, last in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
            votes[first + np.argmax(scores[first:last])] += visits
    np.testing.assert_array_equal(np.floor(model.score(lists)), votes)
    assert isinstance(model, VotedPreferenceModel)
    total = sum(n for _, n in versions[1:])
    by_hand = sum(c * n for c, n in versions[1:]) / total
    np.testing.assert_allclose(model.mean.score(lists), K @ by_hand, rtol=1e-9, atol=1e-9)
    again = saved(model, tmp_path)
    np.testing.assert_array_equal(again.score(new), model.score(new))


@pytest.mark.parametrize("average", ["last", "average", "voted"])
def test_the_best_epoch_scores_as_it_did_then(average):
    lists, dev = tree_lists(6, 30), tree_lists(7, 20)
    learner = KernelPerceptron(kernel="ptk + 0.1 * linear", epochs=6, average=average, keep="best")
    model = fit(learner, lists, dev=dev, metric="AP")
    judge = parse("AP").prepare(dev)
    found = judge.score_from_sums(judge.per_list(np.round(model.score(dev), 9)).sum(axis=0))
    assert found == pytest.approx(max(row["dev"] for row in model.curve), abs=0.02)
    assert model.training.rounds.dev == max(row["dev"] for row in model.curve)


def test_weights_of_lists_multiply_updates():
    lists, some = tree_lists(8, 12), np.arange(12) % 3 > 0
    learner = KernelPerceptron(kernel="sst", epochs=3)
    once, twice = (learner.fit(lists, list_weights=factor * some).score(lists) for factor in (1.0, 2.0))
    np.testing.assert_array_equal(twice, 2.0 * once)


def test_trees_alone_are_enough_and_nothing_to_learn_from_is_an_error():
    lists = tree_lists(9)
    trees = CandidateLists.from_arrays(
        None, lists.labels, group=lists.lengths, trees=list(lists.trees.to_strings())
    )
    assert isinstance(KernelPerceptron().fit(trees), PreferenceModel)
    tied = CandidateLists.from_arrays(np.eye(4), np.ones(4), group=[2, 2])
    with pytest.raises(FitError, match="no list has a pair under pairs=best-rest"):
        KernelPerceptron().fit(tied)
    with pytest.raises(DataError, match="found no trees, which kernel sst compares"):
        KernelPerceptron(kernel="sst").fit(integer_lists(1))


def test_values_that_overflow_are_an_error():
    rng = np.random.default_rng(1)
    lists = CandidateLists.from_arrays(1e200 * rng.random((6, 2)), [0, 1, 2, 2, 1, 0], group=[3, 3])
    with pytest.raises((DataError, FitError), match=r"exceeds the largest number|overflow"):
        KernelPerceptron(kernel="linear").fit(lists)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget_rule": "merge"}, "budget_rule=merge: not used without a budget"),
        ({"budget": 5, "average": "voted"}, "average=voted: every version votes"),
        ({"budget": 1}, "budget"),
        ({"kernel": "nothing"}, "nothing"),
        ({"split_top": 0}, "split_top"),
    ],
)
def test_settings_without_effect_are_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        KernelPerceptron(**given)
