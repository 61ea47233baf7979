"""Similarities of vectors: of each item to its question, and to the rest of its list."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping

import numpy as np

from rerank.core.errors import DataError, DataNote
from rerank.core.text import count
from rerank.core.types import AnyArray, Floats, Index
from rerank.data.lists import CandidateLists

TO_QUERY = ("cosine", "dot", "distance")
IN_LIST = ("centrality",)
_NUMBERS = 1 << 20  # of a block, if a list is not longer


def similarities(
    lists: CandidateLists, items: AnyArray, queries: AnyArray | None = None
) -> Mapping[str, Floats]:
    """Return the features of vectors by name, float64 (n_items) each.

    ``centrality`` is the mean cosine with the other items of the list, 0 if there is none. The cosine with a
    vector of zeros is 0.

    Parameters
    ----------
    lists : which items are in a list.
    items : their vectors (n_items, k).
    queries : those of the questions (n_lists, k); None = only ``centrality`` is computed.

    Raises
    ------
    DataError
        If vectors are not as many as items or lists, differ in length, or are too large to be multiplied.
    """
    for vectors, n, what in ((items, lists.n_items, "items"), (queries, lists.n_lists, "questions")):
        if vectors is not None and len(vectors) != n:
            raise DataError(f"{lists.source}: {len(vectors)} vectors of {n} {what}")
    if queries is not None and queries.shape[1] != items.shape[1]:
        found = f"vectors of {count(items.shape[1], 'number')}, those of questions have {queries.shape[1]}"
        raise DataError(f"{lists.source}: items have {found}; expected the same length")
    names = IN_LIST if queries is None else (*TO_QUERY, *IN_LIST)
    out = {name: np.empty(lists.n_items) for name in names}
    zeros = np.zeros(2, dtype=np.int64)  # vectors of zeros of items, of questions
    with np.errstate(over="ignore", invalid="ignore"):
        for start, stop in _blocks(lists.offsets, items.shape[1]):
            block = slice(int(lists.offsets[start]), int(lists.offsets[stop]))
            offsets = lists.offsets[start : stop + 1] - lists.offsets[start]
            x = items[block].astype(np.float64)
            units, empty = _units(x)
            zeros[0] += empty
            out["centrality"][block] = _centrality(units, offsets)
            if queries is None:
                continue
            q = queries[start:stop].astype(np.float64)
            of_query, empty = _units(q)
            zeros[1] += empty
            which = np.repeat(np.arange(stop - start), np.diff(offsets))
            out["cosine"][block] = np.einsum("ij,ij->i", units, of_query[which])
            q = q[which]
            out["dot"][block] = np.einsum("ij,ij->i", x, q)
            x -= q
            out["distance"][block] = np.sqrt(np.einsum("ij,ij->i", x, x))
    for name, values in out.items():
        if not np.isfinite(values).all():
            place = lists.place_of(int(np.argmin(np.isfinite(values))))
            raise DataError(f"{lists.source}: {name} of {place} is not finite: vectors too large, or NaN")
    for n, what in zip(zeros.tolist(), ("item", "question"), strict=True):
        if n:
            found = f"{count(n, 'vector')} of {what}s {'has' if n == 1 else 'have'} only zeros"
            warnings.warn(f"{lists.source}: {found}; cosines with them are 0", DataNote, stacklevel=2)
    return out


def _blocks(offsets: Index, width: int) -> Iterator[tuple[int, int]]:
    """Whole lists of at most ``_NUMBERS`` numbers together, or one list."""
    n_lists, start = len(offsets) - 1, 0
    room = max(_NUMBERS // max(width, 1), 1)
    while start < n_lists:
        stop = int(np.searchsorted(offsets, offsets[start] + room, side="right")) - 1
        stop = min(max(stop, start + 1), n_lists)
        yield start, stop
        start = stop


def _units(x: Floats) -> tuple[Floats, int]:
    """The vectors divided by their lengths, zeros as they are, and how many are zeros."""
    largest = np.abs(x).max(axis=1)
    empty = largest == 0
    scaled = x / np.where(empty, 1, largest)[:, None]  # so that no square overflows or vanishes
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    scaled /= np.where(empty, 1, lengths)[:, None]
    return scaled, int(empty.sum())


def _centrality(units: Floats, offsets: Index) -> Floats:
    """The mean cosine of each vector with the others of its list."""
    sizes = np.diff(offsets)
    sums = np.add.reduceat(units, offsets[:-1], axis=0)
    whole = np.einsum("ij,ij->i", units, np.repeat(sums, sizes, axis=0))
    own = np.einsum("ij,ij->i", units, units)
    others = np.repeat(sizes - 1, sizes)
    return np.divide(whole - own, others, out=np.zeros(len(units)), where=others > 0)
