#!/usr/bin/env python3
"""What each loss of Predtron gains on its own measure, beside scikit-learn, on data that scikit-learn brings.

    python scripts/classes_table.py [--splits N]

Prints means over random halves with their standard errors. Features are z-scores. Lower is better except for
nDCG, which judges the order of the classes by their scores.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, load_digits, make_multilabel_classification
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.multiclass import OneVsRestClassifier

import rerank
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.models.classes import ClassesModel

ONE = ["zero-one", "difference"]
SETS = ["zero-one", "Hamming", "error-set"]  # nDCG besides


def names_of(Y: Any) -> list[str]:
    """Classes or rows of an indicator as rerank writes them."""
    return [",".join(map(str, np.flatnonzero(row))) if np.ndim(row) else str(row) for row in Y]


def judged(lists: CandidateLists, predicted: Sequence[str], scores: Floats, sets: bool) -> list[float]:
    values = list(rerank.evaluate(lists, predicted, SETS if sets else ONE).values())
    if sets:
        orders = [",".join(map(str, row)) for row in np.argsort(-scores, axis=1, kind="stable").tolist()]
        values += rerank.evaluate(lists, orders, ["nDCG"]).values()
    return values


def one_split(X: Floats, Y: Any, learners: dict[str, dict[str, Any]], seed: int) -> dict[str, list[float]]:
    """The measures of every learner on the second half of the examples in a random order."""
    order = np.random.default_rng(seed).permutation(len(X))
    sets, found = Y.ndim == 2, {}
    classes = [np.flatnonzero(row) for row in Y] if sets else Y
    parts = [order[: len(X) // 2], order[len(X) // 2 :]]
    train, test = (CandidateLists.from_arrays(X[part], classes=[classes[i] for i in part]) for part in parts)
    for name, settings in learners.items():
        model = rerank.train(train, learner="predtron", scaling="zscore", **settings)
        assert isinstance(model, ClassesModel)
        scores = model.class_scores(test)
        predicted = names_of(scores > 0) if sets else model.predicted(test)
        found[name] = judged(test, predicted, scores, sets)
        if model.decode == "multilabel-ranking":
            found[name][:-1] = [np.nan] * 3  # it predicts no sets
    mean, deviation = X[parts[0]].mean(axis=0), X[parts[0]].std(axis=0)
    A, B = ((X[part] - mean) / np.where(deviation > 0, deviation, 1.0) for part in parts)
    for name, peer in (
        ("LogisticRegression", LogisticRegression(max_iter=2000)),
        ("Perceptron", Perceptron()),
    ):
        fitted = (OneVsRestClassifier(peer) if sets else peer).fit(A, Y[parts[0]])
        found[name] = judged(test, names_of(fitted.predict(B)), fitted.decision_function(B), sets)
    return found


def table(title: str, X: Floats, Y: Any, learners: dict[str, dict[str, Any]], splits: int) -> None:
    heads = [*SETS, "nDCG"] if Y.ndim == 2 else ONE
    print(f"\n{title:34} {' '.join(f'{head:>15}' for head in heads)}")
    runs = [one_split(X, Y, learners, seed) for seed in range(splits)]
    for name in runs[0]:
        values = np.array([run[name] for run in runs])
        error = values.std(axis=0) / np.sqrt(splits)
        pairs = zip(values.mean(axis=0).tolist(), error.tolist(), strict=True)
        cells = ["" if np.isnan(mean) else f"{mean:7.3f} ±{half:6.3f}" for mean, half in pairs]
        print(f"{name:34} {' '.join(f'{cell:>15}' for cell in cells)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--splits", type=int, default=20)
    splits = parser.parse_args().splits
    X, target = load_diabetes(return_X_y=True)
    grades = np.searchsorted(np.quantile(target, [0.2, 0.4, 0.6, 0.8]), target)
    ordinal = {f"ordinal, eta={eta:g}": {"task": "ordinal", "eta": eta} for eta in (1.0, 0.1, 0.01)}
    one: dict[str, dict[str, Any]] = {"multiclass": {"task": "multiclass"}}
    table("diabetes, five grades", X, grades, {**one, **ordinal}, splits)
    X, digits = load_digits(return_X_y=True)
    table("digits", X, digits, one, splits)
    X, Y = make_multilabel_classification(2000, 40, n_classes=10, n_labels=3, random_state=0)
    sets: dict[str, dict[str, Any]] = {
        f"multilabel, {loss}": {"task": "multilabel", "loss": loss, "eta": 0.1}
        for loss in ("zero-one", "Hamming", "error-set")
    }
    sets["multilabel-ranking"] = {"task": "multilabel-ranking"}
    table("make_multilabel_classification", X, Y.astype(bool), sets, splits)


if __name__ == "__main__":
    main()
