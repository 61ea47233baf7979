"""Columns of lists that are made of other columns: labels by a metric, few labels of many, features."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rerank.data.labels import Quantiser, quantised
from rerank.data.leads import first_largest
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.errors import ConfigError, DataError
from rerank.features.consensus import consensus
from rerank.features.parse import ParseFeatures, ParseSettings, choose
from rerank.metrics.base import parse
from rerank.metrics.selecting import SelectingJudge
from rerank.models.base import load_model
from rerank.models.predicting import predicted


def labelled(lists: CandidateLists, metric: str) -> CandidateLists:
    """The same lists with a metric's value of each item on its own as label, larger always better.

    Measures of errors (WER, TER) are negated. Counts that the metric keeps (PARSEVAL's) stay with the set.
    Raises ConfigError for a metric of whole rankings, DataError where texts, references, trees or a value
    are missing.
    """
    judge = parse(metric).prepare(lists)
    if not isinstance(judge, SelectingJudge):
        raise ConfigError(f"metric {metric!r} judges rankings; labels need one of single candidates (sBLEU)")
    values = judge.better * judge.item_values()
    if np.isnan(values).any():
        bad = int(np.argmax(np.isnan(values)))
        raise DataError(f"{lists.source}: item {bad + 1} has no {metric} of its own")
    return dataclasses.replace(lists, labels=values, counts={**lists.counts, **judge.counts})


def with_quantised(lists: CandidateLists, quantiser: Quantiser) -> CandidateLists:
    """The same lists with labels of few levels, by the choices of its model where ``quantiser`` names one."""
    chosen = None
    if quantiser.scheme == "model":
        scores = predicted(load_model(quantiser.path), lists)
        chosen = first_largest(scores, lists.offsets)
    return quantised(lists, quantiser, chosen)


def with_consensus(lists: CandidateLists, by: Sequence[str], statistic: str) -> CandidateLists:
    """The same lists with a feature consensus.WHAT.STATISTIC for each of ``by``; see features.consensus."""
    columns = {}
    for what in by:
        columns[f"consensus.{what}.{statistic}"] = consensus(lists, what, statistic)
    if len(columns) < len(by):
        raise ConfigError("a similarity is given twice")
    return lists.with_added(columns)


@dataclass
class FeaturisedParses:
    """One set of parses with the tree features ``chosen`` on the first set; see features.parse.Rows."""

    path: str
    lists: CandidateLists
    chosen: ParseFeatures
    known: int
    unknown: int


def with_parse_features(
    paths: Sequence[str],
    read: Callable[[str], CandidateLists],
    settings: ParseSettings,
    *,
    keep_trees: bool = False,
    alone: bool = False,
) -> Iterator[FeaturisedParses]:
    """The sets at ``paths``, each read and given the tree features of the first; see features.parse.

    With gold trees, or saved counts, labels are the paper's Score of each parse and ``counts`` keep
    PARSEVAL's. Trees, gold trees and texts go unless ``keep_trees``. With ``alone`` the features
    that were read, such as the log probability, go as well; ``base_scores`` stay. One set is held at a time.
    """
    chosen: ParseFeatures | None = None
    for path in paths:
        lists = read(path)
        if chosen is None:
            chosen = choose(lists, settings)
        if lists.gold is not None or "PARSEVAL" in lists.counts:
            lists = labelled(lists, "PARSEVAL.score")
        if alone:
            lists = lists.with_features(Dense(np.empty((lists.n_items, 0))), None)
        rows = chosen.rows(lists)
        if not keep_trees:
            lists = dataclasses.replace(lists, trees=None, gold=None, texts=None)
        featurised = FeaturisedParses(path, rows.onto(lists), chosen, rows.known, rows.unknown)
        del lists, rows
        yield featurised
        del featurised
