"""Line searches for metrics of whole rankings over parts of the lists.

The crossings of drawn pairs divide a line into intervals. Points of some intervals are tried, a few at
a time: each part orders its lists at these points and sums their statistics.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rerank.core import memory
from rerank.core.types import Floats, Index, Ints
from rerank.data.judge import PreparedMetric
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.learners.sums.parts import Own, Parts
from rerank.learners.sums.searches import Place, ScoredPart, SharedSearch, summed

T = TypeVar("T")
PAIRS = 4096  # drawn from all lists together
_LEAST = 4  # from each list
_LEVELS = (12, 6, 6)  # intervals that are tried along a line, and then between the neighbours of the best


class Crossings:
    """The columns of features that vary within lists, and pairs of items whose order matters.

    Along a feature the score of an item is s + gamma * x, and two items change places where their lines
    cross. All pairs of a list of 1,000 items cross in half a million places for every feature, most of which
    change no metric; the crossings of a sample of pairs show where the order changes. It never changes, so
    that several threads can use it.

    - ``lists``: training lists.
    - ``rng``, ``among``: see ``drawn_pairs``.
    """

    def __init__(self, lists: CandidateLists, rng: np.random.Generator, among: Among | None = None) -> None:
        self.features = lists.features
        self.columns: dict[int, tuple[Ints, Floats]] = {}  # of features that are not dense
        if not isinstance(self.features, Dense):
            n = self.features.n_values
            memory.require(12 * n, f"columns of {n:,} values", "fewer features need less")
        starts, varying = lists.offsets[:-1], []
        self.pairs = drawn_pairs(lists, rng, among)
        for j, (items, values) in enumerate(self.features.by_column()):
            if len(values):
                if items is not None:
                    self.columns[j] = items, values
                column = values if items is None else self.column(j)
                if np.any(np.maximum.reduceat(column, starts) > np.minimum.reduceat(column, starts)):
                    varying.append(j)
                else:
                    self.columns.pop(j, None)
        self.varying: Index = np.array(varying, dtype=np.int64)

    def column(self, feature: int) -> Floats:
        """Return the values (n_items) of a feature that varies.

        Those of dense features are gathered again: that is a small part of a line search, and columns that
        are kept take twice the memory of a float32 matrix.
        """
        if feature not in self.columns:
            return self.features.column(feature)
        items, values = self.columns[feature]
        column = np.zeros(self.features.n_items)
        column[items] = values
        return column

    def along(self, scores: Floats, column: Floats) -> Floats:
        """Return the different gamma, rising, at which ``scores`` + gamma * ``column`` tie a drawn pair.

        Both are float64 (n_items). Crossings that overflow are left out.
        """
        a, b = self.pairs
        slope = column[a] - column[b]
        crossing = slope != 0
        with np.errstate(over="ignore", invalid="ignore"):
            gamma = (scores[b] - scores[a])[crossing] / slope[crossing]
        return np.unique(gamma[np.isfinite(gamma)] + 0.0)


class Among(NamedTuple):
    """Place of some lists among those of all parts.

    first : the number of the first list. total : lists of all parts. labelled : whether pairs have different
    labels; None = if there are such pairs.
    """

    first: int
    total: int
    labelled: bool | None = None


def drawn_pairs(
    lists: CandidateLists, rng: np.random.Generator, among: Among | None = None
) -> tuple[Index, Index]:
    """Return pairs of items drawn in each list, int64 (n_pairs) each.

    They have different labels; if no list has two different labels, they are any pairs.

    - ``rng``: draws them; with other lists in ``among`` it is a PCG64, which skips their numbers.
    - ``among``: None = these are all lists.
    """
    first, total, labelled = among or Among(0, lists.n_lists)
    each = max(_LEAST, PAIRS // total)
    size = (lists.n_lists, each)
    memory.require(64 * lists.n_lists * each, f"{lists.n_lists * each:,} pairs")
    lengths = lists.lengths[:, None]

    def drawn() -> Index:
        if total > lists.n_lists:
            rng.bit_generator.advance(first * each)  # type: ignore[attr-defined]
        found: Index = (rng.random(size) * lengths).astype(np.int64) + lists.offsets[:-1, None]
        if total > lists.n_lists:
            left = total - first - lists.n_lists
            rng.bit_generator.advance(left * each)  # type: ignore[attr-defined]
        return found

    a, b = drawn(), drawn()
    if lists.labels is not None:
        differ = np.abs(lists.labels[a] - lists.labels[b]) > 0  # NaN does not
        if differ.any() if labelled is None else labelled:
            return a[differ], b[differ]
    return a[a != b], b[a != b]


def larger_is_better(judge: PreparedMetric, value: float | None) -> float:
    """Return the metric, negated if smaller is better; -infinity if it has no value."""
    return -np.inf if value is None or value != value else judge.better * value


Search = Generator[list[float], list[float], tuple[float, float] | None]


def best_point(crossings: Floats) -> Search:
    """Search a line; yields points to be tried, is sent their objectives, returns the best one.

    - ``crossings``: of pairs, rising.

    Returns
    -------
    tuple or None
        The largest objective, and of the points that have it the one nearest to 0; None without a crossing.
    """
    middles = _middles(crossings)
    seen: dict[int, tuple[float, float, float]] = {}
    low, high = 0, len(middles) - 1
    best = -1
    for n in _LEVELS:
        if high < low:
            break
        tried = np.unique(np.round(np.linspace(low, high, n + 1)).astype(np.int64))
        new = [k for k in tried.tolist() if k not in seen]
        found = yield [float(middles[k]) for k in new]
        for k, objective in zip(new, found, strict=True):
            seen[k] = objective, -abs(float(middles[k])), float(middles[k])
        best = max(seen, key=lambda k: seen[k])
        order = sorted(seen)
        at = order.index(best)
        low, high = order[max(at - 1, 0)], order[min(at + 1, len(order) - 1)]
    return None if best < 0 else (seen[best][0], seen[best][2])


def _middles(crossings: Floats) -> Floats:
    """A point between each two crossings, and one beyond either end."""
    if not len(crossings):
        return crossings
    reach = float(np.median(np.abs(crossings))) or 1.0
    with np.errstate(over="ignore"):
        ends = crossings[:1] - reach, crossings[-1:] + reach
        between = crossings[:-1] / 2.0 + crossings[1:] / 2.0
    return np.concatenate([ends[0], between, ends[1]])


class RankedPart(ScoredPart):
    """The lists of one part, and where each restart is among them.

    - ``seed``: of the pairs that are drawn.
    """

    def __init__(
        self, lists: CandidateLists, judge: PreparedMetric, list_weights: Floats | None, seed: int
    ) -> None:
        super().__init__(lists, judge, list_weights)
        self._seed = seed
        self._places: dict[int, tuple[Place, Floats]] = {}
        self._known: tuple[Among, Crossings] | None = None

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed).spawn(2)[1])

    def n_lists(self) -> int:
        """Return the number of lists."""
        return self.lists.n_lists

    def labelled(self, among: Among) -> bool:
        """Return whether a drawn pair has different labels."""
        if self.lists.labels is None:
            return False
        a, b = drawn_pairs(self.lists, self._rng(), among._replace(labelled=False))
        return bool((np.abs(self.lists.labels[a] - self.lists.labels[b]) > 0).any())

    def _crossings(self, among: Among) -> Crossings:
        if self._known is None or self._known[0] != among:
            self._known = among, Crossings(self.lists, self._rng(), among)
        return self._known[1]

    def varying(self, among: Among) -> Index:
        """Return the features that vary within a list."""
        return self._crossings(among).varying

    def values(self, among: Among, asked: Sequence[tuple[int, Place]]) -> list[Floats | None]:
        """Return the sums of statistics at points, None if a score is not finite."""
        found = [self._at(among, number, place) for number, place in asked]
        return [self.sums_of(scores) if np.isfinite(scores).all() else None for scores in found]

    def crossings(self, among: Among, asked: Sequence[tuple[int, Place, int]]) -> list[Floats]:
        """Return the crossings of pairs along features, rising."""
        known = self._crossings(among)
        return [
            known.along(self._at(among, number, place), known.column(feature))
            for number, place, feature in asked
        ]

    def tries(
        self, among: Among, asked: Sequence[tuple[int, Place, int, list[float]]]
    ) -> list[list[Floats | None]]:
        """Return the sums of statistics at several points along features, None if a score is not finite."""
        found: list[list[Floats | None]] = []
        for number, place, feature, gammas in asked:
            here, column = self._at(among, number, place), self._crossings(among).column(feature)
            found.append([])
            for gamma in gammas:
                with np.errstate(over="ignore", invalid="ignore"):
                    scores = here + gamma * column
                found[-1].append(self.sums_of(scores) if np.isfinite(scores).all() else None)
        return found

    def _at(self, among: Among, number: int, place: Place) -> Floats:
        """The scores (n_items) at a point, from where the restart was if that is on the way."""
        known, scores = self._places.pop(number, (None, None))
        n = 0 if known is None else len(known.steps)
        if known is None or scores is None or not known.same(place, n):
            scores, n = self.lists.features.scores(place.weights), 0
        for feature, gamma in place.steps[n:]:
            assert isinstance(feature, int)
            scores = scores + gamma * self._crossings(among).column(feature)
        self._places[number] = place, scores
        return scores


class Asked(NamedTuple):
    """A question: the metric at a point, or the best point along a feature."""

    place: Place
    along: int | None = None

    def numbers(self) -> list[Floats]:
        """Return all that the answer depends on."""
        return [*self.place.numbers(), np.array([] if self.along is None else [self.along], dtype=np.float64)]


class SharedRankings(SharedSearch[Asked]):
    """The lists of all parts, and searches over them.

    - ``parts``: ``RankedPart``, with their metric.
    - ``source``: of the lists.
    """

    def __init__(self, parts: Parts, source: str) -> None:
        super().__init__(parts, source)
        firsts = np.cumsum([0, *parts.each(RankedPart.n_lists)])
        own = [Among(int(first), int(firsts[-1])) for first in firsts[:-1]]
        labelled = any(parts.each(RankedPart.labelled, Own(own)))
        self._among = Own([one._replace(labelled=labelled) for one in own])
        found = np.concatenate(parts.each(RankedPart.varying, self._among))
        self.varying: Index = np.unique(found).astype(np.int64)

    def value(self, place: Place) -> float | None:
        """Return the metric at a point; None if a score is not finite."""
        found: float | None = self.ask(Asked(place))
        return found

    def best_along(self, place: Place, feature: int) -> tuple[float, float] | None:
        """Return the best point along a feature, see ``best_point``."""
        found: tuple[float, float] | None = self.ask(Asked(place, feature))
        return found

    def _metric(self, sums: Sequence[Floats | None]) -> float | None:
        if any(one is None for one in sums):
            return None
        return float(self.judge.score_from_sums(summed([one for one in sums if one is not None])))

    def answers(self, asked: list[tuple[int, Asked]]) -> list[Any]:
        found: list[Any] = [None] * len(asked)
        points = [k for k, (_, one) in enumerate(asked) if one.along is None]
        if points:
            where = [(asked[k][0], asked[k][1].place) for k in points]
            parts = self.parts.each(RankedPart.values, self._among, where)
            for k, sums in zip(points, zip(*parts, strict=True), strict=True):
                found[k] = self._metric(sums)
        lines = {k: (number, *one) for k, (number, one) in enumerate(asked) if one.along is not None}
        if lines:
            crossings = self.parts.each(RankedPart.crossings, self._among, list(lines.values()))
            searches = {
                k: best_point(np.unique(np.concatenate(some)))
                for k, some in zip(lines, zip(*crossings, strict=True), strict=True)
            }
            self._search(lines, searches, found)
        return found

    def _search(self, lines: dict[int, Any], searches: dict[int, Search], found: list[Any]) -> None:
        """Run the searches along ``lines`` together; INOUT ``found``: what they return."""
        sent: dict[int, list[float] | None] = dict.fromkeys(searches)
        while searches:
            tried: dict[int, list[float]] = {}
            for k, search in list(searches.items()):
                try:
                    tried[k] = search.send(sent[k])  # type: ignore[arg-type]  # None begins it
                except StopIteration as end:
                    found[k] = end.value
                    del searches[k]
            if tried:
                asked = [(*lines[k], gammas) for k, gammas in tried.items()]
                parts = self.parts.each(RankedPart.tries, self._among, asked)
                for k, some in zip(tried, zip(*parts, strict=True), strict=True):
                    values = [self._metric(sums) for sums in zip(*some, strict=True)]
                    sent[k] = [
                        -np.inf if one is None else larger_is_better(self.judge, one) for one in values
                    ]
