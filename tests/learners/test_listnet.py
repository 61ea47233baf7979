"""ListNet: its targets and minimum by the definition, and as the log-linear model that it is."""

import math
from functools import partial

import numpy as np
import pytest
from make import LAYOUTS, lists
from reference import loglinear as slow
from scipy.optimize import minimize

from rerank.learners.loglinear import ListNet, LogLinear

some_lists = partial(lists, tied=3, source="some lists")


def cross_entropy(lists, w):
    """The paper's loss of lists with two different labels."""
    total, used = 0.0, 0
    X = lists.features.to_dense()
    for first, last in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        items = [j for j in range(first, last) if not math.isnan(lists.labels[j])]
        if len({lists.labels[j] for j in items}) > 1:
            aim = [math.exp(lists.labels[j]) for j in items]
            own = [math.exp(score) for score in X[items] @ w]
            total -= sum(a / sum(aim) * math.log(o / sum(own)) for a, o in zip(aim, own, strict=True))
            used += 1
    return total, used


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("penalty", [0.05, 2.0])
def test_the_minimum_is_that_of_the_papers_loss(layout, penalty):
    lists = some_lists(seed=4, layout=layout)
    found = minimize(
        lambda w: cross_entropy(lists, w)[0] + penalty * w @ w,
        np.zeros(4),
        method="BFGS",
        options={"gtol": 1e-8},
    )
    model = ListNet(penalty=penalty, tolerance=1e-13).fit(lists)
    np.testing.assert_allclose(model.weights, found.x, atol=1e-5)
    loss, used = cross_entropy(lists, model.weights)
    assert model.training.rounds.loss == pytest.approx(loss / used, rel=1e-9)
    data = model.training.data
    assert data.lists_without_pair == lists.n_lists - used
    np.testing.assert_allclose(slow.loss(lists, model.weights, "soft", 1.0), loss, rtol=1e-12)


def test_large_labels_make_the_best_item_certain():
    lists = some_lists(seed=2)
    large = ListNet(tolerance=1e-12).fit(lists.replace_labels(lists.labels * 1e6))
    tied = LogLinear(prior=1.0, targets="tied", tolerance=1e-12).fit(lists)
    np.testing.assert_allclose(large.weights, tied.weights, atol=1e-6)
