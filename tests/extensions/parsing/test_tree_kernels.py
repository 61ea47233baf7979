"""Tree kernels: values of other programs, of the definitions, and of trees of every shape."""

import csv
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from reference import tree_kernels, trees

from rerank.core.errors import ConfigError, DataError, RerankError
from rerank.data.columns.forests import Forest
from rerank.extensions.parsing.tree_kernels import TreeFunction
from rerank.similarity import tree_sets
from rerank.similarity.tree_sets import TreeSet

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


@pytest.fixture
def kernel_values(shared_data):
    return shared_data / "tree-kernels"


def svm_light_trees(folder):
    with open(folder / "trees.tsv", encoding="utf-8") as lines:
        found = [line.split("|")[2].strip() for line in lines]
    return TreeSet.of(Forest.from_strings(found))[0]


def test_values_of_svm_light_tk(kernel_values):
    both = svm_light_trees(kernel_values)
    with open(kernel_values / "svmtk_kernel_values.csv", encoding="utf-8") as lines:
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


def test_values_of_kelp(kernel_values):
    """KeLP computes in single precision; its ST is another kernel, see the manual."""
    both = svm_light_trees(kernel_values)
    names = {"SST": "sst", "SSTleaves": "sst-leaves", "PTK": "ptk"}
    known = {kelp: TreeFunction(name, normalise=False).matrix(both, both) for kelp, name in names.items()}
    with open(kernel_values / "kelp_kernel_values.csv", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["kernel"] in names]
    for row in rows:
        assert known[row["kernel"]][int(row["i"]), int(row["j"])] == pytest.approx(float(row["K"]), rel=1e-5)
    assert len(rows) == 3 * 22 * 22


WIDE = [{"name": "ptk", "decay": 0.4, "mu": 0.7}, {"name": "ptk", "decay": 0.8, "max_children": 3}]


@pytest.mark.parametrize("settings", WIDE, ids=str)
def test_wide_nodes_equal_the_definition(settings):
    """More than 64 pairs of children."""
    found = [("a", [*"bcbdbcbbd"[:n], ("b", ["c"])]) for n in (1, 7, 9)]
    (both,) = TreeSet.of(forest_of(found))
    got = TreeFunction(**settings, normalise=False).matrix(both, both)
    for i, j in ((0, 2), (2, 0), (1, 2), (2, 1), (1, 1)):
        want = tree_kernels.value(x=found[i], y=found[j], **settings)
        assert got[i, j] == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("name", ["sst", "ptk"])
def test_many_nodes_of_one_label_equal_the_definition(name):
    """More than 64 nodes of one group."""
    tree = "w"
    for i in range(75):
        tree = ("a", [("b", [f"w{i % 9}"]), tree])
    (both,) = TreeSet.of(forest_of([tree, tree[1][1]]))
    got = TreeFunction(name, decay=0.3, normalise=False).matrix(both, both)
    for i, x in enumerate((tree, tree[1][1])):
        want = tree_kernels.value(name, x, tree, 0.3)
        assert got[i, 0] == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_value_has_the_same_bits_in_any_company(settings, monkeypatch):
    found = some_trees(40, 4)
    function = TreeFunction(**settings)
    (both,) = TreeSet.of(forest_of(found))
    whole = function.matrix(both, both)
    order = np.random.default_rng(5).permutation(len(found))
    part = both.take(order[:7])
    assert np.array_equal(function.matrix(part, both), whole[order[:7]])
    assert np.array_equal(function.matrix(both, part), whole[:, order[:7]])
    others, again = TreeSet.of(forest_of(some_trees(9, 6)), forest_of([found[i] for i in order]))
    assert np.array_equal(function.matrix(again, again), whole[np.ix_(order, order)])
    assert function.matrix(others, again).shape == (9, 40)
    monkeypatch.setattr(tree_sets, "NODES_OF_A_PART", 30)
    monkeypatch.setattr(tree_sets, "_TABLE", 1)
    monkeypatch.setattr(tree_sets, "LARGE_TABLE", 20)
    (small,) = TreeSet.of(forest_of(found))
    assert np.array_equal(function.matrix(small, small), whole)
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda i: function.matrix(both.take(np.array([i])), both)[0], range(40)))
    assert np.array_equal(rows, whole)


def test_trees_without_anything_in_common_or_nodes():
    a, b = TreeSet.of(Forest.from_strings(["", "(A b)"]), Forest.from_strings([]))
    assert a.distinct.tolist() == [0, 1]
    assert TreeFunction("ptk").matrix(a, b).shape == (2, 0)
    assert TreeFunction("ptk").matrix(b, a).shape == (0, 2)
    (unlike,) = TreeSet.of(Forest.from_strings(["(A b)", "(C d)", "(A (\u00e4 \u65e5\u672c))", "(A b)"]))
    for name in ("st", "sst", "sst-leaves", "bow"):
        assert TreeFunction(name).matrix(unlike, unlike)[0].tolist() == [1, 0, 0, 1]
    assert TreeFunction("ptk", normalise=False).matrix(unlike, unlike)[0, 1:3].tolist() == [0, 0.4 * 0.4**2]


def deep(n, labels):
    return "".join(f"({labels[i % len(labels)]} " for i in range(n)) + "w" + ")" * n


def test_huge_trees():
    names = [str(i) for i in range(20_000)]
    (both,) = TreeSet.of(
        Forest.from_strings(
            [deep(20_000, names), f"(a {' '.join(names)})", "(a (0 w) (1 w))", deep(19_999, names[1:])]
        )
    )
    K = TreeFunction("sst", decay=0.5, normalise=False).matrix(both, both)
    assert K[0].tolist() == [pytest.approx(19_999), 0, 0, pytest.approx(19_998)]
    words = TreeFunction("sst-leaves", decay=1, normalise=False).matrix(both, both)
    assert words[1:3].tolist() == [[0, 20_001, 0, 0], [2, 0, 10, 2]]
    K = TreeFunction("ptk", decay=0.5, mu=0.5, normalise=False).matrix(both, both)
    assert K[1, 0] == pytest.approx(20_000 / 8)
    assert TreeFunction("st").matrix(both, both)[0, 3] == pytest.approx(1.0)


def test_pairs_of_huge_trees_that_need_too_much_memory(memory_left):
    (both,) = TreeSet.of(Forest.from_strings([deep(50_000, "a")]))
    memory_left(10**9)
    for name in ("sst", "ptk"):
        with pytest.raises(RerankError, match=r"needs 20 GB for .* pairs of nodes"):
            TreeFunction(name).matrix(both, both)
    assert TreeFunction("bow").matrix(both, both).tolist() == [[1]]


def test_values_that_are_too_large():
    wide = f"(S {' '.join(f'(NP (D the) (N w{i}))' for i in range(1100))})"
    (both,) = TreeSet.of(Forest.from_strings(["(S (D the))", wide]))
    for normalise in (True, False):
        with pytest.raises(DataError, match=r"sst: K of tree 1 \(5,501 nodes\) and tree 1 .*smaller decay"):
            TreeFunction("sst", decay=1, normalise=normalise).matrix(both, both)
    assert np.isfinite(TreeFunction("sst", decay=1e-3).matrix(both, both)).all()


def test_sets_of_different_numberings_and_numbers_out_of_range():
    (a,) = TreeSet.of(Forest.from_strings(["(A b)"]))
    (b,) = TreeSet.of(Forest.from_strings(["(A c)"]))
    with pytest.raises(DataError, match="different numberings"):
        TreeFunction("sst").matrix(a, b)
    with pytest.raises(DataError, match="found number 1, expected 0 to 0"):
        TreeFunction("sst").rows(a, np.array([1]), a, np.empty((1, 1)))
    with pytest.raises(DataError, match="expected a C-contiguous"):
        TreeFunction("sst").rows(a, np.array([0]), a, np.empty((1, 2)))


def test_sets_can_be_pickled_apart():
    a, b = TreeSet.of(forest_of(some_trees(5, 8)), forest_of(some_trees(6, 9)))
    function = TreeFunction("ptk")
    K = function.matrix(a, b)
    far_a, far_b, far = (pickle.loads(pickle.dumps(one)) for one in (a, b, function))  # noqa: S301
    assert np.array_equal(far.matrix(far_a, far_b), K)


def test_settings_that_are_not_used_are_refused():
    with pytest.raises(ConfigError, match="mu: not used by the tree kernel sst"):
        TreeFunction("sst", mu=0.4)
    with pytest.raises(ConfigError, match="decay: not used by the tree kernel bow"):
        TreeFunction("bow", decay=0.4)
    with pytest.raises(ConfigError, match="decay: found 0, expected 1e-09 or more"):
        TreeFunction("sst", decay=0)
    with pytest.raises(ConfigError, match="mu: found 2, expected 1 or less"):
        TreeFunction("ptk", mu=2)
    assert TreeFunction(**TreeFunction("bow").get_params()) == TreeFunction("bow")
