"""Pairwise comparisons as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rerank.evaluation.compare import Comparisons
from rerank.evaluation.pairs import Pair
from rerank.evaluation.power import POWER
from rerank.report.table import drawn, table
from rerank.report.tables import SIGNIFICANT, p_text
from rerank.text import count

if TYPE_CHECKING:
    from rich.table import Table

NAMES = ("A", "B", "value A", "value B", "A - B", "interval")
HEADS = (*NAMES, "p", "Holm", "rand.", "Wilcoxon", "t", "won/tied/lost", "detectable")
OF_OUTCOMES = ("McNemar", "detects")  # further columns of measures that are 0 or 1 in every list
_OF_MCNEMAR = "McNemar: exact test of lists won and lost, and the difference that it detects"


def comparison_text(found: Comparisons) -> str:
    """Return the whole report: a table for each metric, then how it was made."""
    out = []
    for name, pairs in found.pairs.items():
        out += [found.typed[name], *drawn(pair_table(pairs, found.digits[name])), ""]
    return "\n".join([*out, *_notes(found), ""])


def pair_table(pairs: Sequence[Pair], digits: int) -> Table:
    """Return a table of all tests of some pairs by one metric, which is shown in ``digits`` decimals."""
    heads, rows = pair_cells(pairs, digits)
    return table(heads, rows, left=2)


def pair_cells(pairs: Sequence[Pair], digits: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the heads and the rows of a table of some pairs."""
    rows: list[tuple[str, ...]] = [_cells(pair, digits) for pair in pairs]
    if not any(pair.p_mcnemar is not None for pair in pairs):
        return HEADS, rows
    rows = [(*row, *_outcome_cells(pair, digits)) for row, pair in zip(rows, pairs, strict=True)]
    return (*HEADS, *OF_OUTCOMES), rows


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
        _amount(pair.detectable, digits),
    )


def _outcome_cells(pair: Pair, digits: int) -> tuple[str, ...]:
    return p_text(pair.p_mcnemar), _amount(pair.detectable_mcnemar, digits)


def _amount(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _notes(found: Comparisons) -> list[str]:
    size = f"{count(found.n_lists, 'list')}, {count(found.n_items, 'item')}"
    if found.unjudged:
        size += f"; {count(found.unjudged, 'list')} without a judged item left out"
    every = [pair for pairs in found.pairs.values() for pair in pairs]
    n_pairs = max(len(pairs) for pairs in found.pairs.values())
    return [
        size,
        f"interval of A - B: {100 * found.level:g}% percentile, {found.samples} resamples, seed {found.seed}",
        f"p: paired bootstrap; Holm: p corrected for {count(n_pairs, 'pair')}, * below {SIGNIFICANT}; "
        "rand.: approximate randomisation; all two-sided",
        detectable_note(found.level),
        *([_OF_MCNEMAR] if any(pair.p_mcnemar is not None for pair in every) else []),
        *found.signatures.values(),
    ]


def detectable_note(level: float) -> str:
    """Return what the column of detectable differences is."""
    tests = f"tests of these lists at {1 - level:.6g}"
    return f"detectable: smallest difference that {tests} find in {POWER:.0%} of samples"
