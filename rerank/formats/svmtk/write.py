"""Writing lists as examples or pairs of SVM-light-TK."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import DataError
from rerank.core.files.streams import atomic_write
from rerank.core.types import Floats, Index
from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.builders import bracket_strings
from rerank.formats.common import STORE, in_input_order, note
from rerank.formats.feature_columns import WIDE
from rerank.formats.svmlight.format import check_item_ids, indices_of, qids_of, rising
from rerank.formats.svmtk.examples import NAMES, default_names, vector_names
from rerank.formats.svmtk.lexer import MARKERS

_MARKER = re.compile("|".join(map(re.escape, MARKERS)).encode())
_VECTOR_NAME = re.compile(r"v([1-9][0-9]{0,5}):([1-9][0-9]{0,8})")


@dataclass(frozen=True)
class Texts:
    """The trees of each item and its vectors, without markers."""

    trees: list[list[bytes]]
    vectors: list[list[bytes]]
    names: bytes  # before the first tree of the first line; b"" if the trees have the names of the reader

    @property
    def n_trees(self) -> int:
        """The number of trees of an item."""
        return len(self.trees[0])

    def line(self, label: bytes, items: list[int], comment: bytes = b"", n_sides: int = 1) -> bytes:
        """Return a line with the trees and vectors of ``items``, those that lack of ``n_sides`` empty."""
        lacking = n_sides - len(items)
        trees = [tree for item in items for tree in self.trees[item]]
        trees += [b""] * (lacking * self.n_trees)
        vectors = [vector for item in items for vector in self.vectors[item]]
        vectors += [b""] * (lacking * len(self.vectors[0]))
        parts = [label, *(b"|BT| " + tree for tree in trees), *([b"|ET|"] if trees else [])]
        if vectors or comment:
            parts += [b" |BV| ".join(vectors), b"|EV|" + comment]
        return b" ".join(parts)


def write_examples(lists: CandidateLists, path: str) -> None:
    """Write a line for each item, in the order of the input's lines; raises DataError."""
    labels = _labels(lists, path)
    lists = rising(_with_trees(lists, path, "svmtk"))
    texts = texts_of(lists, path, "svmtk")
    qids = _qids(lists, path, "svmtk")
    ids = lists.item_ids
    if ids is not None:
        check_item_ids(ids, path, "svmtk")
        _refuse_markers(ids, "item id", path, "svmtk")

    def lines() -> Iterator[bytes]:
        names = texts.names
        list_index = lists.list_index.tolist()
        for item in in_input_order(lists).tolist():
            label = (
                labels[item] + (b"" if qids is None else b" qid:" + qids.bytes_at(list_index[item])) + names
            )
            comment = b"" if ids is None or not (own := ids.bytes_at(item)) else b" # " + own
            yield texts.line(label, [item], comment)
            names = b""

    _write_all(path, lines())


def write_pairs(lists: CandidateLists, path: str) -> None:
    """Write the pairs of items of a list with different labels, or without labels each item alone.

    The better item of a pair is first, then second in the next pair, so that both labels occur. Raises
    DataError.
    """
    lists = rising(_with_trees(lists, path, "svmtk-pairs"))
    texts = texts_of(lists, path, "svmtk-pairs")
    if lists.labels is None:
        _write_all(path, _singles(lists, texts, path))
        return
    pairs = pairs_of(lists.labels, lists.offsets)
    if not len(pairs):
        raise DataError(f"{path}: svmtk-pairs holds pairs, and no list has items with different labels")

    def lines() -> Iterator[bytes]:
        names = texts.names
        for k, (better, worse) in enumerate(pairs.tolist()):
            label, items = (b"-1", [worse, better]) if k % 2 else (b"+1", [better, worse])
            yield texts.line(label + names, items)
            names = b""

    _write_all(path, lines())


def _with_trees(lists: CandidateLists, path: str, name: str) -> CandidateLists:
    """The lists themselves; raises DataError if they have no trees."""
    if not lists.tree_names():
        raise DataError(f"{path}: {name} holds trees, and the lists have none")
    return lists


def _write_all(path: str, lines: Iterator[bytes]) -> None:
    with atomic_write(path) as file:
        file.writelines(line + b"\n" for line in lines)


def _singles(lists: CandidateLists, texts: Texts, path: str) -> Iterator[bytes]:
    """A line for each item, whose second candidate is empty."""
    qids, names, list_index = _qids(lists, path, "svmtk-pairs"), texts.names, lists.list_index.tolist()
    for item in in_input_order(lists).tolist():
        label = b"0" + (b"" if qids is None else b" qid:" + qids.bytes_at(list_index[item])) + names
        yield texts.line(label, [item], n_sides=2)
        names = b""


def pairs_of(labels: Floats, offsets: Index) -> Index:
    """Return the pairs of items of a list of which the first has a larger label, int64 (n, 2)."""
    found = [np.empty((0, 2), dtype=np.int64)]
    for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        own = labels[start:stop]
        found.append(np.argwhere(own[:, None] > own[None, :]) + start)
    return np.concatenate(found)


def texts_of(lists: CandidateLists, path: str, name: str) -> Texts:
    """Return trees and vectors of all items as format ``name`` writes them; raises DataError."""
    tree_names = lists.tree_names()
    columns = [tree_strings(lists.forest(one), path, name) for one in tree_names]
    trees = [[column.bytes_at(i) for column in columns] for i in range(lists.n_items)]
    named = bool(tree_names) and tree_names != default_names(len(tree_names))
    return Texts(
        trees, _vectors(lists, path, name), b" " + NAMES + ",".join(tree_names).encode() if named else b""
    )


def tree_strings(forest: Forest, path: str, name: str) -> StringColumn:
    """Return trees in brackets, leaves with siblings in brackets of their own; raises DataError.

    The program reads ``(NP the dog)`` as one leaf, so two are written ``(NP (the) (dog))``.
    """
    _refuse_markers(bracket_strings(forest, "tree", name, path), "tree", path, name)
    n, sizes = len(forest.vocabulary), forest.sizes
    sibling = sizes == 1
    sibling[1:] &= sizes[:-1] != 2
    words = [forest.vocabulary.bytes_at(i) for i in range(n)]
    vocabulary = StringColumn.from_strings([*words, *(b"(" + word + b")" for word in words)])
    symbols = np.where(sibling, forest.symbols + n, forest.symbols).astype(np.int32)
    return Forest(forest.offsets, symbols, sizes, vocabulary, check=False).to_strings()


def _refuse_markers(strings: StringColumn, what: str, path: str, name: str) -> None:
    """Raise DataError if a string contains a marker."""
    found = _MARKER.search(strings.data.tobytes())
    if found is not None:
        i = int(np.searchsorted(strings.offsets, found.start(), side="right")) - 1
        if found.end() <= strings.offsets[i + 1]:
            raise DataError(
                f"{path}: {name} cannot hold {found[0].decode()} in the {what} {strings[i]!r}; {STORE}"
            )
        for one in strings:  # the marker was across two strings: look at each
            if _MARKER.search(one.encode("utf-8", "surrogateescape")):
                raise DataError(f"{path}: {name} cannot hold a marker in the {what} {one!r}; {STORE}")


def _qids(lists: CandidateLists, path: str, name: str) -> StringColumn | None:
    """The list ids to write, None for one list without an id."""
    qids = qids_of(lists, path, name, 1)
    if qids is not None:
        _refuse_markers(qids, "list id", path, name)
    return qids


def _vectors(lists: CandidateLists, path: str, name: str) -> list[list[bytes]]:
    """The vectors of each item as text; a last column without a value is named in the first item."""
    if lists.has_missing:
        raise DataError(f"{path}: {name} cannot hold missing features; {STORE}")
    if not lists.n_features:
        return [[] for _ in range(lists.n_items)]
    indices, bounds = vector_columns(lists)
    if name == "svmtk-pairs" and int(indices.max()) > WIDE:
        raise DataError(f"{path}: {name} cannot hold feature {int(indices.max())}, at most {WIDE:,}; {STORE}")
    csr = lists.features.compressed()
    data = np.ones(len(csr.indices)) if csr.data is None else csr.data
    vector_of = np.searchsorted(bounds, np.arange(lists.n_features), side="right").tolist()
    numbers, columns = indices.tolist(), csr.indices.tolist()
    values, indptr = data.tolist(), csr.indptr.tolist()
    out = []
    used = np.zeros(lists.n_features, dtype=bool)
    used[csr.indices[data != 0]] = True
    lasts = [j for j in [*(bounds - 1).tolist(), lists.n_features - 1] if not used[j]]
    for item in range(lists.n_items):
        cells = {columns[k]: values[k] for k in range(indptr[item], indptr[item + 1]) if values[k]}
        cells |= dict.fromkeys(lasts, 0.0) if item == 0 else {}
        texts: list[list[str]] = [[] for _ in range(len(bounds) + 1)]
        for j in sorted(cells):
            texts[vector_of[j]].append(f"{numbers[j]}:{cells[j]!r}")
        out.append([" ".join(text).encode() for text in texts])
    return out


def vector_columns(lists: CandidateLists) -> tuple[Index, Index]:
    """Return the index of each column in its vector, and the first column of each vector but the first.

    Columns are of several vectors if they have the names that the reader gives them.
    """
    found = [_VECTOR_NAME.fullmatch(name) for name in lists.feature_names or ()]
    parts = [(int(match[1]), int(match[2])) for match in found if match is not None]
    numbers = np.array([vector for vector, _ in parts], dtype=np.int64)
    widths = np.bincount(numbers)[1:].tolist() if len(parts) == len(found) > 0 else []
    if len(widths) > 1 and lists.names() == vector_names(widths):
        bounds = np.cumsum(widths)[:-1]
        return np.array([index for _, index in parts], dtype=np.int64), bounds
    return indices_of(lists), np.empty(0, dtype=np.int64)


def keeps_names(lists: CandidateLists) -> bool:
    """Return whether the features are read back with their names."""
    indices, bounds = vector_columns(lists)
    return len(bounds) > 0 or lists.names() == list(map(str, indices.tolist()))


def _labels(lists: CandidateLists, path: str) -> list[bytes]:
    """The labels to write: -1 and +1 of classification if all are 0 and 1, otherwise as they are."""
    labels = lists.labels
    if labels is None:
        return [b"0"] * lists.n_items
    unjudged = np.isnan(labels)
    values = np.unique(labels[~unjudged]).tolist()
    if set(values) <= {-1.0, 1.0} or set(values) <= {0.0, 1.0}:
        if -1.0 in values:
            note(f"{path}: the labels -1 are read back as 0")
        texts = np.where(unjudged, 0, np.where(labels > 0, 1, 2)).tolist()
        return [(b"0", b"+1", b"-1")[k] for k in texts]
    if set(values) <= {-1.0, 0.0, 1.0}:
        raise DataError(f"{path}: svmtk would read the label 0 beside -1 and 1 as not judged; {STORE}")
    if unjudged.any():
        raise DataError(
            f"{path}: svmtk cannot hold items without a label beside labels {values[0]:g}, ...; {STORE}"
        )
    return [repr(label).encode() for label in labels.tolist()]
