"""Columns of lists that are made of other columns: labels by a metric, quantised labels, features."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.tables import record
from rerank.data.columns.traces import SUPERPOSITIONS
from rerank.data.first_best import first_largest
from rerank.data.labels import Quantiser, quantised
from rerank.data.lists import CandidateLists
from rerank.experiment.sources import as_lists
from rerank.features.consensus import consensus, structure_metric
from rerank.features.models import ModelPairs
from rerank.metrics.base import Preparation, parse
from rerank.metrics.selecting import SelectingJudge, SelectingMetric
from rerank.models.base import load_model


def label(
    data: Any, metric: str, *, group: Any = None, qid: Any = None, refs: Sequence[Any] | None = None
) -> CandidateLists:
    """Return the lists with a metric's value of each item on its own as its label.

    Parameters
    ----------
    data, group, qid, refs : CandidateLists with references, gold trees or native structures, or plain
        sequences of texts, as for ``rerank.evaluate``. If rows of a list are not contiguous, ``lists.labels``
        are in the order of the items, ``lists.input_order(lists.labels)`` in that of the rows.
    metric : a metric of single candidates, such as sBLEU; measures of errors (WER, TER) are negated, so that
        a larger label is always better. Items of lists that it does not judge have the label NaN.

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

    Lists that the metric does not judge (without a native structure, say) have unjudged items, NaN. Counts
    that the metric keeps (of n-grams, edits, brackets, superpositions) stay with the set.

    Raises
    ------
    ConfigError
        If the metric is unknown or judges rankings.
    DataError
        If an item of a judged list has no value of it, no list is judged, or columns are missing.
    """
    return with_label(lists, item_judges(lists, [metric])[metric])


def item_judges(lists: CandidateLists, metrics: Sequence[str]) -> dict[str, SelectingJudge]:
    """Return a judge of single candidates for each metric, by its name as typed; they share their work.

    Raises
    ------
    ConfigError
        If a metric is unknown, named twice, or judges rankings.
    DataError
        If columns are missing.
    """
    parsed = {text: parse(text) for text in metrics}
    if len({metric.name for metric in parsed.values()}) < len(metrics):
        raise ConfigError(f"a metric is named twice: {', '.join(metrics)}")
    for text, metric in parsed.items():
        if not isinstance(metric, SelectingMetric):
            raise ConfigError(
                f"metric {text!r} judges rankings; labels need one of single candidates (sBLEU)"
            )
    preparation = Preparation(lists)  # whatever it counts stays with the set, so it may count everything
    return {text: metric.prepare_in(preparation) for text, metric in parsed.items()}  # type: ignore[misc]


def with_label(lists: CandidateLists, judge: SelectingJudge) -> CandidateLists:
    """Return the same lists with a judge's value of each item as its label, larger = better.

    Raises DataError if an item of a judged list has no value, or no list is judged.
    """
    values = judge.item_values()
    values *= judge.better
    judged = np.repeat(judge.judged, lists.lengths)
    if not judged.any():
        raise DataError(f"{lists.source}: {judge.name} judges none of {lists.n_lists:,} lists")
    bad = judged & np.isnan(values)
    if bad.any():
        raise DataError(f"{lists.source}: item {int(np.argmax(bad)) + 1} has no value of {judge.name}")
    if not judged.all():
        values[~judged] = np.nan
    return dataclasses.replace(lists, labels=values, counts={**lists.counts, **judge.counts})


def item_rows(lists: CandidateLists, judges: Mapping[str, SelectingJudge]) -> Iterator[str]:
    """Return the lines of a table (TSV) of items' values, header first, in the order of the caller's rows.

    The columns are list, item, each metric as typed, and for metrics of structures the residues that model
    and native share (residues) and those of the native (native_residues). Lists and items without ids are
    numbered from 1. A value is empty if the item has none or its list is not judged.
    """
    columns = {name: judge.own_values() for name, judge in judges.items()}
    heads = ["list", "item", *columns]
    for judge in judges.values():
        if SUPERPOSITIONS in judge.counts and "residues" not in heads:
            heads += ["residues", "native_residues"]
            columns |= dict(
                zip(heads[-2:], judge.counts[SUPERPOSITIONS][:, :2].T.astype(np.int64), strict=True)
            )
    items = lists.item_ids
    places = np.arange(lists.n_items) - np.repeat(lists.offsets[:-1], lists.lengths) + 1
    values = [column.tolist() for column in columns.values()]
    of_list = lists.list_index.tolist()

    def row(k: int) -> list[str | int | float | None]:
        cells = [None if value[k] != value[k] else value[k] for value in values]
        return [lists.list_id(of_list[k]), str(places[k]) if items is None else items[k], *cells]

    order = lists.input_order(np.arange(lists.n_items)).tolist()
    return record.tsv(heads, map(row, order))


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
    lists : with texts, structures, or the features named.
    by : similarities, see features.consensus.
    statistic : "mean" or "median".

    Raises
    ------
    ConfigError, DataError
        If a similarity is unknown or given twice, or texts or structures are missing.
    """
    of_structures = [metric for what in by if (metric := structure_metric(lists, what)) is not None]
    pairs = None
    if of_structures:  # superposed once for all of them
        pairs = ModelPairs(lists, of_structures)
    columns = {}
    for what in by:
        columns[f"consensus.{what}.{statistic}"] = consensus(lists, what, statistic, pairs)
    if len(columns) < len(by):
        raise ConfigError("a similarity is given twice")
    return lists.with_added(columns)
