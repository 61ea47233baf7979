"""The model of every method of this folder: its name, a weight and a table for each run, a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import AnyArray, Floats
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.extensions.fusion.methods import METHODS
from rerank.extensions.fusion.runs import Runs
from rerank.learners.baselines import Fusion
from rerank.models.base import MODELS, Arrays
from rerank.models.fusion import FusionModel


@MODELS.register("fusion")
class Fused(FusionModel):
    """Scores by a method of fusion.

    Parameters
    ----------
    feature_names : list of str
        The runs.
    method : str
        A name of ``METHODS``.
    weights : float64 (n_runs)
    parameter : float
        What else the method needs, such as gamma, phi or the width of a window.
    tables : float64 (n_runs, k)
        Of methods that estimate probabilities: the values of positions or segments of each run.
    """

    kind = "fusion"
    listwise = True

    def __init__(
        self,
        feature_names: list[str],
        method: str,
        weights: Floats,
        parameter: float = 0.0,
        tables: Floats | None = None,
    ) -> None:
        super().__init__(feature_names, weights)
        self.estimates = np.empty((len(feature_names), 0)) if tables is None else tables
        if method not in METHODS:
            raise DataError(f"no method of fusion: {method!r}")
        if not np.isfinite(parameter) or not np.isfinite(self.estimates).all():
            raise DataError("a number that is not finite")
        if len(self.estimates) != len(feature_names):
            raise DataError(f"{len(self.estimates)} tables for {len(feature_names)} features")
        self.method = method
        self.parameter = parameter

    def score_aligned(self, lists: CandidateLists) -> Floats:
        return fused_scores(self.method, Runs(lists), self.weights, self.parameter, self.estimates)

    def described(self) -> dict[str, Any]:
        return {"method": self.method}

    def arrays(self) -> Arrays:
        return {
            **super().arrays(),
            "method": np.frombuffer(self.method.encode(), dtype=np.uint8),
            "parameter": np.array([self.parameter]),
            "estimates": self.estimates,
        }

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {
            **super().members(n_features),
            "method": ArrayForm("|u1", (None,)),
            "parameter": ArrayForm("<f8", (1,)),
            "estimates": ArrayForm("<f8", (n_features, None)),
        }

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        method = arrays["method"].tobytes().decode("ascii", "replace")
        tables = arrays["estimates"]
        if method in NEEDS_TABLES and not tables.shape[1]:
            raise DataError(f"no table of {method}")
        return cls(feature_names, method, arrays["weights"], float(arrays["parameter"][0]), tables)


NEEDS_TABLES = {"mapfuse", "posfuse", "bayesfuse", "probfuse", "slidefuse", "segfuse"}


def fused_scores(method: str, runs: Runs, weights: Floats, parameter: float, tables: Floats) -> Floats:
    """Return the scores of a method, float64 (n_items); what overflows is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):  # score() reports what is not finite
        return METHODS[method](runs, weights, parameter, tables)


class FusionOfRuns(Fusion):
    """Base of the learners of ``Fused``.

    Attributes
    ----------
    parameter : str
        The setting that the model keeps, "" = none.
    """

    parameter: ClassVar[str] = ""

    def fused(
        self, lists: CandidateLists, weights: Floats | None = None, tables: Floats | None = None
    ) -> Fused:
        """Return the model of these runs; without weights each has 1."""
        weights = np.ones(lists.n_features) if weights is None else weights
        return Fused(lists.names(), self.name, weights, self.model_parameter(), tables)

    def model_parameter(self) -> float:
        """Return the value of ``parameter``, 0 without one."""
        return float(getattr(self, self.parameter)) if self.parameter else 0.0
