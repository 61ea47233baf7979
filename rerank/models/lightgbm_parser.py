"""LightGBM's text of a model, read strictly: a stranger's file must not crash, loop or exhaust memory.

Only what scoring needs is accepted: one number per item and tree, numerical splits, constant leaves. The
nodes of a tree are numbered as LightGBM does: a split has a larger number than its parent, and each node but
the root has one parent. So every walk from the root ends.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import DataError
from rerank.core.memory import require
from rerank.core.types import Floats, Ints

END = b"end of trees\n"
MOST_LEAVES = 1 << 17  # LightGBM's own limit
_LONGEST = 1 << 24  # bytes of a line
_PARSED = 8  # bytes of memory for a byte of text, at most
_CATEGORICAL, _MISSING_BITS = 1, (0, 4, 8)  # of a decision type; the third bit is the default direction

_HEADER = {
    *("version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective"),
    *("feature_names", "feature_infos", "monotone_constraints", "tree_sizes"),
}
_SPLITS = ("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child")
_TREE = {
    *("num_leaves", "num_cat", "leaf_value", "is_linear", "shrinkage", *_SPLITS),
    *("leaf_weight", "leaf_count", "internal_value", "internal_weight", "internal_count"),
}
_REFUSED = {
    "average_output": "a random forest, whose trees are averaged",
    "cat_boundaries": "categorical splits",
    "cat_threshold": "categorical splits",
    "num_features": "linear trees",
}
_INFINITE = ("inf", "-inf")
_NUMBER = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:e[+-]?[0-9]{1,4})?", re.ASCII)


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree: n_leaves - 1 splits and their leaves.

    Attributes
    ----------
    feature, kind, left, right
        int32 (n_leaves - 1). kind is LightGBM's decision_type: 2 = what is missing goes left, 4 = zeros are
        missing, 8 = NaN is missing. A child c >= 0 is a split, c < 0 the leaf -1 - c.
    threshold, gain
        float64 (n_leaves - 1); values up to the threshold go left.
    leaf
        float64 (n_leaves).
    """

    feature: Ints
    threshold: Floats
    kind: Ints
    left: Ints
    right: Ints
    gain: Floats
    leaf: Floats


@dataclass(frozen=True, eq=False)
class TreeText:
    """A model's text up to the end of its trees, and what it says.

    Attributes
    ----------
    text
        LightGBM's own.
    bounds
        Where each tree begins in the text, and where the last one ends.
    trees
        What they are.
    """

    text: bytes
    bounds: list[int]
    trees: list[Tree]

    def prefix(self, n: int) -> TreeText:
        """Return the text of the first ``n`` trees, which LightGBM reads as well."""
        head = self.text[: self.bounds[0]]
        at = head.rindex(b"tree_sizes=")
        sizes = " ".join(map(str, np.diff(self.bounds[: n + 1]).tolist()))
        head = head[:at] + f"tree_sizes={sizes}\n\n".encode()
        shift = len(head) - self.bounds[0]
        text = head + self.text[self.bounds[0] : self.bounds[n]] + END
        return TreeText(text, [bound + shift for bound in self.bounds[: n + 1]], self.trees[:n])


def read_trees(text: bytes, n_features: int) -> TreeText:
    """Return the trees of a text that LightGBM has written, and perhaps someone else has changed.

    - ``text``: ``Booster.model_to_string()``; what follows the trees (importances, parameters) is left out.
    - ``n_features``: how many features the model has.

    Raises
    ------
    DataError
        At anything else, in one line.
    """
    require(_PARSED * len(text), f"the trees of {len(text):,} bytes")
    lines = _Lines(text)
    sizes = _read_header(lines, n_features)
    bounds, trees = [lines.at], []
    for i, size in enumerate(sizes):
        try:
            trees.append(_read_tree(lines, i, n_features))
        except DataError as error:
            raise DataError(f"tree {i}: {error}") from None
        if lines.at - bounds[-1] != size:
            raise DataError(f"tree {i}: {lines.at - bounds[-1]} bytes, but tree_sizes says {size}")
        bounds.append(lines.at)
    if lines.take() != END[:-1]:
        raise DataError(f"no 'end of trees' after {len(sizes)} trees")
    return TreeText(text[: lines.at], bounds, trees)


class _Lines:
    """The lines of a text, one at a time."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.at = 0

    def take(self) -> bytes:
        """Return the next line without its end."""
        end = self.text.find(b"\n", self.at, self.at + _LONGEST)
        if end < 0:
            raise DataError(
                "the text ends early" if len(self.text) - self.at < _LONGEST else "a line too long"
            )
        line = self.text[self.at : end]
        self.at = end + 1
        return line

    def pairs(self, known: set[str]) -> Iterator[tuple[str, str]]:
        """Yield the lines KEY=VALUE up to an empty one; no key comes twice."""
        seen = set()
        while line := self.take():
            key, _, value = line.decode("ascii", "replace").partition("=")
            if key in _REFUSED:
                raise DataError(f"{_REFUSED[key]}, which are not supported")
            if key not in known or key in seen:
                raise DataError(f"an unexpected line {key[:40]!r}")
            seen.add(key)
            yield key, value


def _read_header(lines: _Lines, n_features: int) -> list[int]:
    """The sizes of the trees, in bytes."""
    if lines.take() != b"tree":
        raise DataError("not a model of LightGBM")
    head = dict(lines.pairs(_HEADER))
    wanted = {
        "version": "v4",
        "num_class": "1",
        "num_tree_per_iteration": "1",
        "max_feature_idx": str(n_features - 1),
    }
    for key, value in wanted.items():
        if head.get(key) != value:
            raise DataError(f"{key} is {head.get(key, 'absent')[:40]}, expected {value}")
    if list(head)[-1] != "tree_sizes":
        raise DataError("the sizes of trees are not at the end of the head")
    sizes = head["tree_sizes"]
    return [] if not sizes else _whole(sizes, sizes.count(" ") + 1, "tree_sizes")


def _read_tree(lines: _Lines, number: int, n_features: int) -> Tree:
    if lines.take() != f"Tree={number}".encode():
        raise DataError("does not begin with its number")
    parts = dict(lines.pairs(_TREE))
    if lines.take():
        raise DataError("not followed by an empty line")
    n = _whole(parts.get("num_leaves", ""), 1, "num_leaves")[0]
    if not 1 <= n <= MOST_LEAVES:
        raise DataError(f"{n} leaves, expected 1 to {MOST_LEAVES}")
    if parts.get("num_cat", "0") != "0":
        raise DataError("categorical splits, which are not supported")
    if parts.get("is_linear", "0") != "0":
        raise DataError("linear leaves, which are not supported")
    whole = {key: np.array(_whole(parts.get(key, ""), n - 1, key), dtype=np.int32) for key in _SPLITS[3:]}
    feature = np.array(_whole(parts.get("split_feature", ""), n - 1, "split_feature"), dtype=np.int64)
    reals = {key: _reals(parts.get(key, ""), n - 1, key) for key in ("threshold", "split_gain")}
    kind, left, right = whole["decision_type"], whole["left_child"], whole["right_child"]
    if n > 1 and not 0 <= feature.min() <= feature.max() < n_features:
        raise DataError(f"a split of a feature outside 0..{n_features - 1}")
    if np.any(kind & _CATEGORICAL):
        raise DataError("categorical splits, which are not supported")
    if not np.isin(kind & ~2, _MISSING_BITS).all():
        raise DataError("a decision_type that LightGBM does not have")
    _check_links(left, right, n)
    leaf = _reals(parts.get("leaf_value", ""), n, "leaf_value")
    return Tree(feature.astype(np.int32), reals["threshold"], kind, left, right, reals["split_gain"], leaf)


def _check_links(left: Ints, right: Ints, n: int) -> None:
    """Raise DataError unless the children of n - 1 splits make one tree, parents before their children."""
    if n == 1:
        return
    children = np.concatenate([left, right]).astype(np.int64)
    if not -n <= children.min() <= children.max() < n - 1:
        raise DataError("a child that is not there")
    wanted = np.ones(2 * n - 1, dtype=np.int64)  # of the leaves -n to -1 and the splits 0 to n - 2
    wanted[n] = 0  # the root has no parent
    splits = children >= 0
    later = children[splits] > np.tile(np.arange(n - 1), 2)[splits]
    if not (np.array_equal(np.bincount(children + n, minlength=2 * n - 1), wanted) and later.all()):
        raise DataError("splits that are not a tree")


def _tokens(text: str, n: int, key: str) -> list[str]:
    """The n numbers of a line."""
    found = text.count(" ") + 1 if text else 0
    if found != n:
        raise DataError(f"{found} values of {key}, expected {n}")
    tokens = text.split(" ") if n else []
    for token in tokens:
        if not _NUMBER.fullmatch(token) and not (key == "threshold" and token in _INFINITE):
            raise DataError(f"{key}: found {token[:40]!r}, expected a number")
    return tokens


def _whole(text: str, n: int, key: str) -> list[int]:
    """The n whole numbers of a line, each of at most nine digits."""
    tokens = _tokens(text, n, key)
    if any(len(token) > 10 or not token.lstrip("-").isdigit() for token in tokens):
        raise DataError(f"{key}: expected whole numbers of at most nine digits")
    values = list(map(int, tokens))
    if any(abs(value) >= 10**9 for value in values):
        raise DataError(f"{key}: expected whole numbers of at most nine digits")
    return values


def _reals(text: str, n: int, key: str) -> Floats:
    """The n numbers of a line; only thresholds may be infinite, above the largest values."""
    values = list(map(float, _tokens(text, n, key)))
    if key != "threshold" and not all(map(math.isfinite, values)):
        raise DataError(f"{key}: a number that is not finite")
    return np.array(values, dtype=np.float64)
