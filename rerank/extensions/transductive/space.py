"""Items as points: inner products and squared distances of their features in any layout."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from rerank.core import memory
from rerank.core.errors import FitError
from rerank.core.types import AnyArray, Floats, Index
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Sparse
from rerank.data.pairs import Concordance, PairRelation, Pairs, make_pairs
from rerank.learners.base import Learner
from rerank.learners.rankboost import RankBoost, check_columns
from rerank.models.base import Model

_EPS = float(np.finfo(np.float64).eps)


class Points:
    """The items of lists as points: a missing feature counts as its mean over the item's list.

    Dense features become one float64 array, without a copy if they are one; sparse and mixed features stay
    sparse. Products with the points of one list are what every kernel needs, and so are distances.

    Parameters
    ----------
    lists
        Dense, sparse or mixed features. A feature that a whole list lacks (NaN) counts as 0.

    Attributes
    ----------
    n : int
        The number of points.
    n_features : int
        The number of their coordinates.
    norms : float64 (n)
        Squared lengths; infinite if they overflow.
    """

    def __init__(self, lists: CandidateLists) -> None:
        self.n, self.n_features = lists.n_items, lists.n_features
        features = lists.features
        if isinstance(features, Dense):
            memory.require(8 * features.n_values, f"{self.n:,} points of {self.n_features:,} coordinates")
            self._values: Any = _filled_dense(features.values, lists)
        else:
            self._values = _filled_rows(features.compressed(), lists)
        with np.errstate(over="ignore", under="ignore"):
            if isinstance(self._values, np.ndarray):
                self.norms: Floats = np.einsum("ij,ij->i", self._values, self._values)
            else:
                squares = self._values.copy()
                squares.data **= 2
                self.norms = np.asarray(squares.sum(axis=1), dtype=np.float64).reshape(-1)

    def products(self, other: Points, rows: slice = slice(None)) -> Floats:
        """Return the inner products of these points, or of some ``rows``, with all others: (rows, other.n).

        They are infinite or NaN if a product overflows.
        """
        mine = self._values[rows]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            found = mine @ other._transposed
        if isinstance(found, np.ndarray):
            return found
        return np.asarray(found.todense(), dtype=np.float64)

    def squared_distances(self, other: Points, rows: slice = slice(None)) -> Floats:
        """Return the squared distances of these points, or of some ``rows``, to all others.

        They are |x|^2 + |y|^2 - 2 x·y. A distance that is within the rounding of this sum is exactly 0, so
        that equal points are equal. They are infinite or NaN if a product overflows.
        """
        return distances_of(self.products(other, rows), self.norms[rows], other.norms, self.n_features)

    def take(self, rows: Index) -> Points:
        """Return the points at ``rows``, in that order."""
        found = copy(self)
        for name in ("_transposed", "sums"):  # of all points
            found.__dict__.pop(name, None)
        found.n, found._values, found.norms = len(rows), self._values[rows], self.norms[rows]
        return found

    def scores(self, directions: Floats) -> Floats:
        """Return the inner products with directions (n_features, k), float64 (n, k).

        The same point has the same bits whatever other points there are.
        """
        if isinstance(self._values, np.ndarray):
            columns = [np.einsum("ij,j->i", self._values, w) for w in np.ascontiguousarray(directions.T)]
            return np.stack(columns, axis=1) if columns else np.empty((self.n, 0))
        return np.asarray(self._values @ directions, dtype=np.float64)

    @cached_property
    def sums(self) -> Floats:
        """The sum of the coordinates of each point, float64 (n)."""
        return np.asarray(self._values.sum(axis=1), dtype=np.float64).reshape(-1)

    def all_equal(self) -> bool:
        """Return whether all points have the same coordinates, exactly."""
        least, largest = self._values.min(axis=0), self._values.max(axis=0)
        if isinstance(self._values, np.ndarray):
            return bool((least == largest).all())
        return (largest - least).nnz == 0

    def transposed_product(self, c: Floats) -> Floats:
        """Return the sum of c times the point over all points, float64 (n_features, k), for c (n, k)."""
        found: Floats = self._transposed @ c
        return found

    @cached_property
    def _transposed(self) -> Any:
        """The coordinates of all points, one column each."""
        if isinstance(self._values, np.ndarray):
            return self._values.T
        return self._values.T.tocsr()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_transposed"}


def distances_of(products: Floats, mine: Floats, others: Floats, n_features: int) -> Floats:
    """Return squared distances from products (n, m) and squared lengths (n) and (m); see ``Points``."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        sums = mine[:, None] + others
        found: Floats = sums - 2.0 * products
        sums *= rounding_of(n_features)
        found[(found <= sums) & (sums < np.inf)] = 0.0
    return found


def rounding_of(n_features: int) -> float:
    """Return a bound on the rounding of a squared distance, relative to the sum of squared lengths."""
    return 2.0 * _EPS * (n_features + 2)


def _filled_dense(values: AnyArray, lists: CandidateLists) -> Floats:
    """Dense values as float64, a list's mean instead of missing ones."""
    out: Floats = values.astype(np.float64, copy=False)
    if not lists.has_missing:
        return out
    known = ~np.isnan(out)
    starts = lists.offsets[:-1]
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.add.reduceat(np.where(known, out, 0.0), starts, axis=0)
        means = sums / np.maximum(np.add.reduceat(known, starts, axis=0, dtype=np.int64), 1)
    return np.where(known, out, np.repeat(means, lists.lengths, axis=0))


def _filled_rows(rows: Sparse, lists: CandidateLists) -> Any:
    """Compressed rows as a matrix of scipy, a list's mean instead of missing values."""
    from scipy.sparse import csr_array

    data = np.ones(rows.n_values) if rows.data is None else rows.data
    if lists.has_missing:
        data = _filled_values(data, rows, lists)
    return csr_array((data, rows.indices, rows.indptr), shape=(rows.n_items, rows.n_features))


def _filled_values(data: Floats, rows: Sparse, lists: CandidateLists) -> Floats:
    """The values of compressed rows with means instead of missing ones; what is not stored is 0."""
    of: Index = np.repeat(lists.list_index, np.diff(rows.indptr))
    key = of * rows.n_features + rows.indices  # a list and a feature
    missing = np.isnan(data)
    wanted = np.unique(key[missing])
    place = np.minimum(np.searchsorted(wanted, key), len(wanted) - 1)
    known = (wanted[place] == key) & ~missing
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.bincount(place[known], data[known], len(wanted))
    absent = np.bincount(place[missing], minlength=len(wanted))
    means = sums / np.maximum(lists.lengths[wanted // rows.n_features] - absent, 1)
    out = data.copy()
    out[missing] = means[place[missing]]
    return out


class Basis:
    """A learner and labelled lists, prepared for many fits.

    RankBoost's pairs and the weak rankers of the lists' own features are made once; a fit makes those of
    the further columns. Any other learner is fitted to lists with the further columns.

    Parameters
    ----------
    learner
        The base learner.
    lists
        Lists with labels.

    Attributes
    ----------
    presorted : Presorted or None
        What RankBoost's fits share; None for other learners.

    Raises
    ------
    FitError
        If RankBoost cannot be fitted to the lists, or needs more inputs.
    """

    def __init__(self, learner: Learner, lists: CandidateLists) -> None:
        self.learner, self.lists = learner, lists
        self.presorted = learner.presorted(lists) if isinstance(learner, RankBoost) else None

    def fit(
        self,
        columns: Floats | None = None,
        names: Sequence[str] = (),
        *,
        pair_weights: Floats | None = None,
        costs: Floats | None = None,
    ) -> Model:
        """Return the model that ``learner.fit`` returns of the lists with further columns, to the bit.

        Parameters
        ----------
        columns : float64 (n_items, n), optional
            Further features of the items of the lists, rounded to the type of the lists' features.
        names
            Their names (n), which the lists do not have.
        pair_weights : float64 (n_pairs), optional
            RankBoost: the initial weights of ``pairs`` in the order of ``Pairs.explicit``.
        costs : float64 (2, n_pairs), optional
            AdaCost: what multiplies the change of the weight of a pair in a round that puts it right, and in
            one that puts it wrong. See ``ExplicitPairs`` for the choice of weak rankers and steps.

        Raises
        ------
        DataError
            If the columns do not fit the lists.
        FitError
            If the learner cannot be fitted, or does not accept one of the inputs.
        """
        if columns is None:
            columns = np.empty((self.lists.n_items, 0))
        if isinstance(self.learner, RankBoost) and self.presorted is not None:
            found = self.presorted.with_columns(columns, names)
            return self.learner.fit_presorted(found, pair_weights=pair_weights, costs=costs)
        if costs is not None:
            raise FitError(f"learner {self.learner.name} accepts no costs of pairs; rankboost does")
        check_columns(self.lists, columns, names)
        lists = self.lists
        if len(names):
            lists = lists.with_added(dict(zip(names, columns.T, strict=True)))
        return self.learner.fit(lists, pair_weights=pair_weights)

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs of the lists: those that RankBoost learns from, for other learners all."""
        if self.presorted is not None:
            return self.presorted.pairs
        return make_pairs(self.lists, PairRelation("all"))

    def accuracy(self, scores: Floats) -> float:
        """Return the share of the lists' pairs of different labels that scores (n_items) put right.

        A tie counts one half; NaN if no list has a pair.
        """
        return self._concordance.accuracy(scores)

    @cached_property
    def _concordance(self) -> Concordance:
        assert self.lists.labels is not None
        return Concordance(self.lists.labels, self.lists.offsets)
