"""The weak rankers of RankBoost: thresholds of every feature, and features themselves.

The items of each feature are grouped by its thresholds once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from rerank.core.types import Bytes, Floats, Index, Ints
from rerank.data.columns.offsets import offsets_of
from rerank.data.matrix import Features
from rerank.native.learners import _rankboost_groups
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
        """Return whether h is the feature itself, scaled into [0, 1]."""
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

    @classmethod
    def of(cls, columns: list[_Raw]) -> RawRankers:
        """Return columns side by side."""
        return cls(
            offsets_of([len(column.items) for column in columns]),
            np.concatenate([_NOT_RAW.items, *(column.items for column in columns)]),
            np.concatenate([_NOT_RAW.values, *(column.values for column in columns)]),
            np.array([column.others for column in columns]),
            np.array([column.low for column in columns]),
            np.array([column.high for column in columns]),
        )

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

        - ``other``: weak rankers of further features.
        - ``n_features``: how many features come before them, with or without weak rankers.
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
        return Search(self)

    def best(self, potential: Floats, both: bool) -> Choice | None:
        """Return the weak ranker of the largest gain, or with ``both`` of the largest magnitude.

        On ties the first feature wins, then the feature itself before its thresholds, then the highest
        threshold, then h = 0 of a missing value. None if there is no weak ranker.

        - ``potential``: of the items, float64 (n), with the sum 0.
        - ``both``: also negative steps.
        """
        column, group, missing, gain = self._search.best(potential, both, TIE)
        return None if column < 0 else Choice(column, group, missing, gain)

    def group_sums(self, potential: Floats) -> Floats:
        """Return the sums of the potentials (n), which add up to 0, of each group's items (n_groups)."""
        out = np.empty(len(self.at))
        self._search.group_sums(potential, out)
        return out

    def values(self, choice: Choice) -> Floats:
        """Return h of every item, float64 (n)."""
        c, raw, out = choice.column, self.raw, np.empty(self.n)
        if choice.group < 0:
            assert raw is not None
            out[:] = raw.others[c]
            entries = slice(raw.bounds[c], raw.bounds[c + 1])
            out[raw.items[entries]] += raw.values[entries]
        else:
            self._search.passing(c, self.groups[c] + choice.group, out)
        if self.missing[c]:
            present = np.empty(self.n)
            self._search.passing(c, self.groups[c + 1] - 2, present)
            out[present == 0] = choice.missing
        return out


Spacing = Literal["quantile", "width"]
LOWEST = -float(np.finfo(np.float64).max)  # every value that is not missing passes it


def counted_values(values: Floats, zeros: int) -> tuple[Floats, Index]:
    """Return the values of one feature, rising, and how many items have each: float64 and int64 (n).

    - ``values``: the stored values in rising order, float64, without NaN.
    - ``zeros``: how many items have no stored value: their value is 0.
    """
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
    found, counts = values[starts] + 0.0, np.diff(starts, append=len(values))  # -0 is 0
    if zeros:
        place = int(np.searchsorted(found, 0.0))
        if place == len(found) or found[place] != 0:
            found, counts = np.insert(found, place, 0.0), np.insert(counts, place, 0)
        counts[place] += zeros
    return found, counts


def cuts(values: Floats, counts: Index, number: int | None, spacing: Spacing) -> Floats:
    """Return thresholds of one feature that tell at least two of its values apart, rising.

    A value passes a threshold t if it is t or more. Thresholds of equal width are RankLib's: the first is the
    largest value, each further one lies a ``number``-th of the range below, and a value passes if it is
    larger. So the next larger number is returned, and the first is left out, as no value passes it.

    - ``values``, ``counts``: of ``counted_values``.
    - ``number``: the most thresholds; None = one at each value but the smallest.
    - ``spacing``: quantile: of a feature with more than ``number`` + 1 values, at quantiles of those above
      the smallest. width: of any feature.
    """
    if len(values) < 2:
        return np.empty(0)
    if spacing == "width" and number is not None:
        found = _equal_widths(float(values[0]), float(values[-1]), number)
        return found[found > values[0]] + 0.0
    found = values[1:]
    if number is not None and len(found) > number:
        ends = np.cumsum(counts[1:])
        found = np.unique(found[np.searchsorted(ends, np.arange(number) * ends[-1] // number, side="right")])
    return found


def _equal_widths(low: float, high: float, number: int) -> Floats:
    """Thresholds from below the largest value down."""
    width = (
        2.0 * (high / (2 * number) - low / (2 * number)) if high - low == np.inf else (high - low) / number
    )
    found, at = [], high
    for _ in range(number - 1):
        at -= width
        found.append(np.nextafter(at, np.inf))
    return np.unique(found)


Weak = Literal["stumps", "raw", "both"]


class Cuts(NamedTuple):
    """The thresholds of one feature, float64 and rising, and whether any item lacks it."""

    at: Floats
    missing: bool


@dataclass(frozen=True)
class Grouping:
    """Settings that make weak rankers from features.

    Attributes
    ----------
    number, spacing
        Of thresholds; see ``cuts``.
    weak
        Thresholds, features themselves, or both.
    given
        Thresholds by feature, instead of those of the items that are grouped; None = theirs.
    """

    number: int | None = None
    spacing: Spacing = "quantile"
    weak: Weak = "stumps"
    given: Sequence[Cuts] | None = None


def weak_rankers(features: Features, n: int, grouping: Grouping) -> WeakRankers:
    """Return the weak rankers of features.

    - ``features``: the features of the n items in pairs, then those of other items, which count for
      thresholds and ranges only.
    - ``n``: the number of items in pairs.
    - ``grouping``: how they are made.
    """
    given = grouping.given
    most = features.n_features * grouping.number if grouping.number else features.n_values
    if grouping.spacing == "quantile":
        most = min(most, features.n_values)
    most = (most if given is None else sum(len(one.at) for one in given)) + 3 * features.n_features
    # Arrays of the size that may be needed: what is never written takes no memory.
    at, bounds = np.empty(most), np.zeros(most + 1, dtype=np.int64)
    items = np.empty(features.n_values, dtype=np.int32)
    found, raws, groups, used = [], [], [0], 0
    for column in _columns(features, n, grouping):
        first, end = groups[-1], groups[-1] + len(column.at)
        at[first:end] = column.at
        np.cumsum(column.sizes, out=bounds[first + 1 : end + 1])
        bounds[first + 1 : end + 1] += used
        for run in column.runs:
            items[used : used + len(run)] = run
            used += len(run)
        found.append((column.feature, column.missing, first + column.rest))
        raws.append(column.raw)
        groups.append(end)
    feature, missing, rest = np.array(found, dtype=np.int64).reshape(-1, 3).T.copy()
    bounds, offsets = bounds[: groups[-1] + 1], np.array(groups, dtype=np.int64)
    raw = None if grouping.weak == "stumps" else RawRankers.of(raws)
    kinds = feature.astype(np.int32), missing.astype(np.uint8)
    return WeakRankers(*kinds, offsets, rest, bounds, items[:used], at[: groups[-1]], raw, n)


@dataclass(frozen=True, eq=False)
class _Raw:
    """One feature itself; see ``RawRankers``."""

    items: Ints
    values: Floats
    others: float = 0.0
    low: float = 0.0
    high: float = 0.0


_NOT_RAW = _Raw(np.empty(0, dtype=np.int32), np.empty(0))


@dataclass(frozen=True, eq=False)
class _Column:
    """The weak rankers of one feature; see ``WeakRankers``."""

    feature: int
    missing: bool
    rest: int
    sizes: Index
    runs: tuple[Ints, Ints]  # the entries before the group ``rest``, and those after it
    at: Floats
    raw: _Raw


def _columns(features: Features, n: int, grouping: Grouping) -> Iterator[_Column]:
    """The features that have a weak ranker."""
    weak, given = grouping.weak, grouping.given
    words = np.empty(2 * features.n_items, dtype=np.int64)
    for j, (rows, values) in enumerate(features.by_column()):
        order, rising = np.empty(len(values), dtype=np.int32), np.empty(len(values))
        rising = rising[: _rankboost_groups.sort(values, order, rising, words)]
        zeros = features.n_items - len(values)
        at = np.empty(0)
        if given is not None:
            at = given[j].at
        elif weak != "raw":
            at = cuts(*counted_values(rising, zeros), grouping.number, grouping.spacing)
        items = np.arange(len(values), dtype=np.int32) if rows is None else rows
        inside = int(np.searchsorted(items, n))
        raw = _NOT_RAW if weak == "stumps" else _raw(items[:inside], values[:inside], rising, zeros)
        if inside < len(values):
            order = order[order < inside]
            rising = values[order[::-1]]
            rising = rising[np.count_nonzero(np.isnan(rising)) :]
        missing = len(rising) < inside if given is None else given[j].missing
        if len(at) or missing or len(raw.items):
            sizes = np.full(len(at) + 2, inside - len(rising))
            _rankboost_groups.count_groups(rising, at, sizes)
            rest = int(np.argmax(sizes))
            if inside < n:
                rest = len(at) - int(np.searchsorted(at, 0.0, side="right"))
            first = int(sizes[:rest].sum())
            runs = [
                run if rows is None else rows[run] for run in (order[:first], order[first + sizes[rest] :])
            ]
            sizes[rest] = 0
            limits = np.concatenate([at[::-1], [LOWEST if missing and weak != "raw" else np.nan, np.nan]])
            yield _Column(j, missing, rest, sizes, (runs[0], runs[1]), limits, raw)


def _raw(items: Ints, values: Floats, rising: Floats, zeros: int) -> _Raw:
    """The feature scaled into [0, 1]; no raw ranker if its range or the inverse of it overflows."""
    if len(rising) == 0:
        return _NOT_RAW
    low, high = (min(rising[0], 0.0), max(rising[-1], 0.0)) if zeros else (rising[0], rising[-1])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if not np.isfinite(1.0 / (high - low)) or high - low == np.inf:
            return _NOT_RAW
        others = -low / (high - low) if zeros else 0.0
        scaled = np.nan_to_num((values - low) / (high - low), nan=0.0) - others
    some = np.flatnonzero(scaled != 0)
    return _Raw(items[some], scaled[some], others, float(low), float(high))
