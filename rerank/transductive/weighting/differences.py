"""Differences of items in labelled pairs, as KLIEP sees them; no difference is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rerank.core.types import Floats, Index, Mask
from rerank.data.pairs import Pairs
from rerank.native.transductive import _differences
from rerank.transductive.space import Points, distances_of

_NARROW = 150.0  # exponents of factors within it neither overflow nor hide anything that vanishes
_LEAST = 1e-100  # a sum of their products; what has vanished is 1e-170 of it at most


@dataclass(frozen=True, eq=False)
class TrainingPairs:
    """The pairs of labelled lists in one space; what all test lists share.

    Attributes
    ----------
    pairs
        Which items must beat which.
    squared
        The squared distance of the items of each pair in the order of ``Pairs.explicit``, float64 (n_pairs).
    """

    pairs: Pairs
    squared: Floats

    @classmethod
    def of(cls, pairs: Pairs, points: Points) -> TrainingPairs:
        """Return the pairs of the lists whose items are these points."""
        better, worse = pairs.explicit()
        squared = np.empty(len(better))
        bounds = np.concatenate([[0], np.cumsum(pairs.counts)])
        for k in range(pairs.n_lists):
            first, last = pairs.offsets[k], pairs.offsets[k + 1]
            some = slice(bounds[k], bounds[k + 1])
            among = points.take(pairs.items[first:last])
            squared[some] = among.squared_distances(among)[better[some] - first, worse[some] - first]
        return cls(pairs, squared)

    def __add__(self, other: TrainingPairs) -> TrainingPairs:
        """Return the pairs in the space of the coordinates of both."""
        return TrainingPairs(self.pairs, self.squared + other.squared)

    @cached_property
    def first(self) -> Index:
        """The position of the first item of each item's list, int64 (n_items)."""
        found: Index = np.repeat(self.pairs.offsets[:-1], np.diff(self.pairs.offsets))
        return found


class PairGaussians:
    """Gaussians of the differences of training pairs around differences of test items.

    They are products of factors of each item, exp(x·c / s^2), so that only items need exponentials, unless a
    factor could overflow or a sum vanish: then each pair and centre has its own. See ``kliep.Training``.

    Parameters
    ----------
    training
        The pairs.
    products
        Inner products of the items of the pairs with the centres, float64 (n_items, n_centres).
    norms
        Squared lengths of the centres, float64 (n_centres).
    both
        Whether a pair is two samples, better minus worse and worse minus better, and has their mean weight;
        otherwise it is the first one.
    """

    def __init__(self, training: TrainingPairs, products: Floats, norms: Floats, both: bool = False) -> None:
        pairs = training.pairs
        starts = pairs.offsets[:-1]
        low, high = (f.reduceat(products, starts, axis=0) for f in (np.minimum, np.maximum))
        self._products = products - np.repeat(0.5 * (low + high), np.diff(pairs.offsets), axis=0)
        self._reach = 0.5 * (high - low).max(axis=0)
        self._squared, self._norms = training.squared, norms
        self._ranges = (training.first, pairs.start, pairs.stop)
        self._signs = (1.0, -1.0) if both else (1.0,)

    def log_means(self, width: float) -> Floats:
        """See ``kliep.Training``."""
        scale = 1.0 / (width * width)
        out = np.full(len(self._norms), -np.inf)
        near = np.flatnonzero(self._reach * scale <= _NARROW)
        if len(near):
            factors = self._factors(near, scale)
            pair, sums = np.exp(-0.5 * scale * self._squared), np.zeros(len(near))
            for sign in self._signs:
                _differences.add_sums(pair, *self._ranges, *factors[:: int(sign)], sums)
            held = sums >= _LEAST
            out[near[held]] = np.log(sums[held])
        far = np.flatnonzero(out == -np.inf)
        if len(far):
            logs = [np.empty(len(far)) for _ in self._signs]
            products = scale * self._products.take(far, axis=1)
            for sign, own in zip(self._signs, logs, strict=True):
                _differences.log_sums(-0.5 * scale * self._squared, *self._ranges, sign * products, own)
            out[far] = np.logaddexp.reduce(logs)
        return out - 0.5 * scale * self._norms - np.log(len(self._signs) * len(self._squared))

    def weights(self, width: float, log_factors: Floats) -> Floats:
        """See ``kliep.Training``."""
        scale = 1.0 / (width * width)
        some = np.flatnonzero(log_factors > -np.inf)
        logs = log_factors[some] - 0.5 * scale * self._norms[some] - np.log(len(self._signs))
        out = np.zeros(len(self._squared))
        if np.all(scale * self._reach[some] + np.abs(logs) <= _NARROW):
            pair, factors = np.exp(-0.5 * scale * self._squared), self._factors(some, scale)
            for sign in self._signs:
                better, worse = factors[:: int(sign)]
                _differences.add_weighted(pair, *self._ranges, better * np.exp(logs), worse, out)
        else:
            products = scale * self._products.take(some, axis=1)
            for sign in self._signs:
                squared = -0.5 * scale * self._squared
                _differences.add_exponentials(squared, *self._ranges, sign * products, logs, out)
        return out

    def _factors(self, some: Index, scale: float) -> tuple[Floats, Floats]:
        """The factors of better and worse items for some of the centres."""
        better = np.exp(scale * self._products.take(some, axis=1))
        return better, 1.0 / better


@dataclass(frozen=True, eq=False)
class ListDifferences:
    """Differences x_i - x_j of items of one list.

    Attributes
    ----------
    products
        Inner products of the items, float64 (n, n).
    squared
        Their squared distances, float64 (n, n).
    mine, others
        i and j of each difference, int64 (n_differences).
    """

    products: Floats
    squared: Floats
    mine: Index
    others: Index

    @classmethod
    def of(cls, spaces: Sequence[Points], labels: Floats | None = None, both: bool = True) -> ListDifferences:
        """Return the differences of the items of one list, whose coordinates may be in several spaces.

        Parameters
        ----------
        spaces
            The same items in each.
        labels
            If given, only pairs with different ones; otherwise all.
        both
            Both directions of these pairs; otherwise only the better item minus the worse one.
        """
        products = np.sum([points.products(points) for points in spaces], axis=0)
        squared = np.sum([points.squared_distances(points) for points in spaces], axis=0)
        wanted: Mask = ~np.eye(len(products), dtype=bool)
        if labels is not None:
            wanted = labels[:, None] > labels
            if both:
                wanted |= wanted.T
        mine, others = np.nonzero(wanted)
        return cls(products, squared, mine, others)

    def __len__(self) -> int:
        """Return the number of differences."""
        return len(self.mine)

    def drawn(self, most: int, rng: np.random.Generator) -> ListDifferences:
        """Return at most so many of them, drawn without replacement."""
        if len(self) <= most:
            return self
        chosen = rng.choice(len(self), most, replace=False)
        return ListDifferences(self.products, self.squared, self.mine[chosen], self.others[chosen])

    @property
    def norms(self) -> Floats:
        """Their squared lengths, float64 (n_differences)."""
        return self.squared[self.mine, self.others]

    def of_columns(self, columns: Floats) -> Floats:
        """Return columns of i less those of j, float64 (m, n_differences), for ``columns`` (m, n)."""
        return columns.take(self.mine, axis=1) - columns.take(self.others, axis=1)

    def squared_distances(self, centres: ListDifferences, n_features: int) -> Floats:
        """Return the squared distances of all to ``centres``, float64 (n_differences, n_centres)."""
        with_items = centres.of_columns(self.products)
        inner = with_items[self.mine] - with_items[self.others]
        return distances_of(inner, self.norms, centres.norms, n_features)
