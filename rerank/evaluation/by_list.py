"""The lists one by one: a table of them, and which ones a system gains on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct

from rerank.core.tables.data import columns_of
from rerank.core.tables.display import Display
from rerank.core.tables.table import Column, Group, Row, Table, value_text
from rerank.core.types import Floats, Index
from rerank.data.first_best import first_largest
from rerank.data.lists import CandidateLists
from rerank.evaluation.results import FIRST_BEST, Results
from rerank.evaluation.significance import TOLERANCE, bootstrap_sums, interval
from rerank.metrics.judges import Scores, ranked_last

BINS = 5
CHOSEN = "chosen: the item with the largest score, the first on ties"
BEST = "best: the largest label among the items"
TOTALS = "all: the values over all lists; sum: over the lists, of metrics whose value is a mean over lists"


class Bin(Struct, frozen=True):
    """Lists whose keys are near each other.

    Attributes
    ----------
    low, high : float
        The smallest and the largest key.
    lists : int
    gain : float
        The mean gain of the lists.
    ci : (float, float), optional
        Its percentile interval over resampled lists of the bin; None for a single list.
    """

    low: float
    high: float
    lists: int
    gain: float
    ci: tuple[float, float] | None


def gains(results: Results, metric: str, system: str, baseline: str) -> Floats:
    """Return by how much a row is better than another on each list, float64 (n_lists of all parts).

    Values are positive if the row is better, also if a smaller value of the metric is better; NaN if a list
    is not judged.
    """
    difference = results.list_values(system, metric) - results.list_values(baseline, metric)
    return results.metric(metric).better * difference


def limits_of(gains: Floats) -> tuple[float, float]:
    """Return limits of small and of large gains, of any metric and unit.

    A gain is large above the largest of ..., .1, .2, .5, 1, 2, 5, ... that a quarter of the gains that are
    not 0 reaches. It is small up to a tenth of that.

    Parameters
    ----------
    gains : float64 (n), of all lists and systems; NaN does not count.
    """
    sizes = np.abs(gains[np.isfinite(gains)])
    sizes = sizes[sizes > TOLERANCE]
    reached = float(np.quantile(sizes, 0.75)) if len(sizes) else 0.1
    unit = 10.0 ** math.floor(math.log10(reached))
    large = max(step * unit for step in (1, 2, 5) if step == 1 or step * unit <= reached + TOLERANCE)
    return large / 10, large


def by_size(gains: Floats, limits: tuple[float, float]) -> list[int]:
    """Return how many lists have large, medium and small losses, no gain, small, medium and large gains.

    A gain that is within TOLERANCE of a limit is not above it. Lists without a number are not counted.
    """
    known = gains[~np.isnan(gains)]
    sizes = np.searchsorted([0.0, *limits], np.abs(known) - TOLERANCE, side="left")
    return np.bincount(np.where(known < 0, 3 - sizes, 3 + sizes), minlength=7).tolist()


def difficulty(results: Results, metric: str, systems: Sequence[str]) -> Floats:
    """Return the mean value of ``systems`` on each list, float64 (n_lists of all parts).

    The mean of both systems of a comparison, not the value of one, is what a gain may be compared with: a
    list on which one system was unlucky would appear as difficult for it and as a gain of the other.
    """
    return np.mean([results.list_values(system, metric) for system in systems], axis=0)


def binned(
    keys: Floats, values: Floats, *, most: int = BINS, samples: int, level: float, seed: int
) -> list[Bin]:
    """Return lists in bins of about equal size by rising keys, at most ``most``.

    Lists of equal keys are in one bin. Lists without a finite key and value are left out.

    Parameters
    ----------
    keys, values : float64 (n_lists)
    most : int
    samples, level, seed
        Of the bootstrap.
    """
    known = np.isfinite(keys) & np.isfinite(values)
    keys, values = keys[known], values[known]
    if len(keys) == 0:
        return []
    edges = np.unique(np.quantile(keys, np.arange(1, most) / most, method="inverted_cdf"))
    places = np.searchsorted(edges, keys, side="left")
    return [_bin(keys[places == i], values[places == i], samples, level, seed) for i in np.unique(places)]


def _bin(keys: Floats, values: Floats, samples: int, level: float, seed: int) -> Bin:
    ci = None
    if len(values) > 1:
        ci = interval(bootstrap_sums(values[:, None], samples, seed)[:, 0] / len(values), level)
    return Bin(float(keys.min()), float(keys.max()), len(keys), float(values.mean()), ci)


def extremes(values: Floats, most: int) -> tuple[Index, Index]:
    """Return the lists with the largest gains and the largest losses, int64 (at most ``most``) each.

    The largest ones come first, on ties the first list. Lists within TOLERANCE of 0, or without a number,
    are in neither.
    """
    order = np.argsort(-np.abs(np.nan_to_num(values)), kind="stable")
    gained, lost = order[values[order] > TOLERANCE], order[values[order] < -TOLERANCE]
    return gained[:most], lost[:most]


class TopChoices(Struct, frozen=True, eq=False):
    """First choices of the systems on each list.

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


class ListTable(Display, Struct, frozen=True, eq=False):
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

    def tables(self) -> list[Table]:
        """Return the lists by row."""
        return [self.table()]

    def frame_columns(self) -> dict[str, Any]:
        """Return the columns of the data frame by name: one for each key of ``records``."""
        return columns_of(list(self.records()))

    def table(self, *, totals: bool = True) -> Table:
        """Return the lists by row, after the values over all lists and their sums if ``totals``."""
        head = ["all", "sum"] if totals else []
        sizes, best = self.choices.sizes, self.choices.best
        columns = [Column("list", ("list",), left=True), Column("items", ("items",))]
        cells: list[Sequence[Any]] = [
            [*head, *self.list_ids],
            [*([int(sizes.sum()), ""] if totals else []), *sizes.tolist()],
        ]
        blank = [""] * len(head)
        if best is not None:
            shown = partial(value_text, digits=max(self.digits.values()))
            columns.append(Column("best", ("best",), shown, note=BEST))
            cells.append([*blank, *best.tolist()])
        for system in self.systems:
            group = Group(system, "first-best" if system == FIRST_BEST else system)
            columns.append(Column("chosen", ("chosen",), group=group, note=CHOSEN))
            cells.append([*blank, *(name or None for name in self.choices.chosen[system])])
            for metric, digits in self.digits.items():
                shown = partial(value_text, digits=digits)
                columns.append(Column(metric, (metric,), shown, group, narrow=metric.replace(".", ".\n", 1)))
                ends = [self.corpus[system, metric], self.sum_of(system, metric)] if totals else []
                cells.append([*ends, *self.values[system, metric].tolist()])
        rows = tuple(Row(values, i < len(head)) for i, values in enumerate(zip(*cells, strict=True)))
        return Table(
            tuple(columns),
            rows,
            notes=(TOTALS,) if totals else (),
            signatures=tuple(self.signatures),
            group_key="system",
            together=False,
        )


def _number(value: float) -> float | None:
    return None if value != value else float(value)
