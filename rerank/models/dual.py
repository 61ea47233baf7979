"""Models whose scores are sums of a kernel over items of training, also those of classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Self, get_args

import numpy as np

from rerank.core.errors import DataError
from rerank.core.text import count
from rerank.core.types import AnyArray, Floats
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features, Sparse
from rerank.data.npy import ArrayForm
from rerank.models.base import MODELS, Arrays, Model, heaviest_first
from rerank.models.classes import ClassesModel, Decode, read_meta
from rerank.similarity.vectors import KernelName, VectorKernel, products, squared_norms

_NAMES: tuple[KernelName, ...] = get_args(KernelName)
_BLOCK = 4_000_000  # numbers of a kernel matrix that exist at once


def with_width(kernel: VectorKernel, items: Features) -> VectorKernel:
    """Return the kernel; if its gamma is 0, with the gamma 1 / (2 m^2) of the median distance m of items.

    Distances are those of different items, of 1,000 at most; gamma is 1 if all are equal. A Gaussian that is
    much narrower is 0 for nearly all pairs of items: what is learnt from one reaches no other.
    """
    if kernel.gamma:
        return kernel
    some = items.take(np.unique(np.linspace(0, items.n_items - 1, 1000).astype(np.int64)))
    norms = squared_norms(some)
    with np.errstate(over="ignore", invalid="ignore"):
        squared = norms[:, None] + norms - 2.0 * np.array(list(products(some, some)))
    different = squared[squared > 1e-12 * norms.max()]  # those of equal items are 0 up to rounding
    return replace(kernel, gamma=0.5 / float(np.median(different)) if len(different) else 1.0)


def expansion(features: Features, support: Features, coefficients: Floats, kernel: VectorKernel) -> Floats:
    """Return sums over support items of their coefficients times the kernel with them, float64 (n_items, k).

    A sum has the same bits whatever other items there are: it runs over the support items in their order.

    - ``features``, ``support``: the items to score, and the support items, with the same columns.
    - ``coefficients``: float64 (n_support, k).
    - ``kernel``: K.
    """
    n = features.n_items
    out = np.zeros((n, coefficients.shape[1]))
    size = max(_BLOCK // max(support.n_items, 1), 1)
    for first in range(0, n, size):
        rows = features.take(slice(first, min(first + size, n)))
        add_columns(kernel.columns(rows, support), coefficients, out[first : first + size])
    return out


def add_columns(columns: Iterable[Floats], coefficients: Floats, out: Floats) -> None:
    """Add the columns of a kernel (n_support, n_items), times coefficients, to ``out`` (n_items, k)."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # score() reports what is not finite
        for column, factors in zip(columns, coefficients, strict=True):
            out += column[:, None] * factors


@MODELS.register("dual")
class DualModel(Model):
    """score(x) = the sum over support items of their coefficient times K(x, support item).

    Parameters
    ----------
    feature_names
        The model's columns.
    support
        Items of training, with these columns.
    coefficients
        float64 (n_support).
    kernel
        K.
    """

    kind = "dual"
    weighs_items = True

    def __init__(
        self, feature_names: list[str], support: Sparse, coefficients: Floats, kernel: VectorKernel
    ) -> None:
        super().__init__(feature_names)
        if coefficients.shape != (support.n_items,) or support.n_features != len(feature_names):
            raise DataError(
                f"{coefficients.size} coefficients for {support.n_items} items with {support.n_features} of "
                f"{len(feature_names)} features"
            )
        if not np.isfinite(coefficients).all():
            raise DataError("a coefficient that is not finite")
        self.support, self.coefficients, self.kernel = support, coefficients, kernel

    def score_aligned(self, lists: CandidateLists) -> Floats:
        return expansion(lists.features, self.support, self.coefficients[:, None], self.kernel)[:, 0].copy()

    def n_weighted(self) -> int:
        """Return how many features a support item has a value of."""
        return len(self.support.occurring())

    def arrays(self) -> Arrays:
        return {**support_arrays(self.support, self.kernel), "coefficients": self.coefficients}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {**SUPPORT_MEMBERS, "coefficients": ArrayForm("<f8", (None,))}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        support, kernel = support_of(arrays, len(feature_names))
        return cls(feature_names, support, arrays["coefficients"], kernel)

    def explain(self) -> list[tuple[str, float]]:
        """Return the coefficients of support items, numbered from 1, largest magnitude first."""
        return support_rows(self.coefficients)

    def described(self) -> dict[str, str]:
        return {"support": support_fact(self.coefficients)}


SUPPORT_MEMBERS = {
    "kernel": ArrayForm("<f8", (4,)),
    "indptr": ArrayForm("<i8", (None,)),
    "indices": ArrayForm("<i4", (None,)),
    "data": ArrayForm("<f8", (None,)),
}


def support_arrays(support: Sparse, kernel: VectorKernel) -> Arrays:
    """Return support items and their kernel as arrays, which ``SUPPORT_MEMBERS`` describes."""
    numbers = (_NAMES.index(kernel.name), kernel.degree, kernel.gamma, kernel.constant)
    data = np.ones(support.n_values) if support.data is None else support.data
    kernel_numbers = np.array(numbers, dtype=np.float64)
    return {"kernel": kernel_numbers, "indptr": support.indptr, "indices": support.indices, "data": data}


def support_of(arrays: Mapping[str, AnyArray], n_features: int) -> tuple[Sparse, VectorKernel]:
    """Return what ``support_arrays`` has saved; DataError if the arrays do not fit each other."""
    support = Sparse(arrays["indptr"], arrays["indices"], arrays["data"], n_features)
    support.check(False)
    return support, _kernel_of(arrays["kernel"])


def support_names(n: int) -> list[str]:
    """Return how tables of coefficients name n support items: by number from 1."""
    return [f"[support item {i}]" for i in range(1, n + 1)]


def support_rows(coefficients: Floats) -> list[tuple[str, float]]:
    """Return the coefficients of support items (n), the heaviest first, without those that are rounding."""
    size = np.abs(coefficients)
    kept = np.where(size > 1e-12 * size.max(initial=0.0), coefficients, 0.0)
    return heaviest_first(support_names(len(coefficients)), kept)


def support_fact(coefficients: Floats) -> str:
    """Return how many support items there are, and the range of their coefficients, in words."""
    if not len(coefficients):
        return "no item"
    spread = f"coefficients {coefficients.min():.4g} to {coefficients.max():.4g}"
    return f"{count(len(support_rows(coefficients)), 'item')}, {spread}; --items lists them"


def _kernel_of(numbers: Floats) -> VectorKernel:
    """The kernel that ``support_arrays`` has saved; DataError if the numbers are not a kernel."""
    if not np.isfinite(numbers).all():
        raise DataError("a kernel with numbers that are not finite")
    code, degree, gamma, constant = numbers.tolist()
    if code not in range(len(_NAMES)) or degree not in range(1, 101) or not (gamma > 0 and constant >= 0):
        raise DataError(f"a kernel with the numbers {code:g}, {degree:g}, {gamma:g} and {constant:g}")
    return VectorKernel(_NAMES[int(code)], int(degree), gamma, constant)


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
