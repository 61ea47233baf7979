"""Notes on mistakes that give numbers without a word: one line each, by ``warnings.warn(..., DataNote)``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists
from rerank.data.overlap import note

if TYPE_CHECKING:
    from rerank.evaluation.results import Results
    from rerank.metrics.judges import Scores

_AT_ONCE = 1 << 18  # items whose ranking is found at a time
# Tests of fewer lists show little: Wilcoxon's least p-value for four is .125.
_FEW_LISTS = 5


def note_evaluation(lists: CandidateLists, systems: Mapping[str, Floats], found: Results) -> None:
    """Warn if metrics, scores or tests of an evaluation cannot show anything.

    Parameters
    ----------
    lists
        The judged lists.
    systems
        Scores by system, float64 (n_items), in the order of the caller's rows.
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
    lists: CandidateLists, systems: Mapping[str, Scores], metrics: Sequence[str], n_judged: int
) -> None:
    """Warn about what ``note_evaluation`` does, bounds of metrics apart; ``n_judged`` lists are judged.

    Metrics are named as typed.
    """
    from rerank.data.describe import doubled_ids
    from rerank.metrics.base import parse_all
    from rerank.metrics.judges import ranked_last
    from rerank.metrics.selecting import SelectingMetric

    for text in doubled_ids(lists):
        note(f"{lists.source}: {text}")
    note_ndcg(lists, metrics)
    for name in metrics:
        reason = _nothing_reaches(lists, name)
        if reason:
            note(f"{lists.source}: nothing is relevant for {name}: {reason}")
    chosen = (one for one in parse_all(metrics).values() if isinstance(one, SelectingMetric))
    of_labels = lists.labels is not None and any(one.needs == ("labels",) for one in chosen)
    rankings: dict[bytes, str] = {}
    for name, scores in systems.items():
        values = lists.from_input_order(ranked_last(np.asarray(scores, dtype=np.float64)))
        begin = lists.offsets[:-1]
        same = np.array_equal(np.maximum.reduceat(values, begin), np.minimum.reduceat(values, begin))
        if same and lists.n_items > lists.n_lists:
            note(f"{name}: no two items of a list have different scores; ties decide everything")
            continue
        if of_labels and (n := _tied_choices(lists, values)):
            of = f"{n} of {np.count_nonzero(lists.judged_lists())} lists"  # not n_judged: these may be a fold
            shared = f"items with different labels share the largest score in {of}"
            note(f"{name}: {shared}; the first in the input is chosen ('best' takes their mean)")
        earlier = rankings.setdefault(_ranking(lists, values), name) if len(systems) > 1 else name
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


def _tied_choices(lists: CandidateLists, values: Floats) -> int:
    """The lists in which judged items with different labels have the largest score."""
    from rerank.data.judge import labels_of

    labels, starts = labels_of(lists), lists.offsets[:-1]
    top = np.repeat(np.maximum.reduceat(values, starts), lists.lengths)
    leading = (values == top) & (values > -np.inf)
    tied = np.where(leading, labels, np.nan)
    return int(np.count_nonzero(np.fmax.reduceat(tied, starts) > np.fmin.reduceat(tied, starts)))


def _ranking(lists: CandidateLists, values: Floats) -> bytes:
    """A hash that is equal for scores with the same order of every list, ties included."""
    digest = hashlib.blake2b()
    lengths = lists.lengths
    for lists_here, items in _blocks(lists.offsets):
        numbers = np.repeat(np.arange(lists_here.stop - lists_here.start), lengths[lists_here])
        order = np.lexsort((-values[items], numbers))
        ranked = values[items][order]
        # Among tied items the order is that of the input, so equal ties give equal orders.
        digest.update(order.data)
        digest.update((ranked[1:] == ranked[:-1]).data)
    return digest.digest()


def _blocks(offsets: Index) -> Iterator[tuple[slice, slice]]:
    """Lists some at a time, with their items: one list at least, and no more items than ``_AT_ONCE``."""
    first = 0
    while first < len(offsets) - 1:
        stop = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _AT_ONCE, side="right")) - 1)
        yield slice(first, stop), slice(int(offsets[first]), int(offsets[stop]))
        first = stop
