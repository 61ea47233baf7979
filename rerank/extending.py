"""The names that packages with learners, metrics, formats and kernels of their own build on.

They stay as they are within a major version. See ``rerank help extending`` for a package of this kind.
"""

from __future__ import annotations

from rerank.core.errors import ConfigError as ConfigError
from rerank.core.errors import DataError as DataError
from rerank.core.errors import DataNote as DataNote
from rerank.core.errors import FitError as FitError
from rerank.core.errors import FormatError as FormatError
from rerank.core.settings import setting as setting
from rerank.data.lists import CandidateLists as CandidateLists
from rerank.data.pairs import PairRelation as PairRelation
from rerank.data.pairs import Pairs as Pairs
from rerank.data.pairs import make_pairs as make_pairs
from rerank.data.reading import ReadOptions as ReadOptions
from rerank.formats.base import Format as Format
from rerank.learners.base import FitInputs as FitInputs
from rerank.learners.base import Learner as Learner
from rerank.metrics.base import Metric as Metric
from rerank.metrics.selecting import MeanMetric as MeanMetric
from rerank.metrics.selecting import SelectingMetric as SelectingMetric
from rerank.models.base import Model as Model
from rerank.models.linear import LinearModel as LinearModel
from rerank.similarity.base import Kernel as Kernel
from rerank.similarity.base import PlainKernel as PlainKernel
