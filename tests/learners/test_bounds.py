"""Theorems 1 and 2 of Shen & Joshi for a model and lists, against every pair and against training."""

import json

import numpy as np
import pytest
from learners.test_perceptron import (
    BOUND_RELATIONS,
    MARGINS,
    RELATIONS,
    as_sparse,
    integer_lists,
    separable_lists,
)
from reference.bounds import bounds as slow

from rerank import load, load_model, save, train
from rerank.core.errors import ConfigError, DataError
from rerank.data.lists import CandidateLists
from rerank.learners import bounds as module
from rerank.learners.bounds import perceptron_bounds
from rerank.learners.perceptron import Perceptron
from rerank.learners.ranksvm import RankSVM

FIELDS = ("radius", "difference", "least", "longest", "margin", "mistakes", "short", "separated", "pairs")


def fitted(lists, **settings):
    """A model with the record of its training, as ``rerank.train`` leaves it."""
    return train(lists, learner="perceptron", scaling="none", **settings)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("margin", MARGINS, ids=str)
@pytest.mark.parametrize("dimension", [0.0, 1.5])
def test_quantities_are_those_of_every_pair(relation, margin, dimension, monkeypatch):
    monkeypatch.setattr(module, "_PAIRS", 30)
    for seed in range(2):
        lists = integer_lists(seed, noise=0.1)
        model = fitted(lists, epochs=3, tau=0.7, dimension=dimension, **relation, **margin)
        learner = Perceptron(**relation, **margin)
        expected = slow(lists, model.weights, learner.relation, learner.margin_function, 0.7, dimension)
        for data in (lists, as_sparse(lists)):
            found = perceptron_bounds(model, data)
            assert [getattr(found, name) for name in FIELDS] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("relation", BOUND_RELATIONS, ids=str)
@pytest.mark.parametrize("margin", MARGINS, ids=str)
@pytest.mark.parametrize("tau", [0.0, 0.1, 5.0])
def test_training_keeps_within_what_is_guaranteed(relation, margin, tau):
    for algorithm, rivals in ((1, "all"), (2, "all"), (2, "top")):
        given = {"algorithm": algorithm, "rivals": rivals, "tau": tau, "average": "last", "epochs": 100_000}
        if rivals == "top" and margin["margin"] != "even":
            given["step"] = "margin"
        learner = Perceptron(**given, **relation, **margin)
        lists, _, _ = separable_lists(learner.relation, learner.margin_function, 7)
        model = fitted(lists, **given, **relation, **margin)
        found = perceptron_bounds(model, lists)
        assert found.mistakes == 0
        assert found.margin > 0
        if algorithm == 2 and rivals == "all" and margin["margin"] != "even":
            assert found.most is None
            assert found.reasons == [
                f"Theorem 2 is proved for margin=even; the model has margin={margin['margin']}"
            ]
            continue
        assert found.theorem == (1 if rivals == "top" else algorithm)
        assert sum(row["violated"] for row in model.curve) <= (found.fewest or found.most) <= found.most
        assert found.margin >= found.reached - 1e-12


def test_what_is_not_covered_is_said():
    lists = integer_lists(3)
    lists_of = lists.n_lists
    assert perceptron_bounds(fitted(lists, epochs=2), lists).reasons == [
        "these weights do not separate the pairs; others may"
    ]
    plain = fitted(lists, rivals="top", margin="uneven", dimension=9.0)
    assert perceptron_bounds(plain, lists).reasons == [
        "with rivals=top updates are not multiplied by g; step=margin does that"
    ]
    weighted = fitted(lists, dimension=9.0, list_weights=np.full(lists_of, 2.0))
    assert perceptron_bounds(weighted, lists).reasons == ["list weights multiplied the updates"]
    other = perceptron_bounds(fitted(lists, dimension=9.0), integer_lists(4))
    assert other.notes == ["the model was trained on other lists: the guarantees are of a training on these"]
    for model, message in (
        (train(lists, RankSVM()), "found ranksvm; the theorems are about the learner perceptron"),
        (fitted(lists, average="voted"), "voted weights; average=last or average"),
    ):
        with pytest.raises(ConfigError, match=message):
            perceptron_bounds(model, lists)
    tied = CandidateLists.from_arrays(np.ones((4, 5)), np.ones(4), group=[2, 2])
    with pytest.raises(DataError, match="no list has a pair under pairs=ordinal"):
        perceptron_bounds(fitted(lists), tied)


def test_on_the_command_line(rerank, tmp_path):
    learner = Perceptron(tau=0.5)
    lists, _, _ = separable_lists(learner.relation, learner.margin_function, 7)
    data, model = str(tmp_path / "train.txt"), str(tmp_path / "model")
    save(lists, data, "svmlight")
    given = ["--scaling", "none", "--set", "tau=0.5", "--set", "average=last", "--set", "epochs=5000"]
    rerank("train", "--data", data, "--learner", "perceptron", *given, "--out", model)
    assert "Theorem 2, mistakes  " in rerank("show", model, "--bounds", data).out
    record = json.loads(rerank("show", model, "--bounds", data, "--as", "json").out)["bounds"]
    assert record["most"] == pytest.approx(perceptron_bounds(load_model(model), load(data)).most)
    assert "Theorem 2" in rerank("show", model, "--bounds", data, "--as", "markdown").out
    refused = rerank("show", model, "--format", "svmlight", code=2)
    assert "options of reading: not used without --bounds" in refused.err
    rerank("show", model, "--bounds", str(tmp_path / "none"), code=2)
