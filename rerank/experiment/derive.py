"""Columns of lists that are made of other columns: labels by a metric, quantised labels, features."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from rerank.data.labels import Quantiser, quantised
from rerank.data.leads import first_largest
from rerank.data.lists import CandidateLists
from rerank.errors import ConfigError, DataError
from rerank.experiment.sources import as_lists
from rerank.features.consensus import consensus
from rerank.metrics.base import parse
from rerank.metrics.selecting import SelectingJudge
from rerank.models.base import load_model


def label(
    data: Any, metric: str, *, group: Any = None, qid: Any = None, refs: Sequence[Any] | None = None
) -> CandidateLists:
    """Return the lists with a metric's value of each item on its own as its label.

    Parameters
    ----------
    data, group, qid, refs : CandidateLists with references or gold trees, or plain sequences of texts, as
        for ``rerank.evaluate``. If rows of a list are not contiguous, ``lists.labels`` are in the order of
        the items, ``lists.input_order(lists.labels)`` in that of the rows.
    metric : a metric of single candidates, such as sBLEU; measures of errors (WER, TER) are negated, so that
        a larger label is always better.

    Returns
    -------
    CandidateLists

    Raises
    ------
    RerankError
        If the metric judges whole rankings, or texts, references, trees or values are missing.

    Examples
    --------
    >>> import rerank
    >>> lists = rerank.label([["the cat", "a cat", "dogs"]], "WER", refs=["the cat"])
    >>> lists.labels.tolist()
    [-0.0, -50.0, -100.0]
    """
    return labelled(as_lists(data, group=group, qid=qid, refs=refs), metric)


def labelled(lists: CandidateLists, metric: str) -> CandidateLists:
    """Return the same lists with labels by a metric, see ``label``.

    Counts that the metric keeps (PARSEVAL's) stay with the set.

    Raises
    ------
    ConfigError
        If the metric is unknown or judges rankings.
    DataError
        If an item has no value of it, or columns are missing.
    """
    judge = parse(metric).prepare(lists)
    if not isinstance(judge, SelectingJudge):
        raise ConfigError(f"metric {metric!r} judges rankings; labels need one of single candidates (sBLEU)")
    values = judge.better * judge.item_values()
    if np.isnan(values).any():
        bad = int(np.argmax(np.isnan(values)))
        raise DataError(f"{lists.source}: item {bad + 1} has no value of {metric}")
    return dataclasses.replace(lists, labels=values, counts={**lists.counts, **judge.counts})


def with_quantised(lists: CandidateLists, quantiser: Quantiser) -> CandidateLists:
    """Return the same lists with quantised labels; ``model=FILE`` takes the choices of a model.

    Raises
    ------
    RerankError
        If there are no labels or the model cannot be read.
    """
    chosen = None
    if quantiser.scheme == "model":
        scores = load_model(quantiser.path).score_items(lists)
        chosen = first_largest(scores, lists.offsets)
    return quantised(lists, quantiser, chosen)


def with_consensus(lists: CandidateLists, by: Sequence[str], statistic: str) -> CandidateLists:
    """Return the same lists with a feature consensus.WHAT.STATISTIC for each of ``by``.

    Parameters
    ----------
    lists : with texts, or the features named.
    by : similarities, see features.consensus.
    statistic : "mean" or "median".

    Raises
    ------
    ConfigError, DataError
        If a similarity is unknown or given twice, or texts are missing.
    """
    columns = {}
    for what in by:
        columns[f"consensus.{what}.{statistic}"] = consensus(lists, what, statistic)
    if len(columns) < len(by):
        raise ConfigError("a similarity is given twice")
    return lists.with_added(columns)
