"""Every system against every other, by every test, as ``rerank compare`` reports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.data.types import Floats
from rerank.errors import ConfigError, DataError
from rerank.evaluation.power import (
    detectable_by_mcnemar,
    detectable_difference,
    mcnemar_p,
    unit_of_outcomes,
)
from rerank.evaluation.significance import (
    SEED,
    bootstrap_p,
    bootstrap_sums,
    holm,
    interval,
    paired_t_p,
    randomisation_p,
    randomised_sums,
    wilcoxon_p,
    wins_ties_losses,
)
from rerank.metrics.base import parse_all, prepare_all
from rerank.metrics.judges import ReportJudge, by_item, statistics


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


@dataclass(frozen=True, eq=False)
class Comparisons:
    """All pairs, by metric; ``unjudged`` lists do not count."""

    n_lists: int
    n_items: int
    unjudged: int
    signatures: Mapping[str, str]
    typed: Mapping[str, str]
    digits: Mapping[str, int]
    pairs: Mapping[str, list[Pair]]
    samples: int
    level: float
    seed: int

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "lists": self.n_lists,
            "items": self.n_items,
            "unjudged": self.unjudged,
            "resampling": {"samples": self.samples, "level": self.level, "seed": self.seed},
            "metrics": {
                name: {"signature": self.signatures[name], "pairs": [asdict(pair) for pair in pairs]}
                for name, pairs in self.pairs.items()
            },
        }


def compare_all(
    lists: CandidateLists,
    systems: Mapping[str, npt.ArrayLike],
    metrics: Sequence[str],
    *,
    ties: str | None = None,
    no_relevant: str = "zero",
    samples: int = 1000,
    level: float = 0.95,
    seed: int = SEED,
) -> Comparisons:
    """Test every two of ``systems`` by every metric; all tests of a metric use the same draws.

    Parameters
    ----------
    lists : CandidateLists
    systems : mapping of str to array_like (n_items)
        Scores by name, in the order of the caller's rows (see ``Model.score``); larger is better.
    metrics : sequence of str
    ties, no_relevant : str, optional
        See ``Preparation``.
    samples : int
        Resamples of the judged lists.
    level : float
        Of the intervals.
    seed : int

    Raises
    ------
    ConfigError
        If there are fewer than two systems, or a name is unknown.
    DataError
        If scores do not fit or nothing is judged.
    """
    if len(systems) < 2:
        raise ConfigError("a comparison needs two systems at least")
    typed = parse_all(metrics)
    judges = prepare_all(lists, typed.values(), ties=ties, no_relevant=no_relevant)
    judged = np.logical_or.reduce([judge.judged for judge in judges])
    if not judged.any():
        raise DataError(f"{lists.source}: no list has a judged item")
    rows = {name: statistics(judges, scores) for name, scores in by_item(lists, systems).items()}
    pairs = {
        judge.name: _pairs_of(
            judge, {name: row[m][judged] for name, row in rows.items()}, samples, level, seed
        )
        for m, judge in enumerate(judges)
    }
    names = [judge.name for judge in judges]
    return Comparisons(
        lists.n_lists,
        lists.n_items,
        int(np.count_nonzero(~judged)),
        signatures={judge.name: judge.signature for judge in judges},
        typed=dict(zip(names, typed, strict=True)),
        digits={judge.name: judge.digits for judge in judges},
        pairs=pairs,
        samples=samples,
        level=level,
        seed=seed,
    )


def _pairs_of(
    judge: ReportJudge, rows: Mapping[str, Floats], samples: int, level: float, seed: int
) -> list[Pair]:
    """All pairs by one judge; ``rows`` are the statistics of each system on the judged lists."""
    sums = bootstrap_sums(np.concatenate(list(rows.values()), axis=1), samples, seed)
    parts = np.split(sums, len(rows), axis=1)
    sampled = {name: np.asarray(judge.score_from_sums(part)) for name, part in zip(rows, parts, strict=True)}
    found = [_pair(judge, a, b, rows, sampled, samples, level, seed) for a, b in combinations(rows, 2)]
    corrected = holm([pair.p_bootstrap for pair in found])
    return [Pair(**{**vars(pair), "holm": p}) for pair, p in zip(found, corrected, strict=True)]


def _pair(
    judge: ReportJudge,
    a: str,
    b: str,
    rows: Mapping[str, Floats],
    sampled: Mapping[str, Floats],
    samples: int,
    level: float,
    seed: int,
) -> Pair:
    value_a, value_b = corpus_value(judge, rows[a]), corpus_value(judge, rows[b])
    difference = value_a - value_b
    list_a, list_b = (np.asarray(judge.score_from_sums(rows[name])) for name in (a, b))
    swapped_a, swapped_b = (
        np.asarray(judge.score_from_sums(s)) for s in randomised_sums(rows[a], rows[b], samples, seed)
    )
    wins, ties, losses = wins_ties_losses(list_a, list_b, judge.better)
    differing = sampled[a] - sampled[b]
    counted = wins + ties + losses
    one_list = counted == 1  # every resample is the same
    error = float(np.std(differing[np.isfinite(differing)])) if counted else float("nan")
    unit = unit_of_outcomes(list_a, list_b)
    by_mcnemar = None if unit is None else detectable_by_mcnemar(wins + losses, counted, level)
    return Pair(
        a,
        b,
        value_a,
        value_b,
        difference,
        ci=interval(differing, level),
        p_bootstrap=None if one_list else bootstrap_p(sampled[a], sampled[b], difference),
        holm=None,
        p_randomisation=randomisation_p(swapped_a, swapped_b, difference),
        p_wilcoxon=wilcoxon_p(list_a - list_b),
        p_t=paired_t_p(list_a - list_b),
        p_sacrebleu=None if one_list else _sacrebleu_p(differing, difference),
        p_mcnemar=None if unit is None else mcnemar_p(wins, losses),
        detectable=detectable_difference(error, counted, level),
        detectable_mcnemar=None if unit is None or by_mcnemar is None else unit * by_mcnemar,
        wins=wins,
        ties=ties,
        losses=losses,
    )


def _sacrebleu_p(differences: Floats, difference: float) -> float | None:
    """sacrebleu's p-value of the paired bootstrap, which centres the absolute differences."""
    d = np.abs(differences[np.isfinite(differences)])
    if len(d) == 0 or not np.isfinite(difference):
        return None
    return (int(np.count_nonzero(d - d.mean() > abs(difference))) + 1) / (len(d) + 1)
