"""Decisions around an existing model: a temperature chosen on labelled lists, other pseudo-references."""

from __future__ import annotations

import copy
import os
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError
from rerank.data.lists import CandidateLists
from rerank.data.overlap import note_trained_on
from rerank.data.reading import Reading
from rerank.extensions.decision.expressions import AUTO, automatic, utility_of
from rerank.extensions.decision.gain import kept_tables, tuned
from rerank.extensions.decision.model import Decision, MbrModel, decide, decision_of
from rerank.extensions.decision.utilities import Pairing
from rerank.formats.sources import check_outputs
from rerank.metrics.base import parse
from rerank.models.base import Model, load_model
from rerank.models.predict import lists_for


def tune_temperature(
    model: Model | str | os.PathLike[str],
    lists: CandidateLists,
    utility: str = AUTO,
    metric: str | None = None,
) -> MbrModel:
    """Return ``decide(model, utility, T)`` with the temperature T that has the best metric on labelled lists.

    Parameters
    ----------
    model : Model, or its file
    lists : CandidateLists
        With references, gold or labels, as the metric needs them; not those that the model was trained on.
    utility : str
        See ``decide``.
    metric : str, optional
        None = the utility, which is a metric then.

    Returns
    -------
    MbrModel
        Its scores are those of ``model`` if no temperature is better than no decision by expected utility.

    Raises
    ------
    ConfigError
        As ``decide``, and if there is no metric.
    DataError
        If the lists lack what the utility or the metric needs.
    """
    made = decide(model, utility)
    utility = automatic(lists) if utility == AUTO else utility
    if metric is None and not _is_metric(utility):
        raise ConfigError(f"utility {utility} is no metric that can choose a temperature: give --tune-metric")
    judge = parse(metric or utility).prepare(lists)
    known = made.training.data.sketch or ""
    note_trained_on(
        known, made.input_names, lists, "lists that the model was trained on, whose scores are too sure"
    )
    base = copy.copy(made)
    base.decision = Decision(utility=utility, temperature=None)
    scores = base.score_items(lists)
    found = tuned(lists, scores, kept_tables(Pairing.within(lists), utility_of(utility)), judge)
    made.decision = decision_of(utility, found, os.path.basename(lists.source), judge.name)
    return made


def _is_metric(utility: str) -> bool:
    try:
        parse(utility)
    except ConfigError:
        return False
    return True


def decided_model(
    model: str,
    given: Any,
    out: str | None = None,
    keep_margin: str | None = None,
    reading: Reading | None = None,
) -> MbrModel:
    """Return the model of ``rerank predict --decide mbr``; ``given`` is an ``options.Deciding``."""
    inputs = [path for path in (model, given.tune_on, given.references_from) if path is not None]
    check_outputs({} if out is None else {"--out": out}, inputs)
    base = load_model(model)
    if keep_margin == "none":
        base.keep_margin = None
    utility = given.utility or AUTO

    def read(path: str) -> CandidateLists:
        kind = None if reading is None or os.path.isdir(path) else reading.format  # a folder is a store
        return lists_for(base, path, Reading(format=kind))

    pruning = {"prune": given.prune, "seed": given.prune_seed}
    if given.tune_on is not None:
        made = tune_temperature(base, read(given.tune_on), utility, given.tune_metric)
        made.decision = made.decision.with_fields(**pruning)
        return made
    temperature = (
        1.0 if given.temperature is None else np.inf if given.temperature == "inf" else given.temperature
    )
    others = given.references_from
    references = None if others is None else read(others)
    return decide(base, utility, temperature, given.posterior or "softmax", references, **pruning)
