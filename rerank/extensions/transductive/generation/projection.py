"""Features that kernel PCA generates from the items of one list, for these and for all other items."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError
from rerank.core.settings import Settings, setting
from rerank.core.types import Floats
from rerank.extensions.transductive.generation.item_kernels import (
    Form,
    ItemKernel,
    extended,
    kernel_of,
    lazy_walk,
    walked,
)
from rerank.extensions.transductive.space import Points, distances_of, rounding_of

_BLOCK = 1 << 16  # values of a kernel that are computed at once: they stay in the cache
_STEADY = 100.0  # how much larger than its rounding the largest distance must be
_TINY = 1e-290  # sizes up to this count as none
_GRID = -30  # columns are multiples of 2^_GRID times the size of their component
_TIED = 1e-9  # relative distance of equal eigenvalues
_NEAR = 1e-6  # relative distance of equal lengths and correlations
_NOISE = 10.0 * float(np.finfo(np.float64).eps)


class KernelFeatures(Settings):
    """Settings of the features that kernel PCA generates.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, section
    5.1.1. Schölkopf, Smola & Müller: Nonlinear component analysis as a kernel eigenvalue problem. Neural
    Computation 10, 1998.
    """

    kernels: str = setting(
        "poly2,gaussian:1,diffusion:1,diffusion:10,linear",
        "kernels, separated by commas: linear, polyP of order P, gaussian:S of bandwidth S, diffusion:T of a "
        "random walk of T steps",
    )
    components: int = setting(5, "maximum number of components per kernel", ge=1, le=1000)
    neighbours: int = setting(10, "diffusion: number of nearest neighbours of an item in the graph", ge=1)
    gaussian: Form = setting(
        "squared", "gaussian: exp(-d^2 / 2 S^2) (squared), or as the thesis prints it exp(-d / 2 S) (printed)"
    )

    def check_values(self) -> None:
        super().check_values()
        kernels = self.item_kernels
        known = [(kernel.kind, kernel.number) for kernel in kernels]
        for i, kernel in enumerate(kernels):
            if known[i] in known[:i]:
                raise ConfigError(f"kernels: found {kernel.name} twice")
        for name, kind in (("neighbours", "diffusion"), ("gaussian", "gaussian")):
            given = getattr(self, name) != KernelFeatures.settings[name].default
            if given and kind not in {kernel.kind for kernel in kernels}:
                raise ConfigError(f"{name} is for {kind} kernels: found kernels {self.kernels}")

    @property
    def kernel_features(self) -> KernelFeatures:
        """These settings alone, without those of a learner that has others as well."""
        return KernelFeatures(**{name: getattr(self, name) for name in KernelFeatures.settings})

    @property
    def item_kernels(self) -> list[ItemKernel]:
        """The kernels; raises ConfigError if a name is unknown."""
        return [kernel_of(name.strip()) for name in self.kernels.split(",")]

    def generated_names(self, n_discriminants: int = 0) -> list[str]:
        """Return the names of the columns, such as "gaussian:1#3" for the third component of that kernel.

        Those of discriminants follow: "ranklda#1".
        """
        names = [f"{kernel.name}#{c + 1}" for kernel in self.item_kernels for c in range(self.components)]
        return names + [f"ranklda#{c + 1}" for c in range(n_discriminants)]


class Projection:
    """Kernel PCA of one list's items: maps any items to the list's components.

    A kernel's columns are contiguous, ``components`` for each; those of components that the list does not
    have are 0. Values are rounded to multiples of 2^-30 of the size of their component, so that rounding
    separates no equal items.

    Parameters
    ----------
    settings
        Kernels and their numbers.
    test
        The list's items.
    dual, shift
        float64 (m, n_columns) and (n_columns); None = they are computed. For diffusion kernels ``dual`` has
        the components of the list's items themselves, and ``shift`` is 0.
    sizes
        float64 (n_columns), the largest magnitude of each component over the list's items, 0 = none.

    Raises
    ------
    DataError
        If a kernel of the items overflows, or rounding decides their distances.
    """

    def __init__(
        self,
        settings: KernelFeatures,
        test: Points,
        dual: Floats | None = None,
        shift: Floats | None = None,
        sizes: Floats | None = None,
    ) -> None:
        self.settings, self.test = settings, test
        self._kernels = settings.item_kernels
        if dual is None or shift is None or sizes is None:
            dual, shift, sizes = self._discovered()
        self.dual, self.shift, self.sizes = dual, shift, sizes
        columns = np.arange(len(shift)).reshape(len(self._kernels), settings.components)
        held = sizes.reshape(columns.shape) > _TINY
        self._parts = [(kernel, columns[i][held[i]]) for i, kernel in enumerate(self._kernels)]

    @property
    def counts(self) -> dict[str, int]:
        """The number of components of each kernel."""
        return {kernel.name: len(columns) for kernel, columns in self._parts}

    def _discovered(self) -> tuple[Floats, Floats, Floats]:
        """``dual``, ``shift`` and ``sizes`` of the list's items."""
        c, m = self.settings.components, self.test.n
        memory.require(8 * 6 * m * m, f"the kernels of a list of {m:,} items")
        dual = np.zeros((m, c * len(self._kernels)))
        shift, sizes = np.zeros(dual.shape[1]), np.zeros(dual.shape[1])
        products = self.test.products(self.test)
        distances = distances_of(products, self.test.norms, self.test.norms, self.test.n_features)
        rounding = 2.0 * rounding_of(self.test.n_features) * float(self.test.norms.max())
        lost = distances.max() <= _STEADY * rounding < np.inf  # as far from the origin
        if lost and any(one.needs_distances for one in self._kernels) and not self.test.all_equal():
            text = "their features differ by too little beside their size, and need a scaling"
            raise DataError(f"the distances of a list's items are lost in rounding: {text}")
        walk = None
        for i, kernel in enumerate(self._kernels):
            _check_finite(distances if kernel.needs_distances else products, kernel)
            if kernel.walks:
                walk = lazy_walk(distances, self.settings.neighbours) if walk is None else walk
                gram = walked(walk, int(kernel.number), distances)
            else:
                gram = kernel.of(products, distances, self.settings.gaussian)
                _check_finite(gram, kernel)
            found = components_of(gram, self.test, c)
            own = slice(i * c, i * c + len(found.eigenvalues))
            dual[:, own] = found.values if kernel.walks else found.dual
            shift[own] = 0.0 if kernel.walks else found.shift
            sizes[own] = np.abs(found.values).max(axis=0)
        return dual, shift, sizes

    def columns(self, points: Points) -> Floats:
        """Return the components of items, float64 (points.n, n_columns).

        Items of the list itself have their components, whatever other items there are.

        Raises
        ------
        DataError
            If a kernel of these items with the list's overflows.
        """
        memory.require(8 * points.n * len(self.shift), f"{len(self.shift)} features of {points.n:,} items")
        out = np.zeros((points.n, len(self.shift)))
        step = max(_BLOCK // self.test.n, 1)
        for first in range(0, points.n, step):
            rows = slice(first, min(first + step, points.n))
            self._fill(points, rows, out[rows])
        for kernel, columns in self._parts:
            _check_finite(out[:, columns], kernel)
        steps = np.exp2(np.ceil(np.log2(np.where(self.sizes > _TINY, self.sizes, 1.0))) + _GRID)
        with np.errstate(over="ignore"):
            out /= steps
            np.rint(out, out=out)
            out *= steps
        return out

    def _fill(self, points: Points, rows: slice, out: Floats) -> None:
        """Compute the columns of some rows."""
        products = points.products(self.test, rows)
        distances = products
        if any(kernel.needs_distances for kernel, _ in self._parts):
            distances = distances_of(products, points.norms[rows], self.test.norms, points.n_features)
        with np.errstate(over="ignore", invalid="ignore"):  # columns() reports what is not finite
            for kernel, columns in self._parts:
                dual = self.dual[:, columns]
                if kernel.walks and len(columns):
                    values = np.empty((len(out), len(columns)))
                    extended(distances, self.settings.neighbours, np.ascontiguousarray(dual), values)
                    out[:, columns] = values
                elif len(columns):
                    values = kernel.of(products, distances, self.settings.gaussian)
                    out[:, columns] = values @ dual - self.shift[columns]


def _check_finite(values: Floats, kernel: ItemKernel) -> None:
    """Raise DataError if a kernel, or what it is made of, overflowed."""
    if not np.isfinite(values).all():
        raise DataError(f"kernel {kernel.name} of items overflows: features that large need a scaling")


@dataclass(frozen=True, eq=False)
class Components:
    """The first components of a kernel on the items of a list, c of them.

    An item x has the value (sum over items j of dual_j k(x, j)) - shift in a component. Over the list's items
    a component has the mean 0 and the variance eigenvalue / m.

    Attributes
    ----------
    dual : float64 (m, c)
        Their sum over items is 0, so that k(x, ·) needs no centring of its own.
    shift : float64 (c)
    values : float64 (m, c)
        The components of the list's items.
    eigenvalues : float64 (c), falling
        Of the centred kernel matrix: m times the variance.
    """

    dual: Floats
    shift: Floats
    values: Floats
    eigenvalues: Floats


def components_of(gram: Floats, points: Points, most: int) -> Components:
    """Return the first components of a kernel matrix, at most ``most``.

    The matrix is centred in kernel space. With its eigenvalues r = m λ and unit eigenvectors a, components
    are K a / sqrt(r). Those whose eigenvalue is within rounding of 0 are left out. The sign of a component is
    that of its covariance with the sum of the item's features; if that is 0, of the covariance with the
    feature that it follows most; then of its third moment. Components of equal eigenvalues are those that
    follow single features most. None of that depends on the order of the items.

    Parameters
    ----------
    gram : float64 (m, m)
        Symmetric, finite and positive semi-definite.
    points
        The m items.
    most
        1 or more.
    """
    mean = gram.mean(axis=0)
    centred = gram - mean
    centred -= centred.mean(axis=1)[:, None]
    noise = len(gram) * _NOISE * float(np.abs(gram).max())
    eigenvalues, vectors = _leading(0.5 * (centred + centred.T), most, noise)
    vectors = _separated(eigenvalues, vectors, points, noise)
    kept = min(most, int(np.count_nonzero(eigenvalues > noise)))
    eigenvalues, vectors = eigenvalues[:kept], vectors[:, :kept]
    vectors = vectors - vectors.mean(axis=0)
    vectors *= _signs(vectors, points)
    roots = np.sqrt(eigenvalues)
    dual = vectors / roots
    return Components(dual, mean @ dual, vectors * roots, eigenvalues)


def _leading(centred: Floats, most: int, noise: float) -> tuple[Floats, Floats]:
    """The first eigenvalues, falling, and eigenvectors (m, c); more than ``most`` if the next are equal."""
    from scipy.linalg import eigh

    m = len(centred)
    first = max(m - most - 1, 0)
    values, vectors = eigh(centred, subset_by_index=[first, m - 1], driver="evr", check_finite=False)
    if first > 0 and values[1] > noise and values[1] - values[0] <= max(_TIED * values[1], noise):
        values, vectors = eigh(centred, driver="evr", check_finite=False)
    return values[::-1], vectors[:, ::-1]


def _separated(values: Floats, vectors: Floats, points: Points, noise: float) -> Floats:
    """The eigenvectors with those of equal eigenvalues rotated into the ones chosen by features."""
    apart = np.flatnonzero(values[:-1] - values[1:] > np.maximum(_TIED * values[:-1], noise)) + 1
    out = vectors
    for first, last in pairwise([0, *apart.tolist(), len(values)]):
        if last - first > 1 and values[first] > noise:
            out = out.copy() if out is vectors else out
            out[:, first:last] = _by_feature(vectors[:, first:last], points)
    return out


def _by_feature(basis: Floats, points: Points) -> Floats:
    """The basis (m, g) rotated: each vector in turn follows one feature most, or else one item."""
    of_features = points.transposed_product(basis)
    of_items = basis.copy()
    least = _NEAR * np.sqrt(np.einsum("ij,ij->i", of_features, of_features).max(initial=0.0))
    out = np.empty_like(basis)
    for k in range(basis.shape[1]):
        direction = _longest(of_features, least)
        if direction is None:
            direction = _longest(of_items, 0.0)
        assert direction is not None
        out[:, k] = basis @ direction
        for left in (of_features, of_items):
            left -= np.outer(left @ direction, direction)
    return out


def _longest(rows: Floats, least: float) -> Floats | None:
    """The direction of the longest row, the first on ties; None if none is longer than ``least``."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    longest = float(lengths.max(initial=0.0))
    if longest <= least:
        return None
    j = int(np.argmax(lengths >= (1.0 - _NEAR) * longest))
    found: Floats = rows[j] / lengths[j]
    return found


def _signs(vectors: Floats, points: Points) -> Floats:
    """The sign of each column, -1 or 1; see ``components_of``."""
    sums = points.sums - points.sums.mean()
    size = np.sqrt(sums @ sums)
    features: Floats | None = None
    signs = np.ones(vectors.shape[1])
    for c, vector in enumerate(vectors.T):
        agreement = float(sums @ vector)
        if abs(agreement) <= _TIED * size:
            features = points.transposed_product(vectors) if features is None else features
            agreement = _first_largest(features[:, c])
            if abs(agreement) <= _TIED * np.sqrt(points.norms.sum()):
                agreement = float((vector**3).sum())
                if abs(agreement) <= _TIED * float(np.abs(vector**3).sum()):
                    agreement = _first_largest(vector)
        signs[c] = -1.0 if agreement < 0 else 1.0
    return signs


def _first_largest(numbers: Floats) -> float:
    """The number of the largest magnitude, the first on ties; 0 if there is none."""
    if not len(numbers):
        return 0.0
    sizes = np.abs(numbers)
    return float(numbers[int(np.argmax(sizes >= (1.0 - _NEAR) * sizes.max()))])
