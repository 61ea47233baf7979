"""Kernels of items beside their slow twins, their Gram matrices, and items without trees or features."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import item_kernels as slow

from rerank import CandidateLists
from rerank.core.errors import DataError, RerankError
from rerank.core.workers.pool import packed, run_task, unpacked
from rerank.data.matrix import Dense
from rerank.extensions.parsing.tree_kernels import PreparedTrees
from rerank.similarity import spectrum
from rerank.similarity.expression import ItemKernel
from rerank.similarity.gram_matrices import filled, item_gram

TREES = [
    "",
    "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))",
    "(S (NP (DT a) (NN dog)) (VP (VBZ barks)))",
    "(S (NP (NN dog)) (VP (VBZ sees) (NP (DT the) (NN dog))))",
    "(NN dog)",
    "(X y)",
]
FEATURES = ["f", "g", "tag=NN"]


def items(seed=0, n=9):
    """Items as the slow twin takes them; some have no trees, some only zeros."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        trees = {name: TREES[rng.integers(len(TREES))] for name in ("question", "passage")}
        values = np.round(rng.standard_normal(3), 3) * (rng.random(3) < 0.7)
        found.append((trees, dict(zip(FEATURES, values.tolist(), strict=True))))
    return found


def lists_of(items, group=None):
    X = [[features[name] for name in FEATURES] for _, features in items]
    structures = {name: [trees[name] for trees, _ in items] for name in ("question", "passage")}
    group = [len(items)] if group is None else group
    return CandidateLists.from_arrays(X, group=group, feature_names=FEATURES, structures=structures)


def expected(expression, mine, theirs):
    return np.array([[slow.value(expression, x, y) for y in theirs] for x in mine])


NORMALISE = st.fixed_dictionaries({}, optional={"normalise": st.booleans()})
LEAVES = st.one_of(
    st.tuples(
        st.sampled_from(["st", "sst", "sst-leaves", "ptk", "bow"]),
        st.sampled_from(["question", "passage"]),
        NORMALISE,
    ),
    st.tuples(st.sampled_from(["linear", "polynomial"]), st.just(("f", "g")), NORMALISE),
    st.tuples(st.just("gaussian"), st.just(("f",)), st.just({"gamma": 0.5})),
)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.tuples(
        st.sampled_from(["+", "*"]), st.lists(st.one_of(inner, st.just(0.5)), min_size=1, max_size=3)
    ),
    max_leaves=4,
)


def has_kernel(expression):
    if isinstance(expression, float):
        return False
    return expression[0] not in "+*" or any(map(has_kernel, expression[1]))


@settings(max_examples=40)
@given(EXPRESSIONS.filter(has_kernel))
def test_twins(expression):
    mine, theirs = items(1, 6), items(2, 4)
    text = slow.text(expression)
    square = item_gram(text, lists_of(mine))
    np.testing.assert_allclose(square, expected(expression, mine, mine), rtol=1e-9, atol=1e-12)
    assert np.array_equal(square, square.T)
    scale = max(1.0, np.abs(square).max())
    assert np.linalg.eigvalsh(square)[0] > -1e-9 * scale
    across = item_gram(text, lists_of(mine), lists_of(theirs))
    np.testing.assert_allclose(across, expected(expression, mine, theirs), rtol=1e-9, atol=1e-12)


MIXED = "ptk(question) * (0.5 + linear(g, normalise=true)) + sst(passage) + 0.25 * gaussian(f)"


def test_a_value_depends_on_its_two_items_alone():
    lists = lists_of(items(3, 40), group=[1, 19, 20])
    K = item_gram(MIXED, lists)
    assert np.array_equal(item_gram(MIXED, lists, jobs=2), K)
    assert spectrum(K).n_negative == 0
    kernel = ItemKernel.parse(MIXED)
    (every,) = kernel.prepare(lists)
    alone, some = kernel.prepare(lists.subset([1]), lists.subset([2]))
    out, rows = np.empty((19, 20)), np.empty((40, 40))
    alone.rows(np.arange(19), some, out)
    every.rows(np.arange(40), every, rows)
    assert np.array_equal(out, rows[1:20, 20:])
    np.testing.assert_allclose(rows, K, rtol=1e-13)
    which, places = np.array([7, 3, 7, 0]), np.array([5, 2, 2, 39, 8])
    out = np.empty((4, 5))
    every.take(which).rows(np.arange(4), every.take(places), out)
    assert np.array_equal(out, rows[np.ix_(which, places)])
    assert np.array_equal(every.diagonal(), K.diagonal())
    assert np.array_equal(every.take(places).diagonal(), K.diagonal()[places])
    assert np.array_equal(every.empty, np.flatnonzero(K.diagonal() == 0))


def test_prepared_items_pass_between_processes():
    (prepared,) = ItemKernel.parse(MIXED).prepare(lists_of(items(3, 9)))
    (again,) = unpacked(run_task(packed(list, ([prepared],)))).value
    assert np.array_equal(filled(again, again), filled(prepared, prepared))


def test_equal_trees_are_compared_once(monkeypatch):
    compared = []
    rows = PreparedTrees.rows

    def watched(self, which, other, out):
        compared.append(other.trees.n)
        rows(self, which, other, out)

    monkeypatch.setattr(PreparedTrees, "rows", watched)
    lists = CandidateLists.from_arrays(
        np.empty((50, 0)), group=[25, 25], structures={"question": [TREES[1]] * 25 + [TREES[3]] * 25}
    )
    (prepared,) = ItemKernel.parse("ptk").prepare(lists)
    out = np.empty((50, 50))
    prepared.rows(np.arange(50), prepared, out)
    assert compared == [2]
    prepared.take(np.arange(25)).rows(np.arange(2), prepared.take(np.array([30, 31])), out[:2, :2].copy())
    assert compared == [2, 1]


def test_missing_trees_and_zeros_have_nothing_in_common_with_any_item():
    empty = ({"question": "", "passage": ""}, dict.fromkeys(FEATURES, 0.0))
    lists = lists_of([empty, *items(4, 5), empty])
    for text in ("ptk(question) + linear", "sst(passage) * linear(normalise=true)", "polynomial(constant=0)"):
        K = item_gram(text, lists)
        assert not K[[0, -1]].any()
        assert np.isfinite(K).all()


def test_normalised_values_of_extreme_features():
    X = np.array([[1e-170, 0], [1e170, 0], [0, 1e-170], [3e-162, 4e-162], [1, 1], [0, 0]])
    lists = CandidateLists.from_arrays(X)
    with pytest.raises(DataError, match="a value exceeds the largest number"):
        item_gram("linear", lists)
    with pytest.raises(DataError, match="exceeds the largest number"):
        item_gram("polynomial(degree=100)", lists)
    K = item_gram("linear(normalise=true)", CandidateLists.from_arrays(X[3:]))
    assert K[2].tolist() == [0, 0, 0]
    assert K[0, 0] == K[1, 1] == 1


def test_names_that_are_left_out_are_those_of_the_lists():
    lists = lists_of(items())
    with pytest.raises(DataError, match=r"found trees question, passage; .* as in ptk\(question\)"):
        item_gram("ptk", lists)
    one = replace(lists, structures={"passage": lists.structures["passage"]})
    assert ItemKernel.parse("2*ptk+linear").resolved(one).text == "2 * ptk(passage) + linear"
    assert np.array_equal(item_gram("ptk", one), item_gram("ptk(passage)", lists))
    assert item_gram("ptk", one, lists).shape == (9, 9)
    assert ItemKernel.default(lists).text == "ptk(question) + ptk(passage) + linear"
    bare = CandidateLists.from_arrays(np.empty((2, 0)))
    for use in (ItemKernel.default, ItemKernel.parse("ptk").prepare, ItemKernel.parse("linear").prepare):
        with pytest.raises(DataError, match=r"no trees|no features"):
            use(bare)
    with pytest.raises(DataError, match="no trees 'passages'; did you mean 'passage'"):
        item_gram("ptk(passages)", lists)
    with pytest.raises(DataError, match="no trees 'question'"):
        item_gram("ptk(question)", lists, one)


def test_features_are_chosen_and_matched_by_name():
    X, Y = np.random.default_rng(1).standard_normal((2, 4, 3))
    mine = CandidateLists.from_arrays(X, feature_names=["a", "b", "tag=x"])
    theirs = CandidateLists.from_arrays(Y[:, ::-1].copy(), feature_names=["tag=x", "b", "a"])
    np.testing.assert_allclose(item_gram("linear", mine, theirs), X @ Y.T)
    np.testing.assert_allclose(item_gram("linear('tag=*', a)", mine, theirs), X[:, ::2] @ Y[:, ::2].T)
    np.testing.assert_allclose(item_gram("linear(-b)", mine), X[:, ::2] @ X[:, ::2].T)
    sparse = replace(mine, features=Dense(X).compressed())
    assert np.array_equal(item_gram("polynomial", sparse), item_gram("polynomial", mine))
    with pytest.raises(DataError, match="no feature matches 'ba'; did you mean"):
        item_gram("linear(ba)", mine)
    gaps = CandidateLists.from_arrays(np.where(X > 0, np.nan, [1, 2, 3]), feature_names=["a", "b", "c"])
    with pytest.raises(DataError, match="linear kernels need every value"):
        item_gram("linear", gaps)


def test_a_memory_mapped_matrix_and_the_refusal_of_one_that_is_too_large(tmp_path, memory_left):
    lists = lists_of(items(5, 300))
    out = np.lib.format.open_memmap(tmp_path / "gram.npy", mode="w+", dtype=np.float64, shape=(300, 300))
    kernel = "bow(question) + linear"
    assert item_gram(kernel, lists, out=out) is out
    out.flush()
    assert np.array_equal(np.load(tmp_path / "gram.npy"), item_gram(kernel, lists))
    with pytest.raises(DataError, match="expected a C-contiguous float64 array"):
        item_gram(kernel, lists, out=out[:, :299])
    memory_left(1000)
    with pytest.raises(RerankError, match="a Gram matrix of 300 x 300"):
        item_gram("linear", lists)
