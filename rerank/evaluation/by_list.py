"""Which lists a system gains on: by size, by bins of another value of the lists, and the largest ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rerank.core.types import Floats, Index
from rerank.evaluation.results import Results
from rerank.evaluation.significance import TOLERANCE, bootstrap_sums, interval

BINS = 5


@dataclass(frozen=True)
class Bin:
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
    difference = results.per_list(system, metric) - results.per_list(baseline, metric)
    return results.judge(metric).better * difference


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
    return np.mean([results.per_list(system, metric) for system in systems], axis=0)


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
