"""Rankings of lists, each by a ranker of its own, and what is known of each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rerank.data.concordance import Concordance
from rerank.data.types import Floats


@dataclass(frozen=True, eq=False)
class ListRow:
    """What happened to one list.

    Attributes
    ----------
    list_id, items
        Its id and its size.
    adapted
        Whether it is ranked by a ranker of its own.
    reason
        Why not; "" if it is.
    tau
        Kendall's tau-b between the scores of its own ranker and those of the unadapted model, see ``tau_b``;
        1 if the method made no ranker.
    seconds
        For adapting and scoring, on the clock.
    diagnostics
        Figures of the method by name.
    origin
        Where its ranker comes from if there is a cache, see ``Adapted``.
    """

    list_id: str
    items: int
    adapted: bool
    reason: str
    tau: float
    seconds: float
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    origin: str = ""


@dataclass(frozen=True, eq=False)
class Adaptation:
    """Rankings of lists.

    Attributes
    ----------
    scores, unadapted
        Of the model and of its unadapted model, float64 (n_items), both in the same order.
    rows
        A row for each list, in the order of the lists.
    facts
        Figures of all lists together, by name.
    """

    scores: Floats
    unadapted: Floats
    rows: tuple[ListRow, ...]
    facts: Mapping[str, float] = field(default_factory=dict)


def joined(parts: Sequence[Adaptation]) -> Adaptation:
    """Return the adaptation to all lists from those to some, in their order."""
    return Adaptation(
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.unadapted for part in parts]),
        tuple(row for part in parts for row in part.rows),
    )


def tau_b(a: Floats, b: Floats) -> float:
    """Return Kendall's tau-b between two scorings of the same items, float64 (n_items).

    That is (right - wrong) / sqrt(A * B): pairs that both put in the same order, minus those in opposite
    orders; A and B are the pairs that each of them orders. If neither orders any pair, as for one item, the
    rankings are the same: 1. If one alone orders none, they share nothing: 0.
    """
    offsets = np.array([0, len(a)])
    of_a, of_b = Concordance(a, offsets), Concordance(b, offsets)
    n_a, n_b = int(of_a.n_pairs[0]), int(of_b.n_pairs[0])
    if n_a == 0 or n_b == 0:
        return float(n_a == n_b)
    surplus = 2 * float(of_b.right(a)[0]) - n_b
    return surplus / (n_a if n_a == n_b else math.sqrt(n_a) * math.sqrt(n_b))  # 1 for equal rankings
