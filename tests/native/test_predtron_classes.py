"""Passes of Predtron over examples with classes against its pseudo-code, in every layout."""

import numpy as np
import pytest
from make import LAYOUTS, features
from native.test_predtron_tasks import all_labels, made_task
from reference import predtron_classes as slow

from rerank.data.matrix import Dense
from rerank.native.learners import _predtron_classes as native
from rerank.native.learners import _weights

TASKS = [
    ("binary", 2),
    *((kind, 4) for kind in ("classes", "weighted", "ordinal", "reject")),
    *((kind, 4) for kind in ("zero-one", "Hamming", "error-set")),
]
LOSS_DRIVEN = [
    *((kind, m, False) for kind, m in TASKS),
    *((kind, m, True) for kind, m in TASKS),
    ("power", 4, True),
]


def examples(kind, m, layout, n=25, p=7):
    """Examples of values that make most sums exact, so that ties are ties to both."""
    rng = np.random.default_rng(3)
    X = np.round(8 * rng.normal(size=(n, p))) / 8 * (rng.random((n, p)) < 0.6)
    X[4] = 0.0
    if layout == "indicators":
        X = (X > 0).astype(float)
    labels = all_labels(kind, m)
    return X, [labels[i] for i in rng.integers(0, len(labels), n)]


def run(task, matrix, visits, steps, bias, dual=False, size=None):
    """The weights after each visit, as the twin has them, and the losses; the weights of the last call."""
    rows = matrix.matrix()
    weights = _weights.Weights((size + 1) * task.d)
    scratch = native.Reading(rows)
    path, losses = [], []
    for i in visits:
        updates, loss, failed = native.class_pass(
            rows, task, np.array([i]), steps, bias, weights, None, scratch, dual
        )
        assert (updates, failed) == (int(loss > 0), -1)
        path.append(weights.values.reshape(-1, task.d).T.copy())
        losses.append(loss)
    return path, losses, weights


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("kind", "m", "loss_driven"), LOSS_DRIVEN)
def test_weights_and_losses_are_those_of_the_pseudo_code(kind, m, loss_driven, layout):
    bias = 0.5  # 0: tests/learners/test_predtron_classes.py
    X, labels = examples(kind, m, layout)
    task, twin = made_task(kind, m, labels, loss_driven)
    visits = np.random.default_rng(1).permutation(len(X)).tolist() * 2
    data = features(layout, X)
    path, losses, weights = run(task, data, visits, np.full(len(X), 0.25), bias, size=X.shape[1])
    exact = np.column_stack([data.to_dense(), np.full(len(X), bias)])
    slow_path, slow_losses = slow.predtron(
        twin, exact, labels, eta=0.25, orders=[visits], loss_driven=loss_driven
    )
    np.testing.assert_allclose(losses, slow_losses, rtol=0, atol=1e-12)
    np.testing.assert_allclose(path, slow_path, rtol=0, atol=1e-9)
    mean = np.mean(slow_path, axis=0)
    np.testing.assert_allclose(weights.mean().reshape(-1, task.d).T, mean, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("kind", "m", "loss_driven"), LOSS_DRIVEN)
def test_coefficients_of_examples_give_the_same_weights(kind, m, loss_driven):
    X, labels = examples(kind, m, "dense")
    task, twin = made_task(kind, m, labels, loss_driven)
    order = [*range(len(X)), *range(len(X))]
    gram = Dense(X @ X.T)
    path, losses, _ = run(task, gram, order, np.full(len(X), 0.25), 0.0, True, size=len(X))
    slow_path, slow_losses = slow.predtron(twin, X, labels, eta=0.25, orders=[order], loss_driven=loss_driven)
    np.testing.assert_allclose(losses, slow_losses, rtol=0, atol=1e-12)
    np.testing.assert_allclose([alpha[:, :-1] @ X for alpha in path], slow_path, rtol=0, atol=1e-9)


def test_steps_of_examples_multiply_their_updates():
    X, labels = examples("Hamming", 3, "dense")
    task, _ = made_task("Hamming", 3, labels)
    steps = np.random.default_rng(0).random(len(X))
    path, _, _ = run(task, features("dense", X), range(len(X)), steps, 0.0, size=X.shape[1])
    W = np.zeros((3, X.shape[1]))
    for i, x in enumerate(X):
        _, change = task.tried(i, W @ x)
        W = W + steps[i] * np.outer(change, x)
        np.testing.assert_allclose(path[i][:, :-1], W, rtol=0, atol=1e-12)


def test_a_score_out_of_range_ends_the_pass():
    X = np.array([[1.0, 0.0], [1e200, 1e200], [1.0, 1.0]])
    task, _ = made_task("classes", 2, [0, 1, 0])
    rows = features("dense", X).matrix()
    weights = _weights.Weights(6)
    for _ in range(2):
        done = native.class_pass(
            rows, task, np.arange(3), np.full(3, 1e200), 0.0, weights, None, native.Reading(rows), False
        )
    assert done[2] == 1
