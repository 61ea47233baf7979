"""Predtron on lists: whole runs against the slow twin, its bounds, its settings and odd data."""

from __future__ import annotations

import numpy as np
import pytest
from reference import predtron as slow
from reference.make import LAYOUTS, features

from rerank.data.lists import CandidateLists
from rerank.learners.predtron.predtron import Predtron


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
    assert model.training.settings == {}
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
        same(Predtron(rounds=4, seed=seed, **settings), some_lists(seed, layout))
