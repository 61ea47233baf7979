"""Lists with their pairs and weak rankers, which many fits share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rerank.core.errors import DataError, FitError
from rerank.core.types import Floats, Index
from rerank.data.joining import stacked
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features
from rerank.data.pairs import PairRelation, Pairs, make_pairs
from rerank.learners.rankboost.building import Grouping, weak_rankers
from rerank.learners.rankboost.rankers import WeakRankers
from rerank.learners.rankboost.rounds import Run
from rerank.models.stumps import StumpModel


@dataclass(frozen=True, eq=False)
class Presorted:
    """What RankBoost makes of lists before the first round; further features can be added once.

    Attributes
    ----------
    lists
        Without the further features.
    names
        Of all features.
    has_missing
        Whether any feature is NaN.
    pairs
        Which items must beat which.
    items : int64 (n)
        The items of the pairs, in their order, then the other judged items, which count for thresholds and
        ranges.
    grouping
        How weak rankers are made.
    rankers
        Weak rankers of the items of the pairs.
    """

    lists: CandidateLists
    names: list[str]
    has_missing: bool
    pairs: Pairs
    items: Index
    grouping: Grouping
    rankers: WeakRankers

    @classmethod
    def of(cls, lists: CandidateLists, relation: PairRelation, grouping: Grouping) -> Presorted:
        """Return the pairs of judged lists under ``relation``, and the weak rankers of their features.

        Raises
        ------
        FitError
            If no list has a pair.
        """
        assert lists.labels is not None
        pairs = make_pairs(lists, relation)
        if pairs.n_lists == 0:
            raise FitError(f"{lists.source}: no list has a pair under pairs={relation.pairs}")
        others = ~np.isnan(lists.labels)
        others[pairs.items] = False
        items = np.concatenate([pairs.items, np.flatnonzero(others)])
        rankers = weak_rankers(lists.features.take(items), len(pairs.items), grouping)
        return cls(lists, lists.names(), lists.has_missing, pairs, items, grouping, rankers)

    def with_columns(self, columns: Floats, names: Sequence[str]) -> Presorted:
        """Return these with further dense features: only those are sorted.

        A fit of it is that of ``lists.with_added`` with these features, to the bit.

        Parameters
        ----------
        columns : float64 (n_items, n)
            Of the items of the lists. They are rounded to the type of the lists' features.
        names
            Of the columns (n).

        Raises
        ------
        DataError
            If names or values do not fit the lists, or a value is infinite.
        """
        check_columns(self.lists, columns, names)
        further = Dense(np.ascontiguousarray(columns, dtype=self.lists.features.dtype))
        has_missing = further.check(nan_allowed=True)
        more = weak_rankers(further.take(self.items), len(self.pairs.items), self.grouping)
        return replace(
            self,
            names=[*self.names, *names],
            has_missing=self.has_missing or has_missing,
            rankers=self.rankers.followed_by(more, len(self.names)),
        )

    def with_items(self, features: Features, n: int) -> Presorted:
        """Return these with the weak rankers of the items of the pairs and of further items.

        They are those of all items together: thresholds are at the values of the further items as well.

        Parameters
        ----------
        features
            Of the further items, with the columns of the lists.
        n
            How many of them, the first ones, follow the items of the pairs in ``rankers``; the others count
            for thresholds and ranges only.
        """
        own, first = self.lists.features.take(self.items), len(self.pairs.items)
        parts = [own.take(slice(first)), features.take(slice(n))]
        whole = stacked([*parts, own.take(slice(first, None)), features.take(slice(n, None))])
        return replace(
            self,
            has_missing=self.has_missing or features.check(nan_allowed=True),
            rankers=weak_rankers(whole, first + n, self.grouping),
        )

    def model(self, run: Run) -> StumpModel:
        """Return the model of rounds that chose among ``rankers``."""
        n, rankers = len(run.steps), self.rankers
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
            self.names,
            np.zeros(len(self.names)),
            rankers.feature[columns],
            threshold,
            step,
            raw if raw.any() else None,
            missing if self.has_missing else None,
        )


def check_columns(lists: CandidateLists, columns: Floats, names: Sequence[str]) -> None:
    """Raise DataError if further columns (n_items, n) or their names (n) do not fit lists."""
    known = set(lists.names())
    for name in names:
        if name in known:
            raise DataError(f"{lists.source}: feature {name!r} exists already")
        known.add(name)
    if columns.shape != (lists.n_items, len(names)):
        expected = f"({lists.n_items}, {len(names)})"
        raise DataError(f"{lists.source}: further columns have shape {columns.shape}, expected {expected}")
