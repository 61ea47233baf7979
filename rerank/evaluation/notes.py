"""Notes on mistakes that give numbers without a word: one line each, by ``warnings.warn(..., DataNote)``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from rerank.core.text import count
from rerank.data.lists import CandidateLists
from rerank.data.overlap import note

if TYPE_CHECKING:
    from rerank.evaluation.results import Results
    from rerank.evaluation.streaming.rankings import Rankings

# Tests of fewer lists show little: Wilcoxon's least p-value for four is .125.
_FEW_LISTS = 5


def note_evaluation(lists: CandidateLists, systems: Mapping[str, Rankings], found: Results) -> None:
    """Warn if metrics, scores or tests of an evaluation cannot show anything.

    Parameters
    ----------
    lists
        The judged lists, or lists with the same largest labels and the same length of the longest one.
    systems
        How each ranks the judged lists.
    found
        Their evaluation.
    """
    from rerank.metrics.base import parse

    typed = [info.typed for info in found.metrics.values()]
    note_systems(lists, systems, typed, found.n_lists - found.unjudged)
    if lists.labels is not None and np.isnan(lists.labels).all():
        return  # reading the judgements has said why
    for name, info in found.metrics.items():
        same = abs(info.oracle - info.random) <= 1e-12 * max(1.0, abs(info.oracle))
        metric = parse(name)
        size = getattr(metric, "cutoff", None) or 0
        if not metric.of_scores or size >= lists.lengths.max() > 1 or (size == 1 and hasattr(metric, "draw")):
            continue  # Success@8 of 8 items is the bound that it is meant to be, best@1 a single sample
        if same and not (hasattr(metric, "of_length") or _nothing_reaches(lists, name)):
            note(f"{lists.source}: {name} is {info.oracle:.6g} for every order of these lists")


def note_systems(
    lists: CandidateLists, systems: Mapping[str, Rankings], metrics: Collection[str], n_judged: int
) -> None:
    """Warn about what ``note_evaluation`` does, bounds of metrics apart; ``n_judged`` lists are judged.

    Metrics are named as typed.
    """
    from rerank.data.describe import doubled_ids

    for text in doubled_ids(lists):
        note(f"{lists.source}: {text}")
    note_ndcg(lists, metrics)
    for name in metrics:
        reason = _nothing_reaches(lists, name)
        if reason:
            note(f"{lists.source}: nothing is relevant for {name}: {reason}")
    rankings: dict[bytes, str] = {}
    for name, found in systems.items():
        if found.constant and lists.lengths.max() > 1:
            note(f"{name}: no two items of a list have different scores; ties decide everything")
            continue
        if found.tied:
            of = f"{found.tied} of {found.n_lists} lists"  # not n_judged: these may be a fold
            shared = f"items with different labels share the largest score in {of}"
            note(f"{name}: {shared}; the first in the input is chosen ('best' takes their mean)")
        earlier = rankings.setdefault(found.ranking(), name) if len(systems) > 1 else name
        if earlier != name:
            note(f"{name}: ranks every list as {earlier} does")
    if n_judged < _FEW_LISTS and systems:
        note(f"{lists.source}: tests and intervals of {count(n_judged, 'judged list')} show little")


def note_ndcg(lists: CandidateLists, metrics: Iterable[str]) -> None:
    """Report once which nDCG is meant by a name such as ndcg@10, if the labels tell its families apart.

    The name nDCG in this case, or a parameter dcg, states the choice. Labels of 0 and 1 give one value.
    Report the maximum of ERR if it is not given.
    """
    from rerank.metrics.base import parse_all

    missed = () if lists.unretrieved is None else lists.unretrieved.values
    labels = np.concatenate([() if lists.labels is None else lists.labels, missed])
    largest = labels[labels > 0].max(initial=0) or 1
    for metric in parse_all(metrics).values():
        if re.match("ERR(@|$)", name := metric.name):
            note(f"{name}: max is the largest label, {largest:g}; gdeval.pl has 4: ERR(max=4){name[3:]}")
    if not np.any((labels > 0) & (labels != 1)):
        return
    for typed, metric in parse_all(metrics).items():
        name = metric.name
        if re.fullmatch("nDCG(@[0-9]+)?", name) and not re.match(r"\s*nDCG\b|.*\bdcg\s*=", typed):
            other = name.replace("nDCG", "nDCG-exp")
            note(f"{typed} is taken as {name}, trec_eval's: gain = label; {other} has gain 2^label - 1")
            return


def _nothing_reaches(lists: CandidateLists, metric: str) -> str | None:
    """Return why no item is relevant for a binary metric; None if one is, or nothing is judged."""
    from rerank.metrics.base import parse

    parsed = parse(metric)
    least = None if getattr(parsed, "graded", False) else getattr(parsed, "rel", None)
    if least is None or lists.labels is None or np.isnan(lists.labels).all():
        return None
    missed = () if lists.unretrieved is None else lists.unretrieved.values
    largest = max([float(np.nanmax(lists.labels)), *missed])
    if largest >= least > 0 or largest > least == 0:
        return None
    family = metric.partition("@")[0].partition("(")[0]
    more = f"; {family}(rel=...) sets the smallest relevant one" if largest > 0 else ""
    return f"the largest label is {largest:g}{more}"
