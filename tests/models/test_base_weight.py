"""The weight of the base score: scores, files, old releases, weights that are multiplied."""

import json
import math
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from small_training import rewritten, saved

from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.data.lists import CandidateLists
from rerank.models.base import load_model
from rerank.models.describe import model_lines, model_record
from rerank.models.fusion import RandomModel
from rerank.models.linear import LinearModel, ThresholdModel, VotedModel
from rerank.models.weights import weights_of

X = np.array([[1.0, 2.0], [0.0, 4.0], [3.0, 0.0]])


def lists_with(base):
    plain = CandidateLists.from_arrays(X, feature_names=["a", "b"], source="some lists")
    return replace(plain, base_scores=None if base is None else np.array(base))


def made(base_weight=None):
    model = LinearModel(["a", "b"], np.array([1.0, 0.5]))
    model.base_weight = base_weight
    return model


def test_the_score_is_that_of_the_features_plus_the_weighted_base_score():
    lists = lists_with([-1.0, -2.0, -8.0])
    np.testing.assert_array_equal(made(0.25).score(lists), [2 - 0.25, 2 - 0.5, 3 - 2.0])
    np.testing.assert_array_equal(made().score(lists), [2, 2, 3])
    np.testing.assert_array_equal(made(0.25).raw_score(lists), made(0.25).score(lists))
    thresholds = ThresholdModel(["a", "b"], np.array([1.0, 0.5]), np.array([1.5]), np.array([0.0, 1.0]))
    thresholds.base_weight = 0.25
    np.testing.assert_array_equal(thresholds.grades(lists), [1.0, 1.0, 0.0])
    drawn = RandomModel(["a", "b"], 1)
    before = drawn.score(lists)
    drawn.base_weight = 0.5
    np.testing.assert_array_equal(drawn.score(lists), before + np.array([-0.5, -1.0, -4.0]))


@pytest.mark.parametrize(
    ("base", "message"),
    [
        (None, r"some lists: no first-stage scores; the model, which weights them by 0\.25, needs them"),
        ([1.0, np.nan, 0.0], "some lists: the first-stage score of list '1', item 2 is nan; the model"),
        ([1e300, 0.0, 0.0], "its first-stage score is 1e.300 and has the weight 1e.10"),
    ],
)
def test_lists_without_base_scores_are_refused_in_one_line(base, message):
    with pytest.raises(DataError, match=message) as caught:
        made(1e10 if base is not None and base[0] == 1e300 else 0.25).score(lists_with(base))
    assert "\n" not in str(caught.value)


def test_the_file_keeps_it_and_older_releases_refuse_it(tmp_path):
    path = str(tmp_path / "model")
    model = made(-0.125)
    model.keep_margin = math.inf
    again = saved(model, tmp_path)
    assert (again.base_weight, again.keep_margin) == (-0.125, math.inf)
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("meta.json"))["format"] == 2
    made().save(path)
    with zipfile.ZipFile(path) as archive:
        meta = json.loads(archive.read("meta.json"))
    assert meta["format"] == 1
    assert "base_weight" not in meta


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 1}, r"a damaged model \(format 1 with a base weight\)"),
        ({"base_weight": None}, r"a damaged model \(format 2 without a base weight\)"),
        ({"base_weight": "much"}, "a damaged model"),
        ({"format": 3}, r"a damaged model \(format 3 without a policy for missing values\)"),
        ({"format": 5}, "model format 5, expected format 1 to 4"),
    ],
)
def test_a_file_whose_version_and_weight_disagree_is_refused(tmp_path, change, message):
    good, bad = str(tmp_path / "good"), str(tmp_path / "bad")
    made(0.5).save(good)
    rewritten(good, bad, change)
    with pytest.raises(FormatError, match=message):
        load_model(bad)


def test_it_is_shown():
    assert any(line.split()[:3] == ["base", "score", "0.25"] for line in model_lines(made(0.25)))
    assert model_record(made(0.25))["base_weight"] == 0.25
    assert "base_weight" not in model_record(made())


def test_weights_alone_are_no_such_model():
    with pytest.raises(ConfigError, match=r"m: the base score, which is no feature, has the weight 0\.25"):
        weights_of(made(0.25), "m")


def test_a_weight_is_multiplied():
    model = made()
    before = model.weights
    model.multiply_weight(1, -4.0)
    np.testing.assert_array_equal(model.weights, [1.0, -2.0])
    np.testing.assert_array_equal(before, [1.0, 0.5])
    with pytest.raises(DataError, match=r"weight 1 times 1e.308 is not finite"):
        (model.multiply_weight(0, 10.0), model.multiply_weight(0, 1e308))


def test_every_vector_of_votes_is_multiplied():
    lists = lists_with(None)
    vectors, counts = np.array([[1.0, 0.0], [0.5, 1.0]]), np.array([2.0, 3.0])
    model = VotedModel(["a", "b"], vectors, counts)
    model.multiply_weight(0, 3.0)
    np.testing.assert_array_equal(model.vectors, [[3.0, 0.0], [1.5, 1.0]])
    scaled = lists.with_features(type(lists.features)(lists.features.to_dense() * [3.0, 1.0]), ["a", "b"])
    twin = VotedModel(["a", "b"], vectors, counts)
    np.testing.assert_array_equal(model.score(lists), twin.score(scaled))
    with pytest.raises(DataError, match="sums are not finite"):
        model.multiply_weight(0, 5e307)


def test_a_model_without_weights_has_none_to_multiply():
    with pytest.raises(ConfigError, match="a model of kind random has no weight of feature 'b' to multiply"):
        RandomModel(["a", "b"], 1).multiply_weight(1, 2.0)
