"""A ranker for each labelled list: the weights that a linear learner finds for this list alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataNote, FitError
from rerank.core.text import count
from rerank.core.types import Floats, Mask
from rerank.core.workers.pool import capture_warnings
from rerank.data.judge import filled_labels, label_judge
from rerank.data.lists import CandidateLists, without_labels
from rerank.learners.base import Learner
from rerank.learners.tuning.line_search import shrunk, unit_vector
from rerank.models.base import Model
from rerank.models.linear import LinearModel, ThresholdModel
from rerank.native.data._matrix import Difference
from rerank.native.data._spread import Spread, squares_within
from rerank.transductive.adapting import Advance
from rerank.transductive.labelled import single
from rerank.transductive.spreading import in_chunks

Norm = Literal["l2", "l1", "none"]
_ZERO = "weights are 0"
_EXPECTED = (
    "",
    "no labels",
    "one item",
    "no pair",
    "equal items",
    _ZERO,
)  # other reasons are those of the learner


@dataclass(frozen=True, eq=False)
class Rankers:
    """The rankers of lists.

    Attributes
    ----------
    weights
        float64 (n_lists, n_features); NaN for a list without a ranker.
    reasons
        Why a list has none, such as "no pair"; "" if it has one.
    """

    weights: Floats
    reasons: tuple[str, ...]

    @property
    def trained(self) -> Mask:
        """Which lists have a ranker, bool (n_lists)."""
        return np.array([not reason for reason in self.reasons], dtype=bool)


def list_rankers(
    base: Learner, lists: CandidateLists, normalise: Norm, advance: Advance | None = None
) -> Rankers:
    """Return the ranker of each list, by the workers of ``core.workers.parallel``.

    A ranker is what ``base`` learns from the list alone, with the seed that it is given: other lists do not
    matter, nor does the number of workers. An unjudged item is treated as ``base`` treats it. A learner that
    needs a metric gets the label of the chosen item (label@1), because a metric of a corpus is not defined
    for one list: the BLEU of a sentence is mostly 0. Lists that ``base`` refuses, and what it warns of, are
    reported once for all lists.

    Parameters
    ----------
    base
        A learner that ``why_no_rankers`` accepts.
    lists
        With labels, scaled.
    normalise
        What the weights are divided by, see ``normalised``.
    advance
        Called with the number of lists that have just been done.

    Raises
    ------
    FitError
        If the model of ``base`` is not a weight for each feature.
    DataError
        If a label is too large for a metric of labels, or there are none.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, Algorithm
    13, lines 3 to 6.
    """
    n, d = lists.n_lists, lists.n_features
    memory.require(8 * n * d, f"{n:,} rankers of {d:,} features", "fewer features need less")
    filled_labels(lists)  # an error of a label is one of the whole set
    with capture_warnings() as notes:
        given = base, without_labels(lists, labels=True), normalise
        parts = list(in_chunks(_rankers_of, given, n, advance))
    reasons = tuple(reason for part in parts for reason in part.reasons)
    _report(base, reasons, list(dict.fromkeys(text for text, *_ in notes)))
    return Rankers(np.concatenate([part.weights for part in parts]), reasons)


def ranker_of(base: Learner, one: CandidateLists, normalise: Norm) -> tuple[Floats, str]:
    """Return the ranker of a single labelled list (n_features) and "", or NaN and the reason.

    Parameters and errors are those of ``list_rankers``.
    """
    none = np.full(one.n_features, np.nan)
    reason = _without_pair(one)
    if reason:
        return none, reason
    judge = label_judge(one) if base.needs_judge or getattr(base, "keep", "last") == "train" else None
    try:
        model = base.fit(one, judge=judge)
    except FitError as error:
        return none, str(error).removeprefix(f"{one.source}: ")
    weights = normalised(linear_weights(base, model), normalise)
    return (weights, "") if weights.any() else (none, _ZERO)


def why_no_rankers(base: Learner) -> str:
    """Return why a learner with its settings cannot be fitted to single lists, "" if it can.

    Whether its model is linear is known only when it has made one, see ``linear_weights``.
    """
    if base.chooses_on_dev:
        return "it chooses by development lists, which a single list does not have"
    if getattr(base, "init", "") == "given":
        return "init=given needs initial weights, which no list has"
    if base.needs_unlabelled:
        return "it needs the lists to be ranked besides those that it is fitted to"
    return ""


def linear_weights(base: Learner, model: Model) -> Floats:
    """Return the weights of a model that scores by them alone, float64 (n_features).

    The thresholds between the grades of an ordinal model change no ranking.

    Raises
    ------
    FitError
        If ``model``, made by ``base``, scores otherwise.
    """
    if not isinstance(model, (LinearModel, ThresholdModel)) or model.base_weight is not None:
        found = f"learner {base.name} made a model of the kind {model.kind!r}"
        raise FitError(f"{found}, expected a linear one: a ranker is a weight for each feature")
    return model.weights


def normalised(weights: Floats, how: Norm) -> Floats:
    """Return weights divided by their length (l2), their summed magnitudes (l1) or nothing.

    Weights of 0 remain 0. Sums do not overflow.

    Parameters
    ----------
    weights
        Finite, float64 (n_features).
    how
        The norm.
    """
    if how == "none" or not weights.any():
        return weights
    near_one = shrunk(weights)
    return unit_vector(weights) if how == "l2" else near_one / float(np.abs(near_one).sum())


def _report(base: Learner, reasons: tuple[str, ...], notes: list[str]) -> None:
    """Warn once of all lists that the learner refused, and of all that was noted while it was fitted."""
    refused = [reason for reason in reasons if reason not in _EXPECTED]
    if refused:
        text = f"learner {base.name} cannot be fitted to {count(len(refused), 'list')} of {len(reasons):,}"
        warnings.warn(f"{text}, which have no ranker: {refused[0]}", DataNote, stacklevel=3)
    if notes:
        others = "" if len(notes) == 1 else f" (and {count(len(notes) - 1, 'similar note')} of other lists)"
        warnings.warn(f"rankers of single lists: {notes[0]}{others}", DataNote, stacklevel=3)


def _without_pair(one: CandidateLists) -> str:
    """Why a list has no pair of items with different labels, or none that a feature tells apart; "" if not.

    Of equal items a learner may learn weights that are the rounding of 0, which ``normalised`` would blow up.
    """
    labels = one.labels
    if labels is None or np.isnan(labels).all():
        return "no labels"
    if one.n_items == 1:
        return "one item"
    if not np.nanmax(labels) > np.nanmin(labels):
        return "no pair"
    matrix = one.features.matrix()
    squares = squares_within(matrix, one.offsets, Spread(one.n_features, -1), Difference(matrix))
    return "" if any(squares) else "equal items"


def _rankers_of(
    base: Learner, lists: CandidateLists, normalise: Norm, first: int, last: int, advance: Advance | None
) -> Rankers:
    """What a worker does: the rankers of the lists ``first`` to ``last`` - 1."""
    weights, reasons = np.empty((last - first, lists.n_features)), []
    for row, i in zip(weights, range(first, last), strict=True):
        row[:], reason = ranker_of(base, single(lists, i, labels=True), normalise)
        reasons.append(reason)
        if advance is not None:
            advance(1)
    return Rankers(weights, tuple(reasons))
