"""The logistic loss of pairs that are drawn from lists, summed over parts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rerank.core import memory
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.learners.base import NothingToLearnError
from rerank.learners.sums.parts import Parts
from rerank.native.data import _matrix
from rerank.native.learners import _pro


def clearest(labels: Floats, drawn: Index, threshold: float, most: int) -> tuple[Index, Index]:
    """Return the pairs with the largest difference of labels.

    - ``labels``: float64 (n_items), NaN = unjudged; an unjudged item is in no pair.
    - ``drawn``: pairs of items, int64 (2, n_drawn).
    - ``threshold``: labels must differ, and by at least this.
    - ``most``: how many pairs are returned at most; on ties the first drawn win.

    Returns
    -------
    better, worse : ndarray
        int64 (n_pairs) each.
    """
    gap = labels[drawn[0]] - labels[drawn[1]]
    size = np.abs(gap)
    accepted = np.flatnonzero((size >= threshold) & (size > 0))
    if len(accepted) > most:
        sizes = size[accepted]
        least = np.partition(sizes, len(sizes) - most)[len(sizes) - most]
        sure = accepted[sizes > least]
        accepted = np.concatenate([sure, accepted[sizes == least][: most - len(sure)]])
    up = gap[accepted] > 0
    left, right = drawn[:, accepted]
    return np.where(up, left, right), np.where(up, right, left)


class Squares(NamedTuple):
    """The weighted squares of the differences of each feature (n_features), and the sum of the weights."""

    of_features: Floats
    weight: float


class SampledPairs:
    """Pairs of items that were drawn.

    - ``features``: of the items.
    - ``better``, ``worse``: int64 (n_pairs), items.
    - ``weight``: float64 (n_pairs): the weight of its list for each time that a pair was drawn.
    """

    def __init__(self, features: Features, better: Index, worse: Index, weight: Floats) -> None:
        self.features, self.pairs = features, (better, worse, weight)
        self._slope = np.empty(features.n_items)

    def squares(self) -> Squares:
        """Return the squares of the differences."""
        squares, matrix = np.zeros(self.features.n_features), self.features.matrix()
        _pro.squares(matrix, *self.pairs, _matrix.Difference(matrix), squares)
        return Squares(squares, float(self.pairs[2].sum()))

    def loss(self, w: Floats) -> tuple[float, Floats]:
        """Return the summed loss at w (n_features), and its gradient."""
        scores = self.features.scores(w)
        loss = float(_pro.pair_loss(scores, *self.pairs, self._slope))
        return loss, self.features.transposed_product(self._slope)


class SampledPart:
    """The lists of one part, from which pairs are drawn when they are asked for.

    - ``lists``: lists with labels.
    - ``weights``: float64 (n_lists), of the lists.
    - ``drawing``: the seed, pairs drawn from each list, and pairs kept.

    Raises NothingToLearnError if no judged item is in a list of a weight above 0.
    """

    def __init__(self, lists: CandidateLists, weights: Floats, drawing: tuple[int, int, int]) -> None:
        assert lists.labels is not None  # needs_labels
        judged = lists.labels[np.repeat(weights > 0, lists.lengths)]
        judged = judged[~np.isnan(judged)]
        if len(judged) == 0:
            raise NothingToLearnError(f"{lists.source}: the weight of every judged list is 0")
        self._range = float(judged.min()), float(judged.max())
        self._lists, self._labels, self._weights, self._drawing = lists, lists.labels, weights, drawing
        self._known: dict[tuple[float, int], tuple[SampledPairs | None, int, int]] = {}

    def range(self) -> tuple[float, float]:
        """Return the smallest label, and the largest."""
        return self._range

    def sampled(self, threshold: float, number: int) -> tuple[SampledPairs | None, int, int]:
        """Return the pairs, None if there is none; the lists that have some, and how many were kept.

        ``number`` is that of the part; each draws by a seed of its own.
        """
        if (threshold, number) not in self._known:
            self._known = {(threshold, number): self._draw(threshold, number)}
        return self._known[threshold, number]

    def _draw(self, threshold: float, number: int) -> tuple[SampledPairs | None, int, int]:
        lists, weights, (seed, samples, most) = self._lists, self._weights, self._drawing
        memory.require(
            64 * samples, f"{samples:,} pairs drawn from a list", "fewer need less (--set samples)"
        )
        rng = np.random.default_rng((seed, number) if number else seed)
        found, n_kept = [], 0
        for i in np.flatnonzero(weights).tolist():
            first, last = int(lists.offsets[i]), int(lists.offsets[i + 1])
            drawn = rng.integers(last - first, size=(2, samples))
            better, worse = clearest(self._labels[first:last], drawn, threshold, most)
            codes, times = np.unique(better * (last - first) + worse, return_counts=True)
            if len(codes):
                better, worse = np.divmod(codes, last - first)
                found.append((first + better, first + worse, weights[i] * times))
                n_kept += int(times.sum())
        if not found:
            return None, 0, 0
        better, worse, weight = (np.concatenate(column) for column in zip(*found, strict=True))
        items, places = np.unique(np.concatenate([better, worse]), return_inverse=True)
        better, worse = places.astype(np.int64).reshape(2, -1)
        pairs = SampledPairs(lists.features.take(items), better.copy(), worse.copy(), weight)
        return pairs, len(found), n_kept

    def counts(self, threshold: float, number: int) -> tuple[int, int, float, int]:
        """Return the lists with pairs, the pairs, the largest range of labels, and the lists that count."""
        _, n_lists, n_kept = self.sampled(threshold, number)
        begin = self._lists.offsets[:-1]
        ranges = np.fmax.reduceat(self._labels, begin) - np.fmin.reduceat(self._labels, begin)
        return n_lists, n_kept, float(np.nanmax(ranges[self._weights > 0])), int((self._weights > 0).sum())

    def squares(self, threshold: float, number: int) -> Squares:
        """Return the squares of the differences."""
        pairs, _, _ = self.sampled(threshold, number)
        return Squares(np.zeros(self._lists.n_features), 0.0) if pairs is None else pairs.squares()

    def loss(self, threshold: float, number: int, w: Floats) -> tuple[float, Floats]:
        """Return the summed loss at w (n_features), and its gradient."""
        pairs, _, _ = self.sampled(threshold, number)
        return (0.0, np.zeros(len(w))) if pairs is None else pairs.loss(w)


class SampleLoss:
    """The mean loss of pairs and its gradient, as functions of u = scale * (w - start).

    The loss is the weighted mean over pairs of log(1 + exp(-w·(x - x'))), plus l2 * |u|² / sum of weights,
    where scale is the weighted root mean square of each feature's differences. Features that do not differ in
    any pair keep their weight.

    - ``parts``: each has ``squares`` and ``loss``.
    - ``how``: the first arguments of these two.
    """

    def __init__(self, parts: Parts, how: tuple[Any, ...], start: Floats, l2: float) -> None:
        self._parts, self._how, self.start = parts, how, start
        first, *others = parts.each(_squares, *how)
        squares, self.total = first.of_features, first.weight
        for more in others:
            squares, self.total = squares + more.of_features, self.total + more.weight
        self.l2 = l2 / self.total
        self.varies = squares > 0
        self.scale = np.sqrt(np.where(self.varies, squares / self.total, 1.0))

    def weights(self, u: Floats) -> Floats:
        """Return w (n_features) of u."""
        return self.start + u / self.scale

    def __call__(self, u: Floats) -> tuple[float, Floats]:
        """Return the loss at u (n_features) and its gradient."""
        w = self.weights(u)
        total, slope = self._parts.once((w,), lambda: self._summed(w))
        gradient = slope / (self.total * self.scale)
        # For a feature that never differs the sums are only rounding errors.
        gradient = np.where(self.varies, gradient + 2.0 * self.l2 * u, 0.0)
        return total / self.total + self.l2 * float(u @ u), gradient

    def _summed(self, w: Floats) -> tuple[float, Floats]:
        (total, slope), *others = self._parts.each(_loss, *self._how, w)
        for more, other in others:
            total, slope = total + more, slope + other
        return total, slope


def _squares(part: SampledPart | SampledPairs, *how: Any) -> Squares:
    return part.squares(*how)


def _loss(part: SampledPart | SampledPairs, *how: Any) -> tuple[float, Floats]:
    return part.loss(*how)
