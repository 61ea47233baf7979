"""Files of list weights: a header and one line per list, with its id, its number of items and its weight.

Columns are separated by tabs. ``items`` may be absent. If it is there, each list must have so many items: the
ids of lists without ids are their positions from 1, and lists of another file would go unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rerank.core.errors import DataError, FormatError
from rerank.core.files.read import read_bytes, shown
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.formats.buffers import BOM
from rerank.formats.common import finite, quoted

_HEADS = (["list", "items", "weight"], ["list", "weight"])
_EXPECTED = "list, items and weight, or list and weight, separated by tabs"


def list_weight_lines(lists: CandidateLists, weights: Floats) -> Iterator[str]:
    """Yield the lines of a file with the weights of lists (n_lists), which read back to the bit.

    Raises
    ------
    DataError
        If two lists have one id, or an id holds a tab or a line end.
    """
    ids = _ids(lists)
    odd = next((one for one in ids if one == "" or set(one) & set("\t\r\n")), None)
    if odd is not None:
        raise DataError(f"{lists.source}: the list id {odd!r} cannot be written in a table")
    yield "\t".join(_HEADS[0])
    for one, items, weight in zip(ids, lists.lengths.tolist(), weights.tolist(), strict=True):
        yield f"{one}\t{items}\t{weight!r}"


def read_list_weights(path: str, lists: CandidateLists) -> Floats:
    """Return the weight of each of ``lists``, float64 (n_lists), matched by list id.

    Raises
    ------
    FormatError
        With the line, if it is malformed, an id is unknown or repeated, a list has another number of items,
        or a weight is negative or not a number.
    DataError
        If lists have no weight, every weight is 0, or two of ``lists`` have one id.
    """
    name = shown(path)
    places = {one.encode("utf-8", "surrogateescape"): i for i, one in enumerate(_ids(lists))}
    first, *lines = bytes(read_bytes(path)).removeprefix(BOM).removesuffix(b"\n").split(b"\n")
    heads = first.decode("utf-8", "replace").rstrip("\r").split("\t")
    if heads not in _HEADS:
        raise FormatError(name, 1, f"the header {quoted(first)}", _EXPECTED)
    weights = np.full(lists.n_lists, np.nan)
    line_of: dict[int, int] = {}
    for number, line in enumerate(lines, 2):
        cells = line.removesuffix(b"\r").split(b"\t")
        if len(cells) != len(heads):
            raise FormatError(name, number, quoted(line), ", ".join(heads))
        i = places.get(cells[0])
        if i is None:
            expected = f"one of the {lists.n_lists} training lists of {lists.source}"
            raise FormatError(name, number, f"list {quoted(cells[0])}", expected)
        if i in line_of:
            found = f"list {quoted(cells[0])} again"
            raise FormatError(name, number, found, f"each list once (first on line {line_of[i]})")
        line_of[i] = number
        if len(cells) == 3 and cells[1] != str(int(lists.lengths[i])).encode():
            expected = f"{lists.lengths[i]}, as in {lists.source}; are these its lists?"
            raise FormatError(name, number, f"{quoted(cells[1])} items of list {quoted(cells[0])}", expected)
        weights[i] = finite(cells[-1], name, number, "weight")
        if not weights[i] >= 0:
            raise FormatError(name, number, f"weight {quoted(cells[-1])}", "a number that is not negative")
    _check_all(name, lists, weights)
    return weights


def _check_all(name: str, lists: CandidateLists, weights: Floats) -> None:
    """Raise DataError if a list has no weight, or every weight is 0."""
    left = np.flatnonzero(np.isnan(weights))
    if len(left):
        first = lists.list_id(int(left[0]))
        text = f"no weight of list {first!r} of {lists.source}"
        more = f", nor of {len(left) - 1} more" if len(left) > 1 else ""
        raise DataError(f"{name}: found {text}{more}; expected every training list once")
    if not weights.any():
        raise DataError(f"{name}: every weight is 0, expected one above 0")


def _ids(lists: CandidateLists) -> list[str]:
    """The ids of lists; DataError if two are equal."""
    ids = [lists.list_id(i) for i in range(lists.n_lists)]
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            text = f"two lists have the id {one!r}, and weights belong to lists by their ids"
            raise DataError(f"{lists.source}: {text}")
        seen.add(one)
    return ids
