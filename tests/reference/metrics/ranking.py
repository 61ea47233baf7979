"""Measures of one list, straight from their definitions; slow and meant to be obviously right."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from reference.everything import mean, plain

from rerank.data.lists import CandidateLists

Measure = Callable[[Sequence[float]], float]


def gain(measure: str, label: float) -> float:
    if not label > 0:  # not relevant, or unjudged
        return 0.0
    return label if measure == "nDCG" else 2.0**label - 1.0


def discount(measure: str, place: int) -> float:
    """Of a place from 1."""
    if measure == "nDCG-letor":
        return 1.0 if place == 1 else 1.0 / math.log2(place)
    return 1.0 / math.log2(1 + place)


def dcg(measure: str, labels: Sequence[float], cutoff: int) -> float:
    return sum(
        gain(measure, label) * discount(measure, place)
        for place, label in enumerate(labels, start=1)
        if place <= cutoff
    )


def of_order(measure: str, cutoff: int | None, rel: float, none: float = 0.0) -> Measure:
    """The measure as a function of the labels from the top down (NaN = unjudged); ``none`` if no item
    is relevant."""

    def value(labels: Sequence[float]) -> float:
        k = len(labels) if cutoff is None else cutoff
        if measure.startswith("nDCG"):
            best = sorted((label for label in labels if label > 0), reverse=True)
            ideal = dcg(measure, best, k)
            return dcg(measure, labels, k) / ideal if ideal else none
        good = [label >= rel for label in labels]
        if not any(good):
            return none
        places = [place for place, is_good in enumerate(good, start=1) if is_good]
        if measure == "AP":
            found = [(n / place) for n, place in enumerate(places, start=1) if place <= k]
            return sum(found) / len(places)
        if measure == "RR":
            return 1.0 / places[0] if places[0] <= k else 0.0
        if measure == "Success":
            return float(places[0] <= k)
        if measure == "Rprec":
            return sum(place <= len(places) for place in places) / len(places)
        top = sum(place <= k for place in places)
        return top / k if measure == "P" else top / len(places)

    return value


def orders(scores: Sequence[float]) -> Iterator[list[int]]:
    """Every order of the items that the scores allow, each as likely as the others."""
    falling = sorted(set(scores), reverse=True)
    groups = [[i for i, s in enumerate(scores) if s == value] for value in falling]
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [i for part in parts for i in part]


def expected(measure: Measure, labels: Sequence[float], scores: Sequence[float]) -> float:
    values = [measure([labels[i] for i in order]) for order in orders(scores)]
    return math.fsum(values) / len(values)


def in_input_order(measure: Measure, labels: Sequence[float], scores: Sequence[float]) -> float:
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    return measure([labels[i] for i in order])


def pair_accuracy(labels: Sequence[float], scores: Sequence[float]) -> tuple[float, int]:
    """Pairs in the right order, a tie counting one half, and pairs of different labels."""
    right, pairs = 0.0, 0
    for i, j in itertools.combinations(range(len(labels)), 2):
        if math.isnan(labels[i]) or math.isnan(labels[j]) or labels[i] == labels[j]:
            continue
        pairs += 1
        up, down = (i, j) if labels[i] > labels[j] else (j, i)
        right += 1.0 if scores[up] > scores[down] else 0.5 if scores[up] == scores[down] else 0.0
    return right, pairs


def in_trec_order(
    measure: Measure, labels: Sequence[float], scores: Sequence[float], ids: Sequence[str]
) -> float:
    """Scores as float32; on ties the larger id by bytes comes first."""
    order = sorted(range(len(scores)), key=lambda i: (np.float32(scores[i]), ids[i].encode()), reverse=True)
    return measure([labels[i] for i in order])


def over_lists(measure: Measure, lists: CandidateLists, scores: Sequence[float], ties: str) -> float:
    """The mean over judged lists of a function of the labels from the top down; ``ties`` is trec, expected
    or input."""
    found = []
    for part in plain(lists, scores):
        if all(math.isnan(label) for label in part.labels):
            continue
        if ties == "trec":
            found.append(in_trec_order(measure, part.labels, part.scores, part.ids))
        else:
            of_ties = expected if ties == "expected" else in_input_order
            found.append(of_ties(measure, part.labels, part.scores))
    return mean(found)


def value(metric: Any, lists: CandidateLists, scores: Sequence[float], ties: str) -> float:
    """The corpus value of a measure of retrieval."""
    rel = getattr(metric, "rel", 1.0)
    measure = of_order(metric.family, getattr(metric, "cutoff", None), rel)
    return over_lists(measure, lists, scores, ties)
