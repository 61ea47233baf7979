"""The weak rankers of RankBoost: the thresholds of every feature, and features themselves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rerank.core.types import Bytes, Floats, Index, Ints
from rerank.native.learners._rankboost import Search

TIE = 1e-10  # gains that differ by less are tied: they are sums in different orders


@dataclass(frozen=True)
class Choice:
    """One weak ranker, and what it is worth.

    Attributes
    ----------
    column
        The number of its feature among those that have weak rankers.
    group
        The last group of items that passes its threshold; -1 for the feature itself.
    missing
        h of a missing value, 0 or 1.
    gain
        r = the sum over pairs of D * (h(better) - h(worse)).
    """

    column: int
    group: int
    missing: int
    gain: float

    @property
    def raw(self) -> bool:
        """Whether h is the feature itself, scaled into [0, 1]."""
        return self.group < 0


@dataclass(frozen=True, eq=False)
class RawRankers:
    """Features themselves, scaled into [0, 1] over the training items.

    Attributes
    ----------
    bounds : int64 (n_columns + 1)
        The bounds of each column's entries; a column that cannot be scaled has none.
    items : int32 (n_entries)
        Positions of items whose h is not that of the others; a missing value has the h 0.
    values : float64 (n_entries)
        Their h less that of the others.
    others : float64 (n_columns)
        h of the items without an entry.
    low, high : float64 (n_columns)
        The smallest and the largest value of the feature.
    """

    bounds: Index
    items: Ints
    values: Floats
    others: Floats
    low: Floats
    high: Floats

    def followed_by(self, other: RawRankers) -> RawRankers:
        """Return these columns, then those of ``other``."""
        names = ("items", "values", "others", "low", "high")
        joined = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names}
        return RawRankers(bounds=_joined_bounds(self.bounds, other.bounds), **joined)


def _joined_bounds(first: Index, second: Index) -> Index:
    """The bounds of runs, then of further ones."""
    return np.concatenate([first, second[1:] + first[-1]])


@dataclass(frozen=True, eq=False)
class WeakRankers:
    """Weak rankers over n items, by feature.

    The items of a feature are in groups: those that pass its highest threshold, those that pass the next one
    but not that, and so on; then those below all thresholds; last those with a missing value. The items of
    the largest group have no entries, so that zeros of sparse features cost nothing.

    Attributes
    ----------
    feature : int32 (n_columns)
        The features that have weak rankers.
    missing : uint8 (n_columns)
        1 if training items lack the feature.
    groups : int64 (n_columns + 1)
        The bounds of each column's groups.
    rest : int64 (n_columns)
        The largest group, which has no entries.
    bounds : int64 (n_groups + 1)
        The bounds of each group's entries.
    items : int32 (n_entries)
        Positions of items.
    at : float64 (n_groups)
        The threshold that the group and those before it pass; NaN if that is no weak ranker. The lowest
        number for the last group before the missing values: h tells whether the feature is present.
    raw : RawRankers or None
        None without raw features.
    n : int
        The number of items.
    """

    feature: Ints
    missing: Bytes
    groups: Index
    rest: Index
    bounds: Index
    items: Ints
    at: Floats
    raw: RawRankers | None
    n: int

    def __len__(self) -> int:
        """Return the number of weak rankers; those that differ on missing values only count once."""
        raw = 0 if self.raw is None else np.count_nonzero(np.diff(self.raw.bounds))
        return int(np.count_nonzero(~np.isnan(self.at)) + raw)

    def followed_by(self, other: WeakRankers, n_features: int) -> WeakRankers:
        """Return these weak rankers, then those that ``other`` has of the same items.

        Parameters
        ----------
        other
            Weak rankers of further features.
        n_features
            How many features come before them, with or without weak rankers.
        """
        assert (self.raw is None) == (other.raw is None)
        return WeakRankers(
            feature=np.concatenate([self.feature, (other.feature + n_features).astype(np.int32)]),
            missing=np.concatenate([self.missing, other.missing]),
            groups=_joined_bounds(self.groups, other.groups),
            rest=np.concatenate([self.rest, other.rest + self.groups[-1]]),
            bounds=_joined_bounds(self.bounds, other.bounds),
            items=np.concatenate([self.items, other.items]),
            at=np.concatenate([self.at, other.at]),
            raw=None if self.raw is None or other.raw is None else self.raw.followed_by(other.raw),
            n=self.n,
        )

    @cached_property
    def _search(self) -> Search:
        raw = None if self.raw is None else (self.raw.bounds, self.raw.items, self.raw.values)
        return Search(self.groups, self.rest, self.bounds, self.items, self.at, self.missing, self.n, raw)

    def best(self, potential: Floats, both: bool) -> Choice | None:
        """Return the weak ranker of the largest gain, or with ``both`` of the largest magnitude.

        On ties the first feature wins, then the feature itself before its thresholds, then the highest
        threshold, then h = 0 of a missing value. None if there is no weak ranker.

        Parameters
        ----------
        potential
            Of the items, float64 (n), with the sum 0.
        both
            Also negative steps.
        """
        column, group, missing, gain = self._search.best(potential, both, TIE)
        return None if column < 0 else Choice(column, group, missing, gain)

    def values(self, choice: Choice) -> Floats:
        """Return h of every item, float64 (n)."""
        c = choice.column
        first, last = int(self.groups[c]), int(self.groups[c + 1])
        if choice.group < 0:
            raw = self.raw
            assert raw is not None
            out = np.full(self.n, raw.others[c])
            entries = slice(raw.bounds[c], raw.bounds[c + 1])
            out[raw.items[entries]] += raw.values[entries]
        else:
            rest = int(self.rest[c]) - first
            out = np.full(self.n, float(rest <= choice.group))
            passed = self.bounds[first + choice.group + 1]
            out[self.items[self.bounds[first] : passed]] = 1.0
            out[self.items[passed : self.bounds[last]]] = 0.0
        if self.missing[c]:
            out[self._lacking(c)] = choice.missing
        return out

    def _lacking(self, c: int) -> Index:
        """The items that lack the feature of a column."""
        first, last = int(self.groups[c]), int(self.groups[c + 1])
        entries = slice(self.bounds[first], self.bounds[last])
        if self.rest[c] != last - 1:
            return self.items[self.bounds[last - 1] : self.bounds[last]].astype(np.int64)
        present = np.zeros(self.n, dtype=bool)
        present[self.items[entries]] = True
        return np.flatnonzero(~present)
