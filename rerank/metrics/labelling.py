"""Labels by a metric of single candidates, and tables of the values of several."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.files.write import write_lines
from rerank.core.tables.data import tsv
from rerank.core.text import count
from rerank.core.workers import parallel
from rerank.data.columns.traces import SUPERPOSITIONS
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.formats import base
from rerank.formats.sources import (
    all_or_none,
    as_lists,
    check_outputs,
    checked_format,
    inputs_of,
)
from rerank.metrics.base import Preparation, parse
from rerank.metrics.selecting import SelectingJudge, SelectingMetric


def label(
    data: Any,
    metric: str | Sequence[str],
    out: str | None = None,
    to: str | None = None,
    *,
    per_item: str | None = None,
    group: Any = None,
    qid: Any = None,
    refs: Sequence[Any] | None = None,
    jobs: int | None = None,
    reading: Reading | None = None,
) -> CandidateLists:
    """Return the lists with a metric's value of each item on its own as its label.

    Lists that the metric does not judge (without a native structure, say) have unjudged items, NaN. Counts
    that the metric keeps (of n-grams, edits, brackets, superpositions) stay with the set.

    Parameters
    ----------
    data, group, qid, refs : a file, CandidateLists with references, gold trees or native structures, or plain
        sequences of texts, as for ``rerank.evaluate``. If rows of a list are not contiguous, ``lists.labels``
        are in the order of the items, ``lists.input_order(lists.labels)`` in that of the rows.
    metric : a metric of single candidates, such as sBLEU; of several the first makes the labels. Measures of
        errors (WER, TER) are negated, so that a larger label is always better.
    out : file that the lists are written to, "-" = standard output; None = none.
    to : name of its format; None = by its suffix.
    per_item : file for the values of all metrics of each item (TSV), in the order of the caller's rows. A
        value is as the metric has it, errors not negated, and empty if the item has none.
    jobs : threads that superpose structures.
    reading : how a file of lists is read.

    Returns
    -------
    CandidateLists

    Raises
    ------
    RerankError
        If a metric is unknown or judges rankings, texts, references, trees or values are missing, there are
        several metrics without ``per_item``, several ``jobs`` without a metric that superposes structures, or
        a file cannot be read or written.

    Examples
    --------
    >>> import rerank
    >>> lists = rerank.label([["the cat", "a cat", "dogs"]], "WER", refs=["the cat"])
    >>> lists.labels.tolist()
    [-0.0, -50.0, -100.0]
    """
    metrics = [metric] if isinstance(metric, str) else list(metric)
    if not metrics:
        raise ConfigError("no metric is named")
    if out is None and to is not None:
        raise ConfigError(f"--to {to}: not used without --out, which names the file of lists")
    if len(metrics) > 1 and per_item is None:
        raise ConfigError(
            f"found {len(metrics)} metrics, expected one; --per-item FILE writes those of others"
        )
    if jobs not in (None, 1) and not any(parse(name).in_parallel for name in metrics):
        raise ConfigError(f"--jobs {jobs}: not used by {', '.join(metrics)}, only to superpose structures")
    target = None if out is None else checked_format(out, to, data, reading)
    if per_item is not None:
        inputs = inputs_of(data, reading)
        if out is None or target == "store":
            check_outputs({"--per-item": per_item}, [*inputs, *([] if out is None else [out])])
        else:
            check_outputs({"--out": out, "--per-item": per_item}, inputs)
    with parallel.using(jobs):
        lists = as_lists(data, group=group, qid=qid, refs=refs, reading=reading)
        judges = item_judges(lists, metrics)
    # Structures are superposed and compared once for all metrics of theirs.
    kept = {k: v for one in judges.values() for k, v in one.counts.items() if k.startswith(SUPERPOSITIONS)}
    made = with_label(dataclasses.replace(lists, counts={**lists.counts, **kept}), judges[metrics[0]])
    with all_or_none():
        if out is not None and target is not None:
            # A format that holds no counts holds the texts, which give them again.
            bare = lists.references and "counts" not in base.FORMATS.get(target).holds
            base.save(dataclasses.replace(made, counts=lists.counts) if bare else made, out, target)
        if per_item is not None:
            write_lines(per_item, item_rows(lists, judges))
    return made


def spread_of(lists: CandidateLists, metric: str) -> str:
    """Return the range and the mean of the labels, and how many items and lists have some, in words."""
    labels = lists.labels
    assert labels is not None
    known = labels[~np.isnan(labels)]
    spread = f"{known.min():.4g} to {known.max():.4g}, mean {known.mean():.4g}"
    left = lists.n_lists - int(np.count_nonzero(lists.judged_lists()))
    unjudged = f"; {count(left, 'list')} unjudged" if left else ""
    return f"{metric} of {count(len(known), 'item')}: {spread}{unjudged}"


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
    return {text: metric.prepare_stated(preparation) for text, metric in parsed.items()}  # type: ignore[misc]


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
            shared = judge.counts[SUPERPOSITIONS][:, :2].T.astype(np.int64)
            columns |= zip(heads[-2:], shared, strict=True)
    items = lists.item_ids
    places = np.arange(lists.n_items) - np.repeat(lists.offsets[:-1], lists.lengths) + 1
    values = [column.tolist() for column in columns.values()]
    of_list = lists.list_index.tolist()

    def row(k: int) -> list[str | int | float | None]:
        cells = [None if value[k] != value[k] else value[k] for value in values]
        return [lists.list_id(of_list[k]), str(places[k]) if items is None else items[k], *cells]

    order = lists.input_order(np.arange(lists.n_items)).tolist()
    return tsv(heads, map(row, order))
