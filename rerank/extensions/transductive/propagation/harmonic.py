"""Harmonic functions on graphs: values of some nodes, propagated to the others along the edges.

Each node without a given value gets the mean of its neighbours' values, weighted by the similarities of its
edges. With the Laplacian L = D - K these are W_u = -L_uu^-1 L_ul W_l. No other values make the sum of
K_ij |w_i - w_j|^2 as small.

Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington 2009, Algorithm 13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataError
from rerank.core.types import Floats, Index, Mask

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_EDGES = 1 << 20  # looked at together
_FEW = 1000  # nodes for which elimination takes less than a second
_BLOCK = 64  # nodes eliminated together
_MOST_ITERATIONS = 1000
_AIM, _ENOUGH = 1e-11, 1e-10  # errors relative to the largest given value of a column
_ROUNDING = 4 * float(np.finfo(np.float64).eps)  # of a residual, relative to the values
_LONGEST = 10 * _ENOUGH / _ROUNDING  # steps for which residuals cannot show that values are accurate
_LEAST = 1e-290  # a probability whose products with others keep their precision


@dataclass(frozen=True, eq=False)
class Harmonic:
    """Values of all nodes of a graph.

    Attributes
    ----------
    values : float64 (n, d)
        Those of labelled nodes as they were given, NaN for nodes that are not reached.
    reached : bool (n)
        Whether a path leads from the node to a labelled one.
    degree : float64 (n)
        The sum of the similarities of each node's edges.
    labelled_share : float64 (n)
        The share of it that belongs to edges to labelled nodes; 0 without an edge.
    parts : float64 (n)
        The part of each node in the smoothness; 0 for nodes that are not reached.
    residual : float
        The largest difference between a propagated value and the mean of its neighbours, as a share of the
        largest magnitude that is given for this column.
    """

    values: Floats
    reached: Mask
    degree: Floats
    labelled_share: Floats
    parts: Floats
    residual: float

    @property
    def smoothness(self) -> float:
        """The sum of K_ij |w_i - w_j|^2 over all reached i and j (eq. 8.3): each edge counts twice."""
        return float(self.parts.sum())


def harmonic(graph: csr_array, labelled: Mask, values: Floats) -> Harmonic:
    """Return the values of all nodes, of which some are given.

    Nothing but similarities above 0 is needed: K need not be positive semi-definite. The values of a node lie
    between the smallest and the largest given ones of its part of the graph. Their errors are at most 1e-10
    of the largest magnitude given for the column.

    Parameters
    ----------
    graph : csr_array float64 (n, n)
        Similarities K: symmetric, without a diagonal, all stored ones above 0.
    labelled : bool (n)
        The nodes whose values are given.
    values : float64 (n_labelled, d)

    Raises
    ------
    DataError, RerankError
        If no node is labelled, shapes or numbers are not as described, edges are so weak that ratios of
        similarities underflow, or there is no memory.
    """
    _check(graph, labelled, values)
    n, d = len(labelled), values.shape[1]
    memory.require(8 * 8 * n * d + 40 * graph.nnz, f"the propagation of {d:,} weights among {n:,} lists")
    degree = np.asarray(graph.sum(axis=1))
    to_labelled = graph @ labelled.astype(np.float64)
    share = np.divide(to_labelled, degree, out=np.zeros(n), where=degree > 0)
    part, reached, low, high = _parts(graph, labelled, values)
    out = np.where(reached[:, None], low[part], np.nan)
    out[labelled] = values
    # Parts in which one value is given are done, to the last bit.
    unknown = np.flatnonzero(reached & ~labelled & (low != high).any(axis=1)[part])
    residual = 0.0
    if len(unknown):
        walks = Walks.of(graph, degree, unknown, labelled)
        found, residual = walks.harmonic(values)
        out[unknown] = np.clip(found, low[part[unknown]], high[part[unknown]])
    parts = smoothness_parts(graph, out, reached)
    return Harmonic(out, reached, degree, share, parts, residual)


def _check(graph: csr_array, labelled: Mask, values: Floats) -> None:
    """Raise DataError if there is nothing to propagate, or no graph to do it on."""
    n, n_labelled = len(labelled), np.count_nonzero(labelled)
    if n_labelled == 0:
        raise DataError("propagation: found no labelled list, expected 1 or more")
    if graph.shape != (n, n) or values.ndim != 2 or len(values) != n_labelled:
        found = f"a graph {graph.shape} and values {values.shape} for {n_labelled:,} of {n:,} nodes"
        raise DataError(f"propagation: found {found}, expected a row and a column for each")
    if not ((graph.data > 0) & np.isfinite(graph.data)).all():
        raise DataError("propagation: found a similarity of an edge that is not finite and above 0")
    if not np.isfinite(values).all():
        raise DataError("propagation: found a value that is not finite")


def _parts(graph: csr_array, labelled: Mask, values: Floats) -> tuple[Index, Mask, Floats, Floats]:
    """The part of each node, whether it is reached, and the smallest and largest value given in each part."""
    from scipy.sparse.csgraph import connected_components

    count, part = connected_components(graph, directed=False)
    low = np.full((count, values.shape[1]), np.inf)
    high = -low
    np.minimum.at(low, part[labelled], values)
    np.maximum.at(high, part[labelled], values)
    return part, np.isin(part, part[labelled]), low, high


def smoothness_parts(graph: csr_array, values: Floats, reached: Mask) -> Floats:
    """Return the part of each node in the smoothness, the sum of K_ij |w_i - w_j|^2 over j, float64 (n).

    Only ``reached`` nodes count; none has an edge to another one. ``values`` (n, d) are those of all nodes.
    """
    n = len(values)
    parts = np.zeros(n)
    step = max(1, _EDGES * n // max(1, graph.nnz))
    for first in range(0, n, step):
        rows = graph[first : first + step]
        i = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        known = reached[first + i]
        i, j, similarities = i[known], rows.indices[known], rows.data[known]
        squares = np.zeros(len(i))
        with np.errstate(over="ignore"):
            for column in values.T:
                squares += (column[first + i] - column[j]) ** 2
        parts[first : first + step] = np.bincount(i, similarities * squares, rows.shape[0])
    return parts


@dataclass(frozen=True, eq=False)
class Walks:
    """One step of the walks from n unlabelled nodes.

    Attributes
    ----------
    steps : csr_array float64 (n, n)
        The probabilities of a step to each unlabelled node.
    ends : csr_array float64 (n, n_labelled)
        The probabilities of a step to each labelled one.
    weights : float64 (n)
        Numbers proportional to the degrees of nodes; ``steps`` is symmetric in this inner product.
    """

    steps: csr_array
    ends: csr_array
    weights: Floats

    @classmethod
    def of(cls, graph: csr_array, degree: Floats, unknown: Index, labelled: Mask) -> Walks:
        """Return the walks from the nodes ``unknown``, all of whose neighbours are known or labelled."""
        rows = graph[unknown]
        rows.data = rows.data / np.repeat(degree[unknown], np.diff(rows.indptr))
        weights = degree[unknown] / degree[unknown].max()
        return cls(rows[:, unknown], rows[:, np.flatnonzero(labelled)], weights)

    def harmonic(self, values: Floats) -> tuple[Floats, float]:
        """Return the mean of the values (n_labelled, d) that walks meet, (n, d), and the residual.

        Raises
        ------
        DataError, RerankError
            If probabilities underflow, or there is no memory for a dense matrix where one is needed.
        """
        scale = np.abs(values).max(axis=0)
        scale[scale == 0] = 1.0
        met = self.ends @ (values / scale)
        found = None if len(met) <= _FEW else self._by_gradients(met)
        if found is None:
            found = self._by_elimination(met)
        return found * scale, float(np.abs(self.steps @ found + met - found).max(initial=0.0))

    def _by_gradients(self, met: Floats) -> Floats | None:
        """The harmonic values by conjugate gradients, or None if they are not known to be accurate.

        The last column is the mean number of steps t of the walks. No error exceeds the largest residual
        times the largest t, since the inverse of 1 - ``steps`` has no negative entry and maps 1 to t.
        """
        right = np.column_stack([met, np.ones(len(met))])
        x, left = np.zeros_like(right), right.copy()
        direction = left.copy()
        size = self._products(left, left)
        for _ in range(_MOST_ITERATIONS):
            change = direction - self.steps @ direction
            length = _ratio(size, self._products(direction, change))
            x += length * direction
            left -= length * change
            if x[:, -1].max() > _LONGEST:
                return None
            if _error(x, left) <= _AIM:
                break
            before, size = size, self._products(left, left)
            direction *= _ratio(size, before)
            direction += left
        x = self.steps @ x + right  # also right for nodes of tiny weights, which gradients neglect
        residuals = np.abs(self.steps @ x + right - x) + _ROUNDING * np.abs(x).max(axis=0)
        return x[:, :-1] if _error(x, residuals) <= _ENOUGH else None

    def _products(self, a: Floats, b: Floats) -> Floats:
        """The inner products of columns."""
        found: Floats = np.einsum("i,ij,ij->j", self.weights, a, b)
        return found

    def _by_elimination(self, met: Floats) -> Floats:
        """The harmonic values by elimination of blocks of nodes; any probabilities give accurate values."""
        n = len(met)
        what = f"the elimination of {n:,} unlabelled lists, from which it is a long way to labelled ones"
        memory.require(24 * n * n, what, "more labelled lists, or more neighbours, make it shorter")
        P = self.steps.toarray()
        # The probabilities of an end and the values met there: sums over walks through eliminated nodes.
        out = np.column_stack([met, self.ends.sum(axis=1)])
        firsts = range(0, n, _BLOCK)
        for first in reversed(firsts):
            block = slice(first, first + _BLOCK)
            after = np.hstack([P[block, :first], out[block]])
            leaving = P[block, :first].sum(axis=1) + out[block, -1]
            eliminated = _block_left(P[block, block], leaving, after)
            P[block, :first], out[block] = eliminated[:, :first], eliminated[:, first:]
            into = P[:first, block]
            P[:first, :first] += into @ P[block, :first]
            out[:first] += into @ out[block]
        for first in firsts:
            block = slice(first, first + _BLOCK)
            out[block] += P[block, :first] @ out[:first]
        return out[:, :-1]


def _block_left(P: Floats, leaving: Floats, after: Floats) -> Floats:
    """The rows of ``after`` (m, p) at the steps by which walks leave a block of m nodes; all are changed.

    ``P`` (m, m) has the steps within the block and ``leaving`` (m) those out of it, which lead to ``after``.
    Probabilities of staying are never subtracted from 1 (Grassmann, Taksar & Heyman 1985): a node's
    probability of going elsewhere is the sum of those of all its ways.
    """
    for k in reversed(range(len(P))):
        elsewhere = P[k, :k].sum() + leaving[k]
        if elsewhere < _LEAST:
            raise DataError("propagation: similarities of lists differ so much that their ratios underflow")
        P[k, :k] /= elsewhere
        leaving[k] /= elsewhere
        after[k] /= elsewhere
        into = P[:k, k]
        P[:k, :k] += np.outer(into, P[k, :k])
        leaving[:k] += into * leaving[k]
        after[:k] += np.outer(into, after[k])
    for k in range(len(P)):
        after[k] += P[k, :k] @ after[:k]
    return after


def _error(x: Floats, residuals: Floats) -> float:
    """A bound on the errors of all columns but the last one, whose values are mean numbers of steps."""
    largest = np.abs(residuals).max(axis=0)
    if not largest[-1] < 0.5:
        return np.inf
    return float(x[:, -1].max() / (1.0 - largest[-1]) * largest[:-1].max(initial=0.0))


def _ratio(a: Floats, b: Floats) -> Floats:
    """a / b, and 0 where b is 0: a column that is solved."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
