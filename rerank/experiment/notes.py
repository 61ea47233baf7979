"""Notes on mistakes that give numbers without a word: one line each, by ``warnings.warn(..., DataNote)``."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rerank.data.lists import CandidateLists
from rerank.data.types import Floats, Index, Mask
from rerank.errors import DataNote
from rerank.evaluation.evaluate import Evaluation
from rerank.metrics.base import parse
from rerank.report.contents import doubled_ids
from rerank.text import count, some

# Tests of fewer lists can hardly be significant: Wilcoxon's least p-value for five is .0625.
_FEW_LISTS = 6
# A copied label is no coincidence from so many judged items on.
_ENOUGH = 20
# Lists of other sentences may have the same features: 6 % of syscomb-wmt10's have.
_SHARE = 0.1


def note(text: str) -> None:
    """Warn with a DataNote."""
    warnings.warn(text, DataNote, stacklevel=4)


def note_evaluation(lists: CandidateLists, systems: Mapping[str, Floats], found: Evaluation) -> None:
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
    note_systems(lists, systems, list(found.metrics), found.n_lists - found.unjudged)
    if lists.labels is not None and np.isnan(lists.labels).all():
        return  # reading the judgements has said why
    for name, info in found.metrics.items():
        same = abs(info.oracle - info.random) <= 1e-12 * max(1.0, abs(info.oracle))
        if (getattr(parse(name), "cutoff", None) or 0) >= lists.lengths.max() > 1:
            continue  # pass@8 of 8 answers is the bound that it is meant to be
        if same and not _nothing_reaches(lists, name):
            note(f"{lists.source}: {name} is {info.oracle:.6g} for every order of these lists")


def note_systems(
    lists: CandidateLists, systems: Mapping[str, Floats], metrics: Sequence[str], n_judged: int
) -> None:
    """Warn about what ``note_evaluation`` does, bounds of metrics apart; ``n_judged`` lists are judged."""
    for text in doubled_ids(lists):
        note(f"{lists.source}: {text}")
    for name in metrics:
        reason = _nothing_reaches(lists, name)
        if reason:
            note(f"{lists.source}: nothing is relevant for {name}: {reason}")
    rankings: dict[bytes, str] = {}
    for name, scores in systems.items():
        values = lists.from_input_order(np.asarray(scores))
        if _constant(lists, values):
            note(f"{name}: no two items of a list have different scores; ties decide everything")
            continue
        earlier = rankings.setdefault(_ranking(lists, values), name)
        if earlier != name:
            note(f"{name}: ranks every list as {earlier} does")
    if n_judged < _FEW_LISTS and systems:
        note(f"{lists.source}: tests and intervals of {count(n_judged, 'judged list')} show little")


def _nothing_reaches(lists: CandidateLists, metric: str) -> str | None:
    """Why no item of the lists is relevant for a binary metric; None if one is, or nothing is judged."""
    least = getattr(parse(metric), "rel", None)
    if least is None or lists.labels is None or np.isnan(lists.labels).all():
        return None
    missed = () if lists.unretrieved is None else lists.unretrieved.values
    largest = max([float(np.nanmax(lists.labels)), *missed])
    if largest >= least > 0 or largest > least == 0:
        return None
    more = f"; {metric.partition('@')[0]}(rel=...) sets the least relevant one" if largest > 0 else ""
    return f"the largest label is {largest:g}{more}"


def _constant(lists: CandidateLists, values: Floats) -> bool:
    """Whether no two items of a list have different scores, although a list has two items."""
    begin = lists.offsets[:-1]
    same = np.array_equal(np.maximum.reduceat(values, begin), np.minimum.reduceat(values, begin))
    return same and lists.n_items > lists.n_lists


def _ranking(lists: CandidateLists, values: Floats) -> bytes:
    """A hash that is equal for scores which order every list alike, ties included."""
    order = np.lexsort((-values, lists.list_index))
    ranked = values[order]
    tied = ranked[1:] == ranked[:-1]
    # Among tied items the order is that of the input, so equal ties give equal orders.
    return hashlib.blake2b(order.tobytes() + np.packbits(tied).tobytes()).digest()


def note_training(lists: CandidateLists, dev: CandidateLists | None) -> None:
    """Warn about features that are copies of the label, and about dev lists that are training lists."""
    copies = copied_labels(lists)
    if copies:
        what = count(len(copies), "feature")
        note(f"{lists.source}: {what} ({some(copies)}) with one value per label: known at prediction?")
    if dev is None:
        return
    same = _shared(lists, dev.with_columns(lists.names()))
    if same:
        note(f"{dev.source}: {same} of {count(dev.n_lists, 'list')} have the features of training lists")


def copied_labels(lists: CandidateLists) -> list[str]:
    """Return the names of features that are a strictly monotone function of the label on all judged items.

    Few items or a single label tell nothing, and give none. Unjudged items do not count.
    """
    if lists.labels is None:
        return []
    judged = np.flatnonzero(~np.isnan(lists.labels))
    if len(judged) < _ENOUGH:
        return []
    items = judged[np.argsort(lists.labels[judged], kind="stable")]
    steps = np.diff(lists.labels[items]) > 0
    if not steps.any():
        return []
    names = lists.names()
    return [names[j] for j in _candidates(lists, items, steps) if _copies(lists, j, items, steps)]


def _candidates(lists: CandidateLists, items: Index, steps: Mask) -> list[int]:
    """Columns that could be copies: they are on a few items, some around the first steps."""
    at = np.flatnonzero(steps)[:8]
    few = np.unique(np.concatenate([at, at + 1, [0, len(items) - 1]]))
    features = lists.features.take(items[few])
    columns = features.occurring()
    places = np.full(lists.n_features, -1, dtype=np.int64)
    places[columns] = np.arange(len(columns))
    changes = np.diff(features.select(places, len(columns)).to_dense(), axis=0)
    expected = np.add.reduceat(steps, few[:-1], dtype=np.int64) > 0
    fits = ((changes != 0) == expected[:, None]).all(axis=0)
    return [int(j) for j in columns[fits]]


def _copies(lists: CandidateLists, j: int, items: Index, steps: Mask) -> bool:
    """Whether column j changes exactly where the label does, always in one direction."""
    changes = np.diff(lists.features.column(j)[items])
    one_way = bool((changes >= 0).all() or (changes <= 0).all())
    return one_way and np.array_equal(changes != 0, steps)


def _shared(lists: CandidateLists, dev: CandidateLists) -> int:
    """Return how many dev lists have the features of training lists, 0 if so few that it may be chance."""
    if np.array_equal(lists.offsets, dev.offsets):
        fingerprints = {one.replace_labels(None).fingerprint() for one in (lists, dev)}
        if len(fingerprints) == 1:
            return dev.n_lists
    known = set(_hashes(lists))
    same = sum(one in known for one in _hashes(dev))
    return same if same >= _SHARE * dev.n_lists else 0


def _hashes(lists: CandidateLists) -> Iterator[bytes]:
    """The features of each list as a hash; lists without three different rows are too poor to recognise."""
    w = np.random.Generator(np.random.PCG64(0)).random(lists.n_features)
    for row in np.split(lists.features.scores(w), lists.offsets[1:-1]):
        if not np.isnan(row).any() and len(np.unique(row)) > 2:
            yield row.tobytes()
