"""Leave-one-out ablation: training without a feature, or a group of features, again and again."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rerank.core import progress
from rerank.core.errors import ConfigError, DataNote
from rerank.core.types import Floats, Index
from rerank.core.workers import parallel
from rerank.data.alignment import aligned
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.data.missing import fill_of
from rerank.data.selection import selected, with_only
from rerank.evaluation.importance import Ablation, Basis, Resampling, compared, judge_of
from rerank.formats import load
from rerank.formats.sources import check_inputs
from rerank.learners.base import Learner
from rerank.metrics.judges import ReportJudge
from rerank.metrics.labelling import label
from rerank.models.importance import groups_of
from rerank.training.config import TrainConfig
from rerank.training.options import Plan, fit_by, refuse_with_classes
from rerank.training.side_inputs import NO_SIDE_INPUTS, SideInputs
from rerank.training.train import inputs_of_training


def ablation(
    learner: Learner,
    lists: CandidateLists,
    *,
    dev: CandidateLists | None = None,
    test: CandidateLists | None = None,
    plan: Plan,
    extras: SideInputs = NO_SIDE_INPUTS,
    groups: Sequence[str] = (),
    ties: str | None = None,
    no_relevant: str = "zero",
    **resampling: Any,
) -> Ablation:
    """Return what a metric loses if a learner is trained without a feature, for each feature or group.

    All that the plan does, such as the choice of settings and rounds, is done anew each time. A learner that
    draws has the same seed each time: intervals are over lists and do not cover other seeds.

    Parameters
    ----------
    learner, plan : what is fitted, and what happens around it; the metric is the plan's.
    lists, dev : training and development lists.
    test : lists on which models are compared; None = the development lists.
    extras : what else the learner gets.
    groups : items as ``--features`` takes them, such as "prm*,-prm7", each a group; () = each feature alone.
    ties, no_relevant : as for ``rerank.evaluate``.
    resampling : ``samples``, ``level`` and ``seed`` of the bootstrap over lists.

    Returns
    -------
    Ablation
        The loss of each feature or group, with its interval.

    Raises
    ------
    RerankError
        If there is no metric, there are no lists to compare on, a group matches no feature or all of them,
        or a fit fails.
    """
    refuse_with_classes(learner, ["ablation"])
    judged_on = dev if test is None else test
    if judged_on is None:
        raise ConfigError("ablation compares models on test or development lists: give some (--test, --dev)")
    if plan.metric is None:
        raise ConfigError("ablation compares models by a metric: give one (--metric)")
    metric = plan.metric if isinstance(plan.metric, str) else plan.metric.name
    drawn, chosen = Resampling(**resampling), groups_of(lists.columns(), groups, lists.source)
    for name, columns in chosen:
        if len(columns) == lists.n_features:
            raise ConfigError(f"{lists.source}: without {name!r} no feature is left")
    judge = judge_of(judged_on, metric, ties, no_relevant)
    model = fit_by(plan, learner, lists, dev, extras).model
    whole = judge.per_list(model.score_items(judged_on))
    runs = _Runs(plan, learner, lists, dev, judged_on, extras, model.fill, judge)
    names, sizes = [name for name, _ in chosen], [len(columns) for _, columns in chosen]
    ablated = compared(judge, names, sizes, whole, runs.all_statistics(chosen), drawn)
    basis = Basis(judge, corpus_value(judge, whole), judged_on.n_items, drawn)
    return Ablation(basis, learner.name, "dev" if test is None else "test", ablated)


@dataclass(frozen=True, eq=False)
class _Runs:
    """Training without some columns, and the statistics of the model on other lists."""

    plan: Plan
    learner: Learner
    lists: CandidateLists
    dev: CandidateLists | None
    test: CandidateLists
    extras: SideInputs
    fill: float
    judge: ReportJudge

    def all_statistics(self, chosen: Sequence[tuple[str, Index]]) -> list[Floats]:
        """Return ``statistics`` without each group of columns."""
        rows: list[Floats] = []
        at_once = parallel.jobs()
        shown = progress.step("training without features", len(chosen), "feature")
        with warnings.catch_warnings(), shown as advance:
            warnings.simplefilter("ignore", DataNote)  # those of the run with all features were shown
            for first in range(0, len(chosen), at_once):
                some = [(columns,) for _, columns in chosen[first : first + at_once]]
                rows += parallel.each(self.statistics, some, threads=True, anywhere=True)
                advance(len(some))
        return rows

    def statistics(self, columns: Index) -> Floats:
        """Return the statistics of each list under a model without the columns."""
        kept = np.ones(self.lists.n_features, dtype=bool)
        kept[columns] = False
        dev = None if self.dev is None else self._without(self.dev, kept, fill_of(self.plan.missing))
        extras, bare = self.extras, self.extras.unlabelled
        if bare is not None:
            extras = replace(extras, unlabelled=self._without(bare, kept, fill_of(self.plan.missing)))
        model = fit_by(self.plan, self.learner, self._only(self.lists, kept), dev, extras).model
        return self.judge.per_list(model.score_items(self._without(self.test, kept, self.fill)))

    def _without(self, lists: CandidateLists, kept: np.ndarray, fill: float) -> CandidateLists:
        """Other lists with the columns that are kept; columns are matched before any is removed."""
        names, selection = self.lists.names(), self.lists.selection
        ready = aligned(lists, names, "the training lists", selection=selection, fill=fill)
        return self._only(replace(ready, feature_names=names, selection=selection), kept)

    @staticmethod
    def _only(lists: CandidateLists, kept: np.ndarray) -> CandidateLists:
        return with_only(lists, kept, "ablation")


def ablation_files(
    config: TrainConfig,
    test: str | None = None,
    *,
    test_refs: Sequence[str] = (),
    groups: Sequence[str] = (),
    **options: Any,
) -> Ablation:
    """Train by a configuration with all features and without each one, and compare the models.

    Parameters
    ----------
    config : as returned by ``rerank.training.config.read_config``.
    test : file of the lists on which models are compared, read as the training lists are; None = dev.
    test_refs : its references.
    groups, options : as for ``ablation``.

    Returns
    -------
    Ablation

    Raises
    ------
    RerankError
        As for ``train_from`` and ``ablation``.
    """
    if test_refs and test is None:
        raise ConfigError("--test-refs: not used without test lists (--test)")
    check_inputs([*test_refs, *(() if test is None else (test,))])
    with parallel.using(config.jobs, config.cluster):
        inputs = inputs_of_training(config)
        compared = None if test is None else _test_lists(config, test, test_refs)
        return ablation(
            inputs.learner,
            inputs.lists,
            dev=inputs.dev,
            test=compared,
            plan=inputs.plan,
            extras=inputs.extras,
            groups=groups,
            **options,
        )


def _test_lists(config: TrainConfig, path: str, refs: Sequence[str]) -> CandidateLists:
    """Test lists, read as the training lists are but for references and ids."""
    data = config.data
    own = {"refs": tuple(refs), "ids": None, "merge": (), "features": ()}
    lists = load(path, options=data.reading("train").with_settings(**own))
    lists = lists if data.label is None else label(lists, data.label)
    return selected(lists, data.features, lenient=True)
