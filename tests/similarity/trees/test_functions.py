"""Tree kernels: values of other programs, of the definitions, and of trees of every shape."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from reference import tree_kernels, trees

from rerank.data.columns.forests import Forest
from rerank.errors import ConfigError
from rerank.similarity.trees import TreeFunction, TreeSet

DATA = Path(os.environ.get("RERANK_DATA", "../shared/data")) / "tree-kernels"
NAMES = ["st", "sst", "sst-leaves", "ptk", "bow"]
SETTINGS = [
    *({"name": name, "decay": decay} for name in NAMES[:3] for decay in (0.4, 1.0)),
    {"name": "ptk", "decay": 0.4, "mu": 0.7},
    {"name": "ptk", "decay": 0.9, "mu": 1.0, "max_children": 1},
    {"name": "ptk", "decay": 1.0, "mu": 0.4, "max_children": 2},
    {"name": "bow"},
]


def random_tree(rng, depth=4, labels="abc"):
    """A tree whose words may equal labels, with words beside other children."""
    label = labels[rng.integers(len(labels))]
    children = [
        labels[rng.integers(len(labels))] if depth == 1 or rng.random() < 0.4 else random_tree(rng, depth - 1)
        for _ in range(rng.integers(1, 5))
    ]
    return label, children


def some_trees(n, seed):
    rng = np.random.default_rng(seed)
    return [None, *(random_tree(rng, depth=1 + i % 4) for i in range(n - 1))]


def forest_of(found):
    return Forest.from_strings([trees.brackets(tree) for tree in found])


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_random_trees_equal_the_definitions(settings):
    rows, columns = some_trees(8, 1), some_trees(9, 2)
    a, b = TreeSet.of(forest_of(rows), forest_of(columns))
    got = TreeFunction(**settings, normalise=False).matrix(a, b)
    for i, x in enumerate(rows):
        for j, y in enumerate(columns):
            assert got[i, j] == pytest.approx(tree_kernels.value(x=x, y=y, **settings), rel=1e-12, abs=0)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_random_trees_equal_their_fragments(settings):
    rng = np.random.default_rng(3)
    found = [None, *(random_tree(rng, depth=2, labels="ab") for _ in range(6))]
    (both,) = TreeSet.of(forest_of(found))
    got = TreeFunction(**settings, normalise=False).matrix(both, both)
    for i, x in enumerate(found):
        for j, y in enumerate(found):
            assert got[i, j] == pytest.approx(tree_kernels.fragment_value(x=x, y=y, **settings), rel=1e-12)


@pytest.mark.skipif(not DATA.is_dir(), reason="needs RERANK_DATA")
def test_values_of_svm_light_tk():
    with open(DATA / "trees.tsv", encoding="utf-8") as lines:
        found = [line.split("|")[2].strip() for line in lines]
    (both,) = TreeSet.of(Forest.from_strings(found))
    with open(DATA / "svmtk_kernel_values.csv", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    known = {}
    for row in rows:
        name = NAMES[int(row["F"])]
        settings = {"name": name, "decay": float(row["lambda"]), "normalise": row["N"] == "3"}
        if name == "ptk":
            settings |= {"mu": float(row["mu"]), "max_children": 5}
        key = str(settings)
        if key not in known:
            known[key] = TreeFunction(**settings).matrix(both, both)
        assert known[key][int(row["i"]), int(row["j"])] == pytest.approx(float(row["K"]), rel=1e-6)
    assert len(rows) == 5808


def test_settings_that_are_not_used_are_refused():
    with pytest.raises(ConfigError, match="mu: not used by the tree kernel sst"):
        TreeFunction("sst", mu=0.4)
    with pytest.raises(ConfigError, match="decay: not used by the tree kernel bow"):
        TreeFunction("bow", decay=0.4)
