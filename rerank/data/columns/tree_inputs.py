"""Trees as Python users hold them, as a Forest: strings in brackets, nested lists, trees of NLTK."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from rerank.core.errors import DataError
from rerank.data.arrays import is_missing
from rerank.data.columns.forests import Forest

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
