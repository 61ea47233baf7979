"""Pairwise comparisons as tables."""

from __future__ import annotations

from rerank.evaluation.compare import Comparisons, Pair
from rerank.report.table import drawn, table
from rerank.report.tables import SIGNIFICANT, p_text
from rerank.text import count

NAMES = ("A", "B", "value A", "value B", "A - B", "interval")
HEADS = (*NAMES, "p", "Holm", "rand.", "Wilcoxon", "t", "won/tied/lost")


def comparison_text(found: Comparisons) -> str:
    """Return the whole report: a table for each metric, then how it was made."""
    out = []
    for name, pairs in found.pairs.items():
        rows = [_cells(pair, found.digits[name]) for pair in pairs]
        out += [found.typed[name], *drawn(table(HEADS, rows, left=2)), ""]
    return "\n".join([*out, *_notes(found), ""])


def _cells(pair: Pair, digits: int) -> tuple[str, ...]:
    low, high = pair.ci if pair.ci is not None else (float("nan"), float("nan"))
    star = "*" if pair.holm is not None and pair.holm < SIGNIFICANT else " "
    return (
        pair.a,
        pair.b,
        f"{pair.value_a:.{digits}f}",
        f"{pair.value_b:.{digits}f}",
        f"{pair.difference:+.{digits}f}",
        f"{low:+.{digits}f} to {high:+.{digits}f}",
        p_text(pair.p_bootstrap),
        p_text(pair.holm) + star,
        p_text(pair.p_randomisation),
        p_text(pair.p_wilcoxon),
        p_text(pair.p_t),
        f"{pair.wins}/{pair.ties}/{pair.losses}",
    )


def _notes(found: Comparisons) -> list[str]:
    size = f"{count(found.n_lists, 'list')}, {count(found.n_items, 'item')}"
    if found.unjudged:
        size += f"; {count(found.unjudged, 'list')} without a judged item left out"
    n_pairs = max(len(pairs) for pairs in found.pairs.values())
    return [
        size,
        f"interval of A - B: {100 * found.level:g}% percentile, {found.samples} resamples, seed {found.seed}",
        f"p: paired bootstrap; Holm: p corrected for {count(n_pairs, 'pair')}, * below {SIGNIFICANT}; "
        "rand.: approximate randomisation; all two-sided",
        *found.signatures.values(),
    ]
