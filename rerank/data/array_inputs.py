"""Columns as Python users hold them: trees, structures, classes, texts and ids, made the columns of lists."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Floats, Index
from rerank.data.arrays import cells, is_missing, real_array, without_missing
from rerank.data.columns.class_sets import EXPECTED, class_column
from rerank.data.columns.forests import BracketError, Forest
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.schema import TREE
from rerank.data.columns.strings import StringColumn
from rerank.data.columns.traces import FIRST_NUMBER, LAST_NUMBER, Keys, Traces, keys_of

_APART = re.compile(r"[()\t-\r ]")  # what ends a label or a word in brackets
_NESTED = "a label followed by words and subtrees, such as ['NP', ['DT', 'the'], ['NN', 'dog']]"
_EXPECTED = f"a string in brackets, a tree of NLTK, or a list: {_NESTED}"


def forest_of(trees: Iterable[Any] | Forest) -> Forest:
    """Return trees as a Forest; one that is a Forest already stays as it is.

    Parameters
    ----------
    trees
        A Forest, or any sequence of trees, each of which is one of

        - a string in Penn brackets, ``(NP (DT the) (NN dog))``, see ``TreeReader``;
        - a list or tuple of a label, words and subtrees: ``["NP", ["DT", "the"], ["NN", "dog"]]``;
        - a tree of NLTK: any iterable of children with a method ``label``. A tuple of two strings in it is a
          word and its tag, as in the trees of NLTK's chunkers;
        - ``None``, or an empty string, list or tuple: a missing parse.

        Depth is not limited.

    Raises
    ------
    DataError
        If one is not a tree, a word or a label has a bracket or a blank (the treebank writes -LRB- and
        -RRB-), a word is empty, or a tree contains itself.

    Examples
    --------
    >>> forest_of([["NP", ["DT", "the"], ["NN", "dog"]], "(NP (NN dogs))"]).to_strings()[0]
    '(NP (DT the) (NN dog))'
    """
    if isinstance(trees, Forest):
        return trees
    if isinstance(trees, str | bytes) or is_labelled(trees):
        raise DataError(f"trees: found one {type(trees).__name__}, expected a sequence of trees")
    try:
        several = iter(trees.to_pylist() if hasattr(trees, "to_pylist") else trees)
    except TypeError:
        raise DataError(f"trees: found {type(trees).__name__}, expected a sequence of trees") from None
    return Forest.from_strings(in_brackets(tree, f"tree {k}") for k, tree in enumerate(several, 1))


def is_labelled(value: Any) -> bool:
    """Return whether a value is a tree of NLTK, which is a list or a tuple as well."""
    return callable(getattr(value, "label", None)) and hasattr(value, "__iter__")


def in_brackets(tree: Any, where: str) -> str | bytes:
    """Return one tree in brackets; ``where`` names it in errors."""
    if is_missing(tree):
        return ""
    if isinstance(tree, str | bytes):
        return tree
    if not (is_labelled(tree) or isinstance(tree, list | tuple)):
        raise DataError(f"{where}: found {type(tree).__name__}, expected {_EXPECTED}")
    if not is_labelled(tree) and not tree:
        return ""
    parts: list[str] = []
    opened: list[tuple[Any, Iterator[Any]]] = []  # a stack: trees may be deeper than Python can recurse
    around: set[int] = set()
    child = tree
    while True:
        if isinstance(child, str):
            parts.append(f" {_symbol(child, 'word', where)}")
        else:
            if id(child) in around:
                raise DataError(f"{where}: found a tree that contains itself")
            label, children = _parts(child, opened[-1][0] if opened else None, where)
            parts.append(f" ({label}")
            opened.append((child, children))
            around.add(id(child))
        while opened:
            following = next(opened[-1][1], opened)  # the stack itself is never a child
            if following is not opened:
                child = following
                break
            around.discard(id(opened.pop()[0]))
            parts.append(")")
        else:
            return "".join(parts)


def _parts(node: Any, parent: Any, where: str) -> tuple[str, Iterator[Any]]:
    """The label and the children of a node; ``parent`` is None for the root."""
    if is_labelled(node):
        return _symbol(node.label(), "label", where), iter(node)
    if isinstance(node, tuple) and is_labelled(parent):
        if len(node) != 2 or not all(isinstance(one, str) for one in node):
            raise DataError(f"{where}: found {_shown(node)} in a tree of NLTK, expected a word and its tag")
        return _symbol(node[1], "label", where), iter(node[:1])
    if not isinstance(node, list | tuple) or not node or not isinstance(node[0], str):
        raise DataError(f"{where}: found {_shown(node)}, expected {_NESTED}")
    children = iter(node)
    return _symbol(next(children), "label", where), children


def _symbol(text: Any, kind: str, where: str) -> str:
    """A label or a word that can be read back from brackets."""
    if not isinstance(text, str):
        raise DataError(f"{where}: found the {kind} {_shown(text)}, expected a string")
    if not text and kind == "word":
        raise DataError(f"{where}: found an empty word")
    if _APART.search(text):
        advice = "one without brackets and blanks; brackets are written -LRB- and -RRB-"
        raise DataError(f"{where}: found the {kind} {text[:60]!r}, expected {advice}")
    return text


def _shown(value: Any) -> str:
    """A wrong value for messages: nested ones by their type, as their text may be endless."""
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}" if value else f"an empty {type(value).__name__}"
    return repr(value)[:60] if isinstance(value, str | int | float) else type(value).__name__


def traces_of(entries: Any) -> Traces:
    """Return a column of structures, without chains and with unknown residues.

    Raises DataError with the number of the entry, if one is something else.

    entries : Traces, which stay as they are, or a sequence with an entry for each structure:

        - positions of alpha carbons in Å, array (n, 3), whose residues are numbered from 1; a row of NaN is a
          missing residue;
        - (numbers, positions), with rising residue numbers (n);
        - None: no structure.
    """
    if isinstance(entries, Traces):
        return entries
    if isinstance(entries, str | bytes) or not hasattr(entries, "__len__"):
        raise DataError(f"found {type(entries).__name__}, expected a sequence of structures")
    found = []
    for place, entry in enumerate(entries, 1):
        try:
            found.append(_structure(entry))
        except DataError as error:
            raise DataError(f"structure {place}: {error}") from None
    keys = [keys for keys, _ in found] or [np.empty(0, dtype=np.uint64)]
    xyz = [xyz for _, xyz in found] or [np.empty((0, 3))]
    offsets = offsets_of(np.array([len(keys) for keys, _ in found], dtype=np.int64))
    letters = np.full(int(offsets[-1]), ord("X"), dtype=np.uint8)
    return Traces(offsets, np.concatenate(keys), np.ascontiguousarray(np.concatenate(xyz)), letters)


def _structure(entry: Any) -> tuple[Keys, Floats]:
    """Keys and positions of a structure, without missing residues."""
    if is_missing(entry):
        return np.empty(0, dtype=np.uint64), np.empty((0, 3))
    numbers = None
    if isinstance(entry, tuple) and len(entry) == 2 and dimensions(entry[1]) == 2:
        numbers, entry = entry
    try:
        xyz = real_array(entry, "positions").astype(np.float64, copy=False)
    except DataError:
        raise DataError("found no numbers, expected positions (n, 3) of alpha carbons") from None
    if xyz.size == 0 and xyz.ndim <= 2:
        xyz = xyz.reshape(0, 3)
    if xyz.ndim != 2 or xyz.shape[1] != 3:
        raise DataError(f"found shape {xyz.shape}, expected positions (n, 3) of alpha carbons")
    keys = keys_of(np.arange(1, len(xyz) + 1) if numbers is None else _numbers(numbers, len(xyz)))
    gone = np.isnan(xyz)
    missing = gone.all(axis=1)
    if (gone.any(axis=1) & ~missing).any():
        raise DataError(
            "found a residue with some coordinates missing, expected three numbers, or NaN for all"
        )
    return keys[~missing], xyz[~missing]


def dimensions(entry: Any) -> int:
    """Return the number of dimensions of an array; 0 if it is no array, such as rows of different lengths."""
    try:
        return np.ndim(entry)
    except ValueError:
        return 0


def _numbers(numbers: Sequence[int], n: int) -> Index:
    """Residue numbers, checked."""
    found = without_missing(numbers, "residue numbers")
    if found.shape != (n,) or found.dtype.kind not in "iu":
        raise DataError(f"expected {n} whole residue numbers, one for each position")
    if n and not (found.min() >= FIRST_NUMBER and found.max() <= LAST_NUMBER and (np.diff(found) > 0).all()):
        raise DataError(f"expected rising residue numbers within {FIRST_NUMBER} to {LAST_NUMBER}")
    return found.astype(np.int64)


def frame_names(X: Any) -> list[str] | None:
    """Return the names of a data frame's columns, None if there are none or they are not strings."""
    columns = list(getattr(X, "column_names", ()) or getattr(X, "columns", ()))  # of Arrow, of others
    return columns if columns and all(isinstance(name, str) for name in columns) else None


def vector(values: Any, name: str, length: int) -> Floats:
    """Return values as float64 (length), NaN for missing ones.

    Raises DataError, with the name, if they are not so many numbers.
    """
    out = np.ascontiguousarray(real_array(values, name), dtype=np.float64)
    if out.shape != (length,):
        raise DataError(f"{name} has shape {out.shape}, expected ({length},)")
    return out


def group_offsets(group: Any, n_items: int, source: str) -> Index:
    """Return offsets from the lengths of lists; raise DataError unless they sum to ``n_items``."""
    lengths = without_missing(group, f"{source}: group")
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or lengths.sum() != n_items:
        raise DataError(f"{source}: group must be whole numbers that sum to {n_items}")
    return offsets_of(lengths)


def list_ids(qid: Any, n_items: int, source: str) -> Sequence[str | bytes]:
    """Return the id of each item's list as text; raise DataError if one is missing."""
    ids = cells(qid) if isinstance(qid, Iterable) else []
    if len(ids) != n_items or any(isinstance(one, list | tuple) for one in ids):
        shape = np.array(ids, dtype=object).shape
        raise DataError(f"{source}: qid has shape {shape}, expected ({n_items},)")
    if None in ids:
        raise DataError(f"{source}: the qid of row {ids.index(None) + 1} is missing")
    return [id_text(value) for value in ids]


def id_text(value: Any) -> str | bytes:
    """Return an id, a class or an answer as text; 1.0 is "1", as frames hold whole numbers beside NaN."""
    if isinstance(value, str | bytes):
        return value
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else str(float(value))
    return str(value)


def strings(values: Any, name: str, n_items: int, source: str, *, needed: bool = False) -> StringColumn:
    """Return a column of texts; a missing one is "", or an error if they are ``needed``.

    Raises DataError if there are not ``n_items`` entries, or one that is needed is missing.
    """
    found = cells(values)
    if len(found) != n_items:
        raise DataError(f"{source}: {name} has {len(found)} entries, expected {n_items}")
    if needed and None in found:
        raise DataError(f"{source}: {name}: the id of row {found.index(None) + 1} is missing")
    return StringColumn.from_strings("" if value is None else id_text(value) for value in found)


def forests(
    trees: Any, structures: Mapping[str, Any], source: str
) -> tuple[Forest | None, dict[str, Forest]]:
    """Return trees and named trees as forests.

    Raises DataError with the name and the row, if one is not a tree.
    """
    named = {name: _forest(some, name, source) for name, some in structures.items()}
    return None if trees is None else _forest(trees, TREE, source), named


def _forest(trees: Any, name: str, source: str) -> Forest:
    """The trees of one name."""
    try:
        return forest_of(trees)
    except BracketError as error:
        found = f"{error.found}, expected {error.expected}"
        raise DataError(f"{source}: {name} of row {error.tree + 1}: found {found}") from None
    except DataError as error:
        raise DataError(f"{source}: {name}: {error}") from None


def structures(entries: Any, name: str, source: str) -> Traces | None:
    """Return structures as a column, None if there are none; see ``traces_of``.

    Raises DataError with the name and the row, if one is not a structure.
    """
    try:
        return None if entries is None else traces_of(entries)
    except DataError as error:
        raise DataError(f"{source}: {name}: {error}") from None


def class_texts(classes: Any, n_items: int, source: str) -> StringColumn:
    """Return the classes of each row as text, see ``CandidateLists.from_arrays``.

    Raises DataError if there are not ``n_items`` entries, a class is missing or contains a comma within a
    collection, or ``classes`` is an array of several dimensions, such as an indicator matrix.
    """
    if len(getattr(classes, "shape", (0,))) != 1 or not hasattr(classes, "__len__"):
        found = f"shape {classes.shape}" if hasattr(classes, "shape") else type(classes).__name__
        raise DataError(
            f"{source}: classes has {found}, expected one class, or a collection of classes, per row "
            "(of an indicator matrix Y: [numpy.flatnonzero(row) for row in Y])"
        )
    if len(classes) != n_items or isinstance(classes, str | bytes | Mapping):
        raise DataError(f"{source}: classes has {len(classes)} entries, expected {n_items}")

    def fault(row: int, found: str) -> DataError:
        return DataError(f"{source}: row {row + 1}: found {found}, {EXPECTED}")

    return class_column(class_names(classes, "class", source), fault)


def class_names(entries: Iterable[Any], what: str, source: str) -> list[str]:
    """Return classes or collections of classes as text; raise DataError if one is missing or has a comma.

    Collections keep their order, sets are sorted.
    """
    texts = []
    for row, entry in enumerate(cells(entries), 1):
        several = isinstance(entry, Collection) and not isinstance(entry, str | bytes)
        names = [_class_name(one) for one in (cells(entry) if several else [entry])]
        if None in names:
            raise DataError(f"{source}: the {what} of row {row} is missing, expected a name or a number")
        known = [name for name in names if name is not None]
        if several and any("," in name or not name.strip() for name in known):
            raise DataError(f"{source}: a {what} of row {row} is empty or contains a comma: {entry!r}")
        texts.append(",".join(sorted(known) if isinstance(entry, Set) else known))
    return texts


def _class_name(value: Any) -> str | None:
    """A class as text, see ``id_text``, None if it is missing; False and True are the classes 0 and 1."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else str(int(value))
    found = id_text(value)
    return found.decode("utf-8", "surrogateescape") if isinstance(found, bytes) else found
