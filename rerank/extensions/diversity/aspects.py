"""Aspects of the items of lists: how much each item has of each aspect (intent, subtopic) of its query.

They are written as

- ``FILE``, lines of query, aspect, document and a value of 0 to 1, such as a classifier's probability or the
  score of a search for that aspect; items without a line have 0;
- ``FILE,max``, the same with any values of 0 or more, which are divided by the largest one of their aspect in
  the list;
- ``features:ITEMS``, columns of the features by names, numbers, ranges or globs; with ``,max`` at the end as
  above.

A second file may have the weight of each aspect, its probability given the query: lines of query, aspect and
a weight of 0 or more. They are divided by their sum over the aspects that some item of the list has.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

import numpy as np

from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.files.read import read_bytes, shown
from rerank.core.text import count, patterns_of
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.selection import selected
from rerank.extensions.diversity.orders import Table
from rerank.extensions.diversity.subtopics import Entry, read_entries
from rerank.formats.buffers import BOM
from rerank.formats.common import not_a_number, note, quoted
from rerank.native.data._number import parse

Named = tuple[Floats, list[bytes]]  # the values of the items of a list, and the names of the aspects
FEATURES = "features:"
_MAX = ",max"


def check(text: str) -> None:
    """Raise ConfigError if ``text`` is no file, and no selection of features."""
    rest = text.removesuffix(_MAX)
    if rest.startswith(FEATURES):
        try:
            patterns_of(rest.removeprefix(FEATURES).split(","))
        except ValueError as error:
            raise ConfigError(f"aspects {text}: {error}") from None
    elif not os.path.isfile(rest):
        raise ConfigError(f"aspects: {rest}: no such file; features of the lists are written features:ITEMS")


def tables(text: str, lists: CandidateLists, weights: str | None = None) -> Iterator[Table]:
    """Yield the values of each list, float64 (n_items, n_aspects), 0 to 1; a list may have no aspect.

    With ``weights``, a file, each is a pair of values and weights, float64 (n_aspects).

    Raises
    ------
    ConfigError
        If ``text`` is neither.
    DataError
        If a value is below 0, or above 1 without ``max``, or is missing; if no item has an aspect; if an
        aspect has no weight, or those of a list are all 0.
    FormatError
        If a file is malformed.
    """
    check(text)
    known = None if weights is None else read_weights(weights)
    rest, divided = text.removesuffix(_MAX), text.endswith(_MAX)
    if rest.startswith(FEATURES):
        found = _of_features(rest, lists, divided)
    else:
        found = _of_file(rest, lists, divided)
    for i, (table, names) in enumerate(found):
        there = np.flatnonzero((table > 0).any(axis=0))
        table = table[:, there]
        table = np.ascontiguousarray(table / table.max(axis=0) if divided and table.size else table)
        if known is None or weights is None or not table.size:
            yield table
        else:
            yield table, _weights_of(known, lists, i, [names[j] for j in there.tolist()], shown(weights))


def read_weights(path: str) -> dict[bytes, dict[bytes, float]]:
    """Return the weight of each aspect of each query.

    Raises FormatError if a line has not three fields, a weight is no number of 0 or more, an aspect has two,
    or there is no line.
    """
    source, expected = shown(path), "three fields: query aspect weight"
    out: dict[bytes, dict[bytes, float]] = {}
    for number, line in enumerate(bytes(read_bytes(path)).removeprefix(BOM).split(b"\n"), 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 3:
            raise FormatError(source, number, count(len(fields), "field"), expected)
        query, aspect, token = fields
        value = parse(token)
        if value is None or not math.isfinite(value):
            raise FormatError(source, number, *not_a_number(token, "weight"))
        if value < 0:
            raise FormatError(source, number, f"the weight {value:g}", "0 or more")
        own = out.setdefault(query, {})
        if aspect in own:
            found = f"aspect {quoted(aspect)} again for query {quoted(query)}"
            raise FormatError(source, number, found, "one weight each")
        own[aspect] = value
    if not out:
        raise FormatError(source, None, "no weight", expected)
    return out


def _weights_of(
    known: dict[bytes, dict[bytes, float]], lists: CandidateLists, i: int, names: list[bytes], source: str
) -> Floats:
    """The weights of the aspects of list ``i``, with the sum 1."""
    query = quoted(str(lists.list_id(i)))
    own = known.get(str(lists.list_id(i)).encode("utf-8", "surrogateescape"), {})
    absent = next((name for name in names if name not in own), None)
    if absent is not None:
        raise DataError(f"{source}: found no weight of aspect {quoted(absent)} of query {query}")
    out = np.array([own[name] for name in names])
    if not out.any():
        raise DataError(f"{source}: query {query}: every weight of its aspects is 0, expected one above 0")
    return np.asarray(out / out.max() / (out / out.max()).sum(), dtype=np.float64)


def _of_features(text: str, lists: CandidateLists, divided: bool) -> Iterator[Named]:
    chosen = selected(lists, text.removeprefix(FEATURES).split(","))
    values = chosen.features.to_dense().astype(np.float64)
    wrong = ~((values >= 0) & (values <= (np.inf if divided else 1.0)))
    if wrong.any():
        item, column = np.argwhere(wrong)[0].tolist()
        place = f"{lists.place_of(item)}, feature {chosen.names()[column]!r}"
        raise DataError(f"{lists.source}: {place}: {_wrong(values[item, column], divided)}")
    names = [name.encode("utf-8", "surrogateescape") for name in chosen.names()]
    for start, stop in zip(lists.offsets[:-1].tolist(), lists.offsets[1:].tolist(), strict=True):
        yield values[start:stop], names


def _wrong(value: float, divided: bool) -> str:
    """Return what to report of a value out of range."""
    if divided or not value > 1:
        return f"found the aspect value {value:g}, expected 0 or more"
    hint = f"{_MAX} at the end of --aspects divides by the largest of the list"
    return f"found the aspect value {value:g}, expected 0 to 1; {hint}"


def _of_file(path: str, lists: CandidateLists, divided: bool) -> Iterator[Named]:
    source = shown(path)
    if lists.list_ids is None or lists.item_ids is None:
        raise DataError(f"{lists.source}: aspects from a file need ids of lists and of items")
    entries = read_entries(path, "value")
    for query, lines in entries.items():
        for aspect, document, value in lines:
            if not 0 <= value <= (np.inf if divided else 1.0):
                place = f"document {quoted(document)}, aspect {quoted(aspect)} of query {quoted(query)}"
                raise DataError(f"{source}: {place}: {_wrong(value, divided)}")
    places, unknown = _places(entries, lists)
    if not any(places):
        raise DataError(f"{source}: has no document of {lists.source}: are the ids those of lists and items?")
    lacking = sum(not one for one in places)
    if lacking:
        text = f"{count(lacking, 'list')} of {lists.n_lists} without an aspect; their order stays"
        note(f"{source}: {text}")
    if unknown:
        note(f"{source}: {count(unknown, 'line')} of documents that are in no list; left out")
    for i, own in enumerate(places):
        names = dict.fromkeys(aspect for _, aspect, _ in own)
        numbers = {aspect: j for j, aspect in enumerate(names)}
        table = np.zeros((int(lists.lengths[i]), len(numbers)))
        for item, aspect, value in own:
            table[item, numbers[aspect]] = value
        yield table, list(names)


def _places(
    entries: dict[bytes, list[Entry]], lists: CandidateLists
) -> tuple[list[list[tuple[int, bytes, float]]], int]:
    """The item, aspect and value of each line of each list's query, and the lines of no item."""
    assert lists.list_ids is not None
    assert lists.item_ids is not None
    out, unknown = [], 0
    for i in range(lists.n_lists):
        start, stop = int(lists.offsets[i]), int(lists.offsets[i + 1])
        own: dict[bytes, list[int]] = {}
        for item in range(start, stop):
            own.setdefault(lists.item_ids.bytes_at(item), []).append(item - start)
        found = []
        for aspect, document, value in entries.get(lists.list_ids.bytes_at(i), ()):
            items = own.get(document, [])
            unknown += not items
            found += [(item, aspect, value) for item in items]
        out.append(found)
    return out, unknown
