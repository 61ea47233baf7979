"""Feature analyses as tables and as rows of TSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from rerank.core.tables.data import tsv
from rerank.core.tables.numbers import lists_text, p_text, signed_interval, signed_text, value_text
from rerank.core.tables.sheet import Column, Row, Sheet
from rerank.core.text import count
from rerank.evaluation.importance import Ablated, Ablation, Basis, Permutation, Resampling, Weight
from rerank.evaluation.sheets import SIGNIFICANT

MOST = 50  # rows of a table unless more are asked for


def weight_sheet(weights: Sequence[Weight], top: int = MOST) -> Sheet:
    """Return standardised weights, the heaviest first."""
    order = sorted(weights, key=lambda one: -abs(one.standardised))
    columns = (
        Column("feature", ("feature",), left=True),
        Column("weight", ("weight",), _short),
        Column("sd in lists", ("deviation",), _short),
        Column("weight * sd", ("standardised",), _short),
        Column("share", ("share",), _percent),
    )
    rows = tuple(Row((w.feature, w.weight, w.deviation, w.standardised, w.share)) for w in order[:top])
    return Sheet(columns, rows, notes=_rest(len(order), top))


def permutation_sheet(found: Permutation, top: int = MOST) -> Sheet:
    """Return losses by permutation, the largest first."""
    order = sorted(found.drops, key=lambda one: -one.loss)
    digits = found.basis.judge.digits
    sd = Column("sd", ("sd",), partial(value_text, digits=digits))
    columns = (*_columns("feature", "feature"), *_losses(digits), sd)
    rows = tuple(Row((one.feature, one.columns, one.loss, one.ci, one.sd)) for one in order[:top])
    notes = (
        *_rest(len(order), top),
        _value(found.basis),
        f"loss: mean over {count(found.repeats, 'permutation')} of the items within each list, "
        f"seed {found.seed}; sd: between permutations",
        _interval_note(found.basis.resampling),
    )
    return Sheet(columns, rows, notes=notes, signatures=(found.basis.judge.signature,))


def ablation_sheet(found: Ablation, top: int = MOST) -> Sheet:
    """Return losses by leaving features out, the largest first."""
    order = sorted(found.ablated, key=lambda one: -one.loss)
    digits = found.basis.judge.digits
    columns = (
        *_columns("left out", "feature"),
        Column(found.basis.judge.name, ("value",), partial(value_text, digits=digits)),
        *_losses(digits),
        Column("p bootstrap", ("p",), p_text),
        Column("p Holm", ("holm",), p_text, star="both"),
        Column("won/tied/lost", ("wins", "ties", "losses"), lists_text),
    )
    rows = []
    for one in order[:top]:
        stars = frozenset([""] if one.holm is not None and one.holm < SIGNIFICANT else [])
        cells = (one.feature, one.columns, one.value, one.loss, one.ci, one.p, one.holm, _lists(one))
        rows.append(Row(cells, stars=stars))
    chosen = "; models may have been chosen on them" if found.on == "dev" else ""
    notes = (
        *_rest(len(order), top),
        f"all features: {_value(found.basis)} of {found.on}{chosen}",
        f"{found.learner} trained with all features and without each, by the same settings and seed",
        _interval_note(found.basis.resampling),
        f"p bootstrap: paired bootstrap, two-sided; p Holm: corrected for {count(len(order), 'comparison')}, "
        f"* below {SIGNIFICANT}",
        "won/tied/lost: lists on which all features are better, equal, worse",
    )
    return Sheet(columns, tuple(rows), notes=notes, signatures=(found.basis.judge.signature,))


def _lists(one: Ablated) -> tuple[int, int, int]:
    return one.wins, one.ties, one.losses


def _columns(head: str, key: str) -> tuple[Column, Column]:
    """What was permuted or left out, and how many features that is."""
    return Column(head, (key,), left=True), Column("features", ("columns",))


def _losses(digits: int) -> tuple[Column, Column]:
    """What the metric loses."""
    interval = partial(signed_interval, digits=digits)
    return (
        Column("loss", ("loss",), partial(signed_text, digits=digits)),
        Column("interval", ("low", "high"), interval, bracketed=True),
    )


def rows_of(found: Sequence[Weight] | Permutation | Ablation) -> Iterator[str]:
    """Yield the lines of TSV, in the order of the features."""
    if isinstance(found, Permutation):
        records: list[dict[str, Any]] = [asdict(drop) for drop in found.drops]
    elif isinstance(found, Ablation):
        records = [asdict(one) for one in found.ablated]
    else:
        records = [asdict(weight) for weight in found]
    for record in records:
        if "ci" in record:
            record["low"], record["high"] = record.pop("ci") or (None, None)
    heads = list(records[0]) if records else []
    return tsv(heads, [list(record.values()) for record in records])


def _short(value: float) -> str:
    return f"{value:.6g}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _rest(n: int, top: int) -> tuple[str, ...]:
    return (f"... and {n - top} more (--top, --out)",) if n > top else ()


def _value(found: Basis) -> str:
    """The value with all features, and on what."""
    value = f"{found.judge.name} {found.value:.{found.judge.digits}f}"
    left = f" ({count(found.unjudged, 'list')} without a judged item left out)" if found.unjudged else ""
    return f"{value} on {count(found.n_lists, 'list')}, {count(found.n_items, 'item')}{left}"


def _interval_note(drawn: Resampling) -> str:
    how = f"{drawn.samples} resamples of the lists, seed {drawn.seed}"
    return f"interval: {100 * drawn.level:g}% percentile, {how}; above 0 the features help"
