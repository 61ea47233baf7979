"""Labels by a metric of single candidates, and tables of the values of several."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

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

if TYPE_CHECKING:
    from rerank.formats.list_stream import ListStream


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
    metrics, target = _checked(data, metric, out, to, per_item, jobs, reading)
    labelling = _Labelling(metrics, None)
    with parallel.using(jobs):
        lists = as_lists(data, group=group, qid=qid, refs=refs, reading=reading)
        made, judges = labelling.of(lists, partly=False)
    with all_or_none():
        if out is not None and target is not None:
            base.save(_for_format(made, lists, target), out, target)
        if per_item is not None:
            write_lines(per_item, item_rows(lists, judges))
    return made


def label_file(
    data: str,
    metric: str | Sequence[str],
    out: str | None = None,
    to: str | None = None,
    *,
    per_item: str | None = None,
    jobs: int | None = None,
    reading: Reading,
) -> str:
    """Label a file as ``label`` does, block by block if possible; return ``spread_of`` its labels."""
    from rerank.formats.list_stream import ListStream, Printed
    from rerank.formats.rewriting import rewrite

    metrics, target = _checked(data, metric, out, to, per_item, jobs, reading)
    labelling, printed = _Labelling(metrics, target), Printed()

    def sink(stream: ListStream) -> None:
        if out is None or target is None:
            for _ in stream:
                pass
        else:
            base.FORMATS.get(target)().write_stream(stream, out)

    def change(blocks: Iterator[CandidateLists], whole: bool) -> Iterator[CandidateLists]:
        if per_item is None:
            yield from labelling.change(blocks, whole)
            return
        with ListStream([], printed=printed).open(per_item) as file:
            yield from labelling.change(blocks, whole, file)

    with all_or_none(), parallel.using(jobs):
        in_blocks = target is None or base.FORMATS.get(target).writes_blocks()
        rewrite(data, reading, sink, change, in_blocks=in_blocks, grows=target == "svmlight")
    return labelling.spread.of(metrics[0])


def _checked(
    data: Any,
    metric: str | Sequence[str],
    out: str | None,
    to: str | None,
    per_item: str | None,
    jobs: int | None,
    reading: Reading | None,
) -> tuple[list[str], str | None]:
    """Return the metrics and the format of ``out``; raises RerankError before anything is read."""
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
    return metrics, target


def _for_format(made: CandidateLists, lists: CandidateLists, target: str | None) -> CandidateLists:
    """Labelled lists as they are written; a format without counts holds the texts, which give them again."""
    bare = target is not None and lists.references and "counts" not in base.FORMATS.get(target).holds
    return dataclasses.replace(made, counts=lists.counts) if bare else made


class _Labelling:
    """Labels of blocks of lists, and the spread of all of them."""

    def __init__(self, metrics: Sequence[str], target: str | None) -> None:
        self.metrics, self.target, self.spread = metrics, target, Spread()

    def of(self, lists: CandidateLists, *, partly: bool) -> tuple[CandidateLists, dict[str, SelectingJudge]]:
        """Return the labelled lists and the judges; ``partly``: other lists may be judged."""
        judges = item_judges(lists, self.metrics)
        # Structures are superposed and compared once for all metrics of theirs.
        kept = {
            k: v for one in judges.values() for k, v in one.counts.items() if k.startswith(SUPERPOSITIONS)
        }
        counted = dataclasses.replace(lists, counts={**lists.counts, **kept})
        made = with_label(counted, judges[self.metrics[0]], before=self.spread.n_items if partly else None)
        self.spread.add(made)
        return made, judges

    def change(
        self, blocks: Iterator[CandidateLists], whole: bool, file: IO[bytes] | None = None
    ) -> Iterator[CandidateLists]:
        """Yield labelled lists; the values of items are written to ``file``."""
        self.spread = Spread()
        source, name = "", self.metrics[0]
        for lists in blocks:
            source, before = lists.source, self.spread.n_lists
            made, judges = self.of(lists, partly=not whole)
            if file is not None:
                rows = item_rows(lists, judges, before)
                file.write("".join(f"{row}\n" for row in rows).encode("utf-8", "surrogateescape"))
            name = judges[self.metrics[0]].name
            yield _for_format(made, lists, self.target)
        if not self.spread.n_known:
            raise _judges_none(source, name, self.spread.n_lists)


class Spread(Struct):
    """Range and mean of labels, and how many items and lists have some."""

    n_lists: int = 0
    n_judged: int = 0
    n_items: int = 0
    n_known: int = 0
    least: float = math.inf
    largest: float = -math.inf
    total: float = 0.0

    def add(self, lists: CandidateLists) -> None:
        """Add labelled lists."""
        assert lists.labels is not None
        known = lists.labels[~np.isnan(lists.labels)]
        self.n_lists += lists.n_lists
        self.n_judged += int(np.count_nonzero(lists.judged_lists()))
        self.n_items += lists.n_items
        self.n_known += len(known)
        self.least = min(self.least, float(known.min(initial=math.inf)))
        self.largest = max(self.largest, float(known.max(initial=-math.inf)))
        self.total += float(known.sum())

    def of(self, metric: str) -> str:
        """Return them in words, as those of a metric."""
        mean = self.total / max(self.n_known, 1)
        spread = f"{self.least:.4g} to {self.largest:.4g}, mean {mean:.4g}"
        left = self.n_lists - self.n_judged
        unjudged = f"; {count(left, 'list')} unjudged" if left else ""
        return f"{metric} of {count(self.n_known, 'item')}: {spread}{unjudged}"


def spread_of(lists: CandidateLists, metric: str) -> str:
    """Return the range and the mean of the labels, and how many items and lists have some, in words."""
    spread = Spread()
    spread.add(lists)
    return spread.of(metric)


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


def with_label(lists: CandidateLists, judge: SelectingJudge, before: int | None = None) -> CandidateLists:
    """Return the same lists with a judge's value of each item as its label, larger = better.

    ``before``: the items of other lists before these; None = these are all. Raises DataError if an item of a
    judged list has no value, or no list of all is judged.
    """
    values = judge.item_values()
    values *= judge.better
    judged = np.repeat(judge.judged, lists.lengths)
    if before is None and not judged.any():
        raise _judges_none(lists.source, judge.name, lists.n_lists)
    bad = judged & np.isnan(values)
    if bad.any():
        item = (before or 0) + int(np.argmax(bad)) + 1
        raise DataError(f"{lists.source}: item {item} has no value of {judge.name}")
    if not judged.all():
        values[~judged] = np.nan
    return dataclasses.replace(lists, labels=values, counts={**lists.counts, **judge.counts})


def _judges_none(source: str, name: str, n_lists: int) -> DataError:
    return DataError(f"{source}: {name} judges none of {n_lists:,} lists")


def item_rows(lists: CandidateLists, judges: Mapping[str, SelectingJudge], before: int = 0) -> Iterator[str]:
    """Return the lines of a table (TSV) of items' values, header first, in the order of the caller's rows.

    The columns are list, item, each metric as typed, and for metrics of structures the residues that model
    and native share (residues) and those of the native (native_residues). Lists and items without ids are
    numbered from 1; if ``before`` lists came before, there is no header. A value is empty if the item has
    none or its list is not judged.
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
        name = lists.list_id(of_list[k]) if lists.list_ids is not None else str(before + of_list[k] + 1)
        return [name, str(places[k]) if items is None else items[k], *cells]

    order = lists.input_order(np.arange(lists.n_items)).tolist()
    return itertools.islice(tsv(heads, map(row, order)), 1 if before else 0, None)
