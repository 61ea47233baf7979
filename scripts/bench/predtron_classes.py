#!/usr/bin/env python3
"""Predtron on examples with classes beside scikit-learn and a loop over numpy: examples per CPU second.

    python scripts/bench/predtron_classes.py

Each figure is of passes over drawn examples that no weights separate, so that many are mistakes.
scikit-learn's Perceptron fits the classes one after the other, each against the rest. The loop makes the same
updates as Predtron; both must end with the same weights.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from common import cpu_seconds, need
from scipy.sparse import csr_array, csr_matrix

from rerank.core.types import Floats, Index, Mask
from rerank.data.lists import CandidateLists
from rerank.learners.predtron import Predtron
from rerank.models.classes import ClassesModel

LOOP_EXAMPLES = 4000
PLAIN: dict[str, Any] = {"average": "last", "shuffle": False, "bias": 0.0}


def drawn(n: int, p: int, m: int, values: int | None = None) -> tuple[Any, Floats]:
    """Features, dense or with so many values in each row, and scores (n, m) with noise."""
    rng = np.random.default_rng(0)
    W = rng.standard_normal((p, m))
    if values is None:
        X: Any = rng.standard_normal((n, p))
    else:
        columns = (p * rng.random((n, values)) ** 2).astype(np.int32)
        X = csr_array(
            csr_matrix((rng.random(n * values), columns.ravel(), np.arange(0, n * values + 1, values)))
        )
        X = csr_array((X.data, X.indices, X.indptr), shape=(n, p))
        X.sum_duplicates()
    scores = np.asarray(X @ W)
    return X, scores + scores.std() * rng.standard_normal(scores.shape)


def per_pass(fit: Callable[[int], object]) -> float:
    """CPU seconds of a pass: what 11 passes take longer than one, divided by 10."""
    once, more = (cpu_seconds(partial(fit, epochs), 3) for epochs in (1, 11))
    return max(more - once, 1e-9) / 10


def loop_over_classes(X: Floats, y: Index, m: int) -> Floats:
    """One pass of the multiclass perceptron, a product of numpy for each example."""
    W = np.zeros((m, X.shape[1]))
    for x, c in zip(X, y.tolist(), strict=True):
        t = W @ x
        own, t[c] = t[c], -np.inf
        wrong = int(t.argmax())
        if t[wrong] >= own:
            W[c] += x
            W[wrong] -= x
    return W


def loop_over_sets(X: Floats, Y: Mask) -> Floats:
    """One pass of Predtron with the Hamming loss, a product of numpy for each example."""
    m = Y.shape[1]
    W, signs = np.zeros((m, X.shape[1])), np.where(Y, 1.0, -1.0)
    for x, sign in zip(X, signs, strict=True):
        leads = sign * (W @ x)
        if (leads <= 0).any():
            below = leads <= np.sqrt(m) / 2
            W[below] += np.outer(2 / np.sqrt(m) * sign[below], x)
    return W


def report(
    name: str, lists: CandidateLists, settings: dict[str, Any], sklearn: float | None, loop: Any
) -> None:
    seconds = per_pass(lambda epochs: Predtron(**settings, epochs=epochs).fit(lists))
    n = lists.n_items
    row = [n / seconds, None if sklearn is None else n / sklearn, None]
    if loop is not None:
        few = lists.subset(np.arange(LOOP_EXAMPLES))
        start = time.process_time()
        W = loop()
        row[2] = LOOP_EXAMPLES / (time.process_time() - start)
        model = Predtron(**settings, **PLAIN, epochs=1).fit(few)
        assert isinstance(model, ClassesModel)
        np.testing.assert_allclose(model.weights, W, rtol=1e-7, atol=1e-7 * np.abs(W).max())
    cells = [f"{value:13,.0f}" if value is not None else f"{'':13}" for value in row]
    print(f"{name:52} {' '.join(cells)}")


def multiclass(name: str, n: int, p: int, m: int, values: int | None = None) -> None:
    from sklearn.linear_model import Perceptron

    X, scores = drawn(n, p, m, values)
    y = scores.argmax(axis=1)
    peer = per_pass(lambda epochs: Perceptron(max_iter=epochs, tol=None).fit(X, y))
    loop = None if values else lambda: loop_over_classes(X[:LOOP_EXAMPLES], y[:LOOP_EXAMPLES], m)
    task = "binary" if m == 2 else "multiclass"
    lists = CandidateLists.from_arrays(X, classes=y)
    report(name, lists, {"task": task}, peer, None if task == "binary" else loop)


def multilabel(name: str, n: int, p: int, m: int, **settings: Any) -> None:
    X, scores = drawn(n, p, m)
    Y = scores > np.quantile(scores, 0.8)
    lists = CandidateLists.from_arrays(X, classes=[np.flatnonzero(row) for row in Y])
    hamming = settings == {"task": "multilabel"}
    loop = (lambda: loop_over_sets(X[:LOOP_EXAMPLES], Y[:LOOP_EXAMPLES])) if hamming else None
    report(name, lists, settings, None, loop)


def main() -> None:
    need("sklearn")
    print(f"{'examples per CPU second':52} {'predtron':>13} {'scikit-learn':>13} {'numpy loop':>13}")
    multiclass("binary, 64 features", 20_000, 64, 2)
    multiclass("10 classes, 64 features", 20_000, 64, 10)
    multiclass("20 classes, 50,000 features, 50 values", 20_000, 50_000, 20, 50)
    multilabel("sets of 20 classes, 64 features, Hamming", 20_000, 64, 20, task="multilabel")
    for loss in ("zero-one", "error-set"):
        name = f"sets of 20 classes, 64 features, {loss}"
        multilabel(name, 20_000, 64, 20, task="multilabel", loss=loss)
    multilabel("rankings of 20 classes, 64 features", 20_000, 64, 20, task="multilabel-ranking")
    multilabel("rankings of 100 classes, 64 features", 5_000, 64, 100, task="multilabel-ranking")


if __name__ == "__main__":
    main()
