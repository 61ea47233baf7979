"""The rounds of RankBoost over parts: thresholds of all parts, and sums of potentials by threshold."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs
from rerank.learners.rankboost.rankers import TIE, Choice, Cuts, Grouping, WeakRankers, counted_values, cuts
from rerank.learners.rankboost.rounds import PairRanges, Rule, Run, boost, model_of
from rerank.learners.sums.parts import Parts, SummingLearner
from rerank.models.base import Model
from rerank.models.stumps import StumpModel
from rerank.models.training import DataRecord
from rerank.native.learners import _rankboost_groups

MOST = 4096  # values of a feature that a part tells of


class ColumnValues(NamedTuple):
    """The values of one feature in a part.

    Attributes
    ----------
    values, counts : rising, and how many items have each: float64 and int64 (n). Of more than ``MOST`` values
        only some are left; half of the items between two of them count for each.
    missing : whether an item lacks the feature.
    all : whether no value is left out.
    """

    values: Floats
    counts: Index
    missing: bool
    all: bool


def column_values(lists: CandidateLists) -> list[ColumnValues]:
    """Return the values of each feature; those of judged items count."""
    assert lists.labels is not None
    features = lists.features.take(np.flatnonzero(~np.isnan(lists.labels)))
    found, n = [], features.n_items
    words = np.empty(2 * n, dtype=np.int64)
    for _, stored in features.by_column():
        order, rising = np.empty(len(stored), dtype=np.int32), np.empty(len(stored))
        known = _rankboost_groups.sort(stored, order, rising, words)
        values, counts = counted_values(rising[:known], n - len(stored))
        every = len(values) <= MOST
        if not every:
            ends = np.cumsum(counts)
            kept = np.unique(np.searchsorted(ends, np.linspace(1, ends[-1], MOST).astype(np.int64)))
            values, counts = values[kept], counts[kept]
            between = np.diff(ends[kept]) - counts[1:]
            counts[:-1] += between // 2
            counts[1:] += between - between // 2
        found.append(ColumnValues(values, counts, known < len(stored), every))
    return found


def cuts_of(parts: Sequence[Sequence[ColumnValues]], grouping: Grouping) -> list[Cuts]:
    """Return the thresholds of each feature over the items of all parts.

    They are those of all items in memory if no part leaves a value out. Otherwise a quantile is off by at
    most 1 of ``MOST`` items of each part that does.

    Raises
    ------
    FitError
        If all values should be thresholds and a part leaves some out.
    """
    found = []
    for j, columns in enumerate(zip(*parts, strict=True)):
        if grouping.number is None and not all(one.all for one in columns):
            text = f"feature {j + 1} has more than {MOST:,} values"
            raise FitError(f"rankboost: {text}: choose thresholds=N, such as 255, for a fit over shards")
        values, where = np.unique(np.concatenate([one.values for one in columns]), return_inverse=True)
        counts = np.zeros(len(values), dtype=np.int64)
        np.add.at(counts, where, np.concatenate([one.counts for one in columns]))
        at = cuts(values, counts, grouping.number, grouping.spacing)
        found.append(Cuts(at, any(one.missing for one in columns)))
    return found


class PartFacts(NamedTuple):
    """Facts that each part is asked for once.

    Attributes
    ----------
    rankers : without items.
    missing : whether a feature is NaN.
    pairs, lists : pairs, and lists with one.
    """

    rankers: WeakRankers
    missing: bool
    pairs: int
    lists: int


class BoostedPart:
    """The pairs and the weak rankers of the lists of a part; see ``RankBoost``.

    Scores are those after all rounds of a question: a part that was lost and made again answers the same.

    Parameters
    ----------
    pairs, rankers : of the part's lists.
    missing : whether a feature is NaN.
    counts : the numbers of pairs, and of lists with one.
    """

    def __init__(self, pairs: PairRanges, rankers: WeakRankers, missing: bool, *counts: int) -> None:
        self._pairs, self._rankers, self._missing, self._counts = pairs, rankers, missing, counts
        self._start = pairs.scores.copy()
        self._rounds: list[tuple[Choice, float]] | None = None  # those of the potentials that were asked for

    def facts(self) -> PartFacts:
        """Return what is asked for once."""
        of, none = self._rankers, np.empty(0, dtype=np.int32)
        bare = replace(of, items=none, bounds=np.zeros_like(of.bounds), n=0)
        return PartFacts(bare, self._missing, *self._counts)

    def potentials(self, rounds: Sequence[tuple[Choice, float]]) -> tuple[Floats, float]:
        """Return the sum of the potentials of each group's items, and the log of the sum of weights."""
        done = self._rounds or []
        if rounds[: len(done)] != done:
            self._pairs.scores[:], done = self._start, []
        for choice, step in rounds[len(done) :]:
            self._pairs.advance(self._rankers.values(choice), step)
        self._rounds = list(rounds)
        of_items, total = self._pairs.potentials()
        return self._rankers.group_sums(of_items), total

    def split(self, rounds: Sequence[tuple[Choice, float]], choice: Choice) -> tuple[float, float]:
        """Return the share of the part's pairs that a choice puts right, and of those that it puts wrong."""
        if rounds != self._rounds:
            self.potentials(rounds)
        return self._pairs.split(self._rankers.values(choice))


class RoundsOverParts:
    """The distribution over the pairs of all parts, and the weak rankers, as ``boost`` takes them.

    What stands for the potentials of items are their sums by group, and for the values of a weak ranker its
    choice: items stay in their parts.

    Attributes
    ----------
    facts : of each part.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.facts: list[PartFacts] = parts.each(BoostedPart.facts)
        self._rounds: list[tuple[Choice, float]] = []
        self._shares: Floats = np.ones(1)

    @property
    def rankers(self) -> WeakRankers:
        """The weak rankers, without items."""
        return self.facts[0].rankers

    def potentials(self) -> tuple[Floats, float]:
        """Return the sums of potentials by group, and the log of the sum of all weights."""
        found = self._parts.each(BoostedPart.potentials, list(self._rounds))
        logs = np.array([log for _, log in found])
        total = float(np.logaddexp.reduce(logs))
        self._shares = np.exp(logs - total)
        out = np.zeros(len(found[0][0]))
        for share, (sums, _) in zip(self._shares.tolist(), found, strict=True):
            out += share * sums
        return out, total

    def best(self, sums: Floats, both: bool) -> Choice | None:
        """Return the choice that ``WeakRankers.best`` makes of the items' potentials."""
        rankers, gains = self.rankers, np.full((len(sums), 2), -np.inf)
        for c, (first, end) in enumerate(zip(rankers.groups[:-1], rankers.groups[1:], strict=True)):
            gains[first:end, 0] = np.cumsum(sums[first:end])
            if rankers.missing[c]:
                gains[first:end, 1] = gains[first:end, 0] + sums[end - 1]
        values = np.where(np.isnan(rankers.at)[:, None], -np.inf, gains)
        worth = np.where(np.isneginf(values), -np.inf, np.abs(values)) if both else values
        if not np.isfinite(worth).any():
            return None
        group, missing = divmod(int(np.argmax(worth.ravel() >= worth.max() - TIE)), 2)
        column = int(np.searchsorted(rankers.groups, group, side="right")) - 1
        value = float(values[group, missing])
        return Choice(column, group - int(rankers.groups[column]), missing, value)

    def values(self, choice: Choice) -> Choice:
        """Return the choice."""
        return choice

    def split(self, choice: Choice) -> tuple[float, float]:
        """Return the share of all pairs that a choice puts right, and of those that it puts wrong."""
        found = np.array(self._parts.each(BoostedPart.split, list(self._rounds), choice))
        right, wrong = self._shares @ found
        return float(right), float(wrong)

    def advance(self, choice: Choice, step: float) -> None:
        """Multiply the weights of pairs; parts do so when they are asked the next time."""
        self._rounds.append((choice, step))


class BoostOverParts(SummingLearner):
    """Base of ``RankBoost``: fits over parts, whose items and pairs stay where they are.

    Parts sum potentials by threshold. That needs weak=stumps and the fast engine, and thresholds=N for
    features with more than ``MOST`` values in a part.
    """

    rounds: int

    @property
    @abstractmethod
    def rule(self) -> Rule:
        """Return the rule by which a round chooses and steps."""

    @property
    @abstractmethod
    def grouping(self) -> Grouping:
        """Return the settings of weak rankers."""

    @abstractmethod
    def finished(
        self, whole: StumpModel, run: Run, lists: CandidateLists, inputs: FitInputs, data: DataRecord, n: int
    ) -> StumpModel:
        """Return the rounds of ``whole`` that ``keep`` chooses, with the curve of all; n: weak rankers."""

    def refused(self) -> str | None:
        for name, usual in (("weak", "stumps"), ("engine", "fast")):
            if getattr(self, name) != usual:
                return f"{name}={getattr(self, name)}"
        return super().refused()

    def survey(self, lists: CandidateLists) -> list[ColumnValues]:
        return [] if lists.labels is None else column_values(lists)

    def told(self, surveys: Sequence[list[ColumnValues]]) -> Sequence[Cuts]:
        return cuts_of(surveys, self.grouping)

    @abstractmethod
    def part(self, lists: CandidateLists, inputs: FitInputs, surveys: Sequence[Cuts]) -> BoostedPart:
        """Return the pairs of the part, and its weak rankers at these thresholds."""

    def fit_parts(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> Model:
        found = RoundsOverParts(parts)
        run = boost(found, found, self.rule, self.rounds)
        has_missing = any(one.missing for one in found.facts)
        whole = model_of(run, found.rankers, lists.names(), has_missing=has_missing)
        pairs, learnt = (sum(column) for column in zip(*(one[2:] for one in found.facts), strict=True))
        data = DataRecord(pairs=pairs, lists_without_pair=parts.n_lists - learnt)
        return self.finished(whole, run, lists, inputs, data, len(found.rankers))
