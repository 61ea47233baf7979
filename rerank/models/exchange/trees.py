"""Regression trees over raw features, and thresholds moved between scales.

Scaling is monotone, so a split of a scaled feature is a split of the raw one. The raw threshold is found
among all doubles by bisection: both splits then send every double the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rerank.core.types import Floats, Index, Ints, Mask
from rerank.models.lightgbm_parser import Tree

LARGEST = float(np.finfo(np.float64).max)
LEFT, ZEROS, NANS = 2, 4, 8  # bits of LightGBM's decision_type
TINY = float(np.float32(1e-35))  # LightGBM takes magnitudes up to this for 0


@dataclass(frozen=True, eq=False)
class PortableTree:
    """One tree over raw inputs.

    Attributes
    ----------
    feature : int32 (n_splits), the input of each split.
    threshold : float64 (n_splits), finite: values up to it go left.
    nan_left : bool (n_splits), where a missing value goes.
    zero_missing : bool (n_splits), whether magnitudes up to 1e-35 go where a missing value does.
    left, right : int32 (n_splits). A child c >= 0 is a split, c < 0 the leaf -1 - c. A split has a larger
        number than its parent.
    leaf : float64 (n_splits + 1).
    """

    feature: Ints
    threshold: Floats
    nan_left: Mask
    zero_missing: Mask
    left: Ints
    right: Ints
    leaf: Floats

    @property
    def root(self) -> int:
        """The root as a child: 0, or -1 for a tree that is one leaf."""
        return 0 if len(self.feature) else -1

    def depth(self) -> int:
        """Return the number of splits on the longest way from the root."""
        level = np.zeros(len(self.feature) + 1, dtype=np.int64)
        deepest = 0
        for i, children in enumerate(zip(self.left.tolist(), self.right.tolist(), strict=True)):
            for child in children:
                if child >= 0:
                    level[child] = level[i] + 1
            deepest = max(deepest, int(level[i]) + 1)
        return deepest

    def scores(self, values: Floats) -> Floats:
        """Return the leaf of each row of values (n_items, n_inputs), NaN = missing: float64 (n_items)."""
        at = np.full(len(values), self.root)
        rows = np.arange(len(values))
        while (moving := np.flatnonzero(at >= 0)).size:
            node = at[moving]
            x = values[rows[moving], self.feature[node]]
            gone = np.isnan(x) | (self.zero_missing[node] & (np.abs(x) <= TINY))
            left = np.where(gone, self.nan_left[node], x <= self.threshold[node])
            at[moving] = np.where(left, self.left[node], self.right[node])
        out: Floats = self.leaf[-1 - at]
        return out


def ordered_bits(values: Floats) -> Index:
    """Return an integer for each double that rises with it, int64 (n); the two zeros have the same."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def doubles_of(ordered: Index) -> Floats:
    """Return the doubles of ``ordered_bits``."""
    bits = np.where(ordered < 0, np.iinfo(np.int64).min - ordered, ordered)
    return np.ascontiguousarray(bits).view(np.float64)


def largest_below(passes: Callable[[Floats], Mask], n: int) -> Floats:
    """Return for each of n monotone tests the largest double that passes, -inf if none does.

    ``passes`` takes a candidate for each test, float64 (n), and returns whether each passes: all up to some
    double do, none above it.
    """
    low = np.full(n, ordered_bits(np.array([-LARGEST]))[0] - 1)
    high = np.full(n, ordered_bits(np.array([LARGEST]))[0])
    while (open_ := low < high).any():
        # The ceiling of the mean, without overflow.
        middle = (low >> 1) + (high >> 1) + ((low | high) & 1)
        ok = passes(doubles_of(middle))
        low = np.where(open_ & ok, middle, low)
        high = np.where(open_ & ~ok, middle - 1, high)
    found = doubles_of(low)
    found[low < ordered_bits(np.array([-LARGEST]))[0]] = -np.inf
    return found


def next_double(values: Floats, towards: float) -> Floats:
    """Return the neighbours of doubles towards an infinity, which the largest ones may reach."""
    with np.errstate(over="ignore", under="ignore"):
        found: Floats = np.nextafter(values, towards)
    return found


def scaled(values: Floats, shift: Floats, divisor: Floats) -> Floats:
    """Return values as ``data.scaling`` scales them."""
    with np.errstate(over="ignore", invalid="ignore"):
        return (values - shift) / divisor + 0.0


def raw_thresholds(threshold: Floats, shift: Floats, divisor: Floats) -> Floats:
    """Return the largest raw double whose scaled value is at most each threshold, -inf if there is none."""
    return largest_below(lambda x: scaled(x, shift, divisor) <= threshold, len(threshold))


def float32_below(threshold: Floats) -> Floats:
    """Return the largest float32 at most each finite double, as float64; -inf below the smallest one."""
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    above = single.astype(np.float64) > threshold
    single[above] = np.nextafter(single[above], np.float32(-np.inf))
    single[np.isposinf(single)] = np.finfo(np.float32).max
    return single.astype(np.float64)


def rounds_below(single: Floats) -> Floats:
    """Return the largest double that rounds to a float32 below each of these, float64 (n).

    XGBoost sends x left if float32(x) < t.
    """
    with np.errstate(over="ignore"):
        return rounds_at_most(np.nextafter(single.astype(np.float32), np.float32(-np.inf)).astype(np.float64))


def rounds_at_most(limit: Floats) -> Floats:
    """Return the largest double that rounds to a float32 of at most each of these, float64 (n).

    It is half way from the largest such float32 to the next one, or just below if ties go to that.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        single = float32_below(limit)
        above = np.nextafter(single.astype(np.float32), np.float32(np.inf)).astype(np.float64)
        above[np.isinf(above)] = 2.0**128  # where float32 numbers end
        middle = (single + above) / 2.0
        fits = middle.astype(np.float32) <= limit
        found: Floats = np.where(fits, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isneginf(limit), -np.inf, found)


def effective(tree: Tree) -> tuple[Floats, Mask]:
    """Return thresholds (n_splits) that need no rounding of tiny values to 0, and where NaN goes."""
    threshold = tree.threshold.copy()
    near = np.abs(threshold) < TINY
    threshold[near & (threshold >= 0)] = TINY
    below = (near & (threshold < 0)) | (threshold == -TINY)
    threshold[below] = np.nextafter(-TINY, -1.0)
    default = (tree.kind & LEFT) != 0
    knows = (tree.kind & (NANS | ZEROS)) != 0
    return threshold, np.where(knows, default, tree.threshold >= 0.0)


def pruned(tree: PortableTree, decided: Ints) -> PortableTree:
    """Return a tree without the splits whose way is ``decided``, int (n_splits): 1 left, 0 right, -1 open.

    Splits are renumbered, parents before their children, and so are the leaves that are left.
    """
    feature: list[int] = []
    left: list[int] = []
    right: list[int] = []
    leaves: list[float] = []
    fields: list[int] = []
    way = decided.tolist()
    children = list(zip(tree.left.tolist(), tree.right.tolist(), strict=True))

    def resolved(child: int) -> int:
        while child >= 0 and way[child] >= 0:
            child = children[child][0 if way[child] else 1]
        return child

    # (child, its parent's new number, whether it is the left one)
    todo = [(resolved(tree.root), -1, False)]
    while todo:
        old, parent, is_left = todo.pop()
        if old < 0:
            new = -1 - len(leaves)
            leaves.append(float(tree.leaf[-1 - old]))
        else:
            new = len(feature)
            feature.append(int(tree.feature[old]))
            fields.append(old)
            left.append(0)
            right.append(0)
            todo += [(resolved(children[old][1]), new, False), (resolved(children[old][0]), new, True)]
        if parent >= 0:
            (left if is_left else right)[parent] = new
    kept = np.array(fields, dtype=np.int64)
    return PortableTree(
        np.array(feature, dtype=np.int32),
        tree.threshold[kept],
        tree.nan_left[kept],
        tree.zero_missing[kept],
        np.array(left, dtype=np.int32),
        np.array(right, dtype=np.int32),
        np.array(leaves, dtype=np.float64),
    )


def step_tree(feature: int, at: Floats, values: Floats, missing: float) -> PortableTree:
    """Return the tree of a step function of one input.

    - ``at``: float64 (n), rising: a value x passes the thresholds with x >= at.
    - ``values``: float64 (n + 1), by the number of thresholds passed.
    - ``missing``: the value of a missing feature; NaN = there is none, and any will do.
    """
    if len(at) and at[0] == -LARGEST:  # every number passes
        return step_tree(feature, at[1:], values[1:], missing)
    same = np.flatnonzero(values == missing)
    below = next_double(at, -np.inf)
    alone = not len(same) and not np.isnan(missing)  # a leaf of its own, which no number reaches
    home = int(same[0]) if len(same) else 0
    links: list[list[int]] = [[0, 0]] if alone else []
    threshold, nan_left, leaf = ([LARGEST], [False], [missing]) if alone else ([], [], [])
    if alone:
        links[0][1] = -1
    todo = [(0, len(at), -1 if not alone else 0, 0)]
    while todo:
        low, high, parent, side = todo.pop()
        if low == high:
            new = -1 - len(leaf)
            leaf.append(float(values[low]))
        else:
            middle = (low + high) // 2
            new = len(links)
            links.append([0, 0])
            threshold.append(float(below[middle]))
            nan_left.append(home <= middle)
            todo += [(middle + 1, high, new, 1), (low, middle, new, 0)]
        if parent >= 0:
            links[parent][side] = new
    both = np.array(links, dtype=np.int32).reshape(-1, 2)
    return PortableTree(
        np.full(len(links), feature, dtype=np.int32),
        np.array(threshold, dtype=np.float64),
        np.array(nan_left, dtype=np.bool_),
        np.zeros(len(links), dtype=np.bool_),
        both[:, 0].copy(),
        both[:, 1].copy(),
        np.array(leaf, dtype=np.float64),
    )
