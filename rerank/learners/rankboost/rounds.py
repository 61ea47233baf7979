"""The rounds of RankBoost, and distributions over pairs, stored or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from rerank.core import checkpoints, progress
from rerank.core.types import Floats, Index, Ints
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.pairs import Pairs
from rerank.learners.rankboost.rankers import Choice, WeakRankers
from rerank.models.stumps import StumpModel
from rerank.native.data import _pairs
from rerank.native.learners import _rankboost_explicit
from rerank.native.learners._rankboost import RangePairs

_RANGE = (1e-100, 1e100)  # of sums; shares that vanish beside one within it do not count


class ExplicitPairs:
    """A distribution over stored pairs of n items.

    Each pair has a weight D, which a weak ranker h with the step a multiplies by
    exp(-c * a * (h(better) - h(worse))). In RankBoost the cost c is 1. In AdaCost a pair has two costs: one
    counts if h and the sign of the step put the better item first, the other if they put it last.

    A round takes time for each pair, but an exponential only for pairs whose two items have different h.

    - ``better``, ``worse``: int64 (n_pairs); positions of items.
    - ``n``: the number of items.
    - ``weights``: float64 (n_pairs); the initial distribution times any constant; not negative and not all 0.
    - ``costs``: float64 (2, n_pairs); the costs of pairs that are put right, and of those that are put wrong;
      None = 1.

    Notes
    -----
    The weak ranker and its step are those of RankBoost for D, whatever the costs: costs change D alone, as
    in Duh's Algorithm 7. Fan et al. instead choose both by r = the sum of D * u with u = c * (h(better) -
    h(worse)), as the sum of D * exp(-a * u) is at most sqrt(1 - r^2) at their step. With the costs
    0.5 - 0.5 * w of pairs that are put right and 0.5 + 0.5 * w of those put wrong, that r is half of
    RankBoost's less half of the sum of D * w over all pairs that h tells apart. It is 0 or less for every h
    if all w are 1, so that no round would be taken; and which h has the largest cannot be told from sums
    over items.

    References
    ----------
    Fan, Stolfo, Zhang, Chan: AdaCost: Misclassification cost-sensitive boosting. ICML 1999.
    Duh: Learning to rank with partially-labeled data. University of Washington, 2009, section 6.1.
    """

    def __init__(
        self, better: Index, worse: Index, n: int, weights: Floats, costs: Floats | None = None
    ) -> None:
        self.costs = None if costs is None else np.ascontiguousarray(costs, dtype=np.float64)
        self._pairs = np.array([better, worse], dtype=np.int32)
        with np.errstate(divide="ignore"):
            self._logs: Floats = np.log(weights)
        self._sums = np.empty((2, n))
        self._centre()

    def _centre(self) -> None:
        """Compute all shares again, with the factor by which the largest is 1."""
        self._reference = float(self._logs.max())
        self._shares: Floats = np.exp(self._logs - self._reference)
        self._total = self._moved(np.zeros(self._sums.shape[1]), 0.0)

    def _moved(self, h: Floats, step: float) -> float:
        """Change the weights of pairs, and return the sum of shares."""
        found: float = _rankboost_explicit.advance(
            self._pairs, h, step, self.costs, self._logs, self._shares, self._reference, self._sums
        )
        return found

    def potentials(self) -> tuple[Floats, float]:
        """Return the potentials of items, and the log of the sum of weights.

        The potential of an item, in float64 (n), is the share of the weights of the pairs that it must win
        less that of those that it must lose.
        """
        out: Floats = (self._sums[0] - self._sums[1]) / self._total
        return out, self._reference + float(np.log(self._total))

    def split(self, h: Floats) -> tuple[float, float]:
        """Return the share of the pairs that a binary h (n) puts right, and of those that it puts wrong."""
        right, wrong = _rankboost_explicit.split(self._pairs, h, self._shares)
        return right / self._total, wrong / self._total

    def advance(self, h: Floats, step: float) -> None:
        """Multiply the weights of pairs for a weak ranker with values h (n)."""
        self._total = self._moved(h, step)
        if not _RANGE[0] < self._total < _RANGE[1]:
            self._centre()


class PairRanges:
    """The distribution of ``ExplicitPairs`` without costs, over ranges of items in the order of labels.

    Time and memory grow as the number of items. Weights are those of the scores F: D is proportional to
    w * exp(F(worse) - F(better)), with the weight w of the list.

    - ``pairs``: which items must beat which.
    - ``weights``: float64 (n_lists); the initial weight of each pair of a list, times any constant; not
      negative and not all 0.
    - ``reverse``: the worse item of each pair must beat the better one.
    """

    def __init__(self, pairs: Pairs, weights: Floats, *, reverse: bool = False) -> None:
        with np.errstate(divide="ignore"):
            logs = np.log(weights)
        ranges = ranges_of(pairs)
        if reverse:
            ranges = np.ascontiguousarray(ranges[[2, 3, 0, 1]])
        self._native = RangePairs(pairs.offsets, ranges, logs)
        self.scores: Floats = self._native.scores

    def potentials(self) -> tuple[Floats, float]:
        """Return the potentials of items, and the log of the sum of weights; see ``ExplicitPairs``."""
        out = np.empty(len(self.scores))
        total: float = self._native.potentials(out)
        return out, total

    def split(self, h: Floats) -> tuple[float, float]:
        """Return the share of pairs that a binary h puts right, and of those that it puts wrong."""
        found: tuple[float, float] = self._native.split(h)
        return found

    def advance(self, h: Floats, step: float) -> None:
        """Multiply the weights of pairs for a weak ranker with values h (n)."""
        self.scores += step * h


def ranges_of(pairs: Pairs) -> Ints:
    """Return the positions in its list that each item must beat, and those that must beat it.

    Rows are the first position and that after the last one, of either kind: int32 (4, n_items).
    """
    sizes = np.diff(pairs.offsets)
    position = np.arange(len(pairs.items)) - np.repeat(pairs.offsets[:-1], sizes).astype(np.float64)
    out = np.empty((4, len(pairs.items)), dtype=np.int32)
    out[0], out[1] = pairs.start, pairs.stop
    _pairs.first_beyond(pairs.stop.astype(np.float64), pairs.offsets, position, out[2])
    _pairs.first_beyond(pairs.start.astype(np.float64), pairs.offsets, position, out[3])
    return out


Step = Literal["bound", "exact"]
_UNIT = 2.0**-30
_LEAST = 2.0**-26  # a smaller gain does not lower the loss beyond rounding errors
_MOST = 1 - 2.0**-20  # a larger gain would make steps that depend on rounding errors, or are infinite


class Distribution(Protocol):
    """Weights of pairs; see ``ExplicitPairs``. h is what ``RankerSearch.values`` returns."""

    def potentials(self) -> tuple[Floats, float]:
        """Return the potentials of items, and the log of the sum of weights."""

    def split(self, h: Any) -> tuple[float, float]:
        """Return the share of pairs that a binary h puts right, and of those that it puts wrong."""

    def advance(self, h: Any, step: float) -> None:
        """Multiply the weights of pairs."""


class RankerSearch(Protocol):
    """Weak rankers; see ``WeakRankers``."""

    def best(self, potential: Floats, both: bool) -> Choice | None:
        """Return the weak ranker of the largest gain."""

    def values(self, choice: Choice) -> Any:
        """Return the values of a weak ranker."""


@dataclass(eq=False)
class Run:
    """The rounds of one fit.

    Attributes
    ----------
    choices, steps
        The weak ranker of each round, and its step.
    log_loss
        The log of the mean loss after each round: of the sum of weights, which began with 1.
    converged
        No weak ranker lowers the loss any more.
    """

    choices: list[Choice] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    log_loss: list[float] = field(default_factory=list)
    converged: bool = False

    def state(self, *, ended: bool) -> checkpoints.State:
        """Return the rounds for a checkpoint, and whether no round follows."""
        columns = {
            name: np.array([getattr(choice, name) for choice in self.choices], dtype=np.int64)
            for name in ("column", "group", "missing")
        }
        gain = np.array([choice.gain for choice in self.choices])
        found = {"gain": gain, "step": np.array(self.steps), "log_loss": np.array(self.log_loss)}
        return {**columns, **found, "converged": self.converged, "ended": ended}


@dataclass(frozen=True)
class Rule:
    """Rule by which a round chooses and steps.

    Attributes
    ----------
    step
        bound: log((1 + r) / (1 - r)) / 2, which minimises a bound of the loss for any h in [0, 1]; exact:
        log((W+ + epsilon) / (W- + epsilon)) / 2 for the shares W+ and W- of the pairs that a threshold puts
        right and wrong. Features themselves have bound steps.
    epsilon
        Smoothing of exact steps.
    both
        Steps may be negative.
    learning_rate
        What steps are multiplied by, at most 1.
    """

    step: Step
    epsilon: float
    both: bool
    learning_rate: float = 1.0

    def step_of(self, choice: Choice, pairs: Distribution, h: Any) -> float:
        """Return the step of a weak ranker with values h.

        It is a multiple of 2^-30, so that rounding errors decide nothing.
        """
        if self.step == "bound" or choice.raw:
            r = min(max(choice.gain, -_MOST), _MOST)
            found = 0.5 * np.log((1 + r) / (1 - r))
        else:
            right, wrong = pairs.split(h)
            found = 0.5 * np.log((right + self.epsilon) / (wrong + self.epsilon))
        return float(np.rint(self.learning_rate * found / _UNIT) * _UNIT)


def boost(pairs: Distribution, rankers: RankerSearch, rule: Rule, rounds: int) -> Run:
    """Return at most so many rounds; each changes the distribution.

    - ``pairs``: the distribution over pairs.
    - ``rankers``: weak rankers of the items that the potentials are of.
    - ``rule``: which weak rankers and steps are taken.
    - ``rounds``: the most rounds.
    """
    place = checkpoints.slot()
    run, ended = _resumed(place)
    if ended:
        return run
    potential, start = pairs.potentials()
    for earlier, step in zip(run.choices, run.steps, strict=True):
        pairs.advance(rankers.values(earlier), step)
    if run.steps:
        potential, _ = pairs.potentials()
    for _ in progress.over(range(len(run.steps), rounds), "training", rounds, "round"):
        choice = rankers.best(potential, rule.both)
        if choice is None or not (abs(choice.gain) if rule.both else choice.gain) > _LEAST:
            run.converged = True
            break
        h = rankers.values(choice)
        step = rule.step_of(choice, pairs, h)
        if step == 0.0:  # nothing would change any more
            run.converged = True
            break
        pairs.advance(h, step)
        run.choices.append(choice)
        run.steps.append(step)
        potential, loss = pairs.potentials()
        run.log_loss.append(loss - start)
        if place is not None and place.due():
            place.keep(run.state(ended=False))
    if place is not None:
        place.keep(run.state(ended=True))
    return run


def _resumed(place: checkpoints.Slot | None) -> tuple[Run, bool]:
    """The rounds that a checkpoint has, and whether they are all."""
    if place is None or place.state is None:
        return Run(), False
    with place.restoring() as state:
        rows = zip(*(state[name].tolist() for name in ("column", "group", "missing", "gain")), strict=True)
        choices = [Choice(*row) for row in rows]
        steps, log_loss = state["step"].tolist(), state["log_loss"].tolist()
        if not len(choices) == len(steps) == len(log_loss):
            raise ValueError
        return Run(choices, steps, log_loss, bool(state["converged"])), bool(state["ended"])


def model_of(run: Run, rankers: WeakRankers, names: list[str], *, has_missing: bool) -> StumpModel:
    """Return the model of rounds that chose among weak rankers of the features ``names``."""
    n = len(run.steps)
    columns = np.array([choice.column for choice in run.choices], dtype=np.int64)
    raw = np.array([choice.raw for choice in run.choices], dtype=np.uint8)
    threshold, missing, step = np.zeros(n), np.zeros(n), np.array(run.steps)
    for r, choice in enumerate(run.choices):
        c = choice.column
        missing[r] = choice.missing
        if choice.raw:
            assert rankers.raw is not None
            low, high = rankers.raw.low[c], rankers.raw.high[c]
            threshold[r] = high - low
            step[r] /= high - low
            missing[r] = high if choice.missing else low
        else:
            threshold[r] = rankers.at[rankers.groups[c] + choice.group]
        if not rankers.missing[c]:
            missing[r] = np.nan
    return StumpModel(
        names,
        np.zeros(len(names)),
        rankers.feature[columns],
        threshold,
        step,
        raw if raw.any() else None,
        missing if has_missing else None,
    )


class RoundScores:
    """The scores of sets of lists after each round of a model; rounds must be asked for in rising order.

    - ``model``: all rounds. Its weights are not added.
    """

    def __init__(self, model: StumpModel) -> None:
        self.model = model
        self._parts: dict[int, _Part] = {}

    def __call__(self, rounds: int, lists: CandidateLists) -> Floats:
        """Return the scores of lists after so many rounds, float64 (n_items)."""
        part = self._parts.setdefault(id(lists), _Part(lists, self.model))
        for r in range(part.done, rounds):
            rows, values = part.column(int(self.model.feature[r]))
            part.scores[rows] += self.model.added(r, values)
        part.done = rounds
        return part.scores.copy()


class _Part:
    """One set of lists: its scores after ``done`` rounds, and the columns that the rounds use."""

    def __init__(self, lists: CandidateLists, model: StumpModel) -> None:
        self.lists = lists  # held, so that no other set gets its id
        self.scores = np.zeros(lists.n_items)
        self.done = 0
        self._columns: dict[int, tuple[Ints, Floats]] = {}
        if not isinstance(lists.features, Dense):
            used = np.unique(model.feature)
            places = np.full(lists.n_features, -1, dtype=np.int64)
            places[used] = np.arange(len(used))
            columns = lists.features.select(places, len(used)).by_column()
            for j, (rows, values) in zip(used.tolist(), columns, strict=True):
                every = np.arange(lists.n_items, dtype=np.int32)
                self._columns[j] = every if rows is None else rows, values

    def column(self, j: int) -> tuple[Ints | slice, Floats]:
        """Return the items that may have another value than 0 of a feature, and their values."""
        return self._columns.get(j) or (slice(None), self.lists.features.column(j))
