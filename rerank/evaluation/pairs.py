"""Paired tests of two rankings by one metric: all that is known of a difference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from rerank.core.types import Floats
from rerank.evaluation.bootstrap import BootstrapTable
from rerank.evaluation.power import (
    detectable_by_mcnemar,
    detectable_difference,
    mcnemar_p,
    unit_of_outcomes,
)
from rerank.evaluation.significance import holm, interval, paired_t_p, randomisation_p


@dataclass(frozen=True)
class Pair:
    """System a against system b by one metric.

    Attributes
    ----------
    difference : float
        Value of a minus that of b.
    ci : (float, float), optional
        Its percentile interval over resampled lists.
    p_bootstrap, p_randomisation, p_wilcoxon, p_t : float, optional
        Two-sided; None if there is nothing to test.
    p_sacrebleu : float, optional
        The bootstrap's p as sacrebleu computes it, about half of p_bootstrap.
    p_mcnemar : float, optional
        Exact and two-sided; None if a list's value can be other than 0 and 1 (or 100).
    detectable, detectable_mcnemar : float, optional
        The smallest difference that tests of these lists find in 80 % of samples, and that McNemar's finds
        (see ``evaluation.power``); None if they can find no difference.
    holm : float, optional
        p_bootstrap corrected for all pairs of the metric.
    wins, ties, losses : int
        Lists that a wins, ties and loses.
    """

    a: str
    b: str
    value_a: float
    value_b: float
    difference: float
    ci: tuple[float, float] | None
    p_bootstrap: float | None
    holm: float | None
    p_randomisation: float | None
    p_wilcoxon: float | None
    p_t: float | None
    p_sacrebleu: float | None
    p_mcnemar: float | None
    detectable: float | None
    detectable_mcnemar: float | None
    wins: int
    ties: int
    losses: int


def plain(value: Any) -> Any:
    """Return a value of mappings, sequences and numbers for JSON: NaN and infinities become None."""
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def pairs_of(table: BootstrapTable, names: Iterable[tuple[str, str]], m: int, level: float) -> list[Pair]:
    """Return the tests of some pairs of rankings by one metric, with Holm's correction for these pairs.

    Parameters
    ----------
    table : BootstrapTable
    names : iterable of (str, str)
        The rankings a and b of each pair.
    m : int
        The metric's place in the table.
    level : float
        Of the intervals.
    """
    found = [_pair(table, a, b, m, level) for a, b in names]
    corrected = holm([pair.p_bootstrap for pair in found])
    return [replace(pair, holm=p) for pair, p in zip(found, corrected, strict=True)]


def _pair(table: BootstrapTable, a: str, b: str, m: int, level: float) -> Pair:
    value_a, value_b = table.value(a, m), table.value(b, m)
    list_a, list_b = table.list_values(a, m), table.list_values(b, m)
    tests = table.compare(a, b, m)
    differing = table.sampled(a, m) - table.sampled(b, m)
    counted = tests.wins + tests.ties + tests.losses
    known = differing[np.isfinite(differing)]
    error = float("nan") if tests.p_bootstrap is None else float(np.std(known))
    unit = unit_of_outcomes(list_a, list_b)
    by_mcnemar = None if unit is None else detectable_by_mcnemar(tests.wins + tests.losses, counted, level)
    return Pair(
        a,
        b,
        value_a,
        value_b,
        value_a - value_b,
        ci=interval(differing, level),
        holm=None,
        p_randomisation=randomisation_p(*table.swapped(a, b, m)),
        p_t=paired_t_p(list_a - list_b),
        p_sacrebleu=None if tests.p_bootstrap is None else _sacrebleu_p(differing, value_a - value_b),
        p_mcnemar=None if unit is None else mcnemar_p(tests.wins, tests.losses),
        detectable=detectable_difference(error, counted, level),
        detectable_mcnemar=None if unit is None or by_mcnemar is None else unit * by_mcnemar,
        **asdict(tests),
    )


def _sacrebleu_p(differences: Floats, difference: float) -> float | None:
    """sacrebleu's p-value of the paired bootstrap, which centres the absolute differences."""
    d = np.abs(differences[np.isfinite(differences)])
    if len(d) == 0 or not np.isfinite(difference):
        return None
    return (int(np.count_nonzero(d - d.mean() > abs(difference))) + 1) / (len(d) + 1)
