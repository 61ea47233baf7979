"""The keep margin: how far another item must lead the first-best before it takes its place.

An item that a reranker puts above the first-best by a hair may well be no better than it. One number, tuned
on development lists after any learner, leaves those lists as they were.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.types import Floats, Index
from rerank.data.first_best import checked_margin, differ, first_best_items, leads_of
from rerank.data.judge import Metric, SelectingJudge, corpus_value, value_of
from rerank.data.lists import CandidateLists
from rerank.learners.base import Learner
from rerank.models.base import Model
from rerank.models.training import MarginRecord
from rerank.training.data import TrainingData
from rerank.training.steps import STEPS, AfterStep, Folds

# Values that differ by no more than this share are equal: the rest is rounding.
_EQUAL = 1e-12


@STEPS.register("keep_margin")
class KeepMargin(AfterStep, frozen=True):
    """Set the lead over the first-best that takes its place, "auto" = tuned on the development lists."""

    keep_margin: float | Literal["auto", "none"] = "none"

    name: ClassVar[str] = "keep_margin"
    place: ClassVar[int] = 20  # in units of the final scores
    settings: ClassVar[tuple[str, ...]] = ("keep_margin",)
    section: ClassVar[str] = "select"

    @property
    def active(self) -> bool:
        return self.keep_margin != "none"

    @property
    def uses_dev(self) -> bool:
        return self.keep_margin == "auto"

    def check(self, learner: Learner, metric: Metric | None) -> None:
        if not isinstance(self.keep_margin, str):
            checked_margin(self.keep_margin)

    def check_data(self, data: TrainingData) -> None:
        if self.keep_margin == "auto":
            if data.dev is None:
                raise ConfigError("keep_margin=auto is tuned on development lists: give some (--dev, dev=)")
            if not isinstance(data.dev.judge, SelectingJudge):
                name = "none" if data.dev.judge is None else data.dev.judge.name
                text = f"needs a metric of single candidates (BLEU, WER, label@1), {name} judges rankings"
                raise ConfigError(f"keep_margin=auto {text}")
        for split in (data.train, data.dev):
            if split is not None:
                first_best_items(split.lists)

    def change(self, model: Model, data: TrainingData, folds: Folds) -> None:
        """Set the margin, and record its effect on development lists."""
        dev, margin = data.dev, self.keep_margin
        if dev is None or not isinstance(dev.judge, SelectingJudge):
            model.keep_margin = checked_margin(margin)  # type: ignore[arg-type]  # auto has dev lists
            return
        scores = model.score_prepared(dev.lists)
        tuned = margin == "auto"
        found = (
            tune_margin(dev.lists, dev.judge, scores) if isinstance(margin, str) else checked_margin(margin)
        )
        model.keep_margin = found
        model.training.keep = margin_effect(dev.lists, dev.judge, scores, found, tuned=tuned)


def tune_margin(lists: CandidateLists, judge: SelectingJudge, scores: Floats) -> float:
    """Return the best margin on these lists, exactly: every choice that a margin can make is judged.

    The margin is midway between two neighbouring leads (or the smallest one and 0), so that rounding changes
    no choice. It is infinite if all first-bests are best kept. On ties the largest margin wins, which
    switches the fewest lists.

    - ``lists``: development lists with a first-best.
    - ``judge``: a metric of single candidates, prepared for ``lists``.
    - ``scores``: the model's scores, float64 (n_items).

    Raises DataError if the lists have no first-best or the metric has no value.

    Returns
    -------
    float
        In units of the scores; inf keeps every first-best.
    """
    leads = leads_of(lists, scores)
    order = np.argsort(-leads.lead, kind="stable")
    order = order[: np.count_nonzero(leads.lead)]
    lead = leads.lead[order]
    last = np.flatnonzero(lead != np.append(lead[1:], 0.0))  # of each run of equal leads, largest first
    first, rival = _rows(judge, leads.first), _rows(judge, leads.rival)
    sums = np.cumsum((rival - first)[order], axis=0)[last]
    kept = first.sum(axis=0)
    values = judge.better * np.asarray(judge.score_from_sums(np.vstack([kept, kept + sums])))
    if np.isnan(values).all():
        raise DataError(f"{lists.source}: {judge.name} has no value, so no keep margin can be tuned by it")
    best = np.nanmax(values)
    chosen = int(np.argmax(values >= best - _EQUAL * abs(best)))
    steps = np.append(lead[last], 0.0)  # the leads from the largest down, then none
    return float(np.inf) if chosen == 0 else _between(steps[chosen], steps[chosen - 1])


def margin_effect(
    lists: CandidateLists, judge: SelectingJudge, scores: Floats, margin: float, *, tuned: bool = False
) -> MarginRecord:
    """Return what a margin does on these lists; errors are those of ``tune_margin``.

    - ``lists``, ``judge``, ``scores``: as for ``tune_margin``.
    - ``margin``: the first-best is kept unless another item leads it by more.
    - ``tuned``: whether the margin was chosen on these lists; it is only recorded.
    """
    leads = leads_of(lists, scores)
    different = differ(lists, leads.rival, leads.first)
    chosen = np.where(leads.lead > margin, leads.rival, leads.first)
    switched = different & (leads.lead > margin)
    before, after = (
        np.asarray(judge.score_from_sums(_rows(judge, items[switched]))) for items in (leads.first, chosen)
    )
    gains = judge.better * (after - before)
    return MarginRecord(
        tuned=tuned,
        value=corpus_value(judge, _rows(judge, chosen)),
        without=value_of(judge, scores),
        lists=lists.n_lists,
        leading=int(np.count_nonzero(different)),
        switched=int(np.count_nonzero(switched)),
        gained=int(np.count_nonzero(gains > 1e-9)),
        lost=int(np.count_nonzero(gains < -1e-9)),
        unvalued=int(np.count_nonzero(np.isnan(gains))),
    )


def _rows(judge: SelectingJudge, items: Index) -> Floats:
    """The statistics of items, float64 (n, k)."""
    return judge.per_item[items].astype(np.float64, copy=False)


def _between(low: float, high: float) -> float:
    """A number m with low <= m < high: midway if there is one."""
    middle = low + (high - low) / 2
    return float(middle if middle < high else low)
