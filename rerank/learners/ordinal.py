"""Online learners over single items: PRank, its committee OAP-BPM, and the perceptron with uneven margins."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np

from rerank.core.checkpoints import State
from rerank.core.errors import ConfigError, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats, Index, Ints
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.learners.base import LEARNERS, FitInputs, Learner
from rerank.learners.rounds import KEEP_HELP, Keep, Resumable, Rounds, restore, state_of, visit_orders
from rerank.models.base import Model
from rerank.models.linear import ThresholdModel
from rerank.models.training import DataRecord
from rerank.native.learners import _ordinal
from rerank.native.learners._weights import Weights

Cut = tuple[Floats, Floats]

MOST_GRADES = 1000


@dataclass(frozen=True, eq=False)
class GradedItems:
    """The judged items of lists.

    Attributes
    ----------
    source
        The lists, for messages.
    features
        Of all items.
    rows
        The judged items, int64 (n_judged).
    grades
        int32 (n_items), 0 is the lowest; valid at ``rows`` only.
    labels
        The label of each grade, float64 (k).
    radius2
        The largest squared norm of a judged item.
    reach
        The largest sum of the magnitudes of a judged item's features.
    """

    source: str
    features: Features
    rows: Index
    grades: Ints
    labels: Floats
    radius2: float
    reach: float

    @classmethod
    def of(cls, lists: CandidateLists, relevant: float | None = None) -> GradedItems:
        """Return the judged items with grades by the distinct labels.

        - ``lists``: lists with labels.
        - ``relevant``: if given, grades are 1 for labels from this one on and 0 below.

        Raises FitError if there is only one grade, or so many that labels cannot be grades.
        """
        assert lists.labels is not None, "Learner.fit refuses lists without labels"
        judged = ~np.isnan(lists.labels)
        rows = np.flatnonzero(judged).astype(np.int64)
        values = lists.labels[rows]
        if relevant is None:
            labels, found = _by_value(values, lists.source)
        else:
            labels, found = np.array([0.0, 1.0]), (values >= relevant).astype(np.int64)
            if found.min() == found.max():
                side = "every" if found[0] else "no"
                text = f"{lists.source}: {side} judged item has a label of {relevant:g} or more"
                raise FitError(f"{text}, so there are no two classes (setting relevant)")
        grades = np.full(lists.n_items, -1, dtype=np.int32)
        grades[rows] = found
        features = lists.features
        radius2, reach = _ordinal.extent(features.matrix(), rows)
        return cls(lists.source, features, rows, grades, labels, radius2, reach)

    def check(self, *cuts: Cut) -> None:
        """Raise FitError if weights, thresholds or scores of judged items may have overflowed."""
        for weights, thresholds in cuts:
            largest = float(np.abs(weights).max(initial=0.0))
            if np.isfinite(largest * max(self.reach, 1.0)) and np.isfinite(thresholds).all():
                continue
            raise FitError(f"{self.source}: the scores overflow; scale the features (--scaling)")


def _by_value(values: Floats, source: str) -> tuple[Floats, Index]:
    labels, grades = np.unique(values, return_inverse=True)
    if len(labels) == 1:
        raise FitError(f"{source}: every judged item has the label {labels[0]:g}: no two grades to separate")
    if len(labels) > MOST_GRADES:
        text = f"{source}: {len(labels)} distinct labels, which look real-valued"
        raise FitError(f"{text}; this learner accepts at most {MOST_GRADES} grades")
    return labels, grades.astype(np.int64)


class Passes(Resumable, Protocol):
    """The state of a learner over single items."""

    def run(self, visits: Index) -> dict[str, int]:
        """Learn from the items at ``visits``; return counts for the learning curve, including ``updates``."""
        ...

    def cut(self, average: bool) -> Cut:
        """Return the last weights and thresholds, or their mean over the examples seen, in new arrays."""
        ...

    def settled(self) -> bool:
        """Return whether, after a pass without an update, no later pass can make one."""
        ...


class ItemLearner(Learner):
    """Base of the online learners over single items: rounds, order of visits and averaging."""

    iterates: ClassVar = "epochs"
    renamed: ClassVar = {"rounds": "epochs"}
    resumable: ClassVar[bool] = True

    epochs: int = setting(30, "maximum number of epochs; training stops after an epoch without updates", ge=1)
    average: Literal["last", "average"] = setting(
        "average", "the last weights and thresholds, or their mean over all examples seen"
    )
    keep: Keep = setting("last", KEEP_HELP)
    shuffle: bool = setting(True, "shuffle the items before each epoch")
    seed: int = setting(1, "random seed of the order", ge=0)

    def _items(self, lists: CandidateLists) -> GradedItems:
        """Return the examples in ``lists``."""
        return GradedItems.of(lists)

    @abstractmethod
    def _passes(self, items: GradedItems) -> Passes:
        """Return the state before the first pass."""

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        items = self._items(lists)
        passes = self._passes(items)
        watch = Rounds(lists, inputs, self.keep)
        orders = visit_orders(len(items.rows), self.epochs, self.shuffle, self.seed)
        for visits in watch.each(orders, self.epochs, passes, unit="epoch"):
            counts = passes.run(items.rows[visits])
            with np.errstate(over="ignore", invalid="ignore"):
                cut = passes.cut(self.average == "average")
                items.check(passes.cut(False), cut)
            watch.record(cut, lambda cut, lists: lists.features.scores(cut[0]), **counts)
            if watch.settled and passes.settled():
                break
        cut = passes.cut(self.average == "average")
        converged = watch.settled and passes.settled()
        (weights, thresholds), rounds = watch.kept(cut, converged=converged)
        model = ThresholdModel(lists.names(), weights, thresholds, items.labels)
        model.curve = watch.curve
        model.training.rounds = rounds
        model.training.data = DataRecord(judged=len(items.rows), grades=len(items.labels))
        return model


@LEARNERS.register("prank")
class PRank(ItemLearner):
    """One direction w and thresholds b_1 <= ... <= b_{k-1} between the k grades of the whole set.

    The predicted grade is the smallest r with w·x - b_r < 0. If it is wrong, every threshold that is on
    the wrong side of the item moves by 1 towards the other side, and w moves along x once for each of
    them. The thresholds stay in order (Lemma 1). If a unit (w, b) separates the grades by gamma, the sum
    of |predicted - true grade| is at most (k - 1)(R^2 + 1) / gamma^2 (Theorem 2).

    References
    ----------
    Crammer, Singer: Pranking with ranking. NIPS 2001.
    """

    name = "prank"
    summary = "online ordinal regression: weights and thresholds between grades"
    source = "Crammer & Singer 2001"
    default_scaling = "minmax"  # thresholds move by 1 and weights by x: norms near 1 suit both

    def _passes(self, items: GradedItems) -> Ranker:
        return Ranker(items)


class Ranker:
    """The state of one PRank: weights, thresholds, and what their means need."""

    def __init__(self, items: GradedItems) -> None:
        self.items = items
        self.matrix = items.features.matrix()
        self.weights = Weights(items.features.n_features)
        self.thresholds = Weights(len(items.labels) - 1)

    def run(self, visits: Index) -> dict[str, int]:
        """Learn from the items at ``visits``; return ``updates`` and the summed errors of grades."""
        updates, loss = _ordinal.prank(self.matrix, visits, self.items.grades, self.weights, self.thresholds)
        return {"updates": updates, "rank_loss": loss}

    def cut(self, average: bool) -> Cut:
        """Return weights and thresholds: the last ones, or their mean over the examples seen."""
        b, seen = self.thresholds, self.thresholds.visits
        if not average or seen == 0:
            return self.weights.values.copy(), b.values.copy()
        # Thresholds and their drift are whole numbers: this way the mean is rounded once and stays in order.
        return self.weights.mean(), (b.values * seen - b.drift) / seen

    def state(self) -> State:
        """Return what later passes depend on."""
        return {"weights": state_of(self.weights), "thresholds": state_of(self.thresholds)}

    def restore(self, state: State) -> None:
        """Go to a state."""
        restore(self.weights, state["weights"])
        restore(self.thresholds, state["thresholds"])

    def settled(self) -> bool:
        """Return True: a pass over all items without an update means that every grade is right."""
        return True


@LEARNERS.register("oap-bpm")
class OapBpm(ItemLearner):
    """The unweighted mean of several PRanks, each of which sees an example with the probability ``coin``.

    Each ranker draws its own coins, from the seed and its number, so that more rankers do not change the
    coins of the first ones. Each round repeats the stream of examples with new coins.

    References
    ----------
    Harrington: Online ranking/collaborative filtering using the perceptron algorithm. ICML 2003.
    """

    name = "oap-bpm"
    summary = "mean of PRanks that each see a random part of the examples (Bayes point)"
    source = "Harrington 2003"
    default_scaling = "minmax"

    rankers: int = setting(20, "number of PRanks to average", ge=1)
    coin: float = setting(0.3, "probability that a ranker sees an example", gt=0, le=1)
    average: Literal["last", "average"] = setting(
        "average",
        "of each ranker: its last weights (as in the paper), or their mean over the examples it saw",
    )

    @property
    def draws(self) -> bool:
        return self.shuffle or self.coin < 1

    def _passes(self, items: GradedItems) -> _Committee:
        return _Committee(self, items)


class _Committee:
    def __init__(self, learner: OapBpm, items: GradedItems) -> None:
        self.items = items
        self.coin = learner.coin
        self.rankers = [Ranker(items) for _ in range(learner.rankers)]
        seeds = np.random.SeedSequence(learner.seed).spawn(learner.rankers)
        self.coins = [np.random.default_rng(seed) for seed in seeds]

    def run(self, visits: Index) -> dict[str, int]:
        """Return ``updates`` and ``rank_loss`` of one pass, summed over the rankers."""
        counts = {"updates": 0, "rank_loss": 0}
        for ranker, coins in zip(self.rankers, self.coins, strict=True):
            shown = visits[coins.random(len(visits)) < self.coin]
            for name, count in ranker.run(shown).items():
                counts[name] += count
        return counts

    def cut(self, average: bool) -> Cut:
        """Return the mean of the rankers' weights and thresholds."""
        weights, thresholds = self.rankers[0].cut(average)
        for ranker in self.rankers[1:]:
            w, b = ranker.cut(average)
            weights += w
            thresholds += b
        return weights / len(self.rankers), thresholds / len(self.rankers)

    def state(self) -> State:
        """Return what later passes depend on."""
        coins = [coins.bit_generator.state for coins in self.coins]
        return {"rankers": [ranker.state() for ranker in self.rankers], "coins": coins}

    def restore(self, state: State) -> None:
        """Go to a state."""
        for ranker, kept in zip(self.rankers, state["rankers"], strict=True):
            ranker.restore(kept)
        for coins, kept in zip(self.coins, state["coins"], strict=True):
            coins.bit_generator.state = kept

    def settled(self) -> bool:
        """Return whether every ranker grades every example correctly, including those it has not seen."""
        grades = self.items.grades[self.items.rows]
        for ranker in self.rankers:
            scores = self.items.features.scores(ranker.weights.values)[self.items.rows]
            if not np.array_equal(np.searchsorted(ranker.thresholds.values, scores, side="right"), grades):
                return False
        return True


@LEARNERS.register("uneven-margin", "paum")
class UnevenMargin(ItemLearner):
    """A classifier of relevant items against the others, with one margin for each class.

    For y = +1 (relevant) or -1, an item is violated if y(w·x + b) <= tau_y; then w += y·x and
    b += y·R^2, where R is the largest norm of an item. (A learning rate would only divide the margins.)
    With R^2 in the step, b is R times the weight of one more feature that is R everywhere, and items
    have at most the norm R√2. By Novikoff's argument there are at most
    (1 + b*^2/R^2)(2R^2 + 2·max(tau_+, tau_-, 0)) / gamma^2 updates if y(w*·x + b*) >= gamma for a unit w*.
    The model's grades are 1 if w·x + b >= 0, else 0.

    References
    ----------
    Li, Zaragoza, Herbrich, Shawe-Taylor, Kandola: The perceptron algorithm with uneven margins. ICML 2002.
    """

    name = "uneven-margin"
    summary = "perceptron classifier with a margin for each class (PAUM)"
    source = "Li, Zaragoza, Herbrich, Shawe-Taylor & Kandola 2002"
    default_scaling = "zscore"

    relevant: float = setting(1.0, "items with this label or a larger one are relevant")
    tau_plus: float = setting(10.0, "learning margin of relevant items")
    tau_minus: float = setting(1.0, "learning margin of the other items")

    def check_values(self) -> None:
        if self.tau_plus < 0 and self.tau_minus < 0:
            raise ConfigError("tau_plus and tau_minus are both below 0: no item would ever be violated")

    def _items(self, lists: CandidateLists) -> GradedItems:
        return GradedItems.of(lists, self.relevant)

    def _passes(self, items: GradedItems) -> _Classifier:
        return _Classifier(self, items)


class _Classifier:
    def __init__(self, learner: UnevenMargin, items: GradedItems) -> None:
        self.items = items
        self.margins = (learner.tau_minus, learner.tau_plus)
        self.matrix = items.features.matrix()
        self.weights = Weights(items.features.n_features)
        self.bias = Weights(1)

    def run(self, visits: Index) -> dict[str, int]:
        """Return ``updates`` of one pass, and how many of them were on the wrong side (``wrong``)."""
        fixed = (visits, self.items.grades, *self.margins, self.items.radius2)
        updates, wrong = _ordinal.uneven(self.matrix, *fixed, self.weights, self.bias)
        return {"updates": updates, "wrong": wrong}

    def cut(self, average: bool) -> Cut:
        """Return the weights and the threshold -b: the last ones, or their mean over the examples seen."""
        bias, seen = self.bias, self.bias.visits
        if not average or seen == 0:
            return self.weights.values.copy(), 0.0 - bias.values
        return self.weights.mean(), bias.drift / seen - bias.values

    def state(self) -> State:
        """Return what later passes depend on."""
        return {"weights": state_of(self.weights), "bias": state_of(self.bias)}

    def restore(self, state: State) -> None:
        """Go to a state."""
        restore(self.weights, state["weights"])
        restore(self.bias, state["bias"])

    def settled(self) -> bool:
        """Return True: no item is violated after a pass over all items without an update."""
        return True
