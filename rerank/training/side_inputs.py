"""What else training is given: weights of lists, the lists to be ranked, labels before quantising."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats
from rerank.data.alignment import aligned
from rerank.data.arrays import real_array
from rerank.data.folds import Fold
from rerank.data.lists import CandidateLists, without_labels
from rerank.learners.base import checked_list_weights


@dataclass(frozen=True, eq=False)
class SideInputs:
    """What is given besides training and development lists.

    Attributes
    ----------
    unlabelled
        The lists to be ranked. ``aligned`` and ``of_fold`` remove their labels, texts and references.
    list_weights
        Of the training lists, float64 (n_lists).
    labels
        Of the training lists before they were quantised, float64 (n_items): out-of-fold scores are judged by
        them. None if the lists have their own labels.
    """

    unlabelled: CandidateLists | None = None
    list_weights: Floats | None = None
    labels: Floats | None = None

    def judged(self, lists: CandidateLists) -> CandidateLists:
        """Return all training lists with the labels that judge out-of-fold scores."""
        return lists if self.labels is None else lists.replace_labels(self.labels)

    def aligned(self, lists: CandidateLists, fill: float = 0.0) -> SideInputs:
        """Return the same for training lists, with their columns; notes are those of ``data.alignment``.

        Columns that the unlabelled lists do not have are ``fill``.

        Raises FitError if weights are not one finite number of 0 or more for each list, or all are 0.
        """
        weights = self.list_weights
        if weights is not None:
            weights = checked_list_weights(real_array(weights, "list weights").astype(np.float64), lists)
            if not weights.any():
                raise FitError("list weights: every weight is 0, expected one above 0")
        bare = self.unlabelled
        if bare is not None:
            same = aligned(bare, lists.names(), "the training lists", selection=lists.selection, fill=fill)
            bare = without_labels(same, labels=False)
        return SideInputs(bare, weights, self.labels)

    def of_fold(self, lists: CandidateLists, fold: Fold) -> SideInputs:
        """Return the same for one fold of the training lists: those that are left out are to be ranked.

        Weights are those of its training lists; it judges nothing.
        """
        found = replace(self, labels=None)
        if self.unlabelled is not None:
            found = replace(found, unlabelled=without_labels(lists.subset(fold.test), labels=False))
        if self.list_weights is not None:
            found = replace(found, list_weights=self.list_weights[fold.train])
        return found


NO_SIDE_INPUTS = SideInputs()
