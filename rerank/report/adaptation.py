"""What transductive models did to each list, as a table for programs and as lines for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from rerank.core.tables.record import tsv
from rerank.core.text import count
from rerank.transductive.adaptation import Adaptation, ListRow

_HEADS = ("list", "items", "adapted", "reason", "tau")


def adaptation_tsv(rows: Sequence[ListRow]) -> Iterator[str]:
    """Yield a table of lists, header first; the method's diagnostics and then the seconds come last.

    With a cache of rankers there is a column that says where each one comes from.

    All columns but the seconds are the same for any number of workers.
    """
    names = diagnostic_names(rows)
    cached = any(row.origin for row in rows)
    cells = (
        (
            *(row.list_id, row.items, "yes" if row.adapted else "no", row.reason, float(row.tau)),
            *([row.origin] if cached else []),
            *(float(row.diagnostics.get(name, np.nan)) for name in names),
            round(row.seconds, 6),
        )
        for row in rows
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
    taus = np.array([row.tau for row in rows])
    if len(taus):
        line += f"; mean tau with the unadapted rankings {np.nanmean(taus):.4f}"
    facts = [f"{name} {value:.6g}" for name, value in found.facts.items()]
    return "; ".join([line, *facts, *(["scores depend on the other lists"] if found.together else [])])
