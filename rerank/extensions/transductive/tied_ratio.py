"""Pseudo-margins with a ratio of tied pairs: some pairs of the list are separated, the others tied."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError
from rerank.core.settings import setting, value_text
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation, Pairs, make_pairs
from rerank.extensions.transductive.base import Adapter
from rerank.extensions.transductive.pseudo_margin import Margins, WithMargins
from rerank.learners.base import LEARNERS
from rerank.learners.rankboost import RankBoost
from rerank.learners.rankboost.rounds import Distribution

_TIE = 1e-10  # scores that differ by no more are equal, as for PseudoPairs
_BYTES = 40  # of a pair of items


def _no_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"tied: found {value_text(value)}, expected labelled or a number from 0 to 1")
    return value


@LEARNERS.register("pm-ratio")
class TiedRatio(WithMargins):
    """RankBoost that ties a given share of the unlabelled pairs of a list, and separates the others.

    A tied pair adds exp(F_i - F_j) + exp(F_j - F_i) to the loss and any other exp(-|F_i - F_j|), both times
    gamma' as for ``pm``. Which pairs are tied is part of the minimisation: for a given F the best ones are
    those with the smallest |F_i - F_j|, since exp|F_i - F_j|, what it costs to tie a pair, rises with it. So
    each round first chooses them again and then is a round of RankBoost; neither raises the loss. If several
    pairs have the difference at the border, each is tied in part.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, section 7.2
    (proposed there, not tried).
    """

    name = "pm-ratio"
    summary = (
        "RankBoost that ties a share of the list's pairs, as in labelled lists, and separates the others"
    )
    source = "Duh 2009, section 7.2"

    tied: Literal["labelled"] | float = setting(
        "labelled",
        "share of the pairs of a list that are tied, from 0 to 1; labelled = the mean share in the labelled "
        "lists, of pairs whose labels do not differ for the base learner",
        parse=_no_truth_value,
    )

    def check_values(self) -> None:
        super().check_values()
        if isinstance(self.tied, float) and not 0 <= self.tied <= 1:
            raise ConfigError(f"tied: found {self.tied:g}, expected labelled or a number from 0 to 1")

    def adapter(self, lists: CandidateLists) -> Adapter:
        return _RatioMargins(self, lists)


class _RatioMargins(Margins):
    """All pairs of a list, with the share of tied ones."""

    def __init__(self, method: TiedRatio, lists: CandidateLists) -> None:
        super().__init__(method, lists)
        self._share = tied_share(lists, self.learner) if isinstance(method.tied, str) else method.tied

    def unlabelled_pairs(self, one: CandidateLists) -> Pairs:
        return make_pairs(one.replace_labels(np.arange(float(one.n_items))), PairRelation("all"))

    def distributions(self, pairs: Pairs, scores: Floats) -> list[Distribution]:
        return [RatioPairs(scores, self._share)]

    def loss(self, pairs: Pairs, scores: Floats, n_tied: int) -> float:
        return RatioPairs(scores, self._share).loss()


def tied_share(lists: CandidateLists, learner: RankBoost) -> float:
    """Return the mean over lists of the share of pairs of judged items that are tied for the learner."""
    pairs = make_pairs(lists, PairRelation("all", label_gap=learner.label_gap))
    untied = np.zeros(lists.n_lists)
    untied[pairs.lists] = pairs.counts
    assert lists.labels is not None  # Learner._check
    judged = np.add.reduceat(~np.isnan(lists.labels), lists.offsets[:-1], dtype=np.int64)
    every = judged * (judged - 1) / 2
    some = every > 0
    return 1.0 - float((untied[some] / every[some]).mean())


class RatioPairs:
    """The distribution over all pairs of one list, a share of which are tied; see ``TiedRatio``.

    Parameters
    ----------
    scores : float64 (n_items)
        F of the items, 2 or more.
    share
        Of the tied pairs, from 0 to 1.
    """

    def __init__(self, scores: Floats, share: float) -> None:
        memory.require(_BYTES * len(scores) ** 2, f"the pairs of {len(scores):,} items")
        self._scores, self._share = scores.copy(), share
        self._weights = np.empty((0, 0))
        self._total = 0.0

    def _tiedness(self) -> tuple[Floats, Floats]:
        """F_i - F_j of all items, and the part of each pair that is tied: both float64 (n, n)."""
        apart = self._scores[:, None] - self._scores
        size = np.abs(apart)
        flat = size[np.triu_indices(len(size), 1)]
        wanted = self._share * len(flat)
        if wanted == 0:
            return apart, np.zeros_like(size)
        border = np.partition(flat, math.ceil(wanted) - 1)[math.ceil(wanted) - 1]
        below = np.count_nonzero(flat < border - _TIE)
        at = np.count_nonzero(np.abs(flat - border) <= _TIE)
        tied = np.where(size < border - _TIE, 1.0, 0.0)
        tied[np.abs(size - border) <= _TIE] = (wanted - below) / at
        return apart, tied

    def potentials(self) -> tuple[Floats, float]:
        """Return the potentials of items, and the log of the sum of weights; see ``ExplicitPairs``."""
        apart, tied = self._tiedness()
        with np.errstate(over="ignore", under="ignore"):
            # Row i, column j: the weight of the pair in which i is the better item.
            self._weights = np.where(apart > _TIE, 1.0, tied) * np.exp(-apart)
        np.fill_diagonal(self._weights, 0.0)
        self._total = float(self._weights.sum())
        if self._total == 0.0:
            return np.zeros(len(tied)), -np.inf
        surplus = self._weights.sum(axis=1) - self._weights.sum(axis=0)
        return surplus / self._total, float(np.log(self._total))

    def split(self, h: Floats) -> tuple[float, float]:
        """Return the share of pairs that a binary h puts right, and of those that it puts wrong."""
        if self._total == 0.0:
            return 0.0, 0.0
        passed = h == 1
        right = self._weights[np.ix_(passed, ~passed)].sum()
        wrong = self._weights[np.ix_(~passed, passed)].sum()
        return float(right / self._total), float(wrong / self._total)

    def advance(self, h: Floats, step: float) -> None:
        """Change the scores of items by a weak ranker with values h (n)."""
        self._scores += step * h

    def loss(self) -> float:
        """Return the loss of all pairs; a pair that is not tied and has equal scores adds 1."""
        apart, tied = self._tiedness()
        upper = np.triu_indices(len(apart), 1)
        d, t = np.abs(apart[upper]), tied[upper]
        with np.errstate(over="ignore", under="ignore"):
            return float((t * np.exp(d) + np.exp(-d)).sum())
