"""The learner ``boosting-conjunctions``: boosting that makes conjunctions of its indicators as it goes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from rerank.core import progress
from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Sparse
from rerank.extensions.conjunctions.features import Conjunctions, widened
from rerank.extensions.conjunctions.induction import Induction, frequent_stumps
from rerank.extensions.conjunctions.model import ConjunctionModel
from rerank.learners.base import LEARNERS, FitInputs
from rerank.learners.boosting import Boosting
from rerank.learners.boosting.examples import thresholds_of
from rerank.learners.boosting.rounds import Run
from rerank.models.base import Model
from rerank.models.stumps import StumpModel, Thresholds


@LEARNERS.register("boosting-conjunctions")
class BoostingConjunctions(Boosting):
    """Boosting that adds conjunctions of its indicators as features every few rounds.

    After ``every`` rounds each indicator that was chosen, a conjunction too, is paired with each of the
    ``frequent`` most frequent ones. The gain of a pair is that of boosting, G = |sqrt(W+) - sqrt(W-)|, found
    from the weights that the pairs of items have now. The ``add`` pairs of largest gain become features, if
    their gain is above those of both parts and they tell the items of a pair apart in ``min_lists`` lists.
    Then boosting continues with all features. With ``conjunctions=0`` it is ``boosting``.

    Real-valued features are paired by their thresholds, as boosting has them (``bins``): a conjunction holds
    of an item whose values are all at or above a threshold above 0, or below a threshold of 0 or less.

    References
    ----------
    Della Pietra, Della Pietra, Lafferty: Inducing features of random fields. IEEE PAMI 19, 1997.
    McCallum: Efficiently inducing features of conditional random fields. UAI 2003.
    Collins, Koo: Discriminative reranking for natural language parsing. Computational Linguistics 31, 2005.
    """

    name = "boosting-conjunctions"
    summary = "boosting that makes conjunctions of indicators as it goes"
    source = "McCallum 2003; Della Pietra et al. 1997; Collins & Koo 2005"

    conjunctions: int = setting(500, "maximum number of conjunctions", ge=0)
    every: int = setting(100, "rounds between two times that conjunctions are added", ge=1)
    add: int = setting(50, "maximum number of conjunctions that are added each time", ge=1)
    frequent: int = setting(
        1000, "number of frequent indicators that chosen ones are paired with; memory grows with it", ge=1
    )
    min_lists: int = setting(
        5, "lists in which a conjunction must hold of the better or the worse item of a pair alone", ge=1
    )

    def check_values(self) -> None:
        super().check_values()
        if self._scales:
            raise ConfigError(
                "engine=reference is not for conjunctions with loss=log: gains are those of engine=fast"
            )

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        examples = self._examples(lists)
        base = self._base(lists, examples)
        items = np.unique(examples.pairs)
        stumps = thresholds_of(lists.features.take(items[items >= 0]), self.bins, base.column)
        margin = base.weight * examples.differences(base.scores)
        frequent = frequent_stumps(lists, stumps, examples, self.frequent)
        rows = Conjunctions.of(stumps, []).rows(lists.features)
        made = Induction(lists, stumps, examples, frequent, self.min_lists, rows, [])
        runs: list[Run] = []
        done, more = 0, self.conjunctions > 0
        while True:
            conjunctions = made.conjunctions()
            wide, all_stumps = _with(lists, conjunctions, made.rows), _all_stumps(stumps, conjunctions)
            rounds = min(self.every, self.rounds - done) if more else self.rounds - done
            loss, found = self._run(wide, all_stumps, examples, margin, rounds)
            runs.append(found)
            done += len(found.steps)
            if done == self.rounds or not more:
                break
            chosen = np.unique(np.concatenate([run.stumps for run in runs]))
            n = min(self.add, self.conjunctions - len(made.members))
            with progress.step("making conjunctions"):
                added = made.add(chosen, loss.weight[: examples.n_pairs], loss.sums(), n)
            if found.converged and not added:
                break
            more = len(made.members) < self.conjunctions
        if inputs.dev is not None:
            of_dev = conjunctions.rows(inputs.dev[0].features)
            dev = (_with(inputs.dev[0], conjunctions, of_dev), inputs.dev[1])
            inputs = msgspec.structs.replace(inputs, dev=dev)
        model = self._model(wide, inputs, all_stumps, base, _one_run(runs), examples)
        assert isinstance(model, StumpModel)
        return _of_features(model, lists.names(), conjunctions)


def _with(lists: CandidateLists, conjunctions: Conjunctions, rows: Sparse) -> CandidateLists:
    """The lists with conjunctions after their own features; rows of them."""
    names = [*lists.names(), *conjunctions.names(lists.names())]
    return lists.with_features(widened(lists.features, rows), names)


def _all_stumps(stumps: Thresholds, conjunctions: Conjunctions) -> Thresholds:
    """The stumps of features, then one of each conjunction."""
    d, n = len(stumps.first) - 1, len(conjunctions)
    return Thresholds(
        np.append(stumps.first, stumps.first[-1] + np.arange(1, n + 1)),
        np.append(stumps.feature, np.arange(d, d + n, dtype=np.int32)),
        np.append(stumps.at, np.ones(n)),
    )


def _one_run(runs: list[Run]) -> Run:
    """The rounds of all runs; Work(n) counts passes over the differences that each run has."""
    work = np.cumsum([0.0, *(float(run.work[-1]) for run in runs if len(run.work))])
    with_rounds = [run for run in runs if len(run.work)]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(run, name) for run in runs])
        for name in ("stumps", "steps", "log_loss", "errors", "weighted_errors")
    }
    passes = [run.work + begun for run, begun in zip(with_rounds, work, strict=False)]
    return replace(
        runs[-1],
        **columns,
        work=np.concatenate([np.empty(0), *passes]),
        drift=max(run.drift for run in runs),
        relative_drift=max(run.relative_drift for run in runs),
    )


def _of_features(wide: StumpModel, names: list[str], conjunctions: Conjunctions) -> ConjunctionModel:
    """The model of features alone that has the scores of one with conjunctions as columns."""
    d = len(names)
    own = wide.feature < d
    weight = np.zeros(len(conjunctions))
    np.add.at(weight, wide.feature[~own] - d, wide.step[~own])
    used = np.flatnonzero(weight)
    bounds, members = conjunctions.bounds.tolist(), conjunctions.members.tolist()
    each = [tuple(members[first:last]) for first, last in pairwise(bounds)]
    kept = Conjunctions.of(conjunctions.literals, [each[i] for i in used.tolist()])
    rounds = (wide.feature[own], wide.threshold[own], wide.step[own])
    model = ConjunctionModel(names, wide.weights[:d].copy(), *rounds, kept, weight[used])
    model.base_weight, model.training, model.curve = wide.base_weight, wide.training, wide.curve
    model.training.notes["conjunctions made"] = len(conjunctions)
    return model
