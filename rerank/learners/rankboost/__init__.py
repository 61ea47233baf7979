"""RankBoost (Freund, Iyer, Schapire & Singer 2003)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from msgspec import structs

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError, DataNote, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats, Index
from rerank.data.joining import stacked
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features
from rerank.data.pairs import Margin, MarginName, PairRelation, Pairs
from rerank.learners.base import LEARNERS, FitInputs, checked_list_weights, weighted_pairs
from rerank.learners.rankboost.over_parts import BoostedPart, BoostOverParts
from rerank.learners.rankboost.rankers import Cuts, Grouping, Spacing, Weak, WeakRankers, weak_rankers
from rerank.learners.rankboost.rounds import (
    Distribution,
    ExplicitPairs,
    PairRanges,
    RoundScores,
    Rule,
    Run,
    Step,
    boost,
    model_of,
)
from rerank.learners.rounds import KEEP_HELP, Keep, Rounds
from rerank.models.base import Model
from rerank.models.stumps import StumpModel
from rerank.models.training import DataRecord


@dataclass(frozen=True, eq=False)
class Presorted:
    """Training lists, sorted before the first round; further features can be added once.

    Attributes
    ----------
    lists
        Without the further features.
    names
        Of all features.
    has_missing
        Whether any feature is NaN.
    pairs
        Which items must beat which.
    items : int64 (n)
        The items of the pairs, in their order, then the other judged items, which count for thresholds and
        ranges.
    grouping
        How weak rankers are made.
    rankers
        Weak rankers of the items of the pairs.
    """

    lists: CandidateLists
    names: list[str]
    has_missing: bool
    pairs: Pairs
    items: Index
    grouping: Grouping
    rankers: WeakRankers

    @classmethod
    def of(cls, lists: CandidateLists, pairs: Pairs, grouping: Grouping) -> Presorted:
        """Return pairs of judged lists, and the weak rankers of their features."""
        assert lists.labels is not None
        others = ~np.isnan(lists.labels)
        others[pairs.items] = False
        items = np.concatenate([pairs.items, np.flatnonzero(others)])
        rankers = weak_rankers(lists.features.take(items), len(pairs.items), grouping)
        return cls(lists, lists.names(), lists.has_missing, pairs, items, grouping, rankers)

    def with_columns(self, columns: Floats, names: Sequence[str]) -> Presorted:
        """Return these with further dense features: only those are sorted.

        A fit of it is that of ``lists.with_added`` with these features, to the bit.

        - ``columns``: float64 (n_items, n); of the items of the lists. They are rounded to the type of the
          lists' features.
        - ``names``: of the columns (n).

        Raises DataError if names or values do not fit the lists, or a value is infinite.
        """
        check_columns(self.lists, columns, names)
        further = Dense(np.ascontiguousarray(columns, dtype=self.lists.features.dtype))
        has_missing = further.check(nan_allowed=True)
        more = weak_rankers(further.take(self.items), len(self.pairs.items), self.grouping)
        return replace(
            self,
            names=[*self.names, *names],
            has_missing=self.has_missing or has_missing,
            rankers=self.rankers.followed_by(more, len(self.names)),
        )

    def with_items(self, features: Features, n: int) -> Presorted:
        """Return these with the weak rankers of the items of the pairs and of further items.

        They are those of all items together: thresholds are at the values of the further items as well.

        - ``features``: of the further items, with the columns of the lists.
        - ``n``: how many of them, the first ones, follow the items of the pairs in ``rankers``; the others
          count for thresholds and ranges only.
        """
        own, first = self.lists.features.take(self.items), len(self.pairs.items)
        parts = [own.take(slice(first)), features.take(slice(n))]
        whole = stacked([*parts, own.take(slice(first, None)), features.take(slice(n, None))])
        return replace(
            self,
            has_missing=self.has_missing or features.check(nan_allowed=True),
            rankers=weak_rankers(whole, first + n, self.grouping),
        )

    def model(self, run: Run) -> StumpModel:
        """Return the model of rounds that chose among ``rankers``."""
        return model_of(run, self.rankers, self.names, has_missing=self.has_missing)


def check_columns(lists: CandidateLists, columns: Floats, names: Sequence[str]) -> None:
    """Raise DataError if further columns (n_items, n) or their names (n) do not fit lists."""
    known = set(lists.names())
    for name in names:
        if name in known:
            raise DataError(f"{lists.source}: feature {name!r} exists already")
        known.add(name)
    if columns.shape != (lists.n_items, len(names)):
        expected = f"({lists.n_items}, {len(names)})"
        raise DataError(f"{lists.source}: further columns have shape {columns.shape}, expected {expected}")


_EPSILON = 0.0025
_NO_INPUTS = FitInputs()
_PAIR_BYTES = 80


@LEARNERS.register("rankboost")
class RankBoost(BoostOverParts):
    """RankBoost: each round adds the weak ranker that agrees best with the pairs that are weighted now.

    Each pair of a better and a worse item has a weight D; all weights add up to 1. Margins, larger at the top
    of a list (uneven) or the further labels are apart, are asked of the scores by the initial weights: they
    are multiplied by exp(tau * g), after ``list_balance``, so that D stays in proportion to exp(tau * g -
    F(better) + F(worse)). A weak ranker h is 1 for
    items whose feature is at or above a threshold, else 0; or it is a feature itself, scaled into [0, 1]
    over the training items. Missing values get the h, 0 or 1, that suits the pairs. A round takes the h
    with the largest r = the sum over pairs of D * (h(better) - h(worse)), gives it a step a, and multiplies
    D by exp(-a * (h(better) - h(worse))). The score is the sum of a * h.

    On ties the first feature wins, then the feature itself before its thresholds, then the highest
    threshold, then h = 0 of missing values. Values of r are tied if they differ by 1e-10 at most, and steps
    are multiples of 2^-30, so that rounding decides nothing. Training ends if r is 2^-26 or less. r counts
    as 1 - 2^-20 at most, so that a step is 7.3 at most if h puts every pair right.

    The fast engine stores no pair: D is proportional to exp(F(worse) - F(better)), so the weights of the
    pairs of an item are sums over ranges of the items in the order of labels. The reference engine holds
    all pairs and can weight them (``pair_weights``, in the order of ``Pairs.explicit``). Both choose the
    same.

    References
    ----------
    Freund, Iyer, Schapire, Singer: An efficient boosting algorithm for combining preferences. Journal of
    Machine Learning Research 4, 2003.
    Shen, Joshi: Ranking and reranking with perceptron. Machine Learning 60, 2005 (uneven margins).
    """

    name = "rankboost"
    summary = "boosting of thresholds or features over pairs of items, one a round"
    source = "Freund, Iyer, Schapire & Singer 2003"
    scale_invariant = True
    iterates = "rounds"
    resumable = True
    accepts_nan = True
    accepts_list_weights = True
    accepts_pair_weights = True

    rounds: int = setting(300, "maximum number of rounds; fewer if no weak ranker lowers the loss", ge=1)
    weak: Weak = setting(
        "stumps", "weak rankers: thresholds of features (stumps), features scaled into [0, 1] (raw), or both"
    )
    thresholds: Literal["all"] | int = setting(
        "all", "maximum number of thresholds per feature; all = one at each value but the smallest"
    )
    spacing: Spacing = setting(
        "quantile",
        "thresholds=N: at quantiles of the values, or (width) equally far apart from the largest value down, "
        "as RankLib has them",
    )
    directions: Literal["up", "both"] = setting(
        "both", "items above a threshold are better (up), or better or worse (both)"
    )
    step: Step = setting(
        "bound",
        "log((1 + r) / (1 - r)) / 2, or (exact) log((W+ + epsilon) / (W- + epsilon)) / 2 for the weights of "
        "pairs that are put right and wrong; raw features have bound steps",
    )
    epsilon: float | None = setting(
        None, f"step=exact: smoothing in units of the sum of weights; none = {_EPSILON:g}", gt=0, lt=1
    )
    learning_rate: float = setting(
        1.0, "learning rate: factor of each step; below 1, more rounds take smaller steps", gt=0, le=1
    )
    pairs: Literal["all", "neighbours"] = setting(
        "all", "items with different labels, or only those whose labels are next to each other in the list"
    )
    label_gap: float = setting(0.0, "all: label > other label + gap", ge=0)
    margin: MarginName = setting("even", "g: 1 (even), 1/p - 1/q (uneven), or the difference of the labels")
    margin_power: float = setting(1.0, "uneven: 1/p^a - 1/q^a", gt=0)
    tau: float = setting(0.0, "learning margin: tau * g is asked of each pair, unless even", ge=0)
    list_balance: bool = setting(False, "the initial weights of each list's pairs have the same sum")
    engine: Literal["reference", "fast"] = setting("fast", "hold all pairs (reference) or none (fast)")
    keep: Keep = setting("last", KEEP_HELP)

    def check_values(self) -> None:
        if self.thresholds != "all" and self.thresholds < 1:
            raise ConfigError(f"thresholds: found {self.thresholds}, expected all or a number of at least 1")
        if self.spacing == "width" and (self.thresholds == "all" or self.thresholds == 1):
            raise ConfigError(f"spacing=width is for 2 thresholds or more: found {self.thresholds}")
        if self.weak == "both" and self.thresholds == "all":
            text = "no feature itself has a larger r than the best of all its thresholds"
            raise ConfigError(f"weak=both is for a number of thresholds: {text}")
        if self.weak == "raw":
            given = {"thresholds", "spacing", "step"} & self.settings_given
            if given:
                raise ConfigError(f"{min(given)} is for thresholds: weak=raw has none")
        if self.epsilon is not None and self.step == "bound":
            raise ConfigError("epsilon is for step=exact: bound steps are not smoothed")
        if self.label_gap and self.pairs != "all":
            raise ConfigError(f"label_gap is for pairs=all: found pairs={self.pairs}")

    def presorted(self, lists: CandidateLists, inputs: FitInputs = _NO_INPUTS) -> Presorted:
        """Return what fits of these lists share: their pairs and weak rankers; see ``fit_presorted``.

        ``inputs`` are those of the fits.

        Raises FitError if the learner cannot be fitted to this data, or needs more inputs.
        """
        self._check(lists, inputs)
        return self._presorted(lists, self.grouping)

    def fit_presorted(
        self,
        presorted: Presorted,
        *,
        pair_weights: Floats | None = None,
        costs: Floats | None = None,
        inputs: FitInputs = _NO_INPUTS,
    ) -> StumpModel:
        """Return the model that ``fit`` returns of the lists, with any further columns.

        - ``presorted``: made by ``presorted`` of this learner.
        - ``pair_weights``: float64 (n_pairs); the initial distribution, in the order of ``Pairs.explicit``.
        - ``costs``: float64 (2, n_pairs); what multiplies the change of a pair's weight in a round that puts
          it right, and in one that puts it wrong; see ``ExplicitPairs``. None = 1.
        - ``inputs``: the metric, development lists and observer of ``fit``.

        Raises FitError if weights or costs do not fit the pairs.
        """
        return self._boosted(presorted, structs.replace(inputs, pair_weights=pair_weights), costs)

    @property
    def rule(self) -> Rule:
        """Return the rule by which a round chooses and steps."""
        epsilon = _EPSILON if self.epsilon is None else self.epsilon
        return Rule(self.step, epsilon, self.directions == "both", self.learning_rate)

    @property
    def grouping(self) -> Grouping:
        return Grouping(None if self.thresholds == "all" else self.thresholds, self.spacing, self.weak)

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        if inputs.pair_weights is not None and self.engine == "fast":
            raise FitError("learner rankboost: pair weights need engine=reference")
        return self._boosted(self._presorted(lists, self.grouping), inputs)

    def _presorted(self, lists: CandidateLists, grouping: Grouping) -> Presorted:
        if (self.margin == "even") != (self.tau == 0):
            raise ConfigError(f"tau is for margins that are not even, which need it: found tau={self.tau:g}")
        relation = PairRelation(self.pairs, label_gap=self.label_gap)
        margin = Margin(self.margin, self.margin_power)
        pairs, _ = weighted_pairs(lists, None, relation, margin, f"a pair under pairs={self.pairs}")
        if not self.tau * float(np.abs(pairs.h).max()) < np.inf:
            raise FitError(f"{lists.source}: margins overflow")
        return Presorted.of(lists, pairs, grouping)

    def part(self, lists: CandidateLists, inputs: FitInputs, surveys: Sequence[Cuts]) -> BoostedPart:
        found = self._presorted(lists, replace(self.grouping, given=surveys))
        weights = self.distribution(found, inputs)
        assert isinstance(weights, PairRanges)  # refused
        counts = found.pairs.n_pairs, found.pairs.n_lists
        return BoostedPart(weights, found.rankers, found.has_missing, *counts)

    def _boosted(self, presorted: Presorted, inputs: FitInputs, costs: Floats | None = None) -> StumpModel:
        pairs, rankers = presorted.pairs, presorted.rankers
        run = boost(self.distribution(presorted, inputs, costs), rankers, self.rule, self.rounds)
        data = DataRecord(pairs=pairs.n_pairs, lists_without_pair=pairs.n_skipped)
        return self.finished(presorted.model(run), run, presorted.lists, inputs, data, len(rankers))

    def distribution(
        self, presorted: Presorted, inputs: FitInputs = _NO_INPUTS, costs: Floats | None = None
    ) -> Distribution:
        """Return the initial distribution over the pairs of lists."""
        lists, pairs = presorted.lists, presorted.pairs
        of_lists = checked_list_weights(inputs.list_weights, lists)[pairs.lists]
        if not of_lists.any():
            raise FitError(f"{lists.source}: the weight of every list with a pair is 0")
        of_pairs = inputs.pair_weights
        if self.engine == "fast" and of_pairs is None and costs is None:
            found = PairRanges(pairs, of_lists / pairs.counts if self.list_balance else of_lists)
            found.advance(self.tau * pairs.h, -1.0)
            return found
        memory.require(_PAIR_BYTES * pairs.n_pairs, f"{pairs.n_pairs:,} pairs", "engine=fast stores none")
        weights = _checked_pair_weights(of_pairs, pairs.n_pairs)
        of = np.repeat(np.arange(pairs.n_lists), pairs.counts)
        if self.list_balance:
            sums = np.bincount(of, weights, pairs.n_lists)
            weights /= np.where(sums > 0, sums, 1.0)[of]
        if costs is not None:
            expected = 2, pairs.n_pairs
            if costs.shape != expected or not (np.isfinite(costs).all() and (costs >= 0).all()):
                wanted = f"2 x {pairs.n_pairs} finite numbers that are not negative"
                raise FitError(f"costs of pairs must be {wanted}")
        better, worse = pairs.explicit()
        asked = self.tau * (pairs.h[better] - pairs.h[worse])
        weights = weights * of_lists[of] * np.exp(asked - asked.max())
        return ExplicitPairs(better, worse, len(pairs.items), weights, costs)

    def finished(
        self, whole: StumpModel, run: Run, lists: CandidateLists, inputs: FitInputs, data: DataRecord, n: int
    ) -> StumpModel:
        if not run.steps:
            text = f"{lists.source}: rankboost learnt nothing: no feature tells better items from worse ones"
            warnings.warn(text, DataNote, stacklevel=3)
        watch, scores = Rounds(lists, inputs, self.keep), RoundScores(whole)
        seen: set[int] = set()
        rounds_run = zip(run.choices, run.log_loss, strict=True)
        for r, (choice, log_loss) in enumerate(watch.each(rounds_run, len(run.steps), what="judging rounds")):
            seen.add(choice.column)
            progress = {"loss": float(np.exp(log_loss)), "gain": choice.gain, "features": len(seen)}
            watch.record(r + 1, scores, **progress)
        kept, rounds = watch.kept(whole.n_rounds, converged=run.converged)
        model = whole.prefix(kept or 0)
        model.curve, model.training.rounds, model.training.data = watch.curve, rounds, data
        model.training.notes = {"weak_rankers": n}
        if model.n_rounds:
            model.training.notes["loss"] = float(np.exp(run.log_loss[model.n_rounds - 1]))
        return model


def _checked_pair_weights(weights: Floats | None, n: int) -> Floats:
    """The weights of pairs, 1 if none are given; raises FitError if they are no distribution."""
    if weights is None:
        return np.ones(n)
    if weights.shape != (n,) or not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise FitError(f"pair weights must be {n} finite numbers that are not negative, and not all 0")
    return weights.astype(np.float64)
