"""The methods of fusion as functions of runs: (runs, weights, parameter, tables) -> scores (n_items).

Items with equal scores in a run share the mean of what their positions earn, except that ``wrrf`` takes the
reciprocal of their mean rank, as ``rrf`` does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rerank.core.types import Floats, Index
from rerank.extensions.fusion.condorcet import majority_scores
from rerank.extensions.fusion.runs import Ranking, Runs

Method = Callable[[Runs, Floats, float, Floats], Floats]
# What a run says of a position: (ranking, its table, parameter) -> points (n_returned).
Points = Callable[[Ranking, Floats, float], Floats]

BAYES_CUTS = np.array([0, 5, 10, 15, 20, 30, 100, 200, 500, 1000])
LEAST_ODDS = float(np.log(0.001 / 0.999))
N_SEGMENTS = 10  # of SegFuse


def segfuse_cuts(as_ends: bool) -> Index:
    """Return where the segments of SegFuse begin, and the last one ends; see ``SegFuse.segments``."""
    numbers = 10 * 2 ** np.arange(N_SEGMENTS) - 5
    return np.append(0, numbers if as_ends else np.cumsum(numbers))


def _summary(runs: Runs, weights: Floats, function: Callable[..., Floats]) -> Floats:
    """A summary of the scores that an item has; without any it gets the smallest summary of its list."""
    unknown = runs.counts == 0
    values = runs.values * weights
    values[unknown] = 0.0
    found = function(values, axis=1)
    if unknown.any():
        found[unknown] = np.nan
        least = np.nan_to_num(np.fmin.reduceat(found, runs.lists.offsets[:-1]))
        found[unknown] = least[runs.lists.list_index[unknown]]
    return found


def _anz(runs: Runs, weights: Floats, parameter: float, tables: Floats) -> Floats:
    return _summary(runs, weights, np.nanmean)


def _med(runs: Runs, weights: Floats, parameter: float, tables: Floats) -> Floats:
    return _summary(runs, weights, _nanmedian)


def _nanmedian(values: Floats, axis: int) -> Floats:
    """``np.nanmedian`` of rows that are not all NaN, which is slow row by row."""
    known = np.count_nonzero(~np.isnan(values), axis=axis)
    ordered = np.sort(values, axis=axis)  # NaN comes last
    rows = np.arange(len(values))
    return 0.5 * ordered[rows, (known - 1) // 2] + 0.5 * ordered[rows, known // 2]


def _min(runs: Runs, weights: Floats, parameter: float, tables: Floats) -> Floats:
    return _summary(runs, weights, np.nanmin)


def _max(runs: Runs, weights: Floats, parameter: float, tables: Floats) -> Floats:
    return _summary(runs, weights, np.nanmax)


def _wsum(runs: Runs, weights: Floats, parameter: float, tables: Floats) -> Floats:
    return _weighted(runs.scores, weights)


def _gmnz(runs: Runs, weights: Floats, parameter: float, tables: Floats) -> Floats:
    return _weighted(runs.scores, weights) * runs.counts**parameter


def _wmnz(runs: Runs, weights: Floats, parameter: float, tables: Floats) -> Floats:
    return runs.scores.sum(axis=1) * _weighted(runs.returned, weights)


def _mixed(runs: Runs, weights: Floats, parameter: float, tables: Floats) -> Floats:
    return _weighted(runs.scores, weights) * np.sqrt(runs.counts)


def _weighted(columns: Floats, weights: Floats) -> Floats:
    """The weighted sum of columns, one after the other, so that equal rows have equal sums."""
    out = np.zeros(len(columns))
    for j, weight in enumerate(weights.tolist()):
        out += weight * columns[:, j]
    return out


def _wrrf(runs: Runs, weights: Floats, parameter: float, tables: Floats) -> Floats:
    return _weighted(np.nan_to_num(1.0 / (parameter + runs.ranks)), weights)


def _w_bordafuse(runs: Runs, weights: Floats, parameter: float, tables: Floats) -> Floats:
    return _weighted(runs.borda, weights)


def _w_condorcet(runs: Runs, weights: Floats, parameter: float, tables: Floats) -> Floats:
    return majority_scores(runs, weights, _weighted(runs.borda, weights))


def _summed(points: Points, absent: float = 0.0) -> Method:
    """The method that sums what each run says of an item's position, and ``absent`` of what it lacks."""

    def fuse(runs: Runs, weights: Floats, parameter: float, tables: Floats) -> Floats:
        out = np.zeros(runs.lists.n_items)
        rest = np.full(len(out), absent)
        for ranking, weight, table in zip(runs.rankings, weights.tolist(), tables, strict=True):
            out += weight * ranking.by_item(points(ranking, table, parameter), rest)
        return out

    return fuse


def _inverse_squares(ranking: Ranking, table: Floats, parameter: float) -> Floats:
    return np.asarray(1.0 / (ranking.positions + 1.0) ** 2, dtype=np.float64)


def _times(inner: Method, factor: Callable[[Floats, float], Floats]) -> Method:
    """The method times a function of the number of runs that returned an item, 0 if none did."""

    def fuse(runs: Runs, weights: Floats, parameter: float, tables: Floats) -> Floats:
        counts = np.maximum(runs.counts, 1.0)
        return inner(runs, weights, parameter, tables) * factor(counts, parameter)

    return fuse


def _rbc(ranking: Ranking, table: Floats, parameter: float) -> Floats:
    return np.asarray((1.0 - parameter) * parameter ** ranking.positions.astype(np.float64))


def _mapfuse(ranking: Ranking, table: Floats, parameter: float) -> Floats:
    return np.asarray(table[0] / (ranking.positions + 1.0), dtype=np.float64)


def _looked_up(ranking: Ranking, table: Floats, parameter: float) -> Floats:
    return np.append(table, 0.0)[np.minimum(ranking.positions, len(table))]


def _bayesfuse(ranking: Ranking, table: Floats, parameter: float) -> Floats:
    segments = np.searchsorted(BAYES_CUTS, ranking.positions, side="right") - 1
    return np.append(table, LEAST_ODDS)[segments]


def _probfuse(ranking: Ranking, table: Floats, parameter: float) -> Floats:
    segments = ranking.positions // -(-ranking.lengths // len(table))
    return table[segments] / (segments + 1.0)


def _slidefuse(ranking: Ranking, table: Floats, parameter: float) -> Floats:
    first = np.maximum(ranking.positions - int(parameter), 0)
    last = np.minimum(ranking.positions + int(parameter), ranking.lengths - 1)
    sums = np.append(0.0, np.cumsum(table))
    inside = np.minimum(last + 1, len(table)), np.minimum(first, len(table))
    return (sums[inside[0]] - sums[inside[1]]) / (last - first + 1.0)


def _segfuse(runs: Runs, weights: Floats, parameter: float, tables: Floats) -> Floats:
    cuts = segfuse_cuts(bool(parameter))
    out = np.zeros(runs.lists.n_items)
    for j, ranking in enumerate(runs.rankings):
        segments = np.searchsorted(cuts, ranking.positions, side="right") - 1
        shares = ranking.by_item(np.append(tables[j], 0.0)[segments], np.zeros(len(out)))
        out += weights[j] * shares * (runs.scores[:, j] + 1.0)
    return out


_isr = _summed(_inverse_squares)
METHODS: dict[str, Method] = {
    "combanz": _anz,
    "combmed": _med,
    "combmin": _min,
    "combmax": _max,
    "combgmnz": _gmnz,
    "wsum": _wsum,
    "wmnz": _wmnz,
    "mixed": _mixed,
    "isr": _times(_isr, lambda counts, parameter: counts),
    "log_isr": _times(_isr, lambda counts, parameter: np.log(counts)),
    "logn_isr": _times(_isr, lambda counts, parameter: np.log(counts + parameter)),
    "rbc": _summed(_rbc),
    "wrrf": _wrrf,
    "bordafuse": _w_bordafuse,
    "w_bordafuse": _w_bordafuse,
    "condorcet": _w_condorcet,
    "w_condorcet": _w_condorcet,
    "mapfuse": _summed(_mapfuse),
    "posfuse": _summed(_looked_up),
    "bayesfuse": _summed(_bayesfuse, LEAST_ODDS),
    "probfuse": _summed(_probfuse),
    "slidefuse": _summed(_slidefuse),
    "segfuse": _segfuse,
}
