"""Rankings of lists, each by a ranker of its own, and what is known of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rerank.data.types import Floats
from rerank.native.metrics import _concordance


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
    """

    list_id: str
    items: int
    adapted: bool
    reason: str
    tau: float
    seconds: float
    diagnostics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Adaptation:
    """The scores of lists, float64 (n_items), and a row for each list, in their order."""

    scores: Floats
    rows: tuple[ListRow, ...]


def tau_b(a: Floats, b: Floats) -> float:
    """Return Kendall's tau-b between two scorings of the same items, float64 (n_items).

    That is (right - wrong) / sqrt(A * B): pairs that both put in the same order, minus those in opposite
    orders; A and B are the pairs that each of them orders. If neither orders any pair, as for one item, the
    rankings are the same: 1. If one alone orders none, they share nothing: 0.
    """
    offsets = np.array([0, len(a)])
    ranks, n_ranks = np.empty(len(a), dtype=np.int32), np.empty(1, dtype=np.int32)
    ordered, right, wrong = (np.zeros(1, dtype=np.int64) for _ in range(3))
    _concordance.label_ranks(a, offsets, ranks, n_ranks, ordered)
    of_a = int(ordered[0])
    _concordance.label_ranks(b, offsets, ranks, n_ranks, ordered)
    of_b = int(ordered[0])
    if of_a == 0 or of_b == 0:
        return float(of_a == of_b)
    _concordance.concordance(a, offsets, ranks, n_ranks, right, wrong)
    return float((right[0] - wrong[0]) / (np.sqrt(float(of_a)) * np.sqrt(float(of_b))))
