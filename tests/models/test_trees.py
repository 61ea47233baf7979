"""Sums of trees: scores against a slow twin and LightGBM itself, prefixes, texts that it did not write."""

import copy

import numpy as np
import pytest
from make import LAYOUTS, features
from reference import grown_trees as slow

from rerank.core.errors import DataError, DataNote, FormatError
from rerank.data.lists import CandidateLists
from rerank.models.base import load_model
from rerank.models.lightgbm_parser import read_trees
from rerank.models.trees import TreeModel

D = 5
NAMES = [f"f{j}" for j in range(D)]


def some_trees(seed, sizes=(4, 1, 9, 2, 31)):
    rng = np.random.default_rng(seed)
    return [slow.random_tree(rng, n, D) for n in sizes]


def model_of(trees):
    return TreeModel.from_text(NAMES, slow.text_of(trees, D))


def some_values(seed, layout, n=37):
    rng = np.random.default_rng(seed)
    X = rng.choice(
        [0.0, 1e-36, -1e-36, slow.TINY, -slow.TINY, 2e-35, -0.5, 0.25, 1.0, 3.0, 1e300, np.nan], (n, D)
    )
    if layout == "float32":
        X[X == 1e300] = 1e30
    return (np.nan_to_num(X) > 0).astype(float) if layout == "indicators" else X


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(6))
def test_scores_are_those_of_the_twin(layout, seed):
    trees, X = some_trees(seed), some_values(seed, layout)
    if seed % 2:  # without zeros that are missing
        for tree in trees:
            tree["decision_type"] = [kind & ~4 for kind in tree["decision_type"]]
    lists = CandidateLists.from_arrays(features(layout, X), feature_names=NAMES)
    seen = lists.features.to_dense().astype(np.float64)
    expected = [slow.score(trees, x) for x in seen]
    np.testing.assert_array_equal(model_of(trees).score(lists), expected)


@pytest.mark.parametrize("sizes", [(), (1,), (1, 1), (2,)])
def test_models_of_few_trees_or_leaves(sizes):
    trees = some_trees(3, sizes)
    lists = CandidateLists.from_arrays(np.arange(2.0 * D).reshape(2, D), feature_names=NAMES)
    model = model_of(trees)
    np.testing.assert_array_equal(model.score(lists), [slow.score(trees, x) for x in lists.features.values])
    assert model.n_rounds == len(sizes)
    assert sum(share for _, share in model.explain()) == pytest.approx(float(2 in sizes))


@pytest.mark.parametrize("n", range(6))
def test_a_prefix_is_the_model_of_the_first_trees(n, tmp_path):
    trees = some_trees(1)
    model = model_of(trees).prefix(n)
    assert model.text == slow.text_of(trees[:n], D)
    assert model.text == read_trees(model.text, D).text
    model.save(str(tmp_path / "model"))
    assert load_model(str(tmp_path / "model")).text == model.text
    with pytest.raises(DataError, match=f"found {n + 1}, expected a number of rounds from 0 to {n}"):
        model.prefix(n + 1)


def test_shares_of_gain_and_splits():
    trees = some_trees(2)
    shares = model_of(trees).shares()
    for name, weight in (("gain", "split_gain"), ("splits", None)):
        sums = np.zeros(D)
        for tree in trees:
            for i, feature in enumerate(tree["split_feature"]):
                sums[feature] += tree[weight][i] if weight else 1
        np.testing.assert_allclose(shares[name], sums / sums.sum(), rtol=1e-12)
    assert dict(model_of(trees).explain()) == pytest.approx(dict(zip(NAMES, shares["gain"], strict=True)))
    assert model_of(trees).n_weighted() == np.count_nonzero(shares["splits"])


def test_what_was_never_missing_in_training_is_reported():
    tree = slow.random_tree(np.random.default_rng(1), 3, 1)
    X = np.array([[1.0] * D, [np.nan] * D])
    lists = CandidateLists.from_arrays(X, feature_names=NAMES, source="test lists")
    tree["decision_type"] = [8, 8]
    model_of([tree]).score(lists)
    tree["decision_type"] = [2, 2]
    note = r"test lists: feature 'f0' is missing \(NaN\) in some items, but never was in training: it counts"
    with pytest.warns(DataNote, match=note):
        scores = model_of([tree]).score(lists)
    assert scores[1] == slow.score([tree], np.zeros(D))


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@pytest.mark.parametrize("zero_as_missing", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_scores_and_prefixes_are_those_of_lightgbm(seed, zero_as_missing):
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, D))
    X[:, 1] = rng.choice([0, 1e-36, -1e-36, 1e-34, 1, np.nan], 200)
    X[rng.random(200) < 0.3, 2] = np.nan
    X[:, 3] *= 1e300
    y = np.clip(np.round(np.nan_to_num(X[:, 0] + X[:, 2]) + rng.normal(size=200) / 3), 0, 3)
    settings = {"objective": "lambdarank", "verbosity": -1, "num_leaves": 9, "min_data_in_leaf": 2}
    settings |= {"num_threads": 1, "zero_as_missing": zero_as_missing, "feature_pre_filter": False}
    booster = lightgbm.train(settings, lightgbm.Dataset(X, y, group=[20] * 10), 6)
    model = TreeModel.from_text(NAMES, booster.model_to_string().encode())
    seen = X.copy()
    seen[rng.random(X.shape) < 0.1] = np.nan
    lists = CandidateLists.from_arrays(seen, feature_names=NAMES)
    np.testing.assert_array_equal(model.score(lists), booster.predict(seen, raw_score=True, num_threads=1))
    for n in (1, 4, 6):
        theirs = booster.model_to_string(num_iteration=n).encode()
        part = model.prefix(n)
        assert theirs.startswith(part.text)
        again = lightgbm.Booster(model_str=part.text.decode())
        np.testing.assert_array_equal(part.score(lists), again.predict(seen, raw_score=True, num_threads=1))


def changed(key, values, tree=0):
    """The text of some trees, one line of which is another."""
    trees = copy.deepcopy(some_trees(1))
    trees[tree][key] = values
    return slow.text_of(trees, D)


TEXT = slow.text_of(some_trees(1), D)
LEFT, RIGHT = some_trees(1)[0]["left_child"], some_trees(1)[0]["right_child"]


class Bare(str):
    """Text whose repr is itself."""

    __slots__ = ()
    __repr__ = str.__str__


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"", "the text ends early"),
        (b"tree\n", "the text ends early"),
        (b"\n", "not a model of LightGBM"),
        (TEXT[:-20], "tree 4: .*|the text ends early"),
        (TEXT.replace(b"version=v4", b"version=v3"), "version is v3, expected v4"),
        (TEXT.replace(b"num_class=1\n", b""), "num_class is absent, expected 1"),
        (
            TEXT.replace(b"num_tree_per_iteration=1", b"num_tree_per_iteration=3"),
            "num_tree_per_iteration is 3",
        ),
        (TEXT.replace(b"max_feature_idx=4", b"max_feature_idx=5"), "max_feature_idx is 5, expected 4"),
        (TEXT.replace(b"label_index=0", b"average_output"), "a random forest, whose trees are averaged"),
        (TEXT.replace(b"label_index=0", b"whatever=0"), "an unexpected line 'whatever'"),
        (TEXT.replace(b"label_index=0", b"version=v4"), "an unexpected line 'version'"),
        (TEXT.replace(b"tree_sizes=", b"tree_sizes=1"), "tree 0: .* bytes, but tree_sizes says 1"),
        (TEXT.replace(b"Tree=2", b"Tree=3"), "tree 2: does not begin with its number"),
        (TEXT.replace(b"end of trees", b"Tree=5"), "no 'end of trees' after 5 trees"),
        (changed("num_cat", [1]), "tree 0: categorical splits, which are not supported"),
        (changed("is_linear", [1]), "tree 0: linear leaves, which are not supported"),
        (changed("decision_type", [1, 0, 0]), "tree 0: categorical splits"),
        (changed("decision_type", [12, 0, 0]), "tree 0: a decision_type that LightGBM does not have"),
        (changed("cat_threshold", [1]), "tree 0: categorical splits, which are not supported"),
        (changed("num_leaves", [5]), "tree 0: 3 values of .*, expected 4"),
        (changed("num_leaves", [0]), "tree 0: 0 leaves, expected 1 to 131072"),
        (changed("num_leaves", [10**9 - 1]), "tree 0: 999999999 leaves, expected 1 to"),
        (changed("num_leaves", [10**12]), "tree 0: num_leaves: expected whole numbers"),
        (changed("num_leaves", []), "tree 0: 0 values of num_leaves, expected 1"),
        (changed("split_feature", [0, 1, 5]), r"tree 0: a split of a feature outside 0\.\.4"),
        (changed("split_feature", [0, -1, 2]), "tree 0: a split of a feature outside"),
        (changed("threshold", [Bare("nan"), 1.0, 1.0]), "tree 0: threshold: found 'nan', expected a number"),
        (changed("threshold", [Bare("1_0"), 1.0, 1.0]), "tree 0: threshold: found '1_0', expected a number"),
        (changed("threshold", [Bare("1e999"), 1.0, 1.0]), None),  # beyond every value
        (changed("leaf_value", [Bare("inf"), 1.0, 1.0, 1.0]), "tree 0: leaf_value: found 'inf'"),
        (changed("leaf_value", [Bare("1e999"), 1.0, 1.0, 1.0]), "tree 0: leaf_value: a number that is not"),
        (changed("left_child", [0, *LEFT[1:]]), "tree 0: splits that are not a tree"),
        (changed("left_child", [-5, *LEFT[1:]]), "tree 0: a child that is not there"),
        (changed("left_child", [3, *LEFT[1:]]), "tree 0: a child that is not there"),
        (changed("left_child", RIGHT), "tree 0: splits that are not a tree"),
        (changed("left_child", [*LEFT[:2], 1]), "tree 0: splits that are not a tree"),
        (changed("decision_type", [Bare("2.5"), 0, 0]), "tree 0: decision_type: expected whole numbers"),
        (changed("depth", [3]), "tree 0: an unexpected line 'depth'"),
    ],
)
def test_other_texts_are_refused(text, found):
    if found is None:
        read_trees(text, D)
        return
    with pytest.raises(DataError, match=found) as error:
        read_trees(text, D)
    assert "\n" not in str(error.value)


def test_a_file_with_another_text_is_damaged(tmp_path):
    model = model_of(some_trees(1))
    model.arrays = lambda: {"text": np.frombuffer(TEXT.replace(b"Tree=2", b"Tree=9"), dtype=np.uint8)}
    model.save(str(tmp_path / "model"))
    with pytest.raises(FormatError, match=r"a damaged model \(tree 2: does not begin with its number\)"):
        load_model(str(tmp_path / "model"))
