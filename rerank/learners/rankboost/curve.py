"""Scores of lists after each round of stumps, kept up to date column by column."""

from __future__ import annotations

import numpy as np

from rerank.core.types import Floats, Ints
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.models.stumps import StumpModel


class RoundScores:
    """The scores of sets of lists after each round of a model; rounds must be asked for in rising order.

    Parameters
    ----------
    model
        All rounds. Its weights are not added.
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
