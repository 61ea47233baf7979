"""Posteriors over lists, expected gains, and the choice of a temperature.

The expected gain of candidate i is the sum over pseudo-references j of p(j) * utility(i, j). The item with
the largest one is chosen, the first on ties: minimum Bayes risk with the loss -utility. Items with the same
text add up their probabilities.

References
----------
Kumar & Byrne: Minimum Bayes-risk decoding for statistical machine translation. HLT-NAACL 2004.
Goel & Byrne: Minimum Bayes-risk automatic speech recognition. Computer Speech and Language 14, 2000.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.types import Floats
from rerank.data.judge import PreparedMetric, value_of
from rerank.data.lists import CandidateLists
from rerank.extensions.decision.utilities import Pairing, Utility

Posterior = Literal["softmax", "given"]
# Temperatures that are compared, in units of the deviation of scores within lists.
RELATIVE = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, np.inf)


def posterior(
    lists: CandidateLists, scores: Floats, temperature: float = 1.0, kind: Posterior = "softmax"
) -> Floats:
    """Return the probability of each item within its list, float64 (n_items).

    Parameters
    ----------
    lists : CandidateLists
    scores : float64 (n_items)
        In the order of the items.
    temperature : float
        The softmax is of scores / temperature. inf gives equal probabilities; 0 gives the item with the
        largest score, the first on ties, all of it.
    kind : {"softmax", "given"}
        given: the scores are weights, which are divided by their sum.

    Raises
    ------
    ConfigError
        If the temperature is negative or not a number, or the kind is unknown.
    DataError
        If a score is not a number, or given weights are negative, or all of a list are 0.
    """
    if kind not in get_args(Posterior):
        raise ConfigError(f"posterior: found {kind!r}; {did_you_mean(kind, get_args(Posterior))}")
    if not temperature >= 0:
        raise ConfigError(f"temperature: found {temperature:g}, expected 0 or more")
    wrong = ~np.isfinite(scores) | ((scores < 0) & (kind == "given"))
    if wrong.any():
        item = int(np.argmax(wrong))
        expected = "weights of 0 or more" if kind == "given" else "finite scores"
        raise DataError(
            f"{lists.source}: {lists.place_of(item)}: found {scores[item]:g}, expected {expected}"
        )
    starts, lengths = lists.offsets[:-1], lists.lengths
    if kind == "softmax":
        with np.errstate(over="ignore", under="ignore"):
            gaps = scores - np.repeat(np.maximum.reduceat(scores, starts), lengths)
            if temperature == 0:
                top = np.flatnonzero(gaps == 0)
                first = top[np.unique(lists.list_index[top], return_index=True)[1]]
                weights = np.zeros(len(scores))
                weights[first] = 1.0
            else:
                weights = np.exp(gaps / temperature) if temperature < np.inf else np.ones(len(scores))
    else:
        largest = np.maximum.reduceat(scores, starts)
        if not largest.all():
            i = int(np.argmin(largest > 0))
            raise DataError(
                f"{lists.source}: list {lists.list_id(i)!r}: every weight is 0, expected one above 0"
            )
        weights = scores / np.repeat(largest, lengths)  # their sum does not overflow
    return weights / np.repeat(np.add.reduceat(weights, starts), lengths)


def expected_gains(tables: Iterable[Floats], pairing: Pairing, probabilities: Floats) -> Floats:
    """Return the expected utility of each candidate, float64 (n_items of ``pairing.lists``).

    Parameters
    ----------
    tables : float64 (candidates, pseudo-references) for each list
    pairing : Pairing
    probabilities : float64 (n_items of ``pairing.others``)
    """
    out = np.empty(pairing.lists.n_items)
    offsets, others, of = pairing.lists.offsets, pairing.others.offsets, pairing.of
    for i, table in enumerate(tables):
        j = of[i]
        # einsum sums a row in the same order whatever the other rows are, so that equal rows stay tied.
        out[offsets[i] : offsets[i + 1]] = np.einsum(
            "ij,j->i", table, probabilities[others[j] : others[j + 1]]
        )
    return out


def decided(
    lists: CandidateLists,
    scores: Floats,
    utility: Utility,
    temperature: float = 1.0,
    kind: Posterior = "softmax",
    others: CandidateLists | None = None,
) -> Floats:
    """Return the expected utility of each item under the posterior of scores, float64 (n_items).

    Parameters
    ----------
    lists : CandidateLists
        The candidates.
    scores : float64
        Of the pseudo-references: the items of ``others``, or of ``lists``.
    utility, temperature, kind
        See ``utility_of`` and ``posterior``.
    others : CandidateLists, optional
        Lists with the same ids whose items are the pseudo-references.
    """
    pairing = Pairing.within(lists) if others is None else Pairing.by_id(lists, others)
    probabilities = posterior(pairing.others, scores, temperature, kind)
    return expected_gains(utility.tables(pairing), pairing, probabilities)


@dataclass(frozen=True)
class Tuned:
    """The temperature that was chosen, None = the scores decide, and the metric's value with each.

    Attributes
    ----------
    temperature : float, optional
    value, without : float
        With it, and without minimum Bayes risk.
    tried : sequence of (float, float)
        Each temperature and its value.
    """

    temperature: float | None
    value: float
    without: float
    tried: Sequence[tuple[float, float]]


def deviation(lists: CandidateLists, scores: Floats) -> float:
    """Return the root mean square of the differences of scores from the mean of their list."""
    means = np.add.reduceat(scores, lists.offsets[:-1]) / lists.lengths
    gaps = scores - np.repeat(means, lists.lengths)
    largest = float(np.abs(gaps).max(initial=0.0))
    return largest * float(np.sqrt(np.mean((gaps / largest) ** 2))) if largest > 0 else 0.0


def kept_tables(pairing: Pairing, utility: Utility) -> list[Floats]:
    """Return all tables, to be used several times."""
    n = int(pairing.sizes().sum())
    memory.require(8 * n, f"the utilities of {n:,} pairs", "fewer or shorter lists need less")
    return list(utility.tables(pairing))


def tuned(lists: CandidateLists, scores: Floats, tables: Sequence[Floats], judge: PreparedMetric) -> Tuned:
    """Return the temperature with the best value of a metric; the scores themselves are among the choices.

    On ties the scores decide, then the lowest temperature is taken.
    """
    unit = deviation(lists, scores)
    best = without = judge.better * value_of(judge, scores)
    chosen: float | None = None
    pairing, tried = Pairing.within(lists), []
    for temperature in _temperatures(unit):
        gains = expected_gains(tables, pairing, posterior(lists, scores, temperature))
        value = judge.better * value_of(judge, gains)
        tried.append((temperature, judge.better * value))
        if value > best or np.isnan(best):
            best, chosen = value, temperature
    return Tuned(chosen, judge.better * best, judge.better * without, tried)


def _temperatures(unit: float) -> Iterator[float]:
    """The temperatures to try; only equal probabilities if all scores of every list are equal."""
    yield from (float(unit * share) for share in RELATIVE) if unit > 0 else (np.inf,)
