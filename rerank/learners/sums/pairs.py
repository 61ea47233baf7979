"""The loss of pairs of items, summed over parts, at places that are asked for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from rerank.core.system import added
from rerank.core.types import Floats
from rerank.data.matrix import Features
from rerank.data.pairs import Pairs
from rerank.learners.deterministic import deterministic_dot
from rerank.learners.pair_loss import HingeSums, PairLoss, Place, is_explicit
from rerank.learners.sums.parts import Own, Parts

_STEP = 16  # one of so many lists is in a part of the lists
_LISTS = 16  # at least: a smaller part costs more than it saves
_ITEMS = 20  # for each feature at least: with fewer its minimum may be far away


class PairFacts(NamedTuple):
    """The pairs of a part.

    Attributes
    ----------
    lists, n_pairs
        Lists that have pairs, and these.
    largest, weight
        The largest weight of a list, and the sum by which weights are divided after it.
    margin
        The mean margin.
    n_items, n_values, longest
        Items and values of the features, and the items in pairs of the longest list.
    """

    lists: int
    n_pairs: int
    largest: float
    weight: float
    margin: float
    n_items: int
    n_values: int
    longest: int


class Units(NamedTuple):
    """Divisors of the weights and margins, the same for all parts.

    ``chosen`` is the sum that divides the weights of some of the lists, None if all are meant.
    """

    largest: float
    weight: float
    margin: float | None
    chosen: float | None = None


class PairPart:
    """The pairs of one part, whose loss is made when it is asked for.

    Parameters
    ----------
    features : of all items.
    pairs, weight : as returned by ``weighted_pairs``.
    neighbours, balanced : whether the pairs are of neighbouring ranks, and whether lists count equally.
    """

    def __init__(
        self, features: Features, pairs: Pairs, weight: Floats, *, neighbours: bool, balanced: bool
    ) -> None:
        self._lists = pairs.n_lists, pairs.n_pairs
        if not weight.all():
            pairs, weight = pairs.subset(np.flatnonzero(weight)), weight[weight > 0]
        self.features, self.pairs, self.weight = features, pairs, weight
        self.neighbours, self.balanced = neighbours, balanced
        self._losses: dict[tuple[Units, int], PlacedLoss | None] = {}

    def facts(self) -> PairFacts:
        """Return what is known of the pairs."""
        pairs, largest = self.pairs, float(self.weight.max())
        return PairFacts(
            *self._lists,
            largest,
            self._summed(self.weight / largest),
            pairs.mean_margin if pairs.h.any() else pairs.c,
            self.features.n_items,
            self.features.n_values,
            int(np.diff(pairs.offsets).max()),
        )

    def _summed(self, weight: Floats) -> float:
        if self.balanced:
            return float(weight.sum())
        return deterministic_dot(weight, self.pairs.counts.astype(np.float64))

    def _weight(self, units: Units) -> Floats:
        """The weight of each pair of a list."""
        weight = self.weight / units.largest  # sums do not overflow
        return (weight / self.pairs.counts.astype(np.float64) if self.balanced else weight) / units.weight

    def some(self, units: Units, first: int) -> tuple[int, int, float, int]:
        """Return facts about one of 16 lists from ``first`` on: lists, items, weight, longest list."""
        pairs = self.pairs.subset(np.arange(first, self.pairs.n_lists, _STEP))
        counts, weight = pairs.counts.astype(np.float64), self._weight(units)[first::_STEP]
        longest = int(np.diff(pairs.offsets).max(initial=0))
        return pairs.n_lists, len(pairs.items), deterministic_dot(weight, counts), longest

    def loss(self, units: Units, first: int) -> PlacedLoss | None:
        """Return the loss of all lists or of some of them, None if there is none."""
        if (units, first) not in self._losses:
            self._losses = {(units, first): self._made(units, first)}
        return self._losses[units, first]

    def _made(self, units: Units, first: int) -> PlacedLoss | None:
        pairs, weight = self.pairs, self._weight(units)
        if units.margin is not None:
            pairs = replace(pairs, h=pairs.h / units.margin)
        if units.chosen is not None:
            chosen = np.arange(first, pairs.n_lists, _STEP)
            if not len(chosen):
                return None
            pairs, weight = pairs.subset(chosen), weight[chosen] / units.chosen
        return PlacedLoss(PairLoss(self.features, pairs, weight, neighbours=self.neighbours))


class PlacedLoss:
    """The loss of one part at the place that was asked for last."""

    def __init__(self, loss: PairLoss) -> None:
        self.loss = loss
        self._products: list[tuple[Floats, Floats]] = []
        self._place: Place | None = None
        self._sums = (0.0, 0.0, 0.0, 0.0)

    def _scores(self, w: Floats) -> Floats:
        """The scores under ``w`` (n_features); those of two vectors are kept."""
        for k, (known, scores) in enumerate(self._products):
            if known is w or np.array_equal(known, w):
                self._products.append(self._products.pop(k))
                return scores
        self._products = [*self._products[-1:], (w, self.loss.scores(w))]
        return self._products[-1][1]

    def _go(self, place: Place) -> None:
        if self._place is None or not place.same(self._place):
            scores = self._scores(place.w)
            if place.step is not None:
                with np.errstate(over="ignore", invalid="ignore"):
                    scores = scores + place.length * self._scores(place.step)
            self._place = None
            finite = bool(np.isfinite(scores).all())
            sums = self.loss.set_point(scores, place.low) if finite else [(np.nan, np.nan)] * 2
            (a, b), (c, d) = sums
            self._place, self._sums = place, (a, b, c, d)

    def sums(self, place: Place) -> Floats:
        """Return the two sums under both margins, float64 (4); NaN if a score is not finite."""
        self._go(place)
        return np.array(self._sums)

    def slope_along(self, place: Place, v: Floats) -> float:
        """Return how the losses fall if weights move by ``v`` (n_features)."""
        self._go(place)
        return deterministic_dot(self.loss.slope, self._scores(v))

    def curvature_along(self, place: Place, v: Floats) -> float:
        """Return the curvature along ``v`` (n_features)."""
        self._go(place)
        change = self._scores(v)
        return deterministic_dot(change, self.loss.hessian_diagonal(change))

    def pull(self, place: Place) -> Floats:
        """Return the downward gradient, float64 (n_features)."""
        self._go(place)
        return self.loss.transposed_product(self.loss.slope)

    def curvature(self, place: Place) -> Floats:
        """Return the upper triangle of the curvature's matrix."""
        self._go(place)
        return self.loss.curvature()

    def hessian_vector(self, place: Place, v: Floats) -> Floats:
        """Return the curvature times ``v`` (n_features)."""
        self._go(place)
        return self.loss.hessian_vector(v)


class PairSums:
    """The loss of the pairs of all parts, or of some of their lists; its minimum is ``newton.minimise``'s.

    Parameters
    ----------
    parts : ``PairPart``.
    units : the divisors.
    first : of each part, the first list that is meant.
    explicit : whether the curvature is a matrix.
    even : whether all margins are 1.
    """

    def __init__(self, parts: Parts, units: Units, first: Own, *, explicit: bool, even: bool) -> None:
        self._parts, self._units, self._first = parts, units, first
        self.explicit, self.even = explicit, even

    @classmethod
    def of(
        cls, parts: Parts, n_features: int, *, uneven: bool
    ) -> tuple[PairSums, PairSums | None, PairFacts]:
        """Return the loss of all lists, that of evenly spaced ones unless they are too few, and facts.

        ``uneven``: margins are divided by their mean.
        """
        facts = parts.each(PairPart.facts)
        largest = max(one.largest for one in facts)
        n_pairs = sum(one.n_pairs for one in facts)
        margin = facts[0].margin
        margin += added((one.n_pairs / n_pairs) * (one.margin - margin) for one in facts[1:])
        summed = PairFacts(
            sum(one.lists for one in facts),
            n_pairs,
            largest,
            added(one.weight * (one.largest / largest) for one in facts),
            margin,
            sum(one.n_items for one in facts),
            sum(one.n_values for one in facts),
            max(one.longest for one in facts),
        )
        if uneven and not 0 < margin < np.inf:
            raise OverflowError
        units = Units(largest, summed.weight, margin if uneven else None)
        before = np.cumsum([0, *(one.lists for one in facts[:-1])])
        first = Own([int(-n % _STEP) for n in before])

        def loss(units: Units, longest: int) -> PairSums:
            explicit = is_explicit(n_features, longest, summed.n_values / summed.n_items)
            return cls(parts, units, first, explicit=explicit, even=not uneven)

        some = parts.each(PairPart.some, units, first)
        chosen = added(one[2] for one in some)
        few = sum(one[0] for one in some) < _LISTS or sum(one[1] for one in some) < _ITEMS * n_features
        part = None
        if not few and chosen > 0:
            part = loss(units._replace(chosen=chosen), max(one[3] for one in some))
        return loss(units, summed.longest), part, summed

    def _asked(self, question: str, *arguments: object) -> list[Any]:
        found = self._parts.each(_answer, self._units, self._first, question, arguments)
        return [one for one in found if one is not None]

    def _summed(self, question: str, place: Place, *arguments: Floats) -> Any:
        def added() -> Any:
            first, *others = self._asked(question, place, *arguments)
            for more in others:
                first += more
            return first

        known = (place.w, place.low, place.length, *(() if place.step is None else (place.step,)))
        return self._parts.once((*known, *arguments), added)

    def sums(self, place: Place) -> tuple[HingeSums, HingeSums]:
        """Return the sums under both margins at a place; NaN if a score is not finite."""
        a, b, c, d = self._summed("sums", place).tolist()
        return HingeSums(a, b), HingeSums(c, d)

    def slope_along(self, place: Place, v: Floats) -> float:
        """Return how the losses fall at a place if weights move by ``v`` (n_features)."""
        found: float = self._summed("slope_along", place, v)
        return found

    def curvature_along(self, place: Place, v: Floats) -> float:
        """Return the curvature at a place along ``v`` (n_features)."""
        found: float = self._summed("curvature_along", place, v)
        return found

    def pull(self, place: Place) -> Floats:
        """Return the downward gradient at a place, float64 (n_features)."""
        found: Floats = self._summed("pull", place)
        return found

    def curvature(self, place: Place) -> Floats:
        """Return the upper triangle of the curvature's matrix at a place, (n_features, n_features)."""
        found: Floats = self._summed("curvature", place)
        return found

    def hessian_vector(self, place: Place, v: Floats) -> Floats:
        """Return the curvature at a place times ``v`` (n_features)."""
        found: Floats = self._summed("hessian_vector", place, v)
        return found


def _answer(part: PairPart, units: Units, first: int, question: str, arguments: tuple[Any, ...]) -> Any:
    loss = part.loss(units, first)
    return None if loss is None else getattr(loss, question)(*arguments)
