"""Base of importers: trees from arrays of nodes, names of numbered features, checked numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import AnyArray, Floats
from rerank.models.exchange.lightgbm import tree_text
from rerank.models.exchange.trees import PortableTree
from rerank.models.lightgbm_parser import MOST_LEAVES
from rerank.models.linear import LinearModel
from rerank.models.trees import TreeModel

_LARGEST = 2**31 - 1
_SPARSE = 10  # numbers may be so many times as large as there are features before names have gaps


class Nodes(NamedTuple):
    """A tree as most programs store it, all (n_nodes): a leaf has no left child (-1).

    ``threshold`` is the largest double that goes left; ``value`` is that of leaves.
    """

    feature: AnyArray
    threshold: Floats
    nan_left: AnyArray
    left: AnyArray
    right: AnyArray
    value: Floats
    gain: Floats


def tree_of(nodes: Nodes, n_features: int, root: int = 0) -> tuple[PortableTree, Floats]:
    """Return the tree below a node and the gains of its splits; DataError if the nodes are no tree."""
    n = len(nodes.left)
    if not 0 <= root < n or any(len(part) != n for part in nodes):
        raise DataError(f"{n} nodes of a tree whose parts have other numbers")
    left, right, feature = nodes.left.tolist(), nodes.right.tolist(), nodes.feature.tolist()
    order: list[int] = []
    links: list[list[int]] = []
    leaves: list[int] = []
    seen = bytearray(n)
    todo = [(root, -1, 0)]
    while todo:
        node, parent, side = todo.pop()
        if not 0 <= node < n or seen[node]:
            raise DataError("splits that are not a tree")
        seen[node] = 1
        if left[node] == -1:
            new = -1 - len(leaves)
            leaves.append(node)
        else:
            if not 0 <= feature[node] < n_features:
                raise DataError(f"a split of a feature outside 0..{n_features - 1}")
            new = len(order)
            order.append(node)
            links.append([0, 0])
            todo += [(right[node], new, 1), (left[node], new, 0)]
        if parent >= 0:
            links[parent][side] = new
    if len(leaves) > MOST_LEAVES:
        raise DataError(f"a tree of {len(leaves)} leaves, expected {MOST_LEAVES} at most")
    both = np.array(links, dtype=np.int32).reshape(-1, 2)
    threshold, leaf = nodes.threshold[order].astype(np.float64), nodes.value[leaves].astype(np.float64)
    if np.isnan(threshold).any() or not np.isfinite(leaf).all():
        raise DataError("a threshold or leaf that is no number")
    tree = PortableTree(
        nodes.feature[order].astype(np.int32),
        threshold,
        nodes.nan_left[order].astype(np.bool_),
        np.zeros(len(order), dtype=np.bool_),
        both[:, 0].copy(),
        both[:, 1].copy(),
        leaf,
    )
    gain = nodes.gain[order].astype(np.float64)
    return tree, np.where(np.isfinite(gain), np.abs(gain), 0.0)


def constant_tree(value: float) -> PortableTree:
    """Return the tree that is one leaf."""
    none, flags = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.bool_)
    return PortableTree(none, np.empty(0), flags, flags, none, none, np.array([value]))


def tree_model(
    trees: Sequence[PortableTree], names: Sequence[str], gains: Sequence[Floats] | None = None
) -> TreeModel:
    """Return the model of trees; without gains each split counts 1 in importances."""
    if not names:
        raise DataError("no features")
    check_names(names)
    plain = [f"Column_{j}" for j in range(len(names))]
    text = tree_text(trees, plain, gains or ())
    return TreeModel.from_text(list(names), text.encode())


def linear_model(names: Sequence[str], weights: Sequence[float] | Floats) -> LinearModel:
    """Return the model of weights by name."""
    check_names(names)
    return LinearModel(list(names), np.array(weights, dtype=np.float64))


def check_names(names: Sequence[str]) -> None:
    """Raise DataError if two names are equal, or one is empty or cannot be written."""
    if len(set(names)) < len(names) or "" in names:
        raise DataError("two features of one name, or a name that is empty")
    try:
        "".join(names).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise DataError("a name that is no text in Unicode") from None


def numbered_names(numbers: Sequence[int]) -> list[str]:
    """Return names for features with these numbers from 1, also for those between that are not used.

    Few numbers far apart have names with gaps: a model must not allocate what a number in its file says.
    """
    used = sorted(set(numbers))
    if used and not 1 <= used[0] <= used[-1] <= _LARGEST:
        raise DataError(f"feature {used[0] if used[0] < 1 else used[-1]}, expected 1 to {_LARGEST}")
    if used and used[-1] <= _SPARSE * len(used) + 1000:
        used = list(range(1, used[-1] + 1))
    return [str(j) for j in used]


def weights_by_number(weights: Mapping[int, float]) -> LinearModel:
    """Return the linear model of weights of numbered features."""
    names = numbered_names(list(weights))
    if not names:
        raise DataError("no weights")
    return linear_model(names, [weights.get(int(name), 0.0) for name in names])


def parsed_json(content: bytes) -> Any:
    """Return the value of JSON; DataError if it is none."""
    try:
        return json.loads(content)
    except (ValueError, UnicodeDecodeError) as error:
        raise DataError(f"no JSON: {error}") from None


def member(value: Any, *keys: str | int, kind: type | tuple[type, ...] = dict) -> Any:
    """Return a member of nested values; DataError if it is not there or of another type."""
    at = ".".join(map(str, keys))
    for key in keys:
        inside = isinstance(value, dict) and key in value
        if not inside and not (isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value)):
            raise DataError(f"no {at!r}")
        value = value[key]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise DataError(f"{at!r} is {type(value).__name__}")
    return value


def records(value: Any, key: str) -> list[dict[str, Any]]:
    """Return the objects of a list under a key; DataError if they are something else."""
    found: list[dict[str, Any]] = member(value, key, kind=list)
    if not all(isinstance(one, dict) for one in found):
        raise DataError(f"{key!r}: expected objects")
    return found


def numbers(value: Any, key: str, *, whole: bool = False) -> AnyArray:
    """Return the numbers of a list under a key, int64 or float64 (n); DataError if they are none."""
    found = member(value, key, kind=list)
    types = (int, bool) if whole else (int, float)
    if not all(isinstance(one, types) for one in found):
        raise DataError(f"{key!r}: expected {'whole ' * whole}numbers")
    try:
        return np.array(found, dtype=np.int64 if whole else np.float64)
    except OverflowError:
        raise DataError(f"{key!r}: a number that is too large") from None


def real(text: Any, what: str) -> float:
    """Return a finite number from its text or value; DataError if it is none."""
    try:
        found = float(text)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise DataError(f"{what}: found {str(text)[:40]!r}, expected a number")
    return found


def whole_number(text: Any, what: str) -> int:
    """Return a whole number of at most ten digits from its text or value; DataError if it is none."""
    token = str(text)
    if not (token.isascii() and token.isdigit() and len(token) <= 10):
        raise DataError(f"{what}: found {token[:40]!r}, expected a whole number")
    return int(token)
