"""Leave-one-out ablation: training without a feature, or a group of features, again and again."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from msgspec import structs

from rerank.core import progress
from rerank.core.errors import ConfigError, DataNote
from rerank.core.types import Floats, Index
from rerank.core.workers import parallel
from rerank.data.alignment import aligned
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.data.missing import fill_of
from rerank.data.selection import selected, with_only
from rerank.evaluation.importance import Ablation, Basis, compared, judge_of, judging_by
from rerank.formats.base import load_for
from rerank.formats.sources import Data, check_inputs
from rerank.learners.base import Learner
from rerank.metrics.judges import ReportJudge
from rerank.metrics.labelling import label
from rerank.models.importance import groups_of
from rerank.training.data import SideInputs
from rerank.training.options import TrainOptions, refuse_with_classes
from rerank.training.pipeline import Pipeline, pipeline_of
from rerank.training.select import select
from rerank.training.steps.features import FillMissing
from rerank.training.train import given_inputs, other_lists, pipeline_from, read_inputs


def ablation(
    data: Data | None,
    options: TrainOptions | Learner | str | None = None,
    *,
    dev: Data | None = None,
    test: Data | None = None,
    test_refs: Sequence[str] = (),
    groups: Sequence[str] = (),
    judging: Mapping[str, Any] | None = None,
    **given: Any,
) -> Ablation:
    """Return what a metric loses if a learner is trained without a feature, for each feature or group.

    All that the options ask for, such as the choice of settings and rounds, is repeated each time. A learner
    that draws has the same seed each time: intervals are over lists and do not cover other seeds.

    Parameters
    ----------
    data, dev : training and development lists, files or data frames; None = the files that ``options`` name.
    options, given : what is trained, as for ``rerank.train``; a metric is one of these settings.
    test : lists on which models are compared, or a file, read as the training lists are; None = dev.
    test_refs : references of that file.
    groups : items as ``--features`` takes them, such as "prm*,-prm7", each a group; () = each feature alone.
    judging : ``ties`` and ``no_relevant`` as for ``rerank.evaluate``; ``samples``, ``level`` and ``seed``
        of the bootstrap over lists.

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
    if test_refs and test is None:
        raise ConfigError("--test-refs: not used without test lists (--test)")
    check_inputs([*test_refs, *((test,) if isinstance(test, str) else ())])
    pipeline = pipeline_from(options, **given)
    options = pipeline.options
    pipeline = pipeline_of(options.with_settings(cluster=None), pipeline.learner)  # no fit is spread
    with parallel.using(options.jobs, options.cluster):
        data, dev, side = read_inputs(pipeline) if data is None else given_inputs(pipeline, data, dev)
        refuse_with_classes(pipeline.learner, "ablation")
        if isinstance(test, str):
            test = _test_lists(options, test, test_refs)
        judged_on = dev if test is None else other_lists(options.data, test, "dev")
        if judged_on is None:
            found = "ablation compares models on test or development lists"
            raise ConfigError(f"{found}: give some (--test, --dev)")
        if options.select.metric is None:
            raise ConfigError("ablation compares models by a metric: give one (--metric)")
        judged_by = judging_by(options.select.metric, judging or {})
        chosen = groups_of(data.columns(), groups, data.source)
        for name, columns in chosen:
            if len(columns) == data.n_features:
                raise ConfigError(f"{data.source}: without {name!r} no feature is left")
        judge = judge_of(judged_on, judged_by)
        model = select(pipeline, data, dev, side).model
        whole = judge.per_list(model.score_items(judged_on))
        runs = _Runs(pipeline, data, dev, judged_on, side, model.fill, judge)
        names, sizes = [name for name, _ in chosen], [len(columns) for _, columns in chosen]
        ablated = compared(judge, names, sizes, whole, runs.all_statistics(chosen), judged_by)
    basis = Basis(judge, corpus_value(judge, whole), judged_on.n_items, judged_by)
    return Ablation(basis, pipeline.learner.name, "dev" if test is None else "test", ablated)


@dataclass(frozen=True, eq=False)
class _Runs:
    """Training without some columns, and the statistics of the model on other lists."""

    pipeline: Pipeline
    lists: CandidateLists
    dev: CandidateLists | None
    test: CandidateLists
    side: SideInputs
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
        fill = fill_of(self.pipeline.get(FillMissing).missing)
        dev = None if self.dev is None else self._without(self.dev, kept, fill)
        side, bare = self.side, self.side.unlabelled
        if bare is not None:
            side = structs.replace(side, unlabelled=self._without(bare, kept, fill))
        model = select(self.pipeline, with_only(self.lists, kept, "ablation"), dev, side).model
        return self.judge.per_list(model.score_items(self._without(self.test, kept, self.fill)))

    def _without(self, lists: CandidateLists, kept: np.ndarray, fill: float) -> CandidateLists:
        """Other lists with the columns that are kept; columns are matched before any is removed."""
        names, selection = self.lists.names(), self.lists.selection
        ready = aligned(lists, names, "the training lists", selection=selection, fill=fill)
        return with_only(replace(ready, feature_names=names, selection=selection), kept, "ablation")


def _test_lists(options: TrainOptions, path: str, refs: Sequence[str]) -> CandidateLists:
    """Test lists, read as the training lists are, except for references and ids."""
    data = options.data
    own = {"refs": tuple(refs), "ids": None, "merge": (), "features": ()}
    lists = load_for(path, data.reading("train").with_settings(**own), None, fill=False)
    lists = lists if data.label is None else label(lists, data.label)
    return selected(lists, data.features, lenient=True)
