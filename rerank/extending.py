"""The names that packages with learners, metrics, formats and kernels of their own build on.

They stay as they are within a major version. See CONTRIBUTING for a package of this kind.
"""

from __future__ import annotations

from rerank.core.errors import ConfigError, DataError, DataNote, FitError, FormatError
from rerank.core.settings import setting
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation, Pairs, make_pairs
from rerank.data.reading import ReadOptions
from rerank.formats.base import Format
from rerank.learners.base import FitInputs, Learner
from rerank.metrics.base import Metric
from rerank.metrics.selecting import MeanMetric, SelectingMetric
from rerank.models.base import Model
from rerank.models.linear import LinearModel
from rerank.similarity.base import Kernel, PlainKernel

__all__ = [
    "CandidateLists",
    "ConfigError",
    "DataError",
    "DataNote",
    "FitError",
    "FitInputs",
    "Format",
    "FormatError",
    "Kernel",
    "Learner",
    "LinearModel",
    "MeanMetric",
    "Metric",
    "Model",
    "PairRelation",
    "Pairs",
    "PlainKernel",
    "ReadOptions",
    "SelectingMetric",
    "make_pairs",
    "setting",
]
