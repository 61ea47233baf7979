"""Experiments: the steps joined, from files to lists, a model, scores and numbers.

The only package that sees all others. The command line and the public Python functions are thin over it.
"""

from __future__ import annotations

from rerank.experiment.core import (
    TrainResult,
    compare_files,
    default_metrics,
    evaluate,
    evaluate_files,
    fit,
    learner_of,
    make_learner,
    save_models,
    train,
    train_from,
    write_curve,
)

__all__ = [
    "TrainResult",
    "compare_files",
    "default_metrics",
    "evaluate",
    "evaluate_files",
    "fit",
    "learner_of",
    "make_learner",
    "save_models",
    "train",
    "train_from",
    "write_curve",
]
