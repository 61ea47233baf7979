"""Lists with their pairs and weak rankers, which many fits share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.pairs import PairRelation, Pairs, make_pairs
from rerank.data.types import Floats, Index
from rerank.errors import DataError, FitError
from rerank.learners.rankboost.building import Grouping, weak_rankers
from rerank.learners.rankboost.rankers import WeakRankers


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
