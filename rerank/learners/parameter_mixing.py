"""Iterative parameter mixing: perceptrons of several parts of the lists, mixed after every epoch."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from rerank.core.checkpoints import State, copy_into
from rerank.core.errors import ConfigError, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.learners.base import (
    LEARNERS,
    FitInputs,
    NothingToLearnError,
    checked_list_weights,
    weighted_pairs,
)
from rerank.learners.initial import initial_weights, overflowing
from rerank.learners.perceptron import Perceptron, PerceptronState
from rerank.learners.rounds import Rounds, linear_scores, restore
from rerank.learners.sums.parts import Own, Parts, SummingLearner
from rerank.models.base import Model
from rerank.models.linear import LinearModel
from rerank.models.training import DataRecord


class Epoch(NamedTuple):
    """An epoch of one part: its last weights, their mean over its visits, and what it counted."""

    weights: Floats
    mean: Floats
    visits: float
    updates: int
    violated: int


class MixedPart:
    """The lists of one part, through which a perceptron goes from any weights."""

    def __init__(self, learner: ParameterMixing, lists: CandidateLists, list_weights: Floats | None) -> None:
        given = lists, list_weights, learner.relation, learner.margin_function
        pairs, factors = weighted_pairs(*given, f"a pair under pairs={learner.pairs}")
        if not factors.all():
            pairs, factors = pairs.subset(np.flatnonzero(factors)), factors[factors > 0]
        self._learner, self._features = learner, lists.features
        self.n_lists, self.n_pairs = pairs.n_lists, pairs.n_pairs
        self._state = PerceptronState(learner, lists, pairs, factors, np.zeros(lists.n_features))

    def facts(self) -> tuple[int, int]:
        """Return the lists that have pairs, and these."""
        return self.n_lists, self.n_pairs

    def overflows(self, weights: Floats) -> bool:
        """Return whether a score under weights (n_features) is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            return not bool(np.isfinite(self._features.scores(weights)).all())

    def epoch(self, number: int, epoch: int, weights: Floats) -> Epoch:
        """Visit all lists once, from ``weights`` (n_features); ``number`` is that of the part."""
        learner, here = self._learner, self._state
        start = {"values": weights, "drift": np.zeros(len(weights)), "sums": np.zeros(0), "visits": 0.0}
        restore(here.weights, start)
        order = np.arange(self.n_lists, dtype=np.int64)
        if learner.shuffle:
            order = np.random.default_rng((learner.seed, epoch, number)).permutation(order)
        updates, violated = here.visit(order)
        return Epoch(here.w.copy(), here.weights.mean(), here.weights.visits, updates, violated)


class _Mixture:
    """The mixed weights, and the sum of all weights over all visits."""

    def __init__(self, start: Floats) -> None:
        self.weights, self.total, self.visits = start.copy(), np.zeros(len(start)), 0.0

    def mean(self) -> Floats:
        """Return the mean of the weights over all visits of all parts."""
        return self.total / self.visits if self.visits else self.weights.copy()

    def state(self) -> State:
        """Return what later epochs depend on."""
        return {"weights": self.weights.copy(), "total": self.total.copy(), "visits": self.visits}

    def restore(self, state: State) -> None:
        """Go to a state."""
        copy_into(self.weights, state["weights"])
        copy_into(self.total, state["total"])
        self.visits = float(state["visits"])


@LEARNERS.register("parameter-mixing")
class ParameterMixing(SummingLearner, Perceptron):
    """Perceptron by iterative parameter mixing: the lists are in parts, each with a perceptron of its own.

    In every epoch each part's perceptron begins with the same weights and visits its own lists. Then the
    weights of all parts are mixed, and the next epoch begins with the mixture. Parts know nothing of each
    other within an epoch, so that they can be visited at the same time: by several ``--jobs``, or on a
    cluster. There the shards are the parts. In memory they are ``parts`` runs of lists in their order.

    With as many epochs the model is not that of ``perceptron``: with S parts an epoch moves the weights
    about as far as one part does. It needs more epochs, and its mean is over all visits of all parts.
    Relations, margins and rivals are those of ``perceptron``, with algorithm 2.

    References
    ----------
    McDonald, Hall, Mann: Distributed training strategies for the structured perceptron. NAACL 2010.
    Shen, Joshi: Ranking and reranking with perceptron. Machine Learning 60, 2005 (pairs, uneven margins).
    """

    name = "parameter-mixing"
    summary = "perceptrons of parts of the lists, mixed after every epoch, on one machine or a cluster"
    source = "McDonald, Hall & Mann 2010"
    renamed: ClassVar[dict[str, str]] = {}

    parts: int = setting(4, "parts of the lists; on a cluster the shards are the parts", ge=1)
    mixing: Literal["uniform", "updates"] = setting(
        "uniform", "mixture of the parts: their mean, or in proportion to their updates in the epoch"
    )

    def check_values(self) -> None:
        super().check_values()
        for name, value in (("algorithm", 1), ("average", "voted"), ("tau_scale", "norm")):
            if getattr(self, name) == value:
                raise ConfigError(f"{name}={value}: not used by parameter-mixing, see perceptron")
        if self.dimension:
            raise ConfigError("dimension: not used by parameter-mixing, see perceptron")

    @property
    def draws(self) -> bool:
        return self.shuffle

    def refused(self) -> str | None:
        return "parts" if "parts" in self.settings_given else super().refused()

    def part(self, lists: CandidateLists, inputs: FitInputs, surveys: Sequence[Any]) -> MixedPart:
        return MixedPart(self, lists, inputs.list_weights)

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        weights = checked_list_weights(inputs.list_weights, lists)
        counted = np.flatnonzero(weights) if weights.any() else np.arange(lists.n_lists)
        parts = []
        for some in np.array_split(counted, min(self.parts, len(counted))):
            with suppress(NothingToLearnError):
                parts.append(self.part(lists.subset(some), FitInputs(list_weights=weights[some]), []))
        parts = parts or [self.part(lists, inputs, [])]  # the error of all lists
        return self.fit_parts(Parts(parts, len(counted)), lists, inputs)

    def fit_parts(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> Model:
        watch = Rounds(lists, inputs, self.keep)
        start, init = initial_weights(lists, inputs, self.init, otherwise="zero")
        if init != "zero" and any(parts.each(MixedPart.overflows, start)):
            raise overflowing(lists.source)
        mixture = _Mixture(start)
        numbers = Own(range(len(parts)))
        for epoch in watch.each(range(self.epochs), self.epochs, mixture, unit="epoch"):
            found = parts.each(MixedPart.epoch, numbers, epoch, mixture.weights)
            updates, violated = sum(one.updates for one in found), sum(one.violated for one in found)
            self._mix(mixture, found, updates)
            if not np.isfinite(mixture.weights).all() or not np.isfinite(mixture.total).all():
                raise FitError(f"{lists.source}: the weights overflow; {self.overflow_help}")
            watch.record(self._reached(mixture), linear_scores, updates=updates, violated=violated)
            if updates == 0:
                break
        reached, rounds = watch.kept(self._reached(mixture), converged=watch.settled)
        model = LinearModel(lists.names(), reached)
        model.curve, model.training.rounds = watch.curve, rounds
        if init != "zero":
            model.initial = start
            model.training.rounds = rounds.with_fields(init=init)
        n_lists, n_pairs = (sum(column) for column in zip(*parts.each(MixedPart.facts), strict=True))
        model.training.data = DataRecord(pairs=n_pairs, lists_without_pair=parts.n_lists - n_lists)
        model.training.notes = {"parts": len(parts)}
        return model

    def _reached(self, mixture: _Mixture) -> Floats:
        return mixture.mean() if self.average == "average" else mixture.weights.copy()

    def _mix(self, mixture: _Mixture, found: list[Epoch], updates: int) -> None:
        """Move to the mixture of the parts' weights, which are added in the order of the parts."""
        mixture.weights = np.zeros(len(mixture.weights))
        for one in found:
            share = one.updates / updates if self.mixing == "updates" and updates else 1.0 / len(found)
            mixture.weights += share * one.weights
            mixture.total += one.visits * one.mean
            mixture.visits += one.visits
