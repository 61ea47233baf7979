"""The settings of ranker propagation, which its model needs as well as its learner."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataNote, FitError
from rerank.core.settings import setting, value_text
from rerank.core.text import count
from rerank.core.types import Floats, Mask
from rerank.core.workers.pool import capture_warnings
from rerank.data.judge import filled_labels, label_judge
from rerank.data.lists import CandidateLists, without_labels
from rerank.extensions.transductive.adapting import Advance
from rerank.extensions.transductive.lists import in_chunks, single
from rerank.learners.base import Learner
from rerank.learners.meta_learner import Base, MetaLearner
from rerank.learners.tuning.line_search import shrunk, unit_vector
from rerank.models.base import Model
from rerank.models.linear import LinearModel, ThresholdModel
from rerank.native.data._matrix import Difference
from rerank.native.data._spread import Spread, squares_within
from rerank.similarity.base import KERNELS, Kernel

_OF_KERNELS = ("components", "ridge")
_OF_GRAPH = ("kernel", *_OF_KERNELS, "neighbours", "graph", "drop_below", "form", "merge")
Norm = Literal["l2", "l1", "none"]
_ZERO = "weights are 0"
_EXPECTED = ("", "no labels", "one item", "no pair", "equal items", _ZERO)  # others are the learner's


def _no_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"neighbours: found {value_text(value)}, expected all or a number of at least 1")
    return value


class PropagationSettings(MetaLearner):
    """Settings of ``propagate``; a setting that the others make useless is refused."""

    watches: ClassVar[bool] = False
    accepts_nan: ClassVar[bool] = False

    base: Base = setting(
        "ranksvm", "learner of the rankers: a name, or its name and settings; base.C is one of them"
    )
    normalise: Norm = setting(
        "l2", "divide the weights of each ranker by their norm, so that all lists count equally"
    )
    kernel: str = setting("list", "similarity of lists, a name of 'rerank list kernels'")
    components: int = setting(5, "principal axes of each list; not for kernel=bhattacharyya", ge=1)
    ridge: float = setting(0.01, "kernel=bhattacharyya: ridge added to the variance of each feature", gt=0)
    neighbours: Literal["all"] | int = setting(
        10,
        "number of nearest lists that a list has edges to, or all; form=inductive: number of "
        "rankers that are merged",
        parse=_no_truth_value,
    )
    graph: Literal["union", "mutual"] = setting(
        "union", "edge between two lists if one is a neighbour of the other, or (mutual) both of each other"
    )
    drop_below: float = setting(
        0.0,
        "the kernel ignores features whose weight in a ranking SVM of all training lists is "
        "smaller, in magnitude",
        ge=0,
    )
    form: Literal["transductive", "inductive"] = setting(
        "transductive",
        "solve for the rankers of all lists of a file jointly (transductive), or rank each list "
        "alone by the merged rankings of its nearest training lists' rankers (inductive)",
    )
    merge: Literal["borda", "mean", "kemeny"] = setting(
        "borda", "form=inductive: how rankings are merged: by places, by scores, or with least disagreement"
    )
    control: Literal["none", "random", "mean", "global", "oracle"] = setting(
        "none",
        "rank without a graph: by the ranker of a random training list, the mean of these rankers, the "
        "ranker of all lists, or one trained on the labels of the list itself (oracle: uses test labels)",
    )
    seed: int = setting(
        1, "random seed of control=random, also of the base learner unless it has its own", ge=0
    )

    @property
    def draws(self) -> bool:
        return self.control == "random" or self.base_learner.draws

    def check_values(self) -> None:
        super().check_values()
        if self.neighbours != "all" and self.neighbours < 1:
            raise ConfigError(f"neighbours: found {self.neighbours}, expected all or a number of at least 1")
        own = KERNELS.get(self.kernel).settings
        if self.control != "none":
            self._refuse(_OF_GRAPH, f"control={self.control} uses no graph")
        others = [name for name in _OF_KERNELS if name not in own]
        self._refuse(others, f"kernel={self.kernel} has no such setting")
        if self.form == "transductive":
            self._refuse(["merge"], "only form=inductive merges rankings")
        if self.neighbours == "all":
            self._refuse(["graph"], "neighbours=all has all edges")

    def _refuse(self, names: Sequence[str], why: str) -> None:
        """Raise ConfigError if one of the settings has another value than its default."""
        for name in names:
            value = getattr(self, name)
            if value != type(self).settings[name].default:
                raise ConfigError(f"{name}={value_text(value)} would have no effect: {why}")

    @property
    def uses_test_labels(self) -> bool:
        return self.control == "oracle"

    @property
    def list_kernel(self) -> Kernel:
        """The kernel with its settings."""
        kind = KERNELS.get(self.kernel)
        return kind(**{name: getattr(self, name) for name in _OF_KERNELS if name in kind.settings})

    def _why_no_base(self, base: Learner) -> str:
        return super()._why_no_base(base) or why_no_rankers(base)


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
        """Return the mask of lists that have a ranker, bool (n_lists)."""
        return np.array([not reason for reason in self.reasons], dtype=bool)


def list_rankers(
    base: Learner, lists: CandidateLists, normalise: Norm, advance: Advance | None = None
) -> Rankers:
    """Return what ``base`` learns from each labelled list alone (Duh 2009, Algorithm 13, lines 3 to 6).

    Neither other lists nor the number of workers matter. A learner that needs a metric gets the label of the
    chosen item (label@1), because a metric of a corpus is not defined for one list: the BLEU of a sentence is
    mostly 0. Lists that ``base`` refuses, and what it warns of, are reported once for all lists.

    Raises
    ------
    FitError
        If the model of ``base`` is not a weight for each feature.
    DataError
        If a label is too large for a metric of labels, or there are none.
    """
    n, d = lists.n_lists, lists.n_features
    memory.require(8 * n * d, f"{n:,} rankers of {d:,} features", "fewer features need less")
    filled_labels(lists)  # an error of a label is one of the whole set
    with capture_warnings() as notes:
        given = base, without_labels(lists, labels=True), normalise
        parts = list(in_chunks(_rankers_of, given, n, advance))
    reasons = tuple(reason for part in parts for reason in part.reasons)
    refused = [reason for reason in reasons if reason not in _EXPECTED]
    if refused:
        text = f"learner {base.name} cannot be fitted to {count(len(refused), 'list')} of {n:,}"
        warnings.warn(f"{text}, which have no ranker: {refused[0]}", DataNote, stacklevel=2)
    noted = list(dict.fromkeys(text for text, *_ in notes))
    if noted:
        others = "" if len(noted) == 1 else f" (and {count(len(noted) - 1, 'similar note')} of other lists)"
        warnings.warn(f"rankers of single lists: {noted[0]}{others}", DataNote, stacklevel=2)
    return Rankers(np.concatenate([part.weights for part in parts]), reasons)


def fitted_alone(base: Learner, one: CandidateLists) -> tuple[Model | None, str]:
    """Return what ``base`` learns from a single labelled list and "", or None and the reason."""
    labels = one.labels
    if labels is None or np.isnan(labels).all():
        return None, "no labels"
    if one.n_items == 1:
        return None, "one item"
    if not np.nanmax(labels) > np.nanmin(labels):
        return None, "no pair"
    # Of equal items a learner may learn weights that are the rounding of 0, which a norm would blow up.
    matrix = one.features.matrix()
    if not any(squares_within(matrix, one.offsets, Spread(one.n_features, -1), Difference(matrix))):
        return None, "equal items"
    judge = label_judge(one) if base.needs_judge or getattr(base, "keep", "last") == "train" else None
    try:
        return base.fit(one, judge=judge), ""
    except FitError as error:
        return None, str(error).removeprefix(f"{one.source}: ")


def ranker_of(base: Learner, one: CandidateLists, normalise: Norm) -> tuple[Floats, str]:
    """Return the ranker of a single labelled list (n_features) and "", or NaN and the reason."""
    model, reason = fitted_alone(base, one)
    weights = None if model is None else normalised(linear_weights(base, model), normalise)
    if weights is not None and weights.any():
        return weights, ""
    return np.full(one.n_features, np.nan), reason or _ZERO


def why_no_rankers(base: Learner) -> str:
    """Return why a learner with its settings cannot be fitted to single lists, "" if it can.

    Whether its model is linear is known only when it has made one, see ``linear_weights``.
    """
    if base.chooses_on_dev:
        return "it chooses by development lists, which a single list does not have"
    if getattr(base, "init", "") == "given":
        return "init=given needs initial weights, which no list has"
    if hasattr(base, "inner_folds"):
        return "it needs folds of lists, which a single list does not have"
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
    """
    if how == "none" or not weights.any():
        return weights
    near_one = shrunk(weights)
    return unit_vector(weights) if how == "l2" else near_one / float(np.abs(near_one).sum())


def _rankers_of(
    base: Learner, lists: CandidateLists, normalise: Norm, first: int, last: int, advance: Advance | None
) -> Rankers:
    """Return the rankers of the lists ``first`` to ``last`` - 1, in a worker."""
    weights, reasons = np.empty((last - first, lists.n_features)), []
    for row, i in zip(weights, range(first, last), strict=True):
        row[:], reason = ranker_of(base, single(lists, i, labels=True), normalise)
        reasons.append(reason)
        if advance is not None:
            advance(1)
    return Rankers(weights, tuple(reasons))
