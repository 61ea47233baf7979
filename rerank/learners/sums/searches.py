"""Line searches over parts of the lists: every part finds its corners, whose sums are merged here.

A search asks twice. First each part puts the corners of its lists into buckets along the line and sums each
bucket. From these sums follows a bound of the metric in every bucket. Then the parts send the corners of
those buckets that may hold the best interval. Sums of counts are exact, so that the interval is the one that
a search over all lists at once finds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from rerank.core.progress import step as progress_step
from rerank.core.types import AnyArray, Floats, Mask
from rerank.core.workers.parallel import each
from rerank.data.judge import PreparedMetric, SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs
from rerank.learners.initial import BasePart, Init, initial_weights, summed_base_weights
from rerank.learners.sums.in_step import InStep
from rerank.learners.sums.lines import Choice, LineProblem, Ranges, Rise, scale_of
from rerank.learners.sums.parts import Parts, PartsOf
from rerank.learners.tuning.line_search import FREE, Climb
from rerank.native.learners import _mert

T = TypeVar("T")


class Question(Protocol):
    """Question of a restart."""

    def numbers(self) -> list[Floats]:
        """Return all that the answer depends on."""
        ...


Q = TypeVar("Q", bound=Question)
_MOST_BUCKETS = 256  # of a search: what each part sends of every restart
_LISTS_OF_BUCKET = 8
_MOST_SUM = float(1 << 51)  # sums of whole numbers up to it are exact
_TOGETHER = 32  # restarts: each keeps the scores of all items


class Place(NamedTuple):
    """A point: weights (n_features, scaled), and steps from there, each a direction and how far it goes.

    A direction is the number of a feature or a vector (n_features). The scores of a point have the bits of
    these steps.
    """

    weights: Floats
    steps: tuple[tuple[int | Floats, float], ...] = ()

    def numbers(self) -> list[Floats]:
        """Return all that it consists of."""
        return [self.weights, *(np.append(*one) for one in self.steps)]

    def same(self, other: Place, n: int) -> bool:
        """Return whether another point begins with the weights and the first ``n`` steps of this one."""
        if len(other.steps) < n or not np.array_equal(self.weights, other.weights):
            return False
        pairs = zip(self.steps[:n], other.steps[:n], strict=True)
        return all(a[1] == b[1] and np.array_equal(a[0], b[0]) for a, b in pairs)


class Asked(NamedTuple):
    """A question about a point, or about a line through it.

    along : the direction; None = the sums at the point. unit : the gamma of a long step. least : what the
    objective must be above. penalty : along the line, see ``Climb``.
    """

    place: Place
    along: int | Floats | None = None
    unit: float = 1.0
    least: float = -np.inf
    penalty: _mert.Penalty = FREE

    def numbers(self) -> list[Floats]:
        """Return all that the answer depends on."""
        along = [] if self.along is None else [np.append(self.along, [self.unit, self.least, *self.penalty])]
        return self.place.numbers() + along


class Facts(NamedTuple):
    """Facts of one part: its ranges, the lists that are searched, and the largest statistic.

    The last one is infinite if statistics are not whole numbers.
    """

    ranges: Ranges
    searched: int
    largest: float


class ScoredPart:
    """The lists of one part, their metric, and the weights of lists, None = 1."""

    def __init__(self, lists: CandidateLists, judge: PreparedMetric, list_weights: Floats | None) -> None:
        self.lists, self.judge, self.list_weights = lists, judge, list_weights

    @property
    def base(self) -> BasePart:
        """The first-stage scores, of which nothing is kept."""
        return BasePart(self.lists)

    def sums_of(self, scores: Floats) -> Floats:
        """Return the sums of statistics (k) under scores (n_items)."""
        found = self.judge.per_list(scores)
        found = found if self.list_weights is None else found * self.list_weights[:, None]
        total: Floats = found.sum(axis=0)
        return total

    def sums(self, weights: Floats) -> Floats:
        """Return the sums of statistics (k) under weights (n_features)."""
        return self.sums_of(self.lists.features.scores(weights))


class LinePart(ScoredPart):
    """The lists of one part, and where each restart is among them; its metric is one of single candidates."""

    judge: SelectingJudge

    def __init__(self, lists: CandidateLists, judge: SelectingJudge, list_weights: Floats | None) -> None:
        super().__init__(lists, judge, list_weights)
        self._problem: LineProblem | None = None
        self._places: dict[int, tuple[Place, Choice]] = {}
        self._search: _mert.LineSearch | None = None
        self._corners: dict[int, tuple[Asked, tuple[AnyArray, ...]]] = {}

    def problem(self, scale: Floats | None = None) -> LineProblem:
        """Return the lists as ``LineProblem``, by their own scale of features or another (n_features)."""
        if self._problem is None:
            self._problem = LineProblem(self.lists, self.judge, self.list_weights, scaled=False)
            self._problem.ready(scale)
        return self._problem

    def facts(self) -> Facts:
        """Return what is known before the first search."""
        problem = LineProblem(self.lists, self.judge, self.list_weights, scaled=False)
        rows = problem.stats.rows
        largest = float(np.abs(rows).max(initial=0)) if problem.stats.exact else np.inf
        return Facts(problem.ranges(), len(problem.searched), largest)

    def answers(self, scale: Floats, n_buckets: int, asked: Sequence[tuple[int, Asked]]) -> list[Any]:
        """Return the sums at points, None if a score is not finite, and ``LineSearch.tally`` along lines.

        - ``asked``: the number of a restart, and its question.
        """
        p = self.problem(scale)
        found: list[Any] = []
        for number, one in asked:
            if one.along is None:
                here = self._at(p, number, one.place)
                found.append(None if here is None else here.sums.copy())
            else:
                found.append(self._gathered(p, n_buckets, number, one).tally())
        return found

    def corners(
        self, scale: Floats, n_buckets: int, asked: Sequence[tuple[int, Asked]], wanted: Sequence[Mask]
    ) -> list[tuple[Floats, Floats]]:
        """Return the corners along lines, of the buckets that are wanted, in the order of the lists.

        Their gamma (m), and the changes of the sums there (m, k).
        """
        p, found = self.problem(scale), []
        for (number, one), some in zip(asked, wanted, strict=True):
            known = self._corners.get(number)
            if known is None or not _equal(known[0], one):
                self._gathered(p, n_buckets, number, one)
            gamma, bucket, before, after = self._corners.pop(number)[1]
            (kept,) = np.nonzero(some[bucket])
            rows = p.stats.rows
            found.append((gamma[kept], rows[after[kept]].astype(np.float64) - rows[before[kept]]))
        return found

    def _rise(self, p: LineProblem, direction: int | Floats) -> Rise:
        return p.towards(direction) if isinstance(direction, np.ndarray) else p.along(direction)

    def _at(self, p: LineProblem, number: int, place: Place) -> Choice | None:
        """The choice at a point, from where the restart was if that is on the way."""
        known, here = self._places.pop(number, (None, None))
        n = 0 if known is None else len(known.steps)
        if known is None or not known.same(place, n):
            here, n = (here or Choice.of(p)).settled(p, place.weights), 0
        if here is not None:
            for direction, gamma in place.steps[n:]:
                here = here.advanced(p, self._rise(p, direction), gamma, here)
            self._places[number] = place, here
        return here

    def _gathered(self, p: LineProblem, n_buckets: int, number: int, asked: Asked) -> _mert.LineSearch:
        """The search with the corners along a line, which are kept until they are asked for."""
        here = self._at(p, number, asked.place)
        assert here is not None  # sums at the point were asked for before
        assert asked.along is not None
        self._search = self._search or _mert.LineSearch(p.offsets, p.stats)
        self._search.gather(*self._rise(p, asked.along), *here, asked.unit, n_buckets)
        self._corners[number] = asked, self._search.corners()
        return self._search


def _equal(one: Asked, other: Asked) -> bool:
    a, b = one.numbers(), other.numbers()
    return len(a) == len(b) and all(map(np.array_equal, a, b))


class SharedSearch(ABC, Generic[Q]):
    """Searches over the lists of all parts; the questions of all restarts are answered together.

    - ``parts``: ``ScoredPart``, with their metric.
    - ``source``: of the lists.
    """

    def __init__(self, parts: Parts, source: str) -> None:
        assert parts.judge is not None  # needs_judge
        self.judge, self.source = parts.judge, source
        self.parts = parts
        self._in_step: InStep[Q, Any] = InStep(self._once)
        self.ask = self._in_step.ask

    def _once(self, asked: list[tuple[int, Q]]) -> Sequence[Any]:
        numbers = [np.append(float(k), array) for k, one in asked for array in one.numbers()]
        return self.parts.once(numbers, lambda: tuple(self.answers(asked)))

    @abstractmethod
    def answers(self, asked: list[tuple[int, Q]]) -> list[Any]:
        """Return the answers to questions, which are given with the numbers of their restarts."""

    def each(self, function: Callable[..., T], tasks: Sequence[tuple[Any, ...]], what: str) -> list[T]:
        """Return ``function(*task)`` of every task; what they ask is answered together."""
        found: list[T] = []
        with progress_step(what, len(tasks), "restart") as advance:
            for first in range(0, len(tasks), _TOGETHER):
                some = tasks[first : first + _TOGETHER]
                found += self._in_step.each(function, some)
                advance(len(some))
        return found


class SharedLines(SharedSearch[Asked]):
    """The lists of all parts as ``LineProblem`` has those of one: their scale, and searches over them.

    - ``parts``: ``LinePart``, with their metric.
    """

    judge: SelectingJudge
    most = np.inf

    def __init__(self, parts: Parts, source: str) -> None:
        super().__init__(parts, source)
        self.form = self.judge.sum_form
        facts = parts.each(LinePart.facts)
        ranges = Ranges.merged([one.ranges for one in facts])
        self.varying = np.flatnonzero(ranges.n)
        self.scale = np.ones(len(ranges.n))
        for j in self.varying.tolist():
            self.scale[j] = scale_of(*(float(column[j]) for column in ranges))
        searched = sum(one.searched for one in facts)
        self.exact = max(one.largest for one in facts) <= _MOST_SUM / max(parts.n_lists, 1)
        self._n_buckets = min(max(searched // _LISTS_OF_BUCKET, 1), _MOST_BUCKETS)

    def along(self, feature: int) -> int:
        """Return what stands for the direction of a feature."""
        return feature

    def towards(self, direction: Floats) -> Floats:
        """Return what stands for any direction (n_features, scaled)."""
        return direction

    def answers(self, asked: list[tuple[int, Asked]]) -> list[Any]:
        """Return sums at points, None if a score is not finite; and the best interval along lines."""
        how = self.scale, self._n_buckets
        parts = self.parts.each(LinePart.answers, *how, asked)
        found: list[Any] = []
        searched: list[tuple[int, _Line]] = []
        for k, ((_, one), answers) in enumerate(zip(asked, zip(*parts, strict=True), strict=True)):
            if one.along is None:
                found.append(None if any(sums is None for sums in answers) else summed(answers))
            else:
                searched.append((k, _Line(self, one, answers)))
                found.append(None)
        if searched:
            again = [asked[k] for k, _ in searched]
            corners = self.parts.each(LinePart.corners, *how, again, [line.wanted for _, line in searched])
            for (k, line), some in zip(searched, zip(*corners, strict=True), strict=True):
                found[k] = line.best(*map(np.concatenate, zip(*some, strict=True)))
        return found

    def bounds(self, starts: Floats, rises: Floats, changes: Floats, asked: Asked) -> Floats:
        """Return a bound of the objective in each bucket, infinite if none is known."""
        if self.form is None or not self.exact or asked.penalty[0] != 0:
            return np.full(len(starts), np.inf)
        how = self.judge.better, self.form.number, *self.form.parameters
        least = -np.inf if np.isnan(asked.least) else asked.least
        return _mert.bounds_of(starts, rises, changes, *how, least)

    def values(self, sums: Floats) -> Floats:
        """Return the metric of sums (n, k), float64 (n)."""
        if self.form is None:
            return np.asarray(self.judge.score_from_sums(sums), dtype=np.float64)
        return _mert.values_of(sums, self.form.number, *self.form.parameters)


def summed(arrays: Sequence[Floats]) -> Floats:
    """Return the sum of arrays in their order."""
    total = arrays[0]
    for more in arrays[1:]:
        total = total + more
    return total


class _Line:
    """A line through all parts: the buckets of its corners.

    - ``tallies``: of ``LineSearch.tally``, one for each part.
    """

    def __init__(self, lines: SharedLines, asked: Asked, tallies: Sequence[tuple[Floats, ...]]) -> None:
        sums, highest, rises, changes = zip(*tallies, strict=True)
        self._lines, self._asked = lines, asked
        tops = np.max(highest, axis=0)
        added = np.cumsum(np.concatenate([summed(sums)[None], summed(changes)]), axis=0)
        self._starts, self._end = added[:-1], added[-1]
        below = np.maximum.accumulate(np.append(-np.inf, tops))
        self._lowers, self._last = below[:-1], below[-1]
        bounds = lines.bounds(self._starts, summed(rises), summed(changes), asked)
        self.wanted: Mask = (tops > -np.inf) & (bounds > -np.inf)
        self._tops = tops

    def best(self, gamma: Floats, changes: Floats) -> tuple[float, float, float]:
        """Return the best interval, see ``Climb._best``; of the corners in the order of the lists."""
        lines, asked = self._lines, self._asked
        order = np.argsort(gamma, kind="stable")
        gamma, changes = gamma[order], changes[order]
        buckets = np.flatnonzero(self.wanted)
        # The buckets are consecutive pieces of the line, each up to its highest corner.
        bucket = buckets[np.searchsorted(self._tops[buckets], gamma)]
        first = np.append(True, bucket[1:] != bucket[:-1])[: len(gamma)]
        lowers = np.where(first, self._lowers[bucket], np.append(0.0, gamma[:-1])[: len(gamma)])
        if lines.exact:
            whole = changes.astype(np.int64)
            before = np.cumsum(whole, axis=0) - whole
            starts = np.flatnonzero(first)
            base = np.repeat(before[starts], np.diff(np.append(starts, len(gamma))), axis=0)
            sums = self._starts[bucket] + (before - base)
        else:  # all buckets are wanted
            sums = np.cumsum(np.concatenate([self._starts[:1], changes]), axis=0)
            self._end, sums = sums[-1], sums[:-1]
        ends = np.column_stack([np.append(lowers, self._last), np.append(gamma, np.inf)])
        sums = np.concatenate([sums, self._end[None]])
        low, high = ends.T
        with np.errstate(invalid="ignore"):
            wide = np.isinf(low) | np.isinf(high) | (high - low > 1e-11 * (asked.unit + abs(low) + abs(high)))
        ends, sums = ends[wide], np.ascontiguousarray(sums[wide])
        return _mert.best_of(ends, lines.values(sums), asked.unit, lines.judge.better, asked.penalty)


class SharedClimb(Climb):
    """A climb over the lists of all parts; it asks where it is and what is along a line."""

    problem: SharedLines  # type: ignore[assignment]  # it has what the base asks for

    def _begin(self) -> None:
        self._place = self._next = Place(self.near)

    def sums_at(self, weights: Floats) -> Floats | None:
        """See ``Climb``."""
        self._place = Place(weights)
        found: Floats | None = self.problem.ask(Asked(self._place))
        return found

    def found_along(
        self, direction: Floats, rise: Any, unit: float, least: float
    ) -> tuple[float, float, float]:
        """See ``Climb``."""
        asked = Asked(self._place, rise, unit, least, self._penalty(direction))
        found: tuple[float, float, float] = self.problem.ask(asked)
        return found

    def advanced(self, rise: Any, gamma: float) -> Floats:
        """See ``Climb``."""
        self._next = self._place._replace(steps=(*self._place.steps, (rise, gamma)))
        found: Floats = self.problem.ask(Asked(self._next))
        return found

    def accept(self) -> None:
        """See ``Climb``."""
        self._place = self._next


class SummedJudge:
    """The metric of the lists of all parts; what it takes for scores are weights (n_features).

    - ``parts``: ``ScoredPart``, with their metric.
    """

    def __init__(self, parts: Parts) -> None:
        assert parts.judge is not None  # needs_judge
        self._parts = parts
        self.name, self.signature, self.better = parts.judge.name, parts.judge.signature, parts.judge.better
        self.score_from_sums = parts.judge.score_from_sums

    def per_list(self, scores: Floats) -> Floats:
        """Return the sums of statistics, as those of one list (1, k)."""
        return summed(self._parts.each(ScoredPart.sums, scores))[None]

    @staticmethod
    def scores(training: CandidateLists) -> Callable[[Floats, CandidateLists], Floats]:
        """Return what ``Rounds.record`` is given: scores of lists, of the training lists the weights."""
        return lambda state, some: state if some is training else some.features.scores(state)


Lines = LineProblem | SharedLines


def lines_of(parts: Parts, source: str) -> Lines:
    """Return the lists of all parts; in memory they are one."""
    return parts.each(LinePart.problem)[0] if parts.here else SharedLines(parts, source)


def shared_by(problem: Lines) -> SharedLines | None:
    """Return what all restarts ask together."""
    return problem if isinstance(problem, SharedLines) else None


def climber(problem: Lines) -> Callable[..., Climb]:
    """Return what makes a climb over lists, from the arguments of ``Climb`` after the first."""
    kind = SharedClimb if isinstance(problem, SharedLines) else Climb
    return partial(kind, problem)  # type: ignore[arg-type]


def each_of(
    shared: SharedSearch[Any] | None, function: Callable[..., T], tasks: Iterable[tuple[Any, ...]], what: str
) -> list[T]:
    """Return ``function(*task)`` of every restart; ``what`` they do is shown.

    - ``shared``: what they ask; None = nothing, so that each goes its own way.
    """
    if shared is not None:
        return shared.each(function, list(tasks), what)
    return each(function, tasks, threads=True, step=(what, "restart"))


def start_of(parts: Parts, lists: CandidateLists, inputs: FitInputs, init: Init) -> tuple[Floats, str]:
    """Return ``initial_weights``, those of the first stage by the scores of all parts."""
    return initial_weights(lists, inputs, init, base=lambda: summed_base_weights(PartsOf(parts, "base")))


def train_value(parts: Parts, weights: Floats) -> float:
    """Return the metric of all parts under weights (n_features, not scaled)."""
    assert parts.judge is not None  # needs_judge
    return float(parts.judge.score_from_sums(summed(parts.each(ScoredPart.sums, weights))))
