"""What some learners get besides training and development lists: the lists to be ranked, unlabelled."""

from __future__ import annotations

from dataclasses import dataclass

from rerank.data.alignment import aligned
from rerank.data.bare import stripped
from rerank.data.folds import Fold
from rerank.data.lists import CandidateLists


@dataclass(frozen=True, eq=False)
class Extras:
    """What is given besides training and development lists.

    Attributes
    ----------
    unlabelled
        The lists to be ranked. ``aligned`` and ``of_fold`` remove their labels, texts and references.
    """

    unlabelled: CandidateLists | None = None

    def aligned(self, lists: CandidateLists) -> Extras:
        """Return the same with the columns of the training lists; notes are those of ``data.alignment``."""
        if self.unlabelled is None:
            return self
        same = aligned(self.unlabelled, lists.names(), "the training lists", selection=lists.selection)
        return Extras(stripped(same, labels=False))

    def of_fold(self, lists: CandidateLists, fold: Fold) -> Extras:
        """Return the same for one fold of the training lists: those that are left out are to be ranked."""
        return self if self.unlabelled is None else Extras(stripped(lists.subset(fold.test), labels=False))


NO_EXTRAS = Extras()
