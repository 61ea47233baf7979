"""What a learner takes unjudged items for: the label that they get, or an error that names the choices."""

from __future__ import annotations

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.text import count
from rerank.data.lists import CandidateLists
from rerank.data.unjudged import Unjudged, has_negative, has_order, level_of_unjudged, unjudged_items
from rerank.learners.base import Learner
from rerank.models.training import UnjudgedRecord

_COUNT_THEM = "--unjudged negative (unjudged='negative') counts them as not relevant"


def check_unjudged(how: Unjudged, learner: Learner) -> None:
    """Raise ConfigError if a choice has no effect, because the learner learns from no labels."""
    if how != "skip" and not learner.needs_labels:
        raise ConfigError(f"unjudged={how}: not used by learner {learner.name}, which learns from no labels")


def label_of_unjudged(how: Unjudged, learner: Learner, lists: CandidateLists) -> float | None:
    """Return the label that unjudged items of judged lists get for a learner, None = they are left out.

    Parameters
    ----------
    how : "skip", "negative" or "error".
    learner : what learns; unjudged items matter to it only if it learns from labels.
    lists : training lists.

    Raises
    ------
    DataError
        If ``how`` is "error" and there is such an item; or if it is "skip" and nothing could be learnt,
        because what is judged is relevant and no list has two different labels.
    """
    if learner.reads_classes or not learner.needs_labels:
        return None
    chosen = unjudged_items(lists)
    if not chosen.any():
        return None
    if how == "negative":
        return level_of_unjudged(lists)
    n = count(int(np.count_nonzero(chosen)), "unjudged item")
    if how == "error":
        found = f"{n} in judged lists, the first is {lists.place_of(int(np.argmax(chosen)))}"
        raise DataError(f"{lists.source}: {found}; {_COUNT_THEM}, --unjudged skip leaves them out")
    if not has_negative(lists) and not has_order(lists):
        found = f"no list has two different labels, so nothing is learnt without the {n} of judged lists"
        raise DataError(f"{lists.source}: {found}; {_COUNT_THEM}")
    return None


def unjudged_record(lists: CandidateLists, label: float | None) -> UnjudgedRecord | None:
    """Return what was done with the unjudged items of judged lists, None if there are none."""
    chosen = unjudged_items(lists)
    if not chosen.any():
        return None
    return UnjudgedRecord(
        items=int(np.count_nonzero(chosen)),
        lists=int(np.count_nonzero(np.logical_or.reduceat(chosen, lists.offsets[:-1]))),
        label=label,
        positives_only=not has_negative(lists),
    )
