"""Unlabelled lists that are not those to be ranked: against every pair and round, and plain kernel PCA."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from make import drawn
from reference import kernel_pca
from reference import pseudo_margin as slow
from small_training import fit

from rerank.core.errors import ConfigError, FitError
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation
from rerank.extensions.transductive.inductive import InductiveGeneration, InductiveMargins
from rerank.learners.rankboost import RankBoost
from rerank.models.base import load_model

BOOST = {"name": "rankboost", "rounds": 8}


some_lists = partial(drawn, sizes=(1, 6, 5, 7), grades=(0, 3), unjudged=0.0)


def pairs_within(lists):
    """Pairs of items of the same list."""
    bounds = zip(lists.offsets[:-1].tolist(), lists.offsets[1:].tolist(), strict=True)
    return [(i, j) for a, b in bounds for i in range(a, b) for j in range(i + 1, b)]


@pytest.mark.parametrize("base", [{}, {"step": "exact"}, {"thresholds": 3}, {"list_balance": True}])
@pytest.mark.parametrize("gamma", [0.5, 20.0])
def test_pseudo_margins_of_several_lists(base, gamma):
    train, pool, new = some_lists(1), some_lists(2, sizes=(4, 1, 6)), some_lists(3)
    learner = RankBoost(rounds=8, **base)
    method = SimpleNamespace(base_learner=learner, gamma=gamma, direction="maximise")
    kept = pool.subset([0, 2])
    X = kept.features.to_dense()
    relation = PairRelation(learner.pairs, label_gap=learner.label_gap)
    _, F = slow.rounds(method, train, relation, X, pairs_within(kept))
    model = InductiveMargins(base=BOOST | base, gamma=gamma).fit(train, unlabelled=pool)
    scores = np.concatenate([model.score(train), model.score(kept)])
    np.testing.assert_allclose(scores - scores[0], F - F[0], atol=1e-9)  # a model leaves out a constant
    assert np.isfinite(model.score(new)).all()


@pytest.mark.parametrize("kernel", ["linear", "poly2", "gaussian:1", "diffusion:10"])
def test_components_of_the_pool(kernel):
    train, pool, new = some_lists(1), some_lists(2, sizes=(9, 1, 12)), some_lists(3)
    model = InductiveGeneration(base=BOOST, kernels=kernel, components=2).fit(train, unlabelled=pool)
    expected = kernel_pca.columns(pool.features.to_dense(), new.features.to_dense(), kernel, 2)
    found = model.columns(new)
    for ours, theirs in zip(found.T, np.asarray(expected).T, strict=True):
        assert np.allclose(ours, theirs, atol=1e-6) or np.allclose(ours, -theirs, atol=1e-6)
    wide = new.with_added(dict(zip(model.names, found.T, strict=True)))
    np.testing.assert_array_equal(model.score(new), model.inner.score(wide))


@pytest.mark.parametrize("kind", [InductiveGeneration, InductiveMargins])
@pytest.mark.parametrize(("layout", "missing"), [("dense", 0.0), ("dense", 0.1), ("sparse", 0.0)])
def test_models_rank_new_lists_alone(kind, layout, missing, tmp_path):
    train, pool, new = (some_lists(s, layout=layout, missing=missing) for s in (1, 2, 3))
    model = kind(base=BOOST).fit(train, unlabelled=pool)
    assert model.training.notes["unlabelled"] == "4 lists"
    scores = model.score(new)
    np.testing.assert_array_equal(model.score(new.subset([2])), scores[7:12])
    path = str(tmp_path / "model")
    model.save(path)
    np.testing.assert_array_equal(load_model(path).score(new), scores)
    again = kind(base=BOOST).fit(train, unlabelled=pool.replace_labels(np.arange(19.0)))
    np.testing.assert_array_equal(again.score(new), scores)  # labels of unlabelled lists are not read
    other = kind(base=BOOST).fit(train)
    assert other.training.notes["unlabelled"] == "4 lists (those of the training set)"
    own = kind(base=BOOST).fit(train, unlabelled=train)
    np.testing.assert_array_equal(own.score(new), other.score(new))


def test_more_items_are_sampled():
    train, pool = some_lists(1), some_lists(2, sizes=(30, 30))
    found = InductiveGeneration(base=BOOST, kernels="linear", items=20).fit(train, unlabelled=pool)
    assert found.test.n_items == 20
    same = InductiveGeneration(base=BOOST, kernels="linear", items=20).fit(train, unlabelled=pool)
    other = InductiveGeneration(base=BOOST, kernels="linear", items=20, seed=2).fit(train, unlabelled=pool)
    np.testing.assert_array_equal(found.test.features.to_dense(), same.test.features.to_dense())
    assert (found.test.features.to_dense() != other.test.features.to_dense()).any()


def test_the_model_is_for_any_lists(recwarn):
    model = fit(InductiveMargins(base=BOOST), some_lists(1))
    assert model.training.unlabelled is None
    assert not model.adapts


def test_what_is_refused():
    train = some_lists(1)
    equal = CandidateLists.from_arrays(np.ones((3, 4)), source="equal")
    with pytest.raises(FitError, match="equal: equal items, which have no component"):
        InductiveGeneration(base=BOOST).fit(train, unlabelled=equal)
    single = CandidateLists.from_arrays(np.ones((2, 4)), group=[1, 1], source="single")
    with pytest.raises(FitError, match="single: no list has two items"):
        InductiveMargins(base=BOOST).fit(train, unlabelled=single)
    for wrong in ({"base": "ranksvm"}, {"gamma": 0}):
        with pytest.raises(ConfigError):
            InductiveMargins(**wrong)
    with pytest.raises(ConfigError, match="optimises a metric"):
        InductiveGeneration(base="mert")
