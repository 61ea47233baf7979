"""Preference SVM: its minimum, its cache, its probabilities, and inputs that are hard for it."""

import dataclasses
import itertools

import numpy as np
import pytest
from make import drawn, features
from reference.preference_svm import ExplicitPreferences
from scipy.optimize import minimize_scalar
from small_training import saved

from rerank.core.errors import DataError, DataNote, FitError
from rerank.data.columns.forests import Forest
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation, make_pairs
from rerank.learners.preference import STEPS, PreferenceSVM, solver
from rerank.learners.preference import fits as fits_module
from rerank.learners.preference.fits import best_scale
from rerank.learners.preference.solver import KernelRows, PreferenceDual
from rerank.learners.ranksvm import RankSVM
from rerank.metrics.base import parse
from rerank.native.learners import _preference
from rerank.similarity.gram_matrices import item_gram
from rerank.training.train import train

EXACT = {"tolerance": 1e-9}
TREES = [
    "(S (NP (D a) (N cat)) (VP (V sleeps)))",
    "(S (NP (D the) (N cat)) (VP (V eats) (NP (D a) (N fish))))",
    "(S (NP (N fish)) (VP (V sleeps)))",
    "(S (VP (V eats) (NP (D the) (N fish))))",
    "",
    "(S (NP (D the) (N dog)) (VP (V sleeps)))",
]


def some_lists(seed=0, layout="dense", levels=4, **given):
    """Lists with ties, an item alone, unjudged items, a list of equal labels; questions and trees."""
    lists = drawn(seed, layout, d=3, grades=None, noise=levels / 2, tied=3, **given)
    trees = [TREES[i] for i in np.random.default_rng(seed).integers(len(TREES), size=lists.n_items)]
    questions = [TREES[i % 3] for i in lists.list_index]
    structures = {"question": Forest.from_strings(questions)}
    return dataclasses.replace(lists, trees=Forest.from_strings(trees), structures=structures)


class Given:
    """Items whose kernel is a matrix."""

    def __init__(self, gram, which=None):
        self.gram, self.which = gram, np.arange(len(gram)) if which is None else which
        self.n = len(self.which)
        self.computed = 0

    def take(self, index):
        return Given(self.gram, self.which[index])

    def rows(self, which, other, out):
        self.computed += out.size
        out[:] = self.gram[np.ix_(self.which[which], other.which)]


def drawn_pairs(seed=0, n=40, n_pairs=150):
    """A kernel of items, and pairs of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 8))
    better, worse = (rng.integers(n, size=n_pairs).astype(np.int32) for _ in range(2))
    kept = better != worse
    return np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2)), better[kept], worse[kept]


@pytest.mark.parametrize("kernel", ["linear", "sst(tree) + gaussian(gamma=.5) * ptk(question)", "polynomial"])
@pytest.mark.parametrize("strength", [0.01, 1.0])
@pytest.mark.parametrize("how", [{}, {"pairs": "neighbours"}, {"list_balance": False}])
@pytest.mark.parametrize("weights", [None, [2.0, 1.0, 0.5, 1.0, 0.0]])
def test_the_minimum_is_that_of_explicit_pairs(kernel, strength, how, weights):
    lists = some_lists(4)
    slow = ExplicitPreferences(
        lists,
        item_gram(kernel, lists),
        neighbours=how.get("pairs") == "neighbours",
        list_balance=how.get("list_balance", True),
        list_weights=weights,
    )
    alpha, objective = slow.maximum(strength)
    learner = PreferenceSVM(kernel=kernel, C=strength, **how, **EXACT)
    model = learner.fit(lists, list_weights=None if weights is None else np.array(weights))
    notes, rounds = model.training.notes, model.training.rounds
    assert notes["objective"] == pytest.approx(objective, rel=1e-6)
    assert 0 <= notes["gap"] <= 1e-9 * objective
    assert notes["pairs_of_equal_items"] == np.count_nonzero(~slow.separable())
    assert model.training.data.pairs == len(slow.pairs)
    scores, expected = model.score(lists), slow.scores(alpha)
    np.testing.assert_allclose(scores, expected, atol=1e-3 * np.abs(expected).max())
    margins = scores[slow.better] - scores[slow.worse]
    kept = slow.weight * slow.separable()
    assert rounds.loss == pytest.approx(kept @ np.maximum(0, 1 - margins) / kept.sum(), rel=1e-3)
    assert strength == rounds.C


def test_libsvm_on_mirrored_pairs_has_the_same_maximum():
    SVC = pytest.importorskip("sklearn.svm").SVC
    lists = some_lists(1)
    slow = ExplicitPreferences(lists, item_gram("linear + ptk(tree)", lists), list_balance=False)
    both = np.concatenate([np.eye(len(slow.pairs)), -np.eye(len(slow.pairs))])
    sign = np.repeat([1.0, -1.0], len(slow.pairs))
    svc = SVC(C=0.5, kernel="precomputed", tol=1e-8).fit(both @ slow.kernel @ both.T, sign)
    alpha = np.zeros(len(sign))
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    assert abs(svc.intercept_[0]) < 1e-6  # pairs and their mirror images have no threshold
    dual = alpha.sum() - 0.5 * (alpha * sign) @ both @ slow.kernel @ both.T @ (alpha * sign)
    fitted = PreferenceSVM(kernel="linear + ptk(tree)", C=1.0, list_balance=False, **EXACT).fit(lists)
    equal = np.count_nonzero(~slow.separable())
    assert fitted.training.notes["objective"] == pytest.approx(dual - equal, rel=1e-6)


def test_a_linear_kernel_gives_the_ranking_svm_with_as_much_weight_for_all_pairs():
    lists = some_lists(2)
    n_pairs = make_pairs(lists, PairRelation("all")).n_pairs
    expected = RankSVM(C=5.0, loss="l1", tolerance=1e-6).fit(lists).score(lists)
    scores = PreferenceSVM(kernel="linear", C=5.0 / n_pairs, tolerance=1e-6).fit(lists).score(lists)
    np.testing.assert_allclose(scores, expected, atol=1e-2 * np.abs(expected).max())


@pytest.mark.parametrize("capacity", [2, 3, 7, 40])
@pytest.mark.parametrize("room", [4, 16, 192])
def test_few_rows_and_small_working_sets_reach_the_same_minimum(capacity, room, monkeypatch):
    monkeypatch.setattr(solver, "ROOM", room)
    gram, better, worse = drawn_pairs()
    most = np.linspace(0.5, 1.5, len(better))
    items = Given(gram)
    rows = KernelRows(items, 8 * len(gram) * capacity)
    assert rows.capacity == capacity
    dual = PreferenceDual(rows, better, worse)
    found = dual.maximise(most, 1e-8, 100_000)
    whole = PreferenceDual(KernelRows(Given(gram), 1e9), better, worse).maximise(most, 1e-10, 100_000)
    assert found.converged
    assert found.objective == pytest.approx(whole.objective, rel=1e-7)
    np.testing.assert_allclose(found.scores, gram @ found.beta, atol=1e-10)
    if capacity == len(gram):
        assert items.computed <= gram.size  # a value that is known is not computed again
    again = dual.maximise(0.1 * most, 1e-8, 100_000)  # from there
    np.testing.assert_allclose(again.scores, gram @ again.beta, atol=1e-10)
    cold = PreferenceDual(rows, better, worse).maximise(0.1 * most, 1e-10, 100_000)
    assert again.objective == pytest.approx(cold.objective, rel=1e-7)


def test_losses_and_violations_are_those_of_the_definition():
    gram, better, worse = drawn_pairs(3)
    rng = np.random.default_rng(0)
    most = rng.random(len(better))
    alpha = most * rng.choice([0.0, 0.5, 1.0], len(most))
    f = 2.0 * rng.standard_normal(len(gram))
    violation = np.empty(len(most))
    loss, mass = _preference.measure(better, worse, most, alpha, f, violation)
    slope = 1.0 - (f[better] - f[worse])
    assert loss == pytest.approx(most @ np.maximum(slope, 0.0))
    assert mass == pytest.approx(alpha.sum())
    free = np.where(slope > 0, alpha < most, alpha > 0)
    np.testing.assert_array_equal(violation, np.abs(slope) * free)


@pytest.mark.parametrize("k", [1, 3, 5, 100])
def test_the_largest_values_come_first_and_on_ties_the_first(k):
    values = np.array([0.0, 2.0, 1.0, 2.0, 0.5, 2.0, 0.0, 1.0])
    assert solver._largest(values, k).tolist() == [1, 3, 5, 2, 7, 4][:k]


def test_a_search_that_ends_early_reports_a_gap_that_holds():
    lists = some_lists(4)
    slow = ExplicitPreferences(lists, item_gram("linear", lists), list_balance=False)
    least = slow.maximum(1.0)[1]
    learner = PreferenceSVM(kernel="linear", C=1.0, list_balance=False, iterations=1, **EXACT)
    with pytest.warns(DataNote, match=r"stopped after 1 working set, up to .*% of the objective above"):
        notes = learner.fit(lists).training.notes
    assert notes["objective"] - notes["gap"] <= least <= notes["objective"]


def test_equal_items_are_one_and_their_pairs_are_left_out():
    X = np.array([[1.0], [0.0], [1.0], [0.0], [2.0], [2.0]])
    y = [1, 0, 1, 0, 1, 0]
    lists = CandidateLists.from_arrays(X, y, group=[2, 2, 2])
    model = PreferenceSVM(C=0.25).fit(lists)
    notes = model.training.notes
    assert model.training.rounds.support == 2
    assert (notes["support_pairs"], notes["pairs_of_equal_items"]) == (2, 1)
    assert model.score(lists).tolist() == [0.5, 0.0, 0.5, 0.0, 1.0, 1.0]
    with pytest.raises(FitError, match="the items of every pair are equal, nothing tells them apart"):
        PreferenceSVM().fit(lists.subset([2]))


def test_contradictions_leave_nothing_to_learn():
    lists = CandidateLists.from_arrays([[1.0], [0.0]] * 2, [1, 0, 0, 1], group=[2, 2], source="both ways")
    with pytest.warns(DataNote, match="both ways: preference-svm learnt nothing"):
        model = PreferenceSVM().fit(lists)
    assert not model.score(lists).any()


def test_features_that_a_kernel_cannot_tell_apart_have_a_constant_loss():
    lists = CandidateLists.from_arrays([[1.0], [2.0], [3.0], [5.0]], [1, 0, 0, 1], group=[2, 2])
    model = PreferenceSVM(kernel="linear(normalise=true)").fit(lists)  # of one feature: 1 for all
    assert model.training.rounds.loss == 1.0
    assert np.ptp(model.score(lists)) < 1e-9


def test_an_indefinite_kernel_is_an_error():
    gram = np.array([[1.0, 3.0], [3.0, 1.0]])
    pair = np.array([0], dtype=np.int32), np.array([1], dtype=np.int32)
    with pytest.raises(solver.NotDefiniteError):
        PreferenceDual(KernelRows(Given(gram), 1e6), *pair).maximise(np.ones(1), 1e-4, 10)


def test_a_kernel_that_is_found_indefinite_names_the_items(monkeypatch):
    def maximise(*_):
        raise solver.NotDefiniteError(0, 1)

    monkeypatch.setattr(fits_module.PreferenceDual, "maximise", maximise)
    with pytest.raises(FitError, match=r"not positive semi-definite.* list '1', item . and list '1', item ."):
        PreferenceSVM(C=1.0).fit(some_lists(0))


def test_c_is_chosen_along_a_path_on_dev():
    lists, dev = some_lists(0), some_lists(1)
    judge = parse("nDCG")
    watched = dev, judge.prepare(dev)
    model = PreferenceSVM(C="dev").fit(lists, dev=watched, judge=judge.prepare(lists))
    auto = PreferenceSVM().fit(lists).training.rounds.C
    tried = [row["C"] for row in model.curve]
    np.testing.assert_allclose(tried, auto * np.array(STEPS)[: len(tried)], rtol=1e-12)
    best = max(model.curve, key=lambda row: row["dev"])
    rounds = model.training.rounds
    assert (rounds.C, rounds.dev, rounds.train) == (best["C"], best["dev"], best["train"])
    for part in (lists, dev):
        per_list = judge.prepare(part).per_list(model.score(part)).sum(axis=0)
        value = judge.prepare(part).score_from_sums(per_list)
        assert value == pytest.approx(rounds.train if part is lists else rounds.dev, abs=1e-12)
    alone = PreferenceSVM(C=rounds.C).fit(lists)
    np.testing.assert_allclose(alone.score(dev), model.score(dev), atol=0.05)
    with pytest.raises(FitError, match="preference-svm: C=dev needs development lists and a metric"):
        PreferenceSVM(C="dev").fit(lists)


def test_scores_of_other_lists_need_no_room(monkeypatch):
    lists, dev = some_lists(0), some_lists(1)
    learner, watched = PreferenceSVM(C="dev"), (dev, parse("nDCG").prepare(dev))
    curve = learner.fit(lists, dev=watched).curve
    scorer = fits_module._Scorer
    monkeypatch.setattr(fits_module, "_Scorer", lambda items, others, room: scorer(items, others, 0.0))
    assert learner.fit(lists, dev=watched).curve == curve


def test_c_is_by_default_that_of_svm_light():
    lists = some_lists(3)
    slow = ExplicitPreferences(lists, item_gram("linear", lists))
    norms = np.sqrt(np.diag(slow.kernel)[slow.separable()])
    model = PreferenceSVM(kernel="linear").fit(lists)
    assert pytest.approx(1.0 / norms.mean() ** 2) == model.training.rounds.C


def test_trees_are_enough_and_missing_ones_are_named():
    lists = some_lists(2)
    bare = lists.with_features(features("dense", np.empty((lists.n_items, 0))), None)
    model = PreferenceSVM().fit(bare)
    assert model.kernel.text == "ptk(tree) + ptk(question)"
    assert model.feature_names == []
    same = PreferenceSVM(kernel="ptk(tree) + ptk(question)").fit(lists)  # features are not used
    np.testing.assert_array_equal(same.score(lists), model.score(bare))
    with pytest.raises(DataError, match="no trees 'question'"):
        model.score(dataclasses.replace(bare, structures={}))
    with pytest.raises(DataError, match="no trees 'answer'"):
        PreferenceSVM(kernel="ptk(answer)").fit(lists)
    with pytest.raises(FitError, match="no features; learner preference-svm learns from features or trees"):
        PreferenceSVM().fit(dataclasses.replace(bare, trees=None, structures={}))


def test_features_are_scaled_in_the_model_too():
    lists = some_lists(8)
    other = lists.with_features(features("dense", lists.features.to_dense() * 100 + 5), lists.names())
    given = {"learner": "preference-svm", "kernel": "gaussian(gamma=.1)"}
    assert train(lists, **given).scaling_name == "none"
    a, b = (train(one, scaling="zscore", **given) for one in (lists, other))
    assert a.scaling_name == "zscore"
    np.testing.assert_allclose(a.score(lists), b.score(other), atol=1e-3)


def test_a_kernel_of_trees_leaves_features_and_their_scaling_out_of_the_model(tmp_path):
    lists = some_lists(2)
    model = train(lists, learner="preference-svm", kernel="ptk(tree)")
    assert (model.feature_names, model.scaling_name) == ([], "none")
    bare = lists.with_features(features("dense", np.empty((lists.n_items, 0))), None)
    np.testing.assert_array_equal(saved(model, tmp_path).score(bare), model.score(lists))


def fold_scores(lists, learner, folds):
    """Scores of each list by a model of the lists of other folds, its C being for all pairs."""
    out = np.empty(lists.n_items)
    for fold in folds:
        weights = np.ones(lists.n_lists)
        weights[fold] = 0.0
        model = learner.fit(lists, list_weights=weights)
        for i in fold:
            part = slice(lists.offsets[i], lists.offsets[i + 1])
            out[part] = model.score(lists)[part]
    return out


def test_the_scale_is_learnt_from_scores_of_other_lists():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((90, 3))
    y = (X[:, 0] + rng.standard_normal(90) > 1).astype(float)
    y[::6], y[1::6] = 1.0, 0.0
    lists = CandidateLists.from_arrays(X, y, group=[6] * 15)
    model = PreferenceSVM(C=0.1, list_balance=False, probability=True, probability_folds=15, **EXACT).fit(
        lists
    )
    learner = PreferenceSVM(C=0.1, list_balance=False, **EXACT)
    scores = fold_scores(lists, learner, [[i] for i in range(15)])

    def loss(scale):
        shares = np.exp(scale * scores).reshape(15, 6)
        return -np.log((shares * y.reshape(15, 6)).sum(axis=1) / shares.sum(axis=1)).mean()

    expected = minimize_scalar(loss, bounds=(1e-3, 20), method="bounded")
    assert model.scale == pytest.approx(expected.x, rel=1e-2)
    assert model.training.notes["probability_loss"] == pytest.approx(expected.fun, rel=1e-4)
    probabilities = model.probabilities(lists).reshape(15, 6)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    shares = np.exp(model.scale * model.score(lists)).reshape(15, 6)
    np.testing.assert_allclose(probabilities, shares / shares.sum(axis=1, keepdims=True), rtol=1e-9)


def loss_of(scale, scores, best, offsets, weights):
    """The mean over lists of -log P(best)."""
    total = 0.0
    for (a, b), weight in zip(itertools.pairwise(offsets), weights, strict=True):
        z = np.exp(scale * (scores[a:b] - scores[a:b].max()))
        total -= weight * np.log(z[best[a:b]].sum() / z.sum())
    return total / weights.sum()


@pytest.mark.parametrize("seed", range(6))
def test_the_best_scale_is_a_maximum_of_the_likelihood(seed):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(2, 8, 30))])
    scores = 10.0 ** rng.integers(-3, 4) * rng.standard_normal(offsets[-1])
    best = np.zeros(offsets[-1], dtype=bool)
    for a, b in itertools.pairwise(offsets):
        chances = np.exp(scores[a:b] / scores.std() * (seed % 3))
        best[a + rng.choice(b - a, rng.integers(1, 3), p=chances / chances.sum())] = True
    given = scores, best, offsets, rng.random(30)
    found = best_scale(*given)
    assert found.loss == pytest.approx(loss_of(found.scale, *given), rel=1e-9)
    tried = np.concatenate([[0.0], np.geomspace(1e-2, 1e1, 200) / scores.std()])
    assert found.loss <= min(loss_of(scale, *given) for scale in tried) + 1e-9


def test_scores_that_say_nothing_or_everything_have_probabilities_with_a_note():
    X, y = np.arange(12.0)[:, None], [0, 1] * 6
    lists = CandidateLists.from_arrays(X, y, group=[2] * 6, source="sure")
    with pytest.warns(DataNote, match="sure: preference-svm: lists of other folds are ranked without error"):
        model = PreferenceSVM(probability=True).fit(lists)
    np.testing.assert_allclose(model.probabilities(lists), y, atol=1e-9)
    y = [0, 1] * 4 + [1, 0] * 3  # without the list itself, at least as many lists say the opposite
    odd = CandidateLists.from_arrays(np.arange(14.0)[:, None], y, group=[2] * 7, source="odd")
    with pytest.warns(DataNote, match="odd: preference-svm: scores of other folds do not show which"):
        model = PreferenceSVM(probability=True, probability_folds=7).fit(odd)
    assert set(model.probabilities(odd)) == {0.5}


def test_probabilities_need_as_many_lists_as_folds():
    with pytest.raises(FitError, match="some lists: probability=true: 5 folds of 3 lists: too few"):
        PreferenceSVM(probability=True).fit(some_lists(0))
