"""Examples and pairs of SVM-light-TK (Moschitti), trees and vectors.

::

    +1 |BT| (Q (WP what)) |BT| (S (NN wicca)(VB is)) |ET| 1:0.667 4:0.233 |BV| 2:1 |EV|

A label, trees in brackets, each after |BT|, |ET|, then vectors (index:value, indices rise from 1) with |BV|
between them, |EV|. A tree that is blank or EMPTY is missing. A leaf may have brackets of its own, as in
``(BOX (a) (b))``. A single tree is the column ``trees``, several are tree1, tree2, ...; features of several
vectors are v1:1, v2:1. The program skips what is before the first tree and after |EV|. So a ``qid:ID`` after
the label names the list, ``trees:NAME,NAME`` on the first line the trees, and a comment after |EV| the item.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.files.read import shown
from rerank.core.files.write import atomic_write
from rerank.core.text import count
from rerank.core.types import Floats, Index, Mask
from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.extensions.parsing.svmtk.examples import (
    MARKERS,
    NAMES,
    Lines,
    default_names,
    named_trees,
    vector_names,
)
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.builders import bracket_strings, each_line, whole_lines
from rerank.formats.common import STORE, finite, in_input_order, note
from rerank.formats.feature_columns import WIDE
from rerank.formats.svmlight import check_item_ids, indices_of, qids_of, rising
from rerank.formats.svmlight.read import Items, Source, grouped_items, item_ids_of

_HONOURS = frozenset({"strict", "ids", "qrels", "layout", "dtype"})


@FORMATS.register("svmtk")
class SVMTK(Format):
    """Reader and writer of examples: a candidate per line.

    Labels that are all -1, 0 or 1 are those of classification: -1 becomes 0, and 0, which means unlabelled to
    the program, not judged. ``ids`` names a file with a line per example that begins with the id of its list,
    ``qrels`` one whose lines begin with list, item and label.
    """

    name: ClassVar[str] = "svmtk"
    summary: ClassVar[str] = "label |BT| tree ... |ET| index:value ... |EV| (SVM-light-TK), an item per line"
    suffixes: ClassVar[tuple[str, ...]] = (".svmtk",)
    signs: ClassVar[tuple[bytes, ...]] = tuple(marker.encode() for marker in MARKERS)
    honours: ClassVar[frozenset[str]] = _HONOURS
    holds: ClassVar[frozenset[str]] = frozenset(
        {"features", "labels", "list_ids", "item_ids", "rows", "trees", "structures"}
    )

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        lines = (line.strip() for line in head.splitlines())
        first = next((line for line in lines if line and not line.startswith(b"#")), b"")
        return any(marker.encode() in first for marker in MARKERS)

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        lines = Lines(whole_lines(path), shown(path), options, pairs=False)
        if lines.most_trees > 1 and lines.even:
            found = f"{count(lines.most_trees, 'tree')} and {count(lines.most_vectors, 'vector')} per line"
            note(f"{lines.source}: {found}; if each half is a candidate, the format is svmtk-pairs")
        source, items = lines.items()
        return _candidates(source, items, lines.trees(), lines)

    def _write(self, lists: CandidateLists, path: str) -> None:
        labels = _labels(lists, path)
        lists, texts = _with_texts(lists, path, "svmtk")
        ids = lists.item_ids
        if ids is not None:
            check_item_ids(ids, path, "svmtk")
            _refuse_markers(ids, "item id", path, "svmtk")
        _write_all(path, _singles(lists, texts, path, "svmtk", labels, ids))

    def keeps(self, lists: CandidateLists, column: str) -> bool:
        return keeps_names(lists) if column == "feature_names" else super().keeps(lists, column)


@FORMATS.register("svmtk-pairs")
class SVMTKPairs(Format):
    """Reader and writer of pairs: the first half of a line's trees and vectors is candidate one.

    The label +1 means that candidate one is better, -1 candidate two. Each pair is read as a list of two. If
    no line has a second candidate, the lines are single candidates, grouped as those of svmtk. Lists are
    written as pairs of items with different labels, the better one first in every other pair; lists without
    labels as single candidates.
    """

    name: ClassVar[str] = "svmtk-pairs"
    summary: ClassVar[str] = "pairs of candidates of SVM-light-TK, half of the trees and vectors each"
    suffixes: ClassVar[tuple[str, ...]] = (".svmtk-pairs",)
    honours: ClassVar[frozenset[str]] = _HONOURS
    holds: ClassVar[frozenset[str]] = frozenset({"features", "labels", "trees", "structures"})
    as_pairs: ClassVar[bool] = True

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        lines = Lines(whole_lines(path), shown(path), options, pairs=True)
        source, items = lines.items()
        forests = lines.trees()
        empty = _is_empty(items.features, forests)
        if empty[1::2].all():
            ones = np.arange(0, 2 * lines.n, 2)
            items.features = items.features.take(ones)
            return _candidates(source, items, [forest.take(ones) for forest in forests], lines)
        if options.ids is not None or options.qrels is not None:
            found = f"pairs, the first on example {int(np.argmin(empty[1::2])) + 1}"
            raise ConfigError(f"{lines.source}: ids and qrels are of single candidates, found {found}")
        if empty.any():
            n = count(int(np.count_nonzero(empty)), "candidate")
            note(f"{lines.source}: {n} of {lines.n} pairs without a tree or feature")
        trees, structures = named_trees(forests, lines.names, lines.source)
        return CandidateLists(
            np.arange(0, 2 * lines.n + 1, 2),
            items.features,
            labels=_labels_of_pairs(items.labels),
            feature_names=items.names,
            trees=trees,
            structures=structures,
            source=lines.source,
        )

    def _write(self, lists: CandidateLists, path: str) -> None:
        lists, texts = _with_texts(lists, path, "svmtk-pairs")
        if lists.labels is None:
            _write_all(path, _singles(lists, texts, path, "svmtk-pairs", [b"0"] * lists.n_items, None))
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

    def keeps(self, lists: CandidateLists, column: str) -> bool:
        if column in ("list_ids", "rows"):
            return lists.labels is None
        return keeps_names(lists) if column == "feature_names" else super().keeps(lists, column)


def _candidates(source: Source, items: Items, forests: list[Forest], lines: Lines) -> CandidateLists:
    """Single candidates as lists: by qid, by the ids or judgements of another file, or as one list."""
    options = source.options
    if options.ids is not None and options.qrels is not None:
        raise ConfigError("give ids or qrels, not both")
    items.labels = _labels_of_items(items.labels, lines.source)
    if options.ids is None and options.qrels is None:
        lists = grouped_items(source, items)
    else:
        if np.any(items.spans[:, 0] >= 0):
            expected = "none if ids or qrels are given"
            raise ConfigError(f"{lines.source}: found qids in its lines, expected {expected}")
        lists = _regrouped(source, items, lines)
    trees, structures = named_trees(forests, lines.names, lines.source)
    if lists.rows is not None:
        trees = None if trees is None else trees.take(lists.rows)
        structures = {name: forest.take(lists.rows) for name, forest in structures.items()}
    judged = lists.labels is not None and not np.isnan(lists.labels).all()
    return replace(lists, trees=trees, structures=structures, labels=lists.labels if judged else None)


def _regrouped(source: Source, items: Items, lines: Lines) -> CandidateLists:
    """Candidates in the lists that ids or qrels name, with labels and ids of items of qrels."""
    options = source.options
    labels, item_ids = items.labels, item_ids_of(source, items.spans)
    if options.qrels is not None:
        rows = _fields_of(options.qrels, lines, "list, item and label")
        item_ids = StringColumn.from_strings(fields[1] for fields in rows)
        where = shown(options.qrels)
        labels = np.array([finite(fields[2], where, i, "label") for i, fields in enumerate(rows, 1)])
    else:
        assert options.ids is not None
        rows = _fields_of(options.ids, lines, "the id of a list")
    whole = CandidateLists(
        np.array([0, lines.n]),
        items.features,
        labels=labels,
        item_ids=item_ids,
        feature_names=items.names,
        source=lines.source,
    )
    return whole.regrouped([fields[0] for fields in rows])


def _fields_of(path: str, lines: Lines, what: str) -> list[list[bytes]]:
    """The fields of each line of a file with a line for each example; raises FormatError otherwise."""
    least = what.count(" and ") + what.count(",") + 1
    rows = [line.split() for line in each_line(path)]
    while rows and not rows[-1]:
        rows.pop()
    for number, fields in enumerate(rows, start=1):
        if len(fields) < least:
            raise FormatError(shown(path), number, count(len(fields), "field"), what)
    if len(rows) != lines.n:
        expected = f"{lines.n}, one per example of {lines.source}"
        raise FormatError(shown(path), None, count(len(rows), "line"), expected)
    return rows


def _is_empty(features: Features, forests: list[Forest]) -> Mask:
    """Return whether each candidate has neither a tree nor a feature that is not 0."""
    csr = features.compressed()
    values = np.ones(len(csr.indices)) if csr.data is None else csr.data
    rows = np.repeat(np.arange(csr.n_items), np.diff(csr.indptr))
    empty = np.bincount(rows, values != 0, minlength=csr.n_items) == 0
    for forest in forests:
        empty &= forest.lengths() == 0
    return empty


def _labels_of_items(labels: Floats, source: str) -> Floats:
    """Labels of examples: -1 as 0 and 0 as not judged if all are -1, 0 or 1, otherwise as they are."""
    if not np.isin(labels, (-1.0, 0.0, 1.0)).all():
        return labels
    unlabelled = labels == 0
    if unlabelled.any() and not unlabelled.all():
        n = count(int(np.count_nonzero(unlabelled)), "example")
        note(f"{source}: {n} with the label 0, which SVM-light takes as not judged")
    return np.where(unlabelled, np.nan, np.maximum(labels, 0.0))


def _labels_of_pairs(labels: Floats) -> Floats | None:
    """Labels of the candidates of pairs: the better one has 1, the other 0."""
    if not labels.any():
        return None
    first = np.where(labels == 0, np.nan, (labels > 0).astype(np.float64))
    return np.stack([first, 1.0 - first], axis=1).reshape(-1)


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


def _with_texts(lists: CandidateLists, path: str, name: str) -> tuple[CandidateLists, Texts]:
    """The lists with rising columns, and their texts; raises DataError if they have no trees."""
    if not lists.tree_names():
        raise DataError(f"{path}: {name} holds trees, and the lists have none")
    lists = rising(lists)
    return lists, texts_of(lists, path, name)


def _write_all(path: str, lines: Iterator[bytes]) -> None:
    with atomic_write(path) as file:
        file.writelines(line + b"\n" for line in lines)


def _singles(
    lists: CandidateLists, texts: Texts, path: str, name: str, labels: list[bytes], ids: StringColumn | None
) -> Iterator[bytes]:
    """A line for each item; among pairs its second candidate is empty."""
    qids, names, list_index = _qids(lists, path, name), texts.names, lists.list_index.tolist()
    for item in in_input_order(lists).tolist():
        qid = b"" if qids is None else b" qid:" + qids.bytes_at(list_index[item])
        comment = b"" if ids is None or not (own := ids.bytes_at(item)) else b" # " + own
        yield texts.line(labels[item] + qid + names, [item], comment, 1 + (name == "svmtk-pairs"))
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
