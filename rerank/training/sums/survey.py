"""Facts about all shards, needed before one is learnt from: labels, and statistics for the scaling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from rerank.core.errors import DataError, FitError
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.missing import FILLS, first_missing
from rerank.data.overlap import DIGITS, SKETCHED, sketch
from rerank.data.scaling import Scaling, tolerance_of
from rerank.learners.sums.parts import SummingLearner
from rerank.models.training import UnjudgedRecord
from rerank.native.data import _scaling
from rerank.training.steps.labels import has_negative, unjudged_items


class Moments(Struct, frozen=True, eq=False):
    """Statistics of the columns of a shard, each float64 (n_features); NaN is left out.

    Attributes
    ----------
    low, high : infinite without a value.
    count : of values.
    mean, deviation : of them; the (population) standard deviation.
    """

    low: Floats
    high: Floats
    count: Floats
    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, lists: CandidateLists) -> Moments:
        """Return the statistics of lists with dense features."""
        assert isinstance(lists.features, Dense)
        values, d = lists.features.values, lists.n_features
        mean, divisor, work = np.zeros(d), np.full(d, np.inf), np.empty((5, d))
        column = _scaling.dense_fit(values, True, tolerance_of(values.dtype), mean, divisor, work)
        _check_column(lists, column)
        low, high, count = work[:3].copy()
        return cls(low, high, count, mean, np.where(np.isfinite(divisor), divisor, 0.0))


def _check_column(lists: CandidateLists, column: int) -> None:
    if column >= 0:
        name = lists.names()[column]
        raise DataError(f"{lists.source}: feature {name!r} has values too large for scaling")


def scaling_of(name: str, moments: Sequence[Moments], lists: CandidateLists) -> Scaling:
    """Return the scaling minmax or zscore of all shards.

    Means and deviations are merged in the order of the shards: to rounding those of all items at once.

    Parameters
    ----------
    name : "minmax" or "zscore".
    moments : of each shard.
    lists : lists with the features of all shards, for their type and for messages.

    Raises
    ------
    DataError
        If values are too large.
    """
    low = np.min([one.low for one in moments], axis=0)
    high = np.max([one.high for one in moments], axis=0)
    count = np.sum([one.count for one in moments], axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        large = (count > 0) & ~np.isfinite((np.abs(low) + np.abs(high)) * count)
    _check_column(lists, int(np.argmax(large)) if large.any() else -1)
    tolerance = tolerance_of(lists.features.dtype)
    width = np.array([_scaling.divisor_of(a, b, tolerance) for a, b in zip(low, high, strict=True)])
    shift = np.where(count > 0, low + 0.0, 0.0)
    if name == "minmax":
        return Scaling(name, len(low), True, {"divisor": width, "shift": shift})
    n = np.maximum(count, 1.0)
    for one in moments:  # as a sum of what each adds to the smallest value, so that no large offset hurts
        share = np.where(one.count > 0, one.count / n, 0.0)
        shift = shift + share * np.where(one.count > 0, one.mean - np.where(count > 0, low, 0.0), 0.0)
    total = np.zeros(len(low))
    for one in moments:
        apart = np.where(one.count > 0, one.mean - shift, 0.0) / width
        total += one.count / n * ((one.deviation / width) ** 2 + apart**2)
    divisor = np.where(np.isfinite(width), width * np.sqrt(total), np.inf)
    return Scaling(name, len(low), True, {"divisor": divisor, "shift": shift})


class Survey(Struct, frozen=True, eq=False):
    """Facts about one shard.

    Attributes
    ----------
    judged : whether an item is judged.
    unjudged : items without a judgement in judged lists, and those lists.
    negative : whether an item is judged as not relevant.
    sketch : hashes of its lists, see ``data.overlap``.
    moments : for scalings that need them.
    own : what the learner asks for.
    """

    judged: bool
    unjudged: tuple[int, int]
    negative: bool
    sketch: str
    moments: Moments | None
    own: Any


def survey(
    lists: CandidateLists, learner: SummingLearner, moments: bool, layout: str, dtype: str, nan: bool
) -> Survey:
    """Return what is known of a shard.

    Parameters
    ----------
    lists : of the shard.
    learner : asks for something of its own.
    moments : whether statistics of the columns are needed.
    layout, dtype : of the first shard's features.
    nan : whether features may be missing.

    Raises
    ------
    DataError
        If the features are in another form than those of the first shard.
    FitError
        If a feature is missing and the learner accepts none.
    """
    features = lists.features
    if (features.layout, features.dtype.str) != (layout, dtype):
        found = f"{features.layout} features of type {features.dtype.str}"
        raise DataError(
            f"{lists.source}: found {found}, expected {layout} ones of {dtype} as in the first shard"
        )
    if lists.has_missing and not nan:
        accepts = f"learner {learner.name} accepts none"
        raise FitError(f"{lists.source}: {first_missing(lists)}; {accepts}: {FILLS}")
    chosen = unjudged_items(lists)
    judged = bool(lists.labels is not None and lists.judged_lists().any())
    return Survey(
        judged,
        (int(chosen.sum()), int(np.count_nonzero(np.logical_or.reduceat(chosen, lists.offsets[:-1])))),
        has_negative(lists),
        sketch(lists),
        Moments.of(lists) if moments else None,
        learner.survey(lists) if judged or not learner.needs_labels else None,
    )


def unjudged_record(found: Sequence[Survey]) -> UnjudgedRecord | None:
    """Return what is recorded of unjudged items, which are left out; None if there are none."""
    items, lists = (sum(one.unjudged[i] for one in found) for i in (0, 1))
    if not items:
        return None
    return UnjudgedRecord(items=items, lists=lists, positives_only=not any(one.negative for one in found))


def sketch_of(found: Sequence[Survey]) -> str:
    """Return the sketch of the lists of all shards."""
    hashes = {one.sketch[at : at + DIGITS] for one in found for at in range(0, len(one.sketch), DIGITS)}
    return "".join(sorted(hashes)[:SKETCHED])
