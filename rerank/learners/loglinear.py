"""Log-linear models: the conditional probability of the best item of each list; ListNet."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.core.system import added
from rerank.core.types import Floats, Index
from rerank.core.workers.parallel import each
from rerank.data.blocks import bundle, worth_bundling
from rerank.data.first_best import best_items
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.data.pairs import Margin, MarginName, PairRelation
from rerank.learners.base import LEARNERS, FitInputs, top_costs, weighted_pairs
from rerank.learners.deterministic import list_blocks
from rerank.learners.initial import initial_weights
from rerank.learners.penalised import Convex, ConvexLearner, Fits, Fitted, Penalised
from rerank.learners.regularization_path import Strength, require_dev, watched
from rerank.learners.rounds import Rounds
from rerank.learners.sums.parts import Parts, SummedLoss
from rerank.models.training import DataRecord
from rerank.native.learners._loglinear import ListBlock, log_loss


@dataclass(frozen=True, eq=False)
class TargetLists:
    """Lists and the probability that each item should have.

    Attributes
    ----------
    offsets, items
        int64 (n_lists + 1) and (n_items): the rows of each list.
    target
        float64 (n_items), of sum 1 in each list; with ``marginal`` 1 or 0: whether it may be the choice.
    weight
        float64 (n_lists): the weight of each list.
    marginal
        Whether the loss is that of the summed probability of the targets.
    cost
        float64 (n_items): what is added to the scores; None = 0.
    """

    offsets: Index
    items: Index
    target: Floats
    weight: Floats
    marginal: bool = False
    cost: Floats | None = None


class LossFacts(NamedTuple):
    """The lists of a loss, their items, and the summed weights of the lists."""

    lists: int
    items: int
    weight: float

    @classmethod
    def summed(cls, parts: Parts) -> LossFacts:
        """Return the facts of all parts, which are ``LogLoss``."""
        lists, items, weights = zip(*parts.each(attrgetter("facts")), strict=True)
        return cls(sum(lists), sum(items), added(weights))


class LogLoss:
    """The sum over lists of weight * -sum(target * log P), and its gradient.

    With ``marginal`` it is the sum of weight * -log sum(target * P). P is the softmax of the scores w·x of a
    list. Lists are divided into blocks, and the blocks' sums are added in their order, so that results have
    the same bits on any number of threads.

    - ``features``: of all items, of any layout.
    - ``lists``: lists with their targets.
    """

    def __init__(self, features: Features, lists: TargetLists) -> None:
        offsets, d = lists.offsets, features.n_features
        matrix = None if worth_bundling(features, offsets, lists.items) else features.matrix()

        def block(first: int, last: int) -> ListBlock:
            low, high = offsets[first], offsets[last]
            of, items = offsets[first : last + 1] - low, lists.items[low:high]
            cost = None if lists.cost is None else lists.cost[low:high]
            aims = (lists.target[low:high], lists.weight[first:last], lists.marginal, cost)
            if matrix is not None:
                return ListBlock(matrix, of, items, *aims)
            found = bundle(features, of, items)
            return ListBlock(found.matrix, of, None, *aims, found.members, found.starts, found.n_entries)

        tasks = list_blocks(offsets, d)
        self._blocks = each(block, tasks, threads=True)
        self.facts = LossFacts(len(lists.weight), len(lists.items), float(lists.weight.sum()))
        self._gradients = np.empty((len(tasks), d))

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return the loss at w (n_features) and its gradient, a new array."""
        tasks = [(block, w, out) for block, out in zip(self._blocks, self._gradients, strict=True)]
        losses = each(log_loss, tasks, threads=True)
        gradient = self._gradients[0].copy()
        for more in self._gradients[1:]:
            gradient += more
        return added(losses), gradient


Targets = Literal["best", "tied", "any", "soft"]


def target_lists(
    lists: CandidateLists, targets: Targets, sharpness: float, list_weights: Floats | None
) -> TargetLists:
    """Return the judged items of the lists that have two different labels, with their targets.

    - ``lists``: lists with labels.
    - ``targets``: best: the item with the largest label, among several the one with the largest base score,
      then the first one, has probability 1. tied: all items with the largest label share it. any: they may
      share it in any way. soft: it is proportional to exp(sharpness * label).
    - ``sharpness``: of soft targets.
    - ``list_weights``: float64 (n_lists), None = 1.

    Raises FitError if no list has two different labels, or the weights are not finite numbers of 0 or more.
    """
    pairs, weight = weighted_pairs(lists, list_weights, PairRelation())
    assert lists.labels is not None
    starts, sizes = pairs.offsets[:-1], np.diff(pairs.offsets)
    if targets == "soft":
        labels = lists.labels[pairs.items]  # the largest ones come first
        with np.errstate(over="ignore"):  # a gap of labels that overflows has no share
            target = np.exp(sharpness * (labels - np.repeat(labels[starts], sizes)))
    elif targets == "best":
        best = best_items(lists)[pairs.lists]
        target = (pairs.items == np.repeat(best, sizes)).astype(np.float64)
    else:
        target = (pairs.rank == 1).astype(np.float64)
    if targets != "any":
        target /= np.repeat(np.add.reduceat(target, starts), sizes)
    return TargetLists(pairs.offsets, pairs.items, target, weight, targets == "any")


PRIORS = tuple(10.0 ** (k / 2) for k in range(6, -7, -1))  # 1000 to 0.001, two for each factor of ten
_SHARPNESS = 50.0  # of soft targets, for labels whose range is 1
_SHARPEST = 1.7e308  # infinity times a difference of 0 has no value
_BATCHES = 10


@LEARNERS.register("loglinear")
class LogLinear(ConvexLearner):
    """Log-linear model of the choice in each list, with a Gaussian or an l1 prior.

    P(x) of an item is exp(w·x) divided by the sum of that over the judged items of its list. The sum over
    lists of -log P(target), plus ``prior`` * |w - w0|², is minimised; with penalty=l1 it is ``prior`` * the
    sum of |w - w0|, which leaves most weights at w0 exactly. w0 is ``init``. List weights multiply the losses
    of their lists. ``prior`` is 1 / phi² in equation 28 of Collins & Koo, the same for every feature; it
    depends on the units of the features. Lists without two different labels are left out. With ``tau``
    training adds tau * g to the scores of items that are not best, with the margin g of the best one and
    them, so that it must win by more (softmax-margin).

    prior=dev tries 1000, 316, 100, ..., 0.001, each from the weights of the one before, until three in a row
    are worse on the dev lists, and keeps the best; on ties the first wins. The curve has a row for each.

    batch=K selects features: it begins with none, adds the K with the steepest slope of the loss, minimises
    over the selected ones, and so on. The curve has a row for each batch. batches=dev ends when three in
    a row are not better on the dev lists than the best one, which is kept.

    References
    ----------
    Collins, Koo: Discriminative reranking for natural language parsing. Computational Linguistics 31, 2005
    (sections 6.3 and 6.4).
    Riezler, Vasserman: Incremental feature selection and l1 regularization for relaxed maximum-entropy
    modeling. EMNLP 2004.
    Gimpel, Smith: Softmax-margin CRFs: training log-linear models with cost functions. NAACL 2010 (tau).
    Charniak, Johnson: Coarse-to-fine n-best parsing and MaxEnt discriminative reranking. ACL 2005
    (targets=any).
    """

    name = "loglinear"
    summary = "log-linear model of the best item of each list, with a Gaussian or an l1 prior"
    source = "Collins & Koo 2005; Riezler & Vasserman 2004"
    accepts_initial = True
    strength_key = "prior"
    strengths = PRIORS

    penalty: Literal["gaussian", "l1"] = setting(
        "gaussian", "penalty: squares of the weights (l2), or their magnitudes (l1)"
    )
    prior: Strength = setting(
        3.0, "regularisation strength; dev = the best of 13 from 1000 to 0.001 on the development lists"
    )
    targets: Targets = setting(
        "best",
        "target: the best item, on ties the one with the largest base score (best); all tied for "
        "best, equally (tied) or in sum (any); items in proportion to exp(sharpness * label) "
        "(soft)",
    )
    sharpness: float | None = setting(None, "soft targets; none = 50 / the range of the labels", gt=0)
    margin: MarginName = setting("even", "g: 1 (even), 1/p - 1/q (uneven), or the difference of the labels")
    margin_power: float = setting(1.0, "uneven: 1/p^a - 1/q^a", gt=0)
    tau: float = setting(
        0.0, "learning margin: tau * g is added to the scores of items that are not best", ge=0
    )
    batch: int | None = setting(None, "features added at a time; none = all features at once", ge=1)
    batches: int | Literal["dev"] | None = setting(
        None, "maximum number of batches; dev = the best number on the development lists; none = 10"
    )
    init: Literal["auto", "given", "base", "zero"] = setting(
        "auto",
        "w0, which the penalty prefers: given (with --init), base (they reproduce the first stage's scores) "
        "or zero; auto = given, else zero",
    )
    tolerance: float = setting(
        1e-4,
        "stopping tolerance: distance from the minimum of the penalised loss, relative to it",
        gt=0,
        le=0.1,
    )
    iterations: int = setting(5000, "maximum number of L-BFGS steps per minimum", ge=1)

    def check_values(self) -> None:
        super().check_values()
        if self.batches not in (None, "dev") and not int(self.batches) >= 1:
            raise ConfigError(f"batches: found {self.batches}, expected 1 or more or dev")
        if self.sharpness is not None and self.targets != "soft":
            raise ConfigError(f"sharpness is for targets=soft, found targets={self.targets}")
        if self.tau and self.targets == "soft":
            raise ConfigError("tau is for targets=best, tied and any: soft targets have no best item")
        if self.batches is not None and self.batch is None:
            raise ConfigError("batches is for features that are added in batches: set batch")
        if self.batch is not None and self.prior == "dev":
            raise ConfigError("prior=dev goes with all features at once: found batch; give prior a number")

    @property
    def chooses_on_dev(self) -> bool:
        return "dev" in (self.prior, self.batches)

    def survey(self, lists: CandidateLists) -> tuple[float, float] | None:
        """Return the smallest and the largest label, if targets depend on them."""
        if self.sharpness is not None or self.targets != "soft":
            return None
        assert lists.labels is not None  # needs_labels
        least = np.fmin.reduce(lists.labels, initial=np.inf)
        return float(least), float(np.fmax.reduce(lists.labels, initial=-np.inf))

    def part(self, lists: CandidateLists, inputs: FitInputs, surveys: Sequence[Any]) -> LogLoss:
        sharpness = self.sharpness or 0.0
        if None not in surveys:
            least, largest = zip(*surveys, strict=True)
            width = max(largest) / 2.0 - min(least) / 2.0  # halves do not overflow
            sharpness = min(_SHARPNESS / 2.0 / width, _SHARPEST) if width > 0 else 0.0
        chosen = target_lists(lists, self.targets, sharpness, inputs.list_weights)
        costs = top_costs(lists, Margin(self.margin, self.margin_power), self.tau, self.name)
        chosen = chosen if costs is None else replace(chosen, cost=costs[chosen.items])
        return LogLoss(lists.features, chosen)

    def _problem(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> Convex:
        if self.batches == "dev":
            require_dev(self.name, "batches", inputs)
        start, init = initial_weights(lists, inputs, self.init, otherwise="zero")
        loss, facts = SummedLoss(parts), LossFacts.summed(parts)
        return Convex(
            loss=(lambda u: loss(start + u)) if start.any() else loss,
            l1=self.penalty == "l1",
            origin=start,
            init=init,
            weight=facts.weight,
            data=DataRecord(pairs=None, lists_without_pair=parts.n_lists - facts.lists),
        )

    def _found(self, fits: Fits, watch: Rounds) -> Fitted:
        if self.batch is None:
            return super()._found(fits, watch)
        most = None if self.batches == "dev" else self.batches or _BATCHES
        steps = self._in_batches(fits, float(self.prior), self.batch, most)
        return watched(steps, watch, strictly=True, on_dev=most is None)

    def _in_batches(self, fits: Fits, prior: float, size: int, most: int | None) -> Iterator[Fitted]:
        """Yield the minimum over ``size`` features, twice as many and so on, those with the steepest slope.

        Features whose slope the l1 penalty outweighs are left out: their weights would stay 0.
        """
        assert isinstance(fits.problem, Convex)
        u, found = np.zeros(fits.n_features), None
        free = np.zeros(len(u), dtype=bool)
        least = prior if self.penalty == "l1" else 0.0
        for done in itertools.count():
            slope = np.where(free, 0.0, np.abs(fits.problem.loss(u)[1]))
            new = np.argsort(-slope, kind="stable")[:size]
            new = new[slope[new] > least]
            if done == most or (done and not len(new)):
                return
            free[new] = True
            found = fits.minimum(prior, found, free.copy())
            yield found
            u = found.minimum.w

    def _why_nothing(self, found: Fitted) -> str:
        return f"prior {found.strength:g} outweighs every feature"


@LEARNERS.register("listnet")
class ListNet(Penalised):
    """Cross-entropy of two distributions over the items of each list: exp(label) and exp(w·x), normalised.

    These are the probabilities that an item is placed first (Cao et al.). The sum over lists plus penalty *
    |w|² is minimised; it is convex for a linear model. It is ``loglinear`` with targets=soft and a Gaussian
    prior, except for the sharpness: 1 as in the paper, so that the labels 2 and 0 share the probability 88 to
    12, where loglinear takes 50 / the range of the labels, which makes the best items nearly certain. Lists
    without two different labels are left out, as in loglinear; the paper would draw their scores together.
    List weights multiply the losses of their lists. Unjudged items are left out.

    References
    ----------
    Cao, Qin, Liu, Tsai, Li: Learning to rank: from pairwise approach to listwise approach. ICML 2007.
    """

    name = "listnet"
    summary = "cross-entropy of the softmax of the labels and that of the scores, list by list"
    source = "Cao et al. 2007"

    sharpness: float = setting(1.0, "the targets are proportional to exp(sharpness * label)", gt=0)

    def part(self, lists: CandidateLists, inputs: FitInputs, surveys: Sequence[Any]) -> LogLoss:
        return LogLoss(lists.features, target_lists(lists, "soft", self.sharpness, inputs.list_weights))

    def _problem(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> Convex:
        facts = LossFacts.summed(parts)
        data = DataRecord(judged=facts.items, lists_without_pair=parts.n_lists - facts.lists)
        return Convex(loss=SummedLoss(parts), weight=facts.weight, data=data)
