"""Settings of the learners that minimise a loss of the pairs of each list."""

from __future__ import annotations

from typing import Any, Literal

from rerank.core.settings import setting

PairChoice = Literal["all", "neighbours"]


def pairs_setting() -> Any:
    """Return the setting ``pairs``, a name of data.pairs.PairRelation."""
    return setting(
        "all", "every two items with different labels, or only those whose labels are next to one another"
    )


def balance_setting() -> Any:
    """Return the setting ``list_balance``."""
    return setting(True, "every list counts as much as another; without it, every pair as much as another")


def tolerance_setting() -> Any:
    """Return the setting ``tolerance``."""
    return setting(
        1e-4,
        "most distance from the minimum, relative to it and to the difference from weights of 0",
        gt=0,
        le=0.1,
    )
