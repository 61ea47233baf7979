"""The similarity of a candidate to the others of its list: minimum Bayes risk as a feature.

The similarity of a candidate to another is a metric of the candidate with the other as its reference
(n-gram precision, sBLEU, WER, ...), or the closeness of a named feature. The feature is its mean or
median over the other candidates of the list (Duh 2009, 3.3.1: the median). Candidates with the same text
each count on their own, so a text that many systems gave is similar to many.

Models of proteins are compared by metrics of structures (``SelectingMetric.pairs_of``); items without a
structure are not compared and have 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rerank.core import memory, progress
from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.types import Floats, Index
from rerank.core.workers import parallel
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.reading import Reading
from rerank.formats.base import save
from rerank.formats.sources import Data, checked_format, read_lists
from rerank.metrics.base import parse
from rerank.metrics.bleu import ORDERS, BleuStatistics
from rerank.metrics.selecting import ItemPairs, SelectingMetric

STATISTICS = ("mean", "median")

# Pairs of candidates held at once: bounds the memory, changes no number.
_PAIRS = 1 << 18
_NGRAM = re.compile(r"ngram([1-9])")


def consensus(
    lists: CandidateLists, by: str, statistic: str = "mean", pairs: ItemPairs | None = None
) -> Floats:
    """Return the consensus of each item, float64 (n_items); larger is more similar, 0 in a list of one.

    Parameters
    ----------
    lists : CandidateLists
    by : str
        ngram1 .. ngram4 (precision of the candidate's n-grams), a metric of single candidates (errors are
        negated), or the name of a feature (minus the distance of its values).
    statistic : {"mean", "median"}
        Over the other candidates of the list.
    pairs : ItemPairs, optional
        Of these lists, if there are some already, for metrics that compare items (of structures).

    Raises
    ------
    ConfigError
        If ``by`` or ``statistic`` is unknown.
    DataError
        If the lists have no texts, or no structures.
    """
    if statistic not in STATISTICS:
        raise ConfigError(f"unknown statistic {statistic!r}; {did_you_mean(statistic, STATISTICS)}")
    longest = int(lists.lengths.max())
    what = f"the similarities of {longest:,} x {longest:,} candidates of a list"
    memory.require(32 * longest**2, what, "shorter lists need less (--distinct leaves out equal texts)")
    if by in lists.names():
        return _by_column(lists, lists.features.column(lists.column_of(by)), statistic)
    metric = pair_metric(lists, by)
    if metric is not None:
        return _by_pairs(lists, metric, statistic, pairs or metric.pairs_of(lists, [metric]))
    similarity = _similarity(by)
    if lists.texts is None:
        raise DataError(f"{lists.source}: consensus by {by} needs the candidates' texts, there are none")
    out = np.zeros(lists.n_items)
    with progress.step(f"comparing candidates by {by}", lists.n_lists, "list") as advance:
        for chosen in _batches(lists):
            values = similarity(_each_as_reference(lists, lists.texts, chosen))
            at = 0
            for i in chosen:
                first, last = int(lists.offsets[i]), int(lists.offsets[i + 1])
                k = last - first
                table = values[at : at + k * k].reshape(k, k)  # row: the reference, column: the candidate
                out[first:last] = _over_others(table, statistic)
                at += k * k
            advance(len(chosen))
    return out


def pair_metric(lists: CandidateLists, by: str) -> SelectingMetric | None:
    """Return the metric of pairs of items that ``by`` names, None if it names something else.

    Raises ConfigError if it names nothing.
    """
    metric = None if by in lists.names() or _NGRAM.fullmatch(by) else parse(by)
    return metric if isinstance(metric, SelectingMetric) and metric.of_pairs else None


def _by_pairs(lists: CandidateLists, metric: SelectingMetric, statistic: str, pairs: ItemPairs) -> Floats:
    out = np.zeros(lists.n_items)
    for items, table in zip(pairs.items, pairs.tables(metric), strict=True):
        if len(items) > 1:
            out[items] = _over_others(table, statistic)
    return out


def _similarity(by: str) -> Callable[[CandidateLists], Floats]:
    match = _NGRAM.fullmatch(by)
    if match is not None:
        n = int(match[1])
        if n > ORDERS:
            raise ConfigError(f"consensus by {by}: n-grams go up to {ORDERS}")
        return lambda virtual: _precision(virtual, n)
    metric = parse(by)
    if not isinstance(metric, SelectingMetric):
        raise ConfigError(f"consensus by {by}: it judges rankings, not single candidates")

    def values(virtual: CandidateLists) -> Floats:
        judge = metric.prepare(virtual)
        return np.nan_to_num(judge.better * judge.item_values(), nan=0.0)

    return values


def _precision(virtual: CandidateLists, n: int) -> Floats:
    """Share of a candidate's n-grams that its reference has, clipped; 0 if the candidate has none."""
    counts = BleuStatistics().of(virtual)
    matches, totals = counts[:, n - 1], counts[:, ORDERS + n - 1]
    return np.divide(matches, totals, out=np.zeros(len(matches)), where=totals > 0)


def _batches(lists: CandidateLists) -> Iterator[list[int]]:
    """Lists of two items or more, in batches of a bounded number of pairs."""
    batch: list[int] = []
    pairs = 0
    for i, size in enumerate(lists.lengths.tolist()):
        if size < 2:
            continue
        if batch and pairs + size * size > _PAIRS:
            yield batch
            batch, pairs = [], 0
        batch.append(i)
        pairs += size * size
    if batch:
        yield batch


def _each_as_reference(lists: CandidateLists, texts: StringColumn, chosen: list[int]) -> CandidateLists:
    """Each chosen list once for each of its candidates as the reference."""
    spans = [np.arange(lists.offsets[i], lists.offsets[i + 1]) for i in chosen]
    starts = texts.offsets[lists.offsets]
    n_bytes = sum(len(span) * int(starts[i + 1] - starts[i]) for i, span in zip(chosen, spans, strict=True))
    memory.require(n_bytes, "the texts of a list once for each of its candidates", "shorter lists need less")
    items: Index = np.concatenate([np.tile(span, len(span)) for span in spans])
    references: Index = np.concatenate(spans)
    sizes = np.concatenate([np.full(len(span), len(span)) for span in spans])
    return CandidateLists(
        np.concatenate(([0], np.cumsum(sizes))),
        Dense(np.zeros((len(items), 0))),
        texts=texts.take(items),
        references=(texts.take(references),),
        source=lists.source,
    )


def _over_others(table: Floats, statistic: str) -> Floats:
    """Mean or median of each column (k, k) without its own row: (k)."""
    k = len(table)
    others = table.T[~np.eye(k, dtype=bool)].reshape(k, k - 1)
    return others.mean(axis=1) if statistic == "mean" else np.median(others, axis=1)


def _by_column(lists: CandidateLists, values: Floats, statistic: str) -> Floats:
    out = np.zeros(lists.n_items)
    for i in range(lists.n_lists):
        here = slice(int(lists.offsets[i]), int(lists.offsets[i + 1]))
        if here.stop - here.start > 1:
            out[here] = _over_others(-np.abs(np.subtract.outer(values[here], values[here])), statistic)
    return out


def consensus_features(
    data: Data,
    by: Sequence[str],
    out: str | None = None,
    to: str | None = None,
    *,
    statistic: str = "mean",
    jobs: int | None = None,
    cluster: str | None = None,
    reading: Reading | None = None,
) -> CandidateLists:
    """Return lists with features for the similarity of each candidate to the others of its list.

    Parameters
    ----------
    data : a file of lists, or CandidateLists, with texts, structures, or the features named.
    by : similarities: ngram1 to ngram4, a metric such as sBLEU, WER or GDT-TS, or a feature. The feature of
        each is named consensus.WHAT.STATISTIC.
    out : file that the lists are written to, "-" = standard output; None = none.
    to : name of its format; None = by its suffix.
    statistic : "mean" or "median" over the other candidates.
    jobs, cluster : threads that superpose structures, or the workers of a cluster; see
        ``core.workers.parallel.using``.
    reading : how the file is read.

    Returns
    -------
    CandidateLists

    Raises
    ------
    RerankError
        If a similarity is unknown or given twice, texts or structures are missing, or a file cannot be read
        or written.
    """
    target = None if out is None else checked_format(out, to, data, reading)
    with parallel.using(jobs, cluster):
        lists = read_lists(data, reading)
        metrics = [metric for what in by if (metric := pair_metric(lists, what)) is not None]
        pairs = metrics[0].pairs_of(lists, metrics) if metrics else None  # compared once for all of them
        columns = {f"consensus.{what}.{statistic}": consensus(lists, what, statistic, pairs) for what in by}
        if len(columns) < len(by):
            raise ConfigError("a similarity is given twice")
        made = lists.with_added(columns)
        if out is not None and target is not None:
            save(made, out, target)
    return made
