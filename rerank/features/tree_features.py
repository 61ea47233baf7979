"""The features made from parse trees, as a table and as a record."""

from __future__ import annotations

from typing import Any

from rerank.core.tables.text import drawn, table
from rerank.features.heads import default_heads
from rerank.features.parse import TYPES, ParseFeatures, ParseSettings

SECOND = "+"  # of types: those of the second pass


def type_lines(chosen: ParseFeatures) -> list[str]:
    """Return a line for each type: features seen and kept, in the first pass and with closed-class heads."""
    by_type = chosen.by_type()
    rows = []
    totals = [0, 0, 0, 0]
    for name in TYPES:
        pairs = [by_type.get(name, (0, 0)), by_type.get(name + SECOND, (0, 0))]
        if any(seen for seen, _ in pairs):
            numbers = [n for pair in pairs for n in pair]
            rows.append((name, *(str(n) if seen else "" for seen, kept in pairs for n in (seen, kept))))
            totals = [total + n for total, n in zip(totals, numbers, strict=True)]
    rows.append(("all", *map(str, totals)))
    return drawn(table(("type", "seen", "kept", "lexicalised", "kept"), rows))


def record_of(chosen: ParseFeatures, sets: list[dict[str, Any]]) -> dict[str, Any]:
    """Return settings, features by type (those of the second pass with a +) and each set's known ones."""
    return {
        "settings": settings_of(chosen.settings),
        "features": len(chosen),
        "types": {name: {"seen": seen, "kept": kept} for name, (seen, kept) in chosen.by_type().items()},
        "sets": sets,
    }


def settings_of(settings: ParseSettings) -> dict[str, Any]:
    """Return the settings with the head table written out."""
    heads = settings.heads or default_heads()
    return {
        "cutoff": settings.cutoff,
        "types": list(settings.types),
        "values": settings.values,
        "closed_class": list(settings.closed_class),
        "left_out": list(settings.left_out),
        "heads": heads.lines(),
    }
