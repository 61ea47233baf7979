"""Results of models that adapt to lists: rankings by rankers made for them, and a row for each list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rerank.core.tables.data import tsv
from rerank.core.text import count
from rerank.core.types import Floats

_HEADS = ("list", "items", "adapted", "reason", "tau")


@dataclass(frozen=True, eq=False)
class ListRow:
    """Result of adapting to one list.

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
    jointly
        Whether the scores of a list depend on the other lists.
    """

    scores: Floats
    unadapted: Floats
    rows: tuple[ListRow, ...]
    facts: Mapping[str, float] = field(default_factory=dict)
    jointly: bool = False

    @property
    def taus(self) -> Floats:
        """The tau of each list, float64 (n_lists)."""
        return np.array([row.tau for row in self.rows])

    def tsv(self) -> Iterator[str]:
        """Yield a table of lists, header first; the method's diagnostics and then the seconds come last.

        With a cache of rankers there is a column that says where each one comes from.

        All columns but the seconds are the same for any number of workers.
        """
        names = diagnostic_names(self.rows)
        cached = any(row.origin for row in self.rows)
        cells = (
            (
                *(row.list_id, row.items, "yes" if row.adapted else "no", row.reason, float(row.tau)),
                *([row.origin] if cached else []),
                *(float(row.diagnostics.get(name, np.nan)) for name in names),
                round(row.seconds, 6),
            )
            for row in self.rows
        )
        return tsv([*_HEADS, *(["ranker"] if cached else []), *names, "seconds"], cells)


def diagnostic_names(rows: Sequence[ListRow]) -> list[str]:
    """Return the names of the diagnostics that any list has, in the order in which they come."""
    return list(dict.fromkeys(name for row in rows for name in row.diagnostics))


def adaptation_line(found: Adaptation) -> str:
    """Return how many lists were adapted to, why others were not, how far rankings moved, and the facts."""
    rows = found.rows
    adapted = sum(row.adapted for row in rows)
    line = f"adapted to {adapted} of {count(len(rows), 'list')}"
    reasons = Counter(row.reason for row in rows if not row.adapted)
    if reasons:
        line += f" ({', '.join(f'{n}: {reason}' for reason, n in reasons.most_common())})"
    origins = Counter(row.origin.partition(" ")[0] for row in rows if row.origin)
    if origins:
        line += f"; rankers {', '.join(f'{name} {n}' for name, n in sorted(origins.items()))}"
    if rows:
        line += f"; mean tau with the unadapted rankings {np.nanmean(found.taus):.4f}"
    facts = [f"{name} {value:.6g}" for name, value in found.facts.items()]
    return "; ".join([line, *facts, *(["scores depend on the other lists"] if found.jointly else [])])
