"""The expected metric of a linear model's own choices, summed over parts."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats
from rerank.data.judge import SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs, NothingToLearnError, checked_list_weights
from rerank.learners.loglinear import LogLinear, LogLoss
from rerank.learners.sums.parts import Parts
from rerank.learners.sums.searches import LinePart

_STEP = 1e-5  # of a derivative, relative to the sum of magnitudes
START = LogLinear(targets="tied")


class RiskPart:
    """The statistics of the items of one part, and their probabilities under a linear model.

    - ``lists``: lists of the part.
    - ``judge``: a metric of single candidates, prepared for them.
    - ``list_weights``: float64 (n_lists), what multiplies the statistics of a list; None = 1.
    """

    def __init__(
        self, lists: CandidateLists, judge: SelectingJudge, list_weights: Floats | None = None
    ) -> None:
        self._lists, self._judge, self._list_weights = lists, judge, list_weights
        weights = checked_list_weights(list_weights, lists)
        self.features = lists.features
        self.starts, self.lengths = lists.offsets[:-1], lists.lengths
        self.stats = judge.per_item * np.repeat(weights, self.lengths)[:, None]
        self.sizes = np.abs(self.stats)
        self._known: tuple[Floats, float, Floats] | None = None

    @cached_property
    def loglinear(self) -> LogLoss | None:
        """The loss of ``loglinear``, None if it learns nothing from the lists."""
        if self._lists.labels is None or not self._lists.judged_lists().any():
            return None
        try:
            return START.part(self._lists, FitInputs(list_weights=self._list_weights), [None])
        except NothingToLearnError:
            return None

    @cached_property
    def lines(self) -> LinePart:
        """The part of ``mert``."""
        return LinePart(self._lists, self._judge, self._list_weights)

    def judged(self) -> bool:
        """Return whether an item has a label."""
        return self._lists.labels is not None and bool(self._lists.judged_lists().any())

    def posterior(self, scores: Floats) -> Floats:
        """Return the probabilities (n_items) of items with these scores (n_items)."""
        shifted = scores - np.repeat(np.maximum.reduceat(scores, self.starts), self.lengths)
        share = np.exp(shifted)
        found: Floats = share / np.repeat(np.add.reduceat(share, self.starts), self.lengths)
        return found

    def even(self) -> tuple[Floats, Floats]:
        """Return the expected statistics (k), and magnitudes, if all items of a list are equally likely."""
        return self._expected(1.0 / np.repeat(self.lengths, self.lengths))

    def gap(self, slopes: Floats) -> float:
        """Return what the best items are worth beyond the mean of their list, for slopes (k)."""
        worth = np.einsum("ij,j->i", self.stats, slopes)
        gaps = np.maximum.reduceat(worth, self.starts) - np.add.reduceat(worth, self.starts) / self.lengths
        return float(gaps.sum())

    def _expected(self, chance: Floats) -> tuple[Floats, Floats]:
        return np.einsum("i,ij->j", chance, self.stats), np.einsum("i,ij->j", chance, self.sizes)

    def _chance(self, v: Floats, gamma: float) -> Floats | None:
        if self._known is None or self._known[1] != gamma or not np.array_equal(self._known[0], v):
            scores = self.features.scores(v)
            if not np.isfinite(scores).all():
                return None
            self._known = v.copy(), gamma, self.posterior(gamma * scores)
        return self._known[2]

    def expected(self, v: Floats, gamma: float) -> tuple[Floats, Floats] | None:
        """Return the expected statistics, and magnitudes; None if a score is not finite."""
        chance = self._chance(v, gamma)
        return None if chance is None else self._expected(chance)

    def gradient(self, v: Floats, gamma: float, slopes: Floats, unit: float) -> Floats:
        """Return the gradient of the risk, for the slopes (k) of the metric."""
        chance = self._chance(v, gamma)
        assert chance is not None  # asked after expected
        worth = np.einsum("ij,j->i", self.stats, slopes)
        mean = np.add.reduceat(chance * worth, self.starts)
        slope = chance * (np.repeat(mean, self.lengths) - worth) * (gamma / unit)
        return self.features.transposed_product(slope)

    def spread(self, weights: Floats) -> tuple[float, int]:
        """Return the sum of squares of scores less the mean of their list, and the number of items.

        It is NaN if a score is not finite.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.features.scores(weights)
        if not np.isfinite(scores).all():
            return np.nan, len(scores)
        means = np.add.reduceat(scores, self.starts) / self.lengths
        return float(((scores - np.repeat(means, self.lengths)) ** 2).sum()), len(scores)


class Risk:
    """The expected metric of lists under the posterior of a linear model, and its gradient.

    P(x) of an item is exp(gamma * v·x), divided by the sum of that over its list. The expected statistics of
    a list are the sum over its items of P times the item's statistics; the metric is that of their sums over
    lists. For means (label@1, WER) it is the expected metric itself; for BLEU and PARSEVAL it is the metric
    of expected counts (Och 2003, equation 7; Smith & Eisner 2006, section 3.2).

    - ``parts``: ``RiskPart``, with their metric.
    - ``source``: of the lists.

    Attributes
    ----------
    unit : float
        What the metric gains if the best item of each list is certain instead of all being equally likely,
        to the first order. The risk is measured in it: it is 0 if all are equally likely.

    Raises
    ------
    FitError
        If the metric is the same for all candidates of each list.
    """

    def __init__(self, parts: Parts, source: str) -> None:
        assert parts.judge is not None  # needs_judge
        self._parts, self._judge = parts, parts.judge
        self.even, slopes = self._worth(parts.each(RiskPart.even))
        self.unit = float(np.sum(parts.each(RiskPart.gap, slopes)))
        if not 0 < self.unit < np.inf:
            raise FitError(f"{source}: {self._judge.name} is the same for all candidates of each list")

    @classmethod
    def of(cls, lists: CandidateLists, judge: SelectingJudge, list_weights: Floats | None = None) -> Risk:
        """Return the risk of lists in memory."""
        return cls(Parts([RiskPart(lists, judge, list_weights)], lists.n_lists, judge), lists.source)

    def _worth(self, found: list[tuple[Floats, Floats]]) -> tuple[float, Floats]:
        """The metric of expected statistics, larger is better, and its slope in each statistic (k).

        The slope in a sum is taken from differences on both sides of it. A sum without counts has none.
        """
        sums, sizes = found[0]
        for more, others in found[1:]:
            sums, sizes = sums + more, sizes + others
        steps = np.diag(np.where(sizes > 0, sizes, 1.0) * _STEP)
        around = np.concatenate([sums[None], sums + steps, sums - steps])
        values = self._judge.better * np.asarray(self._judge.score_from_sums(around), dtype=np.float64)
        k = len(sums)
        slopes = (values[1 : k + 1] - values[k + 1 :]) / (2.0 * np.diag(steps))
        return float(values[0]), slopes

    def __call__(self, v: Floats, gamma: float) -> tuple[float, Floats]:
        """Return the risk at weights v (n_features), less is better, and its gradient."""
        return self._parts.once((v, gamma), lambda: self._summed(v, gamma))

    def _summed(self, v: Floats, gamma: float) -> tuple[float, Floats]:
        expected = self._parts.each(RiskPart.expected, v, gamma)
        found = [one for one in expected if one is not None]
        if len(found) < len(expected):
            return np.inf, np.zeros(len(v))
        value, slopes = self._worth(found)
        gradient, *others = self._parts.each(RiskPart.gradient, v, gamma, slopes, self.unit)
        for more in others:
            gradient = gradient + more
        return (self.even - value) / self.unit, gradient
