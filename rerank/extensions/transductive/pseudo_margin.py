"""Pseudo-margins: RankBoost whose loss also has the unlabelled pairs of the list to be ranked."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.core.types import Bytes, Floats
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation, Pairs, make_pairs
from rerank.extensions.transductive.base import Adapted, Adapter, Transductive
from rerank.extensions.transductive.native import _pseudo_margin
from rerank.extensions.transductive.space import Basis
from rerank.learners.base import LEARNERS
from rerank.learners.rankboost import RankBoost
from rerank.learners.rankboost.rounds import Distribution, PairRanges, boost, ranges_of
from rerank.models.stumps import StumpModel


class WithMargins(Transductive):
    """Base of the methods that add the unlabelled pairs of a list to the loss of RankBoost."""

    source = "Duh 2009, chapter 7"
    default_scaling = "none"
    scale_invariant = True

    gamma: float = setting(
        0.5, "weight of the sum over unlabelled pairs, in units of labelled pairs / unlabelled pairs", gt=0
    )
    warm_up: int = setting(
        0, "rounds on labelled pairs alone before the unlabelled ones join; part of base.rounds", ge=0
    )

    def check_values(self) -> None:
        super().check_values()
        base = self.base_learner
        if not isinstance(base, RankBoost):
            raise ConfigError(f"learner {self.name} extends the loss of rankboost: found base {base.name}")
        if self.warm_up >= base.rounds:
            found = f"warm_up: found {self.warm_up}"
            raise ConfigError(f"{found}, expected less than the {base.rounds} rounds of the base")


@LEARNERS.register("pm")
class PseudoMargin(WithMargins):
    """RankBoost that also separates the unlabelled items of the list to be ranked.

    The loss is the sum over labelled pairs of exp(-(F_i - F_j)), plus gamma' times the sum over unlabelled
    pairs of the list of exp(-|F_i - F_j|). gamma' is gamma * N_l / N_u for N_l labelled and N_u unlabelled
    pairs, so that without any ranker the second sum is gamma times the first; N_l is the sum of the initial
    weights of labelled pairs if these are weighted. A round treats an unlabelled pair as a labelled one
    whose better item is the one with the larger F before the round. Pairs of equal F have no better item and
    no part in the round, so the first round is RankBoost's. Weak rankers are those of the labelled items and
    of the list together: thresholds are at the values of both.

    direction=minimise instead adds gamma' * (exp(F_i - F_j) + exp(F_j - F_i)) for each unlabelled pair, each
    pair both ways. That is 2 * cosh(F_i - F_j), between exp|F_i - F_j| and twice that; it is convex, and
    RankBoost minimises it as it is.

    Notes
    -----
    No round raises the loss. Let x = F_i - F_j of an unlabelled pair before the round, s its sign and d the
    change of x. RankBoost takes the pair's part to be exp(-s * (x + d)), and does not raise the sum of these
    and of the labelled pairs. The loss has exp(-|x + d|) instead: the same without the round, where d = 0,
    and at most exp(-s * (x + d)) after it. A pair of equal F has no sign: its part of the loss is 1 before
    the round and exp(-|d|) after it, at most 1.

    The thesis' Algorithm 9 has costs and signs that were left from AdaCost (lines 4 to 6); this is its
    equation 7.5.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, chapter 7.
    """

    name = "pm"
    summary = "RankBoost that also separates (or ties) the unlabelled items of the list to be ranked"

    pairs: Literal["all", "halves", "oracle"] = setting(
        "all",
        "unlabelled pairs: all; between the halves above and below the median of the unadapted scores, where "
        "items at the median are in neither; or (oracle: uses test labels) those whose labels differ for the "
        "base learner, without which one is better",
    )
    direction: Literal["maximise", "minimise"] = setting(
        "maximise", "make the differences of scores in unlabelled pairs large, or small"
    )

    @property
    def uses_test_labels(self) -> bool:
        return self.pairs == "oracle"

    def adapter(self, lists: CandidateLists) -> Adapter:
        return PseudoMargins(self, lists)


class Margins(Adapter):
    """Labelled lists with their pairs and weak rankers, and the rounds of labelled pairs alone."""

    def __init__(self, method: WithMargins, lists: CandidateLists) -> None:
        self.method = method
        learner = method.base_learner
        assert isinstance(learner, RankBoost)
        self.learner = learner
        self.basis = Basis(learner, lists)
        assert self.basis.presorted is not None
        self.presorted = self.basis.presorted
        unadapted = self.basis.fit()
        assert isinstance(unadapted, StumpModel)
        self.unadapted = unadapted
        self.begun = unadapted.prefix(min(method.warm_up, unadapted.n_rounds))
        begun = self.begun.with_missing_as_zero().score_aligned(lists)
        self.begun_scores: Floats = begun[self.presorted.pairs.items]
        self.log_weight = learner.distribution(self.presorted).potentials()[1]

    def adapt(self, one: CandidateLists, rng: np.random.Generator) -> Adapted:
        pairs = self.unlabelled_pairs(one)
        if pairs.n_lists == 0:
            why = "one item" if one.n_items == 1 else "no unlabelled pair"
            return Adapted(None, why, {"unlabelled_pairs": 0})
        kept = np.zeros(one.n_items, dtype=bool)
        kept[pairs.items] = True
        n, m = len(self.presorted.pairs.items), len(pairs.items)
        items = np.concatenate([pairs.items, np.flatnonzero(~kept)])
        presorted = self.presorted.with_items(one.features.take(items), m)
        begun = self.begun.with_missing_as_zero() if presorted.has_missing else self.begun
        labelled = self.learner.distribution(self.presorted)
        labelled.advance(self.begun_scores, 1.0)
        factor = math.log(self.method.gamma) - math.log(pairs.n_pairs)
        parts: list[tuple[Distribution, slice, float]] = [(labelled, slice(n), -self.log_weight)]
        for part in self.distributions(pairs, begun.score_aligned(one)[pairs.items]):
            parts.append((part, slice(n, None), factor))
        rounds = self.learner.rounds - self.method.warm_up
        run = boost(Mixture(parts, n + m), presorted.rankers, self.learner.rule, rounds)
        model = begun.followed_by(presorted.model(run))
        if presorted.has_missing:  # an item outside the pairs may lack a feature that those of pairs have
            model = model.with_missing_as_zero()
        return self._adapted(model, one, pairs, labelled)

    @abstractmethod
    def unlabelled_pairs(self, one: CandidateLists) -> Pairs:
        """Return the unlabelled pairs of a list; which item of each is the better one does not count."""

    @abstractmethod
    def distributions(self, pairs: Pairs, scores: Floats) -> list[Distribution]:
        """Return the distributions over unlabelled pairs, of items with these scores."""

    @abstractmethod
    def loss(self, pairs: Pairs, scores: Floats, n_tied: int) -> float:
        """Return the sum over unlabelled pairs, of items with these scores, of which some pairs are tied."""

    def _adapted(
        self, model: StumpModel, one: CandidateLists, pairs: Pairs, labelled: Distribution
    ) -> Adapted:
        """The model with its figures; none if it ties all pairs."""
        scores = model.score_aligned(one)[pairs.items]
        tied = PseudoPairs(pairs, scores).n_tied()
        with np.errstate(over="ignore"):
            loss = self.loss(pairs, scores, tied)
            of_labelled = np.exp(labelled.potentials()[1] - self.log_weight)
        diagnostics = {
            "unlabelled_pairs": float(pairs.n_pairs),
            "unlabelled_weight": self.method.gamma * math.exp(self.log_weight) / pairs.n_pairs,
            "labelled_loss": float(of_labelled),
            "unlabelled_loss": loss / pairs.n_pairs,
            "tied_share": tied / pairs.n_pairs,
            "train_accuracy": float(self.basis.accuracy(model.score_aligned(self.basis.lists))),
        }
        if tied == pairs.n_pairs:
            return Adapted(None, "all unlabelled pairs are tied", diagnostics)
        return Adapted(model, "", diagnostics)


class PseudoMargins(Margins):
    """The unlabelled pairs that the settings choose, all of which are separated, or tied."""

    method: PseudoMargin

    def unlabelled_pairs(self, one: CandidateLists) -> Pairs:
        relation, how = PairRelation("all"), self.method.pairs
        if how == "oracle":
            relation = PairRelation(self.learner.pairs, label_gap=self.learner.label_gap)
            return make_pairs(one, relation)
        if how == "halves":
            unadapted = self.unadapted.with_missing_as_zero() if one.has_missing else self.unadapted
            return make_pairs(one.replace_labels(_halves(unadapted.score_aligned(one))), relation)
        return make_pairs(one.replace_labels(np.arange(float(one.n_items))), relation)

    def distributions(self, pairs: Pairs, scores: Floats) -> list[Distribution]:
        if self.method.direction == "maximise":
            return [PseudoPairs(pairs, scores)]
        both: list[Distribution] = [PairRanges(pairs, np.ones(1), reverse=way) for way in (False, True)]
        for part in both:
            part.advance(scores, 1.0)
        return both

    def loss(self, pairs: Pairs, scores: Floats, n_tied: int) -> float:
        found = sum(np.exp(part.potentials()[1]) for part in self.distributions(pairs, scores))
        return float(found + n_tied if self.method.direction == "maximise" else found)


def _halves(scores: Floats) -> Floats:
    """Labels of items (n): 1 above the median of scores, 0 below it, NaN at it.

    The median of an even number is between the two middle scores if they differ. So the middle item of an odd
    number is in neither half, nor are items that are tied with the middle.
    """
    ranked = np.sort(scores)
    low, high = ranked[(len(ranked) - 1) // 2], ranked[len(ranked) // 2]
    labels = np.full(len(scores), np.nan)
    labels[scores > low] = 1.0
    labels[scores < high] = 0.0
    return labels


class PseudoPairs:
    """The distribution over the pairs of one list of which the better item is the one that scores more now.

    The weight of a pair is exp(-|F_i - F_j|). Pairs of equal scores, which differ by 1e-10 at most, have no
    better item and no weight: with F = 0 none has one. Time grows as n log n with the number of items: they
    are visited in the order of their scores, and sums over ranges of partners come from a tree, in which
    nothing is subtracted.

    Parameters
    ----------
    pairs
        Of one list; which item of a pair is better does not count.
    scores : float64 (n_items)
        F of the items of the pairs.
    """

    def __init__(self, pairs: Pairs, scores: Floats) -> None:
        self.n_pairs = pairs.n_pairs
        self._ranges = ranges_of(pairs)
        self._scores = scores.copy()
        self._tree = np.empty(2 * len(scores))
        self._all = np.ones(len(scores), dtype=np.uint8)
        self._total = 0.0

    def _sums(self, member: Bytes, rate: float = 1.0) -> Floats:
        """The sums over the members of each item's pairs that score less, and that score more: (2, n)."""
        out = np.empty((2, len(self._scores)))
        order = np.argsort(-self._scores, kind="stable")
        _pseudo_margin.pair_sums(self._ranges, member, self._scores, order, rate, self._tree, out)
        return out

    def potentials(self) -> tuple[Floats, float]:
        """Return the potentials of items, and the log of the sum of weights; see ``ExplicitPairs``."""
        below, above = self._sums(self._all)
        self._total = float(below.sum())
        if self._total == 0.0:
            return np.zeros(len(below)), -np.inf
        return (below - above) / self._total, float(np.log(self._total))

    def split(self, h: Floats) -> tuple[float, float]:
        """Return the share of pairs that a binary h puts right, and of those that it puts wrong."""
        if self._total == 0.0:
            return 0.0, 0.0
        below, above = self._sums((h == 0).astype(np.uint8))
        passed = h == 1
        return float(below[passed].sum() / self._total), float(above[passed].sum() / self._total)

    def advance(self, h: Floats, step: float) -> None:
        """Change the scores of items by a weak ranker with values h (n)."""
        self._scores += step * h

    def n_tied(self) -> int:
        """Return the number of pairs of equal scores."""
        return self.n_pairs - round(float(self._sums(self._all, rate=0.0)[0].sum()))


class Mixture:
    """Several distributions as one.

    Parameters
    ----------
    parts
        Each distribution, its items among all n, and the log of a factor of its weights.
    n
        The number of items.
    """

    def __init__(self, parts: Sequence[tuple[Distribution, slice, float]], n: int) -> None:
        self._parts, self._n = parts, n
        self._shares = [0.0] * len(parts)

    def potentials(self) -> tuple[Floats, float]:
        """Return the potentials of items, and the log of the sum of weights; see ``ExplicitPairs``."""
        found = [part.potentials() for part, _, _ in self._parts]
        logs = [log + factor for (_, log), (_, _, factor) in zip(found, self._parts, strict=True)]
        total = float(np.logaddexp.reduce(logs))
        self._shares = [float(np.exp(log - total)) for log in logs]
        out = np.zeros(self._n)
        for (_, items, _), (own, _), share in zip(self._parts, found, self._shares, strict=True):
            out[items] += share * own
        return out, total

    def split(self, h: Floats) -> tuple[float, float]:
        """Return the share of pairs that a binary h puts right, and of those that it puts wrong."""
        found = [part.split(h[items]) for part, items, _ in self._parts]
        right, wrong = (np.dot(self._shares, side) for side in zip(*found, strict=True))
        return float(right), float(wrong)

    def advance(self, h: Floats, step: float) -> None:
        """Multiply the weights of pairs for a weak ranker with values h (n)."""
        for part, items, _ in self._parts:
            part.advance(h[items], step)
