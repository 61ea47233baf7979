"""Gains of real-valued labels: 2^label - 1 of a GDT-TS or a BLEU is no gain that anybody means."""

import warnings

import numpy as np
import pytest

from rerank import CandidateLists, train
from rerank.core.errors import DataNote
from rerank.learners.base import exponential_gains


def lists_of(largest):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 2))
    labels = X[:, 0] + 0.3 * rng.standard_normal(60)
    labels = largest * (labels - labels.min()) / np.ptp(labels)
    return CandidateLists.from_arrays(X, labels, group=[20] * 3)


@pytest.mark.parametrize(("learner", "instead"), [("lambdamart", "label"), ("predtron", "linear")])
def test_labels_to_100_are_noted_under_the_exponential_gain(learner, instead):
    few = {"rounds": 2, "min_leaf": 5} if learner == "lambdamart" else {"epochs": 2}
    with pytest.warns(DataNote, match=rf"labels up to 99\.03 only the largest count; gain={instead} takes"):
        train(lists_of(99.03), learner, **few)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataNote)
        train(lists_of(99.03), learner, gain=instead, **few)
        train(lists_of(30.0), learner, **few)


def test_values():
    assert exponential_gains(np.array([-2.0, 0.0, 1.5, 3.0]), "set", "x").tolist() == [0, 0, 2**1.5 - 1, 7]
    assert exponential_gains(np.empty(0), "set", "x").shape == (0,)
