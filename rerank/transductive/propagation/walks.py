"""Random walks on a graph from unlabelled nodes until they meet a labelled one.

The harmonic value of a node is the mean of the values that walks from it meet. Every number here is a
probability, a mean or a number of steps; that gives both a bound on errors and an elimination without
subtractions.
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

_FEW = 1000  # nodes for which elimination takes less than a second
_BLOCK = 64  # nodes eliminated together
_MOST_ITERATIONS = 1000
_AIM, _ENOUGH = 1e-11, 1e-10  # errors relative to the largest given value of a column
_ROUNDING = 4 * float(np.finfo(np.float64).eps)  # of a residual, relative to the values
_LONGEST = 10 * _ENOUGH / _ROUNDING  # steps for which residuals cannot show that values are accurate
_LEAST = 1e-290  # a probability whose products with others keep their precision


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
    """The rows of ``after`` (m, p) at the steps by which walks leave a block of m nodes.

    Probabilities of staying are never subtracted from 1 (Grassmann, Taksar & Heyman 1985): a node's
    probability of going elsewhere is the sum of those of all its ways.

    Parameters
    ----------
    P : float64 (m, m), changed
        Steps within the block; those from a node to itself are left out.
    leaving : float64 (m), changed
        Steps out of it.
    after : float64 (m, p), changed
        What the steps out of it lead to, in all.
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
