"""Iterative parameter mixing is a perceptron of each part from the same weights, mixed after every epoch."""

import numpy as np
import pytest
from make import lists as make_lists
from small_training import make_learner

from rerank.core.errors import ConfigError, FitError
from rerank.core.workers import parallel
from rerank.learners.parameter_mixing import ParameterMixing
from rerank.learners.perceptron import Perceptron


def some_lists():
    return make_lists(sizes=[6] * 21, d=5, seed=2, grades=(0, 3), noise=1.0)


def by_hand(lists, parts, epochs, mixing, average, **given):
    """The same from fits of perceptrons with one epoch each, and their means."""
    blocks = [lists.subset(some) for some in np.array_split(np.arange(lists.n_lists), parts)]
    w, total, visits = np.zeros(lists.n_features), np.zeros(lists.n_features), 0
    for _ in range(epochs):
        made = {kind: [] for kind in ("last", "average")}
        for block in blocks:
            for kind, found in made.items():
                learner = Perceptron(epochs=1, shuffle=False, average=kind, **given)
                found.append(learner.fit(block, initial=w if w.any() else None))
        updates = np.array([model.curve[0]["updates"] for model in made["last"]])
        share = np.full(parts, 1 / parts) if mixing == "uniform" else updates / updates.sum()
        for block, model in zip(blocks, made["average"], strict=True):
            n = block.n_lists - model.training.data.lists_without_pair
            total += n * model.weights
            visits += n
        w = sum(s * model.weights for s, model in zip(share, made["last"], strict=True))
    return w if average == "last" else total / visits


@pytest.mark.parametrize("mixing", ["uniform", "updates"])
@pytest.mark.parametrize("average", ["last", "average"])
@pytest.mark.parametrize(
    "given", [{}, {"margin": "uneven", "tau": 2.0}, {"rivals": "top", "pairs": "best-rest"}]
)
def test_the_mixture_is_that_of_perceptrons(mixing, average, given):
    lists = some_lists()
    how = {"parts": 4, "epochs": 3, "mixing": mixing, "average": average, "shuffle": False, **given}
    with parallel.using(3):
        found = ParameterMixing(**how).fit(lists)
    assert found.weights.tobytes() == ParameterMixing(**how).fit(lists).weights.tobytes()
    np.testing.assert_allclose(found.weights, by_hand(lists, 4, 3, mixing, average, **given), atol=1e-12)


def test_one_part_is_the_perceptron():
    lists = some_lists()
    given = {"epochs": 5, "shuffle": False}
    found, expected = ParameterMixing(parts=1, **given).fit(lists), Perceptron(**given).fit(lists)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-12)
    assert [row["updates"] for row in found.curve] == [row["updates"] for row in expected.curve]
    assert found.training.data == expected.training.data


def test_initial_weights_under_which_scores_overflow_are_an_error():
    lists = some_lists()
    with pytest.raises(FitError, match="scores under the initial weights overflow"):
        ParameterMixing().fit(lists, initial=np.full(lists.n_features, 1e308))


@pytest.mark.parametrize("name", ["algorithm=1", "average=voted", "tau_scale=norm", "dimension=1.0"])
def test_settings_of_one_perceptron_are_refused(name):
    key, _, value = name.partition("=")
    with pytest.raises(
        ConfigError, match=f"^(learner parameter-mixing: )?{key}.*: not used by parameter-mixing"
    ):
        make_learner("parameter-mixing", {key: int(value) if value == "1" else value, "tau": 1.0})
