"""Judged systems of tests: settings are keywords."""

import numpy as np
from msgspec.structs import replace

from rerank.data.judge import corpus_value
from rerank.evaluation.judged import judge, judge_systems, values_of
from rerank.evaluation.results import Part
from rerank.metrics.base import parse, prepared_by
from rerank.metrics.judging import Judging


def evaluate(lists, systems, metrics, *, replicas=False, **settings):
    """Systems against references and a baseline, as `rerank eval` judges them."""
    return judge_systems(lists, systems, Judging.by(metrics, **settings), replicas=replicas)


def compare_all(lists, systems, metrics, **settings):
    """Every two systems, as `rerank compare` judges them."""
    return judge_systems(lists, systems, Judging.by(metrics, **settings), view="pairs", all_pairs=True)


def values(lists, scores, metrics, **settings):
    """The metrics of one ranking."""
    return values_of(lists, scores, Judging.by(metrics, **settings))


def part_of(name, lists, metrics, **settings):
    """The test lists of a fold."""
    return Part(name, lists, prepared_by(Judging.by(metrics, **settings), lists))


def results(name, parts, runs, baseline=None, notes=(), **settings):
    """An experiment over folds; systems are tested only if there is a baseline."""
    judging = Judging.by(None, baseline=baseline, **settings)
    return judge(parts, runs, judging, name=name, notes=notes, tested=baseline is not None)


def of_systems(lists, systems, metrics, *, name=None, **settings):
    """An experiment of one fold."""
    name = lists.source if name is None else name
    return judge_systems(lists, systems, Judging.by(metrics, **settings), view="folds", name=name)


def every_pair(judged):
    """The same with tests of every two systems."""
    return replace(judged, all_pairs=True)


def value(lists, scores, metric):
    """The corpus value of a metric."""
    judge = parse(metric).prepare(lists)
    return corpus_value(judge, judge.per_list(np.asarray(scores, dtype=float)))
