"""N-best reranking and learning to rank.

>>> import rerank
>>> features = [[0.0], [1.0], [3.0], [2.0], [5.0]]
>>> lists = rerank.CandidateLists.from_arrays(features, [0, 1, 2, 0, 1], group=[2, 3])
>>> model = rerank.train(lists, learner="perceptron", rounds=10)
>>> rerank.evaluate(lists, model.score(lists), ["RR", "P@1"])
{'RR': 1.0, 'P@1': 1.0}

``rerank.load`` reads such lists from files. ``evaluate``, ``compare``, ``label`` and ``save`` take plain
sequences as well. What each verb of the command line does is one call of ``rerank.experiment``.

Names are imported when first used, so that ``import rerank`` and the command line start quickly.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from rerank._version import __version__

if TYPE_CHECKING:
    from rerank.core.errors import ConfigError, DataError, DataNote, FitError, FormatError, RerankError
    from rerank.data.example_pairs import preference_pairs
    from rerank.data.lists import CandidateLists
    from rerank.experiment import (
        append,
        compare,
        count_pairs,
        evaluate,
        label,
        permutation_importance,
        predict,
        run,
        save,
        split,
        standardised_weights,
        train,
        validate,
        weigh_lists,
    )
    from rerank.formats import load
    from rerank.models.base import Model, load_model
    from rerank.similarity.items.transformer import TreeKernel

_HOME = {
    "CandidateLists": "rerank.data.lists",
    "ConfigError": "rerank.core.errors",
    "DataError": "rerank.core.errors",
    "DataNote": "rerank.core.errors",
    "FitError": "rerank.core.errors",
    "FormatError": "rerank.core.errors",
    "Model": "rerank.models.base",
    "RerankError": "rerank.core.errors",
    "TreeKernel": "rerank.similarity.items.transformer",
    "append": "rerank.experiment",
    "compare": "rerank.experiment",
    "count_pairs": "rerank.experiment",
    "evaluate": "rerank.experiment",
    "label": "rerank.experiment",
    "load": "rerank.formats",
    "load_model": "rerank.models.base",
    "permutation_importance": "rerank.experiment",
    "predict": "rerank.experiment",
    "preference_pairs": "rerank.data.example_pairs",
    "run": "rerank.experiment",
    "save": "rerank.experiment",
    "split": "rerank.experiment",
    "standardised_weights": "rerank.experiment",
    "train": "rerank.experiment",
    "validate": "rerank.experiment",
    "weigh_lists": "rerank.experiment",
}

_PACKAGES = ("experiment", "metrics")  # what is used as rerank.metrics.bleu(...)

__all__ = [
    "CandidateLists",
    "ConfigError",
    "DataError",
    "DataNote",
    "FitError",
    "FormatError",
    "Model",
    "RerankError",
    "TreeKernel",
    "__version__",
    "append",
    "compare",
    "count_pairs",
    "evaluate",
    "label",
    "load",
    "load_model",
    "permutation_importance",
    "predict",
    "preference_pairs",
    "run",
    "save",
    "split",
    "standardised_weights",
    "train",
    "validate",
    "weigh_lists",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"rerank.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    # With name and obj, Python suggests the nearest name.
    raise AttributeError(f"module 'rerank' has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_PACKAGES])
