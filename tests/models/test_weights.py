"""Weights out of models and into scaled columns: the same scores up to a constant for each list."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from rerank.core.errors import ConfigError, DataNote, FormatError
from rerank.data.lists import CandidateLists
from rerank.data.scaling import fit_scaling
from rerank.models.fusion import RandomModel
from rerank.models.linear import LinearModel
from rerank.models.pipeline import Chain
from rerank.models.weights import NamedWeights, initial_for, load_weights, weights_of

NAMES = ["a", "b", "c"]


def some_lists(names=NAMES, *, sparse=False):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, len(names))) * 10 ** np.arange(len(names)) + 5
    X[:, -1] = 3.0  # constant
    return CandidateLists.from_arrays(
        csr_array(X) if sparse else X, group=[8, 12], feature_names=names, source="some lists"
    )


def assert_same_choices(one, two, lists):
    for start, stop in pairwise(lists.offsets):
        difference = one[start:stop] - two[start:stop]
        np.testing.assert_allclose(difference, difference[0], atol=1e-9)


@pytest.mark.parametrize("scaling", ["minmax", "zscore"])
@pytest.mark.parametrize("sparse", [False, True])
def test_weights_of_raw_features_and_back(scaling, sparse):
    lists = some_lists(sparse=sparse)
    fitted = fit_scaling(scaling, lists)
    model = LinearModel(NAMES, np.array([1.0, -2.0, 0.5]))
    model.chain = Chain((fitted,))
    named = weights_of(model, "model")
    assert_same_choices(lists.features.scores(named.weights), model.score(lists), lists)
    back = initial_for(named, lists, fitted)
    assert_same_choices(fitted.apply(lists).features.scores(back), model.score(lists), lists)


def test_a_feature_that_scaling_finds_constant_starts_from_zero():
    lists = some_lists()
    found = initial_for(NamedWeights(NAMES, np.ones(3), "w.tsv"), lists, fit_scaling("zscore", lists))
    np.testing.assert_allclose(found[:2], lists.features.to_dense()[:, :2].std(axis=0))
    assert found[2] == 0.0


@pytest.mark.parametrize("scaling", ["rank", "list-rank", "list-minmax", "list-zscore"])
def test_scalings_that_are_no_factor_are_refused(scaling):
    lists = some_lists()
    fitted = fit_scaling(scaling, lists)
    model = LinearModel(NAMES, np.ones(3))
    model.chain = Chain((fitted,))
    with pytest.raises(ConfigError, match=f"model: scaling {scaling} has no fixed factor"):
        weights_of(model, "model")
    with pytest.raises(ConfigError, match=f"initial weights w.tsv: scaling {scaling} has no fixed factor"):
        initial_for(NamedWeights(NAMES, np.ones(3), "w.tsv"), lists, fitted)


def test_weights_go_to_columns_by_name_and_the_rest_is_noted():
    named = NamedWeights(["c", "a", "x"], np.array([3.0, 1.0, 9.0]), "w.tsv")
    with pytest.warns(DataNote) as notes:
        weights = initial_for(named, some_lists(), None)
    assert weights.tolist() == [1.0, 0.0, 3.0]
    assert [str(note.message) for note in notes] == [
        "w.tsv: 1 feature without a weight (b)",
        "w.tsv: 1 weight without a feature (x)",
    ]
    with pytest.raises(ConfigError, match=r"w\.tsv: no weight matches a feature of some lists by name"):
        initial_for(NamedWeights(["x"], np.ones(1), "w.tsv"), some_lists(), None)


def test_weights_are_loaded_from_models_and_files(tmp_path):
    path = str(tmp_path / "model")
    LinearModel(NAMES, np.array([1.0, -2.0, 0.5])).save(path)
    assert load_weights(path).weights.tolist() == [1.0, -2.0, 0.5]
    (tmp_path / "w.tsv").write_text("a\t2\n")
    assert load_weights(str(tmp_path / "w.tsv")).names == ["a"]
    RandomModel(NAMES, 1).save(path)
    with pytest.raises(ConfigError, match="model: found a model of kind random, expected a linear one"):
        load_weights(path)
    (tmp_path / "bad").write_text("nothing\n")
    with pytest.raises(FormatError, match="bad:1: found 'nothing', expected name<TAB>weight"):
        load_weights(str(tmp_path / "bad"))


def test_weights_by_position_are_reported():
    lists = CandidateLists.from_arrays(np.ones((2, 2)), source="some lists")
    with pytest.warns(
        DataNote, match=r"^w\.tsv: weights are matched by position to the features of some lists, as"
    ):
        weights = initial_for(NamedWeights(["a", "b"], np.array([1.0, 2.0]), "w.tsv"), lists, None)
    assert weights.tolist() == [1.0, 2.0]


def test_weights_of_indices_go_to_their_columns():
    lists = CandidateLists.from_arrays(np.ones((2, 3)), source="some lists")
    with pytest.warns(DataNote) as notes:
        weights = initial_for(NamedWeights(["3", "20000000"], np.array([1.0, 2.0]), "w.tsv"), lists, None)
    assert weights.tolist() == [0.0, 0.0, 1.0]
    assert "by position" not in str(notes[0].message)
