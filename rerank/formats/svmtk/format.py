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

from dataclasses import replace
from typing import ClassVar

import numpy as np

from rerank.core.errors import ConfigError, FormatError
from rerank.core.files.streams import shown
from rerank.core.text import count
from rerank.core.types import Floats, Mask
from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.builders import each_line, whole_lines
from rerank.formats.common import finite, note
from rerank.formats.svmlight.read import Items, Source, grouped_items, item_ids_of
from rerank.formats.svmtk.examples import Lines, named_trees
from rerank.formats.svmtk.lexer import MARKERS
from rerank.formats.svmtk.write import keeps_names, write_examples, write_pairs

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
        return read_examples(path, options)

    def _write(self, lists: CandidateLists, path: str) -> None:
        write_examples(lists, path)

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
        return read_pairs(path, options)

    def _write(self, lists: CandidateLists, path: str) -> None:
        write_pairs(lists, path)

    def keeps(self, lists: CandidateLists, column: str) -> bool:
        if column in ("list_ids", "rows"):
            return lists.labels is None
        return keeps_names(lists) if column == "feature_names" else super().keeps(lists, column)


def read_examples(path: str, options: ReadOptions) -> CandidateLists:
    """Return the examples of a file, a candidate each; raises FormatError at its first bad line."""
    lines = Lines(whole_lines(path), shown(path), options, pairs=False)
    if lines.most_trees > 1 and lines.even:
        found = f"{count(lines.most_trees, 'tree')} and {count(lines.most_vectors, 'vector')} per line"
        note(f"{lines.source}: {found}; if each half is a candidate, the format is svmtk-pairs")
    source, items = lines.items()
    return _candidates(source, items, lines.trees(), lines)


def read_pairs(path: str, options: ReadOptions) -> CandidateLists:
    """Return the pairs of a file as lists of two, or its single candidates if no line has a second one.

    Raises FormatError at the first bad line.
    """
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
    """Whether each candidate has neither a tree nor a feature that is not 0."""
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
