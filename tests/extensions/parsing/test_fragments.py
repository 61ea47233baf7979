"""Heavy fragments: beside the enumeration of all fragments, on random and on adversarial trees."""

import re

import numpy as np
import pytest
from reference import tree_kernels, trees
from reference.fragments import bare, plain, weights_of

from rerank.core.errors import ConfigError, DataError
from rerank.data.columns.forests import Forest
from rerank.extensions.parsing.fragments import heaviest_fragments, search
from rerank.extensions.parsing.tree_kernels import TreeFunction
from rerank.similarity.tree_sets import TreeSet

SETTINGS = [
    {"name": "st"},
    {"name": "sst"},
    {"name": "sst", "decay": 1.0},
    {"name": "sst-leaves"},
    {"name": "ptk"},
    {"name": "ptk", "decay": 1.0, "mu": 1.0},
    {"name": "ptk", "decay": 0.5, "mu": 0.9, "max_children": 1},
    {"name": "ptk", "decay": 0.9, "mu": 0.5, "max_children": 2},
    {"name": "bow"},
]


def random_tree(rng, depth):
    """A tree whose words may equal labels, with words beside other children."""
    children = [
        str(rng.choice(list("abcd"))) if depth == 1 or rng.random() < 0.4 else random_tree(rng, depth - 1)
        for _ in range(rng.integers(1, 4))
    ]
    return str(rng.choice(list("abc"))), children


def examples(seed, n=7):
    """Trees, one of them twice and one missing, and their coefficients."""
    rng = np.random.default_rng(seed)
    found = [None, *(random_tree(rng, 1 + min(i, 5) % 3) for i in range(n - 2))]
    found.append(found[-1])
    return found, Forest.from_strings([trees.brackets(tree) for tree in found]), rng.normal(size=n)


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_all_fragments_have_the_weights_of_the_enumeration(settings, normalise):
    found, forest, coefficients = examples(5)
    weights, where = weights_of(found, coefficients, settings, normalise)
    kernel = TreeFunction(**settings, normalise=normalise)
    every = heaviest_fragments(forest, coefficients, kernel, len(weights) + 5)
    assert {bare(one.text): one.weight for one in every.found} == pytest.approx(weights, rel=1e-11)
    assert every.n_proved == len(every.found) == len(weights)
    assert every.missed == 0
    sizes = [abs(one.weight) for one in every.found]
    assert sizes == sorted(sizes, reverse=True)
    for one in every.found:
        signs = [coefficients[i] > 0 for i in where[bare(one.text)]]
        assert (one.raising, one.lowering) == (sum(signs), len(signs) - sum(signs))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_weights_times_components_are_the_models_score(settings):
    found, forest, coefficients = examples(6)
    (own,) = TreeSet.of(forest)
    scores = TreeFunction(**settings).matrix(own, own) @ coefficients
    every = heaviest_fragments(forest, coefficients, TreeFunction(**settings), 10**6).found
    weights = {bare(one.text): one.weight for one in every}
    for tree, score in zip(found, scores, strict=True):
        components = tree_kernels.fragments(tree=tree, **settings)
        root = sum(value**2 for value in components.values()) ** 0.5 or 1.0
        total = sum(weights.get(plain(one), 0.0) * value for one, value in components.items())
        assert total / root == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "settings", [one for one in SETTINGS if one["name"] in ("sst-leaves", "ptk")], ids=str
)
def test_few_fragments_are_the_first_of_all(settings, seed):
    found, forest, coefficients = examples(seed, 8)
    weights, _ = weights_of(found, coefficients, settings, True)
    for min_nodes in (1, 4):
        sizes = sorted(
            (abs(w) for text, w in weights.items() if len(re.findall("[a-d]", text)) >= min_nodes),
            reverse=True,
        )
        some = heaviest_fragments(forest, coefficients, TreeFunction(**settings), 6, min_nodes=min_nodes)
        assert [abs(one.weight) for one in some.found] == pytest.approx(sizes[:6], rel=1e-11)
        assert some.n_proved == len(some.found)


@pytest.mark.parametrize("most_work", [0, 3000, 10_000])
def test_a_search_that_gives_up_bounds_what_it_missed(most_work):
    found, forest, coefficients = examples(1, 12)
    settings = {"name": "ptk", "decay": 0.9, "mu": 0.9}
    weights, _ = weights_of(found, coefficients, settings, True)
    some = heaviest_fragments(forest, coefficients, TreeFunction(**settings), 40, most_work=most_work)
    seen = {bare(one.text) for one in some.found}
    assert some.missed > 0
    assert max(abs(w) for text, w in weights.items() if text not in seen) <= some.missed
    sizes = sorted(map(abs, weights.values()), reverse=True)
    assert some.n_proved < len(some.found)
    proved = [abs(one.weight) for one in some.found[: some.n_proved]]
    assert proved == pytest.approx(sizes[: some.n_proved])
    again = heaviest_fragments(forest, coefficients, TreeFunction(**settings), 40, most_work=most_work)
    assert again == some


def test_a_search_that_gives_up_goes_on_greedily(monkeypatch):
    monkeypatch.setattr(search, "_BEAM", 5)
    settings = {"name": "ptk", "normalise": False}
    tree = trees.parse("(S (A a) (B b) (C c) (D d) (E e) (F f))")
    weights, _ = weights_of([tree], [1.0], {"name": "ptk"}, False)
    forest = Forest.from_strings([trees.brackets(tree)])
    some = heaviest_fragments(forest, np.ones(1), TreeFunction(**settings), 5, min_nodes=9, most_work=200_000)
    assert (some.n_proved, len(some.found)) == (0, 5)
    assert len({one.text for one in some.found}) == 5
    for one in some.found:
        assert len(re.findall("[A-Sa-f]", one.text)) >= 9
        assert one.weight == pytest.approx(weights[bare(one.text)], rel=1e-11)


def test_words_have_no_brackets_and_labels_have():
    forest = Forest.from_strings(["(S (NP (DT the) (NN dog)) (VP runs))"])
    sst = heaviest_fragments(forest, np.ones(1), TreeFunction("sst", decay=0.9, normalise=False), 100)
    assert "(S (NP (DT the) (NN)) (VP runs))" in {one.text for one in sst.found}
    ptk = heaviest_fragments(forest, np.ones(1), TreeFunction("ptk", normalise=False), 100)
    assert {"(S (NP (NN)) (VP))", "(S (VP runs))", "dog", "(DT)"} <= {one.text for one in ptk.found}


def test_deep_and_wide_trees():
    depth = 20_000
    chain = "(a " * depth + "b" + ")" * depth
    wide = "(a " + "b " * 3000 + "c)"
    forest = Forest.from_strings([chain, wide])
    for name in ("st", "sst", "ptk", "bow"):
        kernel = TreeFunction(name, normalise=False)
        best = heaviest_fragments(forest, np.array([1.0, -0.5]), kernel, 3, most_work=10**6)
        assert len(best.found) == (2 if name == "bow" else 3)
    whole = TreeFunction("st", decay=1, normalise=False)
    assert heaviest_fragments(forest, np.array([0.0, 1.0]), whole, 1).found[0].text == wide


def test_equal_trees_that_cancel_have_no_fragments():
    forest = Forest.from_strings(["(S (NP dog))", "(S (NP dog))", "(S (NP cat))"])
    best = heaviest_fragments(forest, np.array([0.1, -0.1, 0.3]), TreeFunction("sst", normalise=False), 10)
    assert [one.text for one in best.found] == ["(S (NP))", "(NP cat)", "(S (NP cat))"]


def test_nothing_to_find():
    for texts in ([], [""], ["(S a)"]):
        best = heaviest_fragments(Forest.from_strings(texts), np.zeros(len(texts)), TreeFunction("ptk"))
        assert best.found == []
        assert best.n_proved == 0
        assert best.missed == 0


def test_mistakes_are_errors():
    forest = Forest.from_strings(["(S a)"])
    with pytest.raises(DataError, match="1 finite coefficients"):
        heaviest_fragments(forest, np.ones(2), TreeFunction("sst"))
    with pytest.raises(DataError, match="finite"):
        heaviest_fragments(forest, np.array([np.nan]), TreeFunction("sst"))
    partial = TreeFunction("ptk", decay=1, mu=1, normalise=False)
    for text, kernel in (("(S a a a)", TreeFunction("bow", normalise=False)), ("(S (a b) (a c))", partial)):
        with pytest.raises(DataError, match="exceeds the largest number"):
            heaviest_fragments(Forest.from_strings([text]), np.array([1e308]), kernel)
    with pytest.raises(ConfigError, match="n: found 0"):
        heaviest_fragments(forest, np.ones(1), TreeFunction("sst"), 0)
    with pytest.raises(ConfigError, match="min_nodes: found 0"):
        heaviest_fragments(forest, np.ones(1), TreeFunction("sst"), min_nodes=0)
