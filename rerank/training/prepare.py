"""Training lists prepared for a learner: columns aligned, steps fitted, metrics ready."""

from __future__ import annotations

import warnings

from rerank.core import progress
from rerank.core.errors import DataNote
from rerank.data.alignment import aligned
from rerank.data.lists import CandidateLists
from rerank.data.missing import fill_of
from rerank.data.overlap import sketch
from rerank.models.pipeline import Chain
from rerank.training.data import NO_SIDE_INPUTS, SideInputs, Split, TrainingData, column_of_base
from rerank.training.pipeline import Pipeline
from rerank.training.steps.missing import FillMissing


def prepare(
    pipeline: Pipeline,
    lists: CandidateLists,
    dev: CandidateLists | None = None,
    side: SideInputs = NO_SIDE_INPUTS,
    *,
    owned: bool = False,
) -> TrainingData:
    """Fit the steps before the learner to training lists, and prepare the metric.

    Parameters
    ----------
    pipeline : with every step resolved.
    lists : training lists.
    dev, side : with the columns of ``lists``, see ``align``.
    owned : whether nothing reads the features of ``lists`` and ``dev`` afterwards: they are scaled in place
        if that is possible, and are NaN then.

    Raises
    ------
    RerankError
        If a step cannot be fitted, or lists and metric do not fit together.
    """
    features, views = pipeline.stage("features"), pipeline.stage("view")
    owned = owned and side.unlabelled is None and not any(step.reads_raw for step in views)
    known: dict[str, object] = {}
    if owned and features:
        names = ("fingerprint", "sketch", "base_column")
        known = dict(zip(names, (lists.fingerprint(), sketch(lists), column_of_base(lists)), strict=True))
    chain, seen = Chain(), lists
    for step in features:
        fitted = step.fit(seen, lists)
        seen, chain = fitted.apply(seen, overwrite=owned), Chain((*chain.fitted, fitted))
    view, learnt = Chain(), seen
    for step in views:
        fitted = step.fit(learnt, lists)
        learnt, view = fitted.apply(learnt), Chain((*view.fitted, fitted))

    def split(name: str, some: CandidateLists, learnt: CandidateLists) -> Split:
        judge = None
        if pipeline.metric is not None:
            with progress.step(f"computing {pipeline.metric.name} of the {name} lists"):
                judge = pipeline.metric.prepare(some)
        return Split(name, some, judge, learnt)

    watched = None
    if dev is not None:
        ready = chain.apply(dev, overwrite=owned)
        watched = split("dev", ready, view.apply(ready))
    given = side.unlabelled
    unlabelled = None if given is None else view.apply(chain.apply(given))
    initial = None
    if side.initial is not None:
        raw = side.initial
        initial = view.unfold(chain.unfold(raw.weights, raw.names, raw.source), raw.names, raw.source)
    train = split("train", seen, learnt)
    data = TrainingData(lists, train, watched, chain, view, side, initial, unlabelled)
    vars(data).update(known)  # the cached properties of features that are gone
    return data


def align(
    pipeline: Pipeline, lists: CandidateLists, dev: CandidateLists | None, side: SideInputs
) -> tuple[CandidateLists | None, SideInputs]:
    """Return development lists and side inputs with the columns of training lists; notes warn of others."""
    fill = fill_of(pipeline.get(FillMissing).missing)
    if dev is not None:
        dev = aligned(dev, lists.names(), "the training lists", selection=lists.selection, fill=fill)
    return dev, side.aligned(lists, fill)


def note_leaks(pipeline: Pipeline, lists: CandidateLists) -> None:
    """Warn if a feature is the label, or has the name of the metric: a learner would learn the answer."""
    from rerank.data.describe import label_copies

    def bare(name: str) -> str:
        return "".join(filter(str.isalnum, name)).lower()

    metric = pipeline.metric
    for name in () if metric is None else lists.feature_names or ():
        if metric is not None and bare(name) == bare(metric.name):
            text = f"{lists.source}: feature {name!r} has the same name as the metric {metric.name}"
            warnings.warn(f"{text}; is it known at prediction?", DataNote, stacklevel=3)
    for name in label_copies(lists):
        text = f"{lists.source}: feature {name!r} is the label, perhaps scaled"
        warnings.warn(f"{text}; is it known at prediction?", DataNote, stacklevel=3)
