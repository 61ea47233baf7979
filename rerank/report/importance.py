"""Feature analyses as tables for people and as rows of TSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rerank.evaluation.importance import Ablation, Basis, Permutation, Resampling, Weight
from rerank.report.record import tsv
from rerank.report.table import drawn, table
from rerank.report.tables import SIGNIFICANT, p_text
from rerank.text import count

MOST = 50  # rows of a table unless more are asked for


def weight_lines(weights: Sequence[Weight], top: int = MOST) -> list[str]:
    """Return standardised weights as a table, the heaviest first."""
    order = sorted(weights, key=lambda one: -abs(one.standardised))
    rows = [
        (
            one.feature,
            *(f"{x:.6g}" for x in (one.weight, one.deviation, one.standardised)),
            _percent(one.share),
        )
        for one in order[:top]
    ]
    lines = drawn(table(("feature", "weight", "sd in lists", "weight * sd", "share"), rows))
    return [*lines, *_rest(len(order), top)]


def permutation_lines(found: Permutation, top: int = MOST) -> list[str]:
    """Return losses by permutation as a table, the largest first."""
    order = sorted(found.drops, key=lambda one: -one.loss)
    digits = found.basis.judge.digits
    rows = [
        (one.feature, str(one.columns), *_loss(one.loss, one.ci, digits), _number(one.sd, digits))
        for one in order[:top]
    ]
    heads = ("feature", "features", "loss", "interval", "sd")
    notes = [
        _value(found.basis),
        f"loss: mean over {count(found.repeats, 'permutation')} of the items within each list, "
        f"seed {found.seed}; sd: between permutations",
        _interval_note(found.basis.resampling),
        found.basis.judge.signature,
    ]
    return [*drawn(table(heads, rows)), *_rest(len(order), top), "", *notes]


def ablation_lines(found: Ablation, top: int = MOST) -> list[str]:
    """Return losses by leaving features out as a table, the largest first."""
    order = sorted(found.ablated, key=lambda one: -one.loss)
    digits = found.basis.judge.digits
    rows = []
    for one in order[:top]:
        star = "*" if one.holm is not None and one.holm < SIGNIFICANT else " "
        tests = (p_text(one.p), p_text(one.holm) + star, f"{one.wins}/{one.ties}/{one.losses}")
        value = f"{one.value:.{digits}f}"
        rows.append((one.feature, str(one.columns), value, *_loss(one.loss, one.ci, digits), *tests))
    heads = ("left out", "features", found.basis.judge.name, "loss", "interval", "p", "Holm")
    chosen = "; models may have been chosen on them" if found.on == "dev" else ""
    notes = [
        f"all features: {_value(found.basis)} of {found.on}{chosen}",
        f"{found.learner} trained with all features and without each, by the same settings and seed",
        _interval_note(found.basis.resampling),
        f"p: paired bootstrap, two-sided; Holm: corrected for {count(len(order), 'comparison')}, "
        f"* below {SIGNIFICANT}; lists on which all features are better, equal, worse",
        found.basis.judge.signature,
    ]
    return [*drawn(table((*heads, "won/tied/lost"), rows)), *_rest(len(order), top), "", *notes]


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


def _loss(loss: float, ci: tuple[float, float] | None, digits: int) -> tuple[str, str]:
    low, high = ci if ci is not None else (float("nan"), float("nan"))
    return f"{loss:+.{digits}f}", f"{low:+.{digits}f} to {high:+.{digits}f}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _rest(n: int, top: int) -> list[str]:
    return [f"... and {n - top} more (--top, --out)"] if n > top else []


def _value(found: Basis) -> str:
    """The value with all features, and on what."""
    value = f"{found.judge.name} {found.value:.{found.judge.digits}f}"
    left = f" ({count(found.unjudged, 'list')} without a judged item left out)" if found.unjudged else ""
    return f"{value} on {count(found.n_lists, 'list')}, {count(found.n_items, 'item')}{left}"


def _interval_note(drawn: Resampling) -> str:
    how = f"{drawn.samples} resamples of the lists, seed {drawn.seed}"
    return f"interval: {100 * drawn.level:g}% percentile, {how}; above 0 the features help"
