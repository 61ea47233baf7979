"""Models of classes whose scores are sums of a kernel over examples of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from rerank.core.types import AnyArray, Floats
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Sparse
from rerank.data.npy import ArrayForm
from rerank.models.base import MODELS, Arrays, Model
from rerank.models.classes import ClassesModel, Decode, read_meta
from rerank.models.dual import SUPPORT_MEMBERS, expansion, support_arrays, support_names, support_of
from rerank.similarity.vectors import VectorKernel


@MODELS.register("dual-classes")
class DualClassesModel(ClassesModel):
    """Scores are b plus sums over support examples of their coefficients times K(x, support example).

    Parameters
    ----------
    feature_names
        The model's columns.
    support
        Examples of training, with these columns.
    coefficients
        float64 (n_outputs, n_support).
    kernel
        K.
    classes, decode, bias, reject
        See ``ClassesModel``.
    """

    kind = "dual-classes"

    def __init__(
        self,
        feature_names: list[str],
        support: Sparse,
        coefficients: Floats,
        kernel: VectorKernel,
        classes: Sequence[str],
        decode: Decode,
        bias: Floats | None = None,
        reject: bool = False,
    ) -> None:
        self.support, self.kernel = support, kernel
        super().__init__(feature_names, coefficients, classes, decode, bias, reject)

    def _columns(self) -> list[str]:
        return support_names(self.support.n_items)

    def _outputs(self, lists: CandidateLists) -> Floats:
        coefficients = np.ascontiguousarray(self.weights.T)
        return expansion(lists.features, self.support, coefficients, self.kernel) + self.bias

    def multiply_weight(self, column: int, factor: float) -> None:
        Model.multiply_weight(self, column, factor)

    def n_weighted(self) -> int:
        """Return how many features a support example has a value of."""
        return len(self.support.occurring())

    def arrays(self) -> Arrays:
        return {**super().arrays(), **support_arrays(self.support, self.kernel)}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        forms = {**super().members(n_features), **SUPPORT_MEMBERS}
        return {**forms, "weights": ArrayForm("<f8", (None, None))}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        support, kernel = support_of(arrays, len(feature_names))
        meta = read_meta(arrays["classes"])
        form = (meta.classes, meta.decode, arrays["bias"], meta.reject)
        return cls(feature_names, support, arrays["weights"], kernel, *form)
