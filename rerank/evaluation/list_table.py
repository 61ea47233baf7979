"""The lists of an evaluation one by one: size, best label, what each system chose, and the values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.core.tables.display import Display
from rerank.core.types import Floats, Index
from rerank.data.first_best import first_largest
from rerank.data.lists import CandidateLists
from rerank.metrics.judges import Scores, ranked_last


@dataclass(frozen=True, eq=False)
class TopChoices:
    """What an evaluation keeps of its lists.

    Attributes
    ----------
    sizes : int64 (n_lists)
        The number of items.
    best : float64 (n_lists), optional
        The largest label, NaN if none is known; None without labels.
    chosen : mapping of str to sequence of str
        By system, the id of the item with the largest score of each list, the first on ties; its number in
        the list if items have no ids, "" if nothing was returned.
    """

    sizes: Index
    best: Floats | None
    chosen: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, lists: CandidateLists, rankings: Mapping[str, Scores]) -> TopChoices:
        """Return those of scores by system, float (n_items) in the order of the items, NaN = not returned."""
        starts = lists.offsets[:-1]
        best = None if lists.labels is None else np.fmax.reduceat(lists.labels, starts)
        return cls(lists.lengths, best, {name: _chosen(lists, scores) for name, scores in rankings.items()})


def _chosen(lists: CandidateLists, scores: Scores) -> list[str]:
    at = first_largest(ranked_last(scores), lists.offsets)
    ids = None if lists.item_ids is None else list(lists.item_ids.take(at))
    names = [str(k) for k in (at - lists.offsets[:-1] + 1).tolist()] if ids is None else ids
    return ["" if gone else name for name, gone in zip(names, np.isnan(scores[at]).tolist(), strict=True)]


@dataclass(frozen=True, eq=False, repr=False)
class ListTable(Display):
    """A row for each list, with the values of each system.

    Attributes
    ----------
    list_ids : sequence of str
    choices : TopChoices
    digits : mapping of str to int
        Decimals to show, by metric in the order of the report.
    values : mapping of (str, str) to float64 (n_lists)
        By system and metric; NaN if the list does not count.
    corpus : mapping of (str, str) to float
        The values over all lists.
    signatures : sequence of str
    """

    list_ids: Sequence[str]
    choices: TopChoices
    digits: Mapping[str, int]
    values: Mapping[tuple[str, str], Floats]
    corpus: Mapping[tuple[str, str], float | None]
    signatures: Sequence[str] = ()

    @property
    def systems(self) -> list[str]:
        """The systems in the order of the report."""
        return list(dict.fromkeys(system for system, _ in self.values))

    def sum_of(self, system: str, metric: str) -> float | None:
        """Return the sum of a metric over lists; None if its value is not their mean, as with BLEU."""
        known = self.values[system, metric][~np.isnan(self.values[system, metric])]
        value = self.corpus[system, metric]
        if not len(known) or value is None or not np.isclose(known.mean(), value, rtol=1e-9, atol=1e-9):
            return None
        return float(known.sum())

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for each list and system: the list, its items, its best label, and the system's."""
        best = self.choices.best
        for i, name in enumerate(self.list_ids):
            for system in self.systems:
                own: dict[str, Any] = {"list": name, "items": int(self.choices.sizes[i])}
                if best is not None:
                    own["best"] = _number(best[i])
                own |= {"system": system, "chosen": self.choices.chosen[system][i] or None}
                yield own | {metric: _number(self.values[system, metric][i]) for metric in self.digits}


def _number(value: float) -> float | None:
    return None if value != value else float(value)
