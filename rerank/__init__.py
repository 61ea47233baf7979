"""N-best reranking and learning to rank.

>>> import rerank
>>> lists = rerank.load("train.txt")
>>> model = rerank.train(lists, learner="perceptron", rounds=10)
>>> rerank.evaluate(lists, model.score(lists), ["AP", "nDCG@10"])

Names are imported when first used, so that ``import rerank`` and the command line start quickly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rerank._version import __version__

if TYPE_CHECKING:
    from rerank.data.lists import CandidateLists
    from rerank.errors import ConfigError, DataError, DataNote, FitError, FormatError, RerankError
    from rerank.experiment import evaluate, train
    from rerank.formats import load
    from rerank.models.base import Model, load_model

_HOME = {
    "CandidateLists": "rerank.data.lists",
    "ConfigError": "rerank.errors",
    "DataError": "rerank.errors",
    "DataNote": "rerank.errors",
    "FitError": "rerank.errors",
    "FormatError": "rerank.errors",
    "Model": "rerank.models.base",
    "RerankError": "rerank.errors",
    "evaluate": "rerank.experiment",
    "load": "rerank.formats",
    "load_model": "rerank.models.base",
    "train": "rerank.experiment",
}

__all__ = [
    "CandidateLists",
    "ConfigError",
    "DataError",
    "DataNote",
    "FitError",
    "FormatError",
    "Model",
    "RerankError",
    "__version__",
    "evaluate",
    "load",
    "load_model",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'rerank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
