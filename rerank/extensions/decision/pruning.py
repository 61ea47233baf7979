"""Pruning by confidence: expected utilities of long lists without comparing all pairs of candidates.

Pseudo-references are drawn from the posterior, a few at first. After each draw the candidates that lose
against the one with the largest mean utility in nearly all bootstrap samples of the draws are left out, and
more pseudo-references are drawn for the others. Those that are left at the end are compared with all
pseudo-references, so that their expected utilities are exact: the only error is to have left out the winner.

References
----------
Cheng & Vlachos: Faster minimum Bayes risk decoding with confidence-based pruning. EMNLP 2023.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.extensions.decision.gain import expected_gains
from rerank.extensions.decision.utilities import Pairing, TextUtility, Utility

DRAWS = (16, 32, 64, 128, 256)  # pseudo-references after each stage
SAMPLES = 500  # of the bootstrap, as in the paper
SHORTEST = 500  # pseudo-references; of lists with fewer all pairs are compared, which takes less time
_TIED = 1e-9  # share of the largest utility by which equal means may differ


@dataclass
class Pruned:
    """Candidates that were left out of long lists.

    Attributes
    ----------
    alpha : float
    lists, candidates, kept : int
        Long lists, their candidates, and those that were compared with all pseudo-references.
    pairs, compared : int
        Pairs of these lists, and those whose utility was computed.
    errors : list of float
        For each long list an estimated bound on the probability that its winner was left out: the smaller
        one of the sum of the shares of bootstrap samples that candidates won when they were left out, and
        1 - alpha for each test that the winner had to pass.
    """

    alpha: float
    lists: int = 0
    candidates: int = 0
    kept: int = 0
    pairs: int = 0
    compared: int = 0
    errors: list[float] = field(default_factory=list)

    def line(self) -> str:
        """Return what was pruned as one line."""
        if not self.lists:
            short = f"no list has {SHORTEST} pseudo-references or more"
            why = "nothing is left out with 1" if self.alpha == 1 else short
            return f"pruning: {why}, all pairs were compared"
        kept = f"{count(self.kept, 'candidate')} of {self.candidates:,} kept in {count(self.lists, 'list')}"
        pairs = f"{self.compared / self.pairs:.1%} of the pairs compared"
        error = f"{float(np.mean(self.errors)):.2%} a list at most, by the bootstrap"
        return f"pruning: {kept}, {pairs}; estimated P(winner left out) {error}"


def pruned_gains(
    utility: Utility, pairing: Pairing, probabilities: Floats, alpha: float, seed: int = 1
) -> tuple[Floats, Pruned]:
    """Return expected utilities, float64 (n_items of ``pairing.lists``), and what was left out.

    Candidates that were left out have their mean utility over the pseudo-references drawn, or just less than
    the list's largest exact one, whichever is smaller.

    Parameters
    ----------
    utility : Utility
    pairing : Pairing
    probabilities : float64 (n_items of ``pairing.others``)
    alpha : float
        A candidate is left out if it is at least as good as the best one in less than 1 - alpha of the
        bootstrap samples; with 1 none is, and all values are exact.
    seed : int
        Of the draws and of the bootstrap.

    Raises
    ------
    ConfigError
        If ``alpha`` is not above 0.5 and at most 1, or the utility is no metric of texts or trees: what
        others compute from a whole list, such as the width of a kernel, would change.
    """
    if not isinstance(utility, TextUtility):
        raise ConfigError(
            f"prune: utility {utility.text} is no metric of texts or trees, all pairs are compared"
        )
    if not 0.5 < alpha <= 1:
        raise ConfigError(f"prune: found {alpha:g}, expected a number above 0.5, at most 1")
    found, out = Pruned(alpha), np.empty(pairing.lists.n_items)
    long = pairing.others.lengths[pairing.of] >= SHORTEST
    if alpha == 1:
        long[:] = False
    short = np.flatnonzero(~long)
    if len(short):
        one = pairing.subset(short)
        items = np.concatenate([pairing.rows(i) for i in short.tolist()])
        columns = np.concatenate([pairing.columns(i) for i in short.tolist()])
        out[items] = expected_gains(utility.tables(one), one, probabilities[columns])
    for i in np.flatnonzero(long).tolist():
        rng = np.random.default_rng([seed, i])
        out[pairing.rows(i)] = _of_list(
            utility, pairing.subset(np.array([i])), probabilities[pairing.columns(i)], rng, found
        )
    return out, found


def _of_list(
    utility: Utility, pairing: Pairing, probabilities: Floats, rng: np.random.Generator, found: Pruned
) -> Floats:
    """The expected utilities of one list; what was left out is added to ``found``."""
    n, n_references = pairing.lists.n_items, pairing.others.n_items
    drawn = rng.choice(n_references, size=DRAWS[-1], p=probabilities)
    table = np.full((n, n_references), np.nan)
    alive, known = np.arange(n), np.zeros(n_references, dtype=bool)
    estimates, tests, wins = np.empty(n), 0, 0.0

    def compare(references: Index) -> None:
        if len(references):
            part = pairing.part(alive, references)
            table[np.ix_(alive, references)] = next(iter(utility.tables(part)))
            known[references] = True
            found.compared += len(alive) * len(references)

    for size in DRAWS:
        if len(alive) == 1:
            break
        compare(np.unique(drawn[:size][~known[drawn[:size]]]))
        weights = rng.multinomial(size, np.full(size, 1.0 / size), size=SAMPLES)
        values = table[np.ix_(alive, drawn[:size])]
        share = win_shares(values, weights)
        estimates[alive] = values.mean(axis=1)
        out = share < 1.0 - found.alpha
        wins += float(share[out].sum())
        alive, tests = alive[~out], tests + 1
    compare(np.flatnonzero(~known))
    gains = np.einsum("ij,j->i", np.ascontiguousarray(table[alive]), probabilities)
    below = np.nextafter(gains.max(), -np.inf)
    exact = np.minimum(estimates, below)
    exact[alive] = gains
    found.lists, found.candidates, found.kept = found.lists + 1, found.candidates + n, found.kept + len(alive)
    found.pairs += n * n_references
    found.errors.append(min(wins, tests * (1.0 - found.alpha)))
    return exact


def win_shares(values: Floats, weights: Index) -> Floats:
    """Return the share of bootstrap samples in which each candidate is as good as the best one, or better.

    Parameters
    ----------
    values : float64 (n_candidates, n_draws)
        Utilities; the best candidate is that with the largest mean, the first on ties.
    weights : int64 (n_samples, n_draws)
        How often a sample has each draw.

    Returns
    -------
    float64 (n_candidates)
    """
    leader = values[int(np.argmax(values.mean(axis=1)))]
    gaps = weights.astype(np.float64) @ (values - leader).T
    slack = _TIED * weights.shape[1] * max(float(np.abs(values).max()), 1.0)
    shares: Floats = (gaps >= -slack).mean(axis=0)
    return shares
