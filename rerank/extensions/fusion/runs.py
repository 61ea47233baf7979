"""The runs of a set of lists, a feature of each, as methods of fusion read them: scores and rankings."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rerank.core.types import AnyArray, Floats, Index
from rerank.data.lists import CandidateLists
from rerank.data.matrix import require_dense


def means_of_ties(values: Floats, starts: Index) -> Floats:
    """Return the mean of its segment for each value, float64 (n); ``starts`` are where segments begin."""
    sizes = np.diff(np.append(starts, len(values)))
    return np.repeat(np.add.reduceat(values, starts) / sizes, sizes)


class Ranking:
    """One run's ranking of each list: the items that it returned, list by list, best first.

    Attributes
    ----------
    items, lists, positions, lengths : int64 (n_returned)
        The item, its list, its position from 0, and how many items of the list the run returned.
    """

    def __init__(self, scores: Floats, list_index: Index) -> None:
        returned = np.flatnonzero(~np.isnan(scores))
        self.items: Index = returned[np.lexsort((-scores[returned], list_index[returned]))]
        self.lists: Index = list_index[self.items]
        values, n = scores[self.items], len(self.items)
        new_list = np.diff(self.lists, prepend=-1) != 0
        starts = np.flatnonzero(new_list)
        sizes = np.diff(np.append(starts, n))
        self.lengths: Index = np.repeat(sizes, sizes)
        self.positions: Index = np.arange(n) - np.repeat(starts, sizes)
        new_list[1:] |= values[1:] != values[:-1]
        self._ties: Index = np.flatnonzero(new_list)

    def shared(self, points: Floats) -> Floats:
        """Return points (n_returned) so that items with equal scores share the mean of theirs."""
        return points if len(self._ties) == len(points) else means_of_ties(points, self._ties)

    def by_item(self, points: Floats, absent: Floats) -> Floats:
        """Return shared points by item, float64 (n_items): ``absent`` (n_items) for what was not returned."""
        out = absent.copy()
        out[self.items] = self.shared(points)
        return out


class Runs:
    """The runs of lists.

    Attributes
    ----------
    lists : CandidateLists
    values : float64 (n_items, n_runs)
        Scores, NaN = not returned.
    returned : bool (n_items, n_runs)
    """

    def __init__(self, lists: CandidateLists) -> None:
        require_dense(lists.n_items, lists.n_features, np.dtype(np.float64))
        self.lists = lists
        self.values: Floats = lists.features.to_dense().astype(np.float64)
        self.returned: AnyArray = ~np.isnan(self.values)

    @property
    def n_runs(self) -> int:
        """The number of runs."""
        return self.values.shape[1]

    @cached_property
    def scores(self) -> Floats:
        """Scores, 0 for what was not returned: float64 (n_items, n_runs)."""
        return np.where(self.returned, self.values, 0.0)

    @cached_property
    def counts(self) -> Floats:
        """The number of runs that returned each item, float64 (n_items)."""
        return self.returned.sum(axis=1).astype(np.float64)

    @cached_property
    def rankings(self) -> list[Ranking]:
        """The ranking of each run."""
        index = self.lists.list_index
        return [Ranking(self.values[:, j], index) for j in range(self.n_runs)]

    @cached_property
    def ranks(self) -> Floats:
        """Ranks from 1, float64 (n_items, n_runs): ties share the mean, NaN = not returned."""
        out = np.full(self.values.shape, np.nan)
        for j, ranking in enumerate(self.rankings):
            out[ranking.items, j] = ranking.shared((ranking.positions + 1).astype(np.float64))
        return out

    @cached_property
    def borda(self) -> Floats:
        """Borda's points, float64 (n_items, n_runs).

        The best of n candidates gets n, the next n - 1; those that a run did not return share what is left.
        """
        lengths = self.lists.lengths
        out = np.empty(self.values.shape)
        for j, ranking in enumerate(self.rankings):
            own = np.bincount(ranking.lists, minlength=len(lengths))
            rest = np.repeat((lengths - own + 1) / 2.0, lengths)
            points = (lengths[ranking.lists] - ranking.positions).astype(np.float64)
            out[:, j] = ranking.by_item(points, rest)
        return out
