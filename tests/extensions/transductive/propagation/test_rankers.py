"""Rankers of single lists: what a learner finds for each list alone, and which lists have none."""

import dataclasses
import importlib.util
import warnings

import numpy as np
import pytest
from make import LAYOUTS, features
from reference.rankers import all_rankers
from reference.ranksvm import ExplicitPairs

from rerank.core.errors import DataError, DataNote, FitError
from rerank.core.workers import parallel
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.propagation.settings import (
    list_rankers,
    normalised,
    ranker_of,
    why_no_rankers,
)
from rerank.learners.base import LEARNERS

NAN = np.nan
QUICK = {
    "mert": {"restarts": 2, "perturbations": 1},
    "coordinate-ascent": {"restarts": 1},
    "lambdamart": {"rounds": 2},
}


def learner(name, **settings):
    return LEARNERS.get(name)(**{**QUICK.get(name, {}), **settings})


def random_lists(seed=0, sizes=(7, 1, 12, 5, 9, 4), layout="dense", d=4):
    """Lists with graded labels; the second has one item, the fourth no pair, the last no label."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (sum(sizes), d)).astype(float)
    y = np.clip(np.round(X[:, 0] - X[:, -1] + rng.normal(0, 1, len(X))), 0, 3)
    bounds = np.cumsum((0, *sizes))
    y[bounds[2]] = NAN
    y[bounds[3] : bounds[4]] = 1.0
    y[bounds[5] : bounds[6]] = NAN
    return CandidateLists.from_arrays(features(layout, X), y, group=list(sizes), source="set")


REASONS = ("", "one item", "", "no pair", "", "no labels")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["ranksvm", "mert", "loglinear"])
def test_every_list_against_a_set_of_it_alone(name, layout):
    lists = random_lists(layout=layout)
    found = list_rankers(learner(name), lists, "l2")
    assert found.reasons == REASONS
    np.testing.assert_array_equal(found.trained, [not reason for reason in REASONS])
    np.testing.assert_allclose(found.weights, all_rankers(learner(name), lists, "l2"), rtol=1e-13)


@pytest.mark.parametrize("name", LEARNERS.names())
def test_every_learner_with_a_linear_model_makes_rankers(name):
    if LEARNERS.get(name).extra and importlib.util.find_spec(LEARNERS.get(name).extra) is None:
        pytest.skip(f"no {LEARNERS.get(name).extra}")
    base, lists = learner(name), random_lists(1)
    if base.needs_unlabelled:
        assert "needs the lists to be ranked" in why_no_rankers(base)
        return
    if base.chooses_on_dev:
        assert "it chooses by development lists" in why_no_rankers(base)
        return
    if name == "ensemble":
        assert "it needs folds of lists" in why_no_rankers(base)
        return
    assert why_no_rankers(base) == ""
    try:
        found = list_rankers(base, lists, "l1")
    except FitError as error:
        found = str(error)
    if isinstance(found, str):
        assert "a ranker is a weight for each feature" in found
        return
    assert found.reasons == REASONS
    np.testing.assert_allclose(found.weights, all_rankers(base, lists, "l1"), rtol=1e-12)
    np.testing.assert_allclose(np.abs(found.weights[found.trained]).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("name", "kind"), [("rankboost", "stumps"), ("combsum", "combsum"), ("random", "random"), ("pm", "trans")]
)
def test_other_models_are_refused(name, kind):
    found = f"learner {name} made a model of the kind '{kind}.*', expected a linear one: a ranker is a weight"
    with pytest.raises(FitError, match=f"^{found} for each feature$"):
        list_rankers(learner(name), random_lists(), "l2")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["ranksvm", "mert", "loglinear", "perceptron"])
def test_equal_items_train_no_ranker(name, layout):
    rng = np.random.default_rng(6)
    X = np.repeat(rng.integers(1, 9, (6, 5)) / 7, 9, axis=0)  # sums of equal values are not always exact
    X[-1, 2] = 0.0
    y = np.tile([0, 1, 2, 0, 1, 0, 2, 1, 0], 6)
    lists = CandidateLists.from_arrays(features(layout, X), y, group=[9] * 6, source="set")
    found = list_rankers(learner(name), lists, "l2")
    assert found.reasons == ("equal items",) * 5 + ("",)
    assert np.isnan(found.weights[:5]).all()
    if name == "ranksvm":
        assert found.weights[5, 2] == pytest.approx(1.0)
        np.testing.assert_allclose(found.weights[5, [0, 1, 3, 4]], 0.0, atol=1e-9)


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_ranksvm_is_at_the_minimum_of_each_list(loss):
    lists = random_lists(2)
    base = learner("ranksvm", loss=loss, tolerance=1e-8)
    found = list_rankers(base, lists, "none")
    for i in np.flatnonzero(found.trained).tolist():
        pairs = ExplicitPairs(lists.subset([i]), list_balance=True)
        best = pairs.objective(pairs.minimum(base.C, loss)[0], base.C, loss)
        assert pairs.objective(found.weights[i], base.C, loss) <= best * (1 + 1e-7)


def test_identical_lists_have_identical_rankers_and_the_seed_is_that_of_the_learner():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(9, 3)), rng.permutation(9).astype(float)
    lists = CandidateLists.from_arrays(np.tile(X, (3, 1)), np.tile(y, 3), group=[9] * 3)
    first, other = (
        list_rankers(learner("mert", directions="random", seed=seed), lists, "l2").weights for seed in (1, 2)
    )
    assert (first == first[0]).all()
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("jobs", [1, 2])
def test_notes_of_many_lists_are_one(jobs):
    lists = random_lists(6)
    with parallel.using(jobs), pytest.warns(DataNote) as notes:
        list_rankers(learner("ranksvm", iterations=1, tolerance=1e-12), lists, "l2")
    (text,) = [str(note.message) for note in notes]
    assert text.startswith("rankers of single lists: set: ranksvm stopped after 1 iteration, up to")
    assert text.endswith("of the objective above the minimum (and 2 similar notes of other lists)")


def test_a_list_that_a_learner_cannot_learn_has_none():
    X = np.array([[1.0, 2.0], [2.0, 1.0], [1e200, 0.0], [0.0, 1e200]])
    lists = CandidateLists.from_arrays(X, [1, 0, 1, 0], group=[2, 2], source="set")
    why = "the loss overflows with C = 10; scale the features (--scaling)"
    with pytest.warns(DataNote) as notes:
        found = list_rankers(learner("ranksvm"), lists, "l2")
    assert found.reasons == ("", why)
    refused = "learner ranksvm cannot be fitted to 1 list of 2, which have no ranker"
    assert [str(note.message) for note in notes] == [f"{refused}: {why}"]


def test_a_single_judged_item_makes_no_pair_with_unjudged_ones():
    lists = CandidateLists.from_arrays(np.eye(3), [1, NAN, NAN], group=[3])
    assert list_rankers(learner("mert"), lists, "l2").reasons == ("no pair",)


def test_sets_without_labels():
    lists = random_lists().replace_labels(None)
    with pytest.raises(DataError, match="set: no labels to measure against"):
        list_rankers(learner("ranksvm"), lists, "l2")
    weights, reason = ranker_of(learner("ranksvm"), lists.subset([0]), "l2")
    assert (reason, np.isnan(weights).all()) == ("no labels", True)
    huge = dataclasses.replace(random_lists(), labels=np.full(38, 1e200))
    with pytest.raises(DataError, match="is too large for a mean of labels"):
        list_rankers(learner("mert"), huge, "l2")


@pytest.mark.parametrize("how", ["l2", "l1", "none"])
@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-200, 1.0, 1e200, 1.7e308])
def test_norms_neither_overflow_nor_vanish(size, how):
    weights = np.array([size, 0.0, -size, size])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = normalised(weights, how)
    expected = {"l2": 1 / np.sqrt(3), "l1": 1 / 3, "none": size}[how]
    np.testing.assert_allclose(found, expected * np.array([1.0, 0.0, -1.0, 1.0]))
    np.testing.assert_array_equal(normalised(np.zeros(2), how), np.zeros(2))


@pytest.mark.parametrize(
    ("name", "settings", "why"),
    [
        ("ranksvm", {"C": "dev"}, "it chooses by development lists, which a single list does not have"),
        (
            "perceptron",
            {"keep": "best"},
            "it chooses by development lists, which a single list does not have",
        ),
        ("mert", {"init": "given"}, "init=given needs initial weights, which no list has"),
        ("perceptron", {"keep": "train"}, ""),
    ],
)
def test_settings_that_need_more_than_a_list_are_refused(name, settings, why):
    base = learner(name, **settings)
    assert why_no_rankers(base) == why
    if not why:
        assert list_rankers(base, random_lists(), "l2").reasons == REASONS
