"""Input of a training: lists as learners see them, side inputs, and out-of-fold scores."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from rerank.core.errors import FitError
from rerank.core.types import Floats, Index
from rerank.data.alignment import aligned
from rerank.data.arrays import real_array
from rerank.data.base_scores import base_column
from rerank.data.folds import Fold
from rerank.data.judge import PreparedMetric
from rerank.data.lists import CandidateLists
from rerank.data.overlap import sketch
from rerank.data.text_reading import to_rank
from rerank.learners.base import Observer, Watched, checked_list_weights
from rerank.models.base import Model
from rerank.models.pipeline import Chain

if TYPE_CHECKING:
    from rerank.models.weights import NamedWeights


class SideInputs(Struct, frozen=True, eq=False):
    """Inputs besides training and development lists.

    Attributes
    ----------
    unlabelled
        The lists to be ranked. ``aligned`` and ``of_fold`` remove their labels, texts and references.
    list_weights
        Of the training lists, float64 (n_lists).
    labels
        Of the training lists before they were quantised, float64 (n_items): out-of-fold scores are judged by
        them. None if the lists have their own labels.
    initial
        Weights of raw features to start from; ``aligned`` gives them for every column.
    """

    unlabelled: CandidateLists | None = None
    list_weights: Floats | None = None
    labels: Floats | None = None
    initial: NamedWeights | None = None

    def judged(self, lists: CandidateLists) -> CandidateLists:
        """Return all training lists with the labels that judge out-of-fold scores."""
        return lists if self.labels is None else lists.replace_labels(self.labels)

    def aligned(self, lists: CandidateLists, fill: float = 0.0) -> SideInputs:
        """Return the same for training lists, with their columns; notes are those of ``data.alignment``.

        Columns that the unlabelled lists do not have are ``fill``.

        Raises FitError if weights are not one finite number of 0 or more for each list, or all are 0.
        """
        if (initial := self.initial) is not None:
            from rerank.models.weights import NamedWeights, initial_for

            initial = NamedWeights(lists.names(), initial_for(initial, lists, None), initial.source)
        weights = self.list_weights
        if weights is not None:
            weights = checked_list_weights(real_array(weights, "list weights").astype(np.float64), lists)
            if not weights.any():
                raise FitError("list weights: every weight is 0, expected one above 0")
        if (bare := self.unlabelled) is not None:
            same = aligned(bare, lists.names(), "the training lists", selection=lists.selection, fill=fill)
            bare = to_rank(same)
        return SideInputs(bare, weights, self.labels, initial)

    def of_fold(self, lists: CandidateLists, fold: Fold) -> SideInputs:
        """Return the same for one fold of the training lists: those that are left out are to be ranked.

        Weights are those of its training lists; it judges nothing.
        """
        found = replace(self, labels=None)
        if self.unlabelled is not None:
            found = replace(found, unlabelled=to_rank(lists.subset(fold.test)))
        if self.list_weights is not None:
            found = replace(found, list_weights=self.list_weights[fold.train])
        return found


NO_SIDE_INPUTS = SideInputs()


@runtime_checkable
class FittedView(Protocol):
    """Lists that are changed for the learner only, so that its model has to be changed afterwards."""

    def fold_back(self, model: Model, names: list[str]) -> None:
        """Let a model of changed lists score the given ones; ``names`` are those of the features."""
        ...


class Split(Struct, frozen=True, eq=False):
    """Lists with the columns of the model, and the watched metric prepared for them, None without one.

    ``lists`` went through the steps of stage features: the model scores them. ``learnt`` are what learners
    see: the same lists after the steps of stage view.
    """

    name: str
    lists: CandidateLists
    judge: PreparedMetric | None
    learnt: CandidateLists


class TrainingData(Struct, frozen=True, eq=False, dict=True):
    """Data that one or several learners are fitted to.

    Attributes
    ----------
    source : the training lists as given.
    train, dev : training and development lists.
    chain : the fitted steps that the model keeps.
    view : those that only the learner sees.
    side : what else was given, with the columns of the training lists.
    initial : weights of the columns that learners see to start from, float64 (n_features).
    unlabelled : the lists to be ranked as learners see them.
    """

    source: CandidateLists
    train: Split
    dev: Split | None
    chain: Chain
    view: Chain
    side: SideInputs
    initial: Floats | None = None
    unlabelled: CandidateLists | None = None

    def inputs(self, dev: Watched | None = None, observer: Observer | None = None) -> dict[str, Any]:
        """Return what ``Learner.fit`` gets besides the training lists."""
        return {
            "judge": self.train.judge,
            "dev": dev,
            "list_weights": self.side.list_weights,
            "initial": self.initial,
            "observer": observer,
            "unlabelled": self.unlabelled,
        }

    def complete(self, model: Model) -> None:
        """Let a model that a learner returned score lists as they are given."""
        if model.feature_names:  # a kernel of trees uses no feature
            model.chain = self.chain
        for one in reversed(self.view.fitted):
            if isinstance(one, FittedView):
                one.fold_back(model, self.source.names())

    @cached_property
    def base_column(self) -> int | None:
        """The feature that is the base score, or None."""
        return column_of_base(self.source)

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the training lists as given, which every model records."""
        return self.source.fingerprint()

    @cached_property
    def sketch(self) -> str:
        """Hashes of single training lists as given, which every model records."""
        return sketch(self.source)

    @cached_property
    def dev_is_train(self) -> bool:
        """Return whether the dev lists are the training lists; they are hashed only if their sizes agree."""
        if self.dev is None or not np.array_equal(self.dev.lists.offsets, self.train.lists.offsets):
            return False
        return self.dev.lists.fingerprint() == self.train.lists.fingerprint()


def column_of_base(lists: CandidateLists) -> int | None:
    """Return the feature of raw lists that is the base score, or None."""
    return None if (found := base_column(lists)) is None else found.index


class OutOfFold(Struct, frozen=True, eq=False):
    """Out-of-fold scores of all training lists.

    Attributes
    ----------
    scores : list of float64 (n_items)
        After each round, or only those at the end.
    weights : list of float64 (n_folds)
        The weight of the base score in each fold's model, beside ``scores``. NaN: it is no weighted sum.
    base : float64 (n_items)
        What these weights multiply.
    fold_of : int64 (n_items)
        The fold whose model scored an item.
    by_round : bool
        Whether there are scores after each round.
    """

    scores: list[Floats]
    weights: list[Floats]
    base: Floats
    fold_of: Index
    by_round: bool

    def term(self, at: int) -> Floats | None:
        """Return the part of ``scores[at]`` that is the base score; None if it has no weight in a fold."""
        weights = self.weights[at]
        return weights[self.fold_of] * self.base if weights.all() else None
