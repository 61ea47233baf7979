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
from rerank.transductive.propagation.walks import Walks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_EDGES = 1 << 20  # looked at together


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

    Parameters
    ----------
    graph
        As for ``harmonic``.
    values
        Of all nodes, float64 (n, d).
    reached
        The nodes that count, bool (n); none has an edge to another one.
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
