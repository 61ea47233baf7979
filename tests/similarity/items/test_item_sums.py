"""Weighted sums of kernels are those of their rows, also for many trees at once."""

import dataclasses

import numpy as np
import pytest

from rerank.data.columns.forests import Forest
from rerank.data.lists import CandidateLists
from rerank.similarity import tree_sums
from rerank.similarity.expression import ItemKernel
from rerank.similarity.item_sums import item_sums

KERNELS = [
    *("st(decay=0.3)", "sst(decay=0.7)", "sst-leaves", "ptk(decay=0.3)", "ptk(max_children=2)", "bow"),
    *("sst(normalise=false)", "linear(a)", "2 * (ptk + 3) + 0.5 * sst * gaussian(a) + 0.1 * linear"),
]


def random_tree(rng, depth: int) -> str:
    """A tree of few labels with up to four children of a node, many of them equal."""
    label = "ABC"[rng.integers(3)]
    if depth == 0 or rng.random() < 0.2:
        return f"({label} {'xyz'[rng.integers(3)]})"
    child = random_tree(rng, depth - 1)
    children = [
        child if rng.random() < 0.4 else random_tree(rng, depth - 1) for _ in range(rng.integers(1, 5))
    ]
    return f"({label} {' '.join(children)})"


def some_items(n: int, seed: int = 1) -> CandidateLists:
    rng = np.random.default_rng(seed)
    trees = ["" if i % 17 == 5 else random_tree(rng, int(rng.integers(4))) for i in range(n)]
    lists = CandidateLists.from_arrays(rng.standard_normal((n, 2)), feature_names=["a", "b"])
    return dataclasses.replace(lists, trees=Forest.from_strings(trees))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("trees", [1, 3, 64])
def test_sums_are_those_of_rows(kernel, trees, monkeypatch):
    monkeypatch.setattr(tree_sums, "_TREES", trees)
    mine, theirs = ItemKernel.parse(kernel).prepare(some_items(90), some_items(40, 2))
    rng = np.random.default_rng(3)
    for which in (np.empty(0, np.int64), np.array([5]), np.array([7, 7]), rng.permutation(90)):
        coefficients = rng.standard_normal(len(which))
        rows = np.empty((len(which), theirs.n))
        mine.rows(which, theirs, rows)
        found = item_sums(mine, which, coefficients, theirs)
        np.testing.assert_allclose(
            found, coefficients @ rows, rtol=1e-10, atol=1e-10 * (1 + abs(rows).max(initial=0))
        )
        part = rng.permutation(40)[:7]
        np.testing.assert_array_equal(item_sums(mine, which, coefficients, theirs.take(part)), found[part])


def test_equal_items_have_equal_sums():
    lists = some_items(30)
    (items,) = ItemKernel.parse("sst + ptk").prepare(lists)
    twice = items.take(np.r_[0:30, 0:30])
    found = item_sums(items, np.arange(30), np.linspace(-1, 1, 30), twice)
    np.testing.assert_array_equal(found[:30], found[30:])
