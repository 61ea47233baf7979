"""Weights of raw features: they give the model's scores, or are refused."""

import numpy as np
import pytest

import rerank
from rerank.core.errors import ConfigError, DataError
from rerank.data.lists import CandidateLists
from rerank.models.describe import shown_weights
from rerank.models.linear import LinearModel


def drawn(seed, missing=0.0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal([5, -3, 0], [1, 30, 0.1], (40, 3)), np.full(40, 7.0)])
    y = np.round(X[:, 0] - 4 + X[:, 1] / 30).clip(0, 3)
    X[rng.random(X.shape) < missing] = np.nan
    return CandidateLists.from_arrays(X, y, group=[4] * 10, feature_names=["a", "b", "c", "same"])


@pytest.mark.filterwarnings("ignore:.*ranges within lists:rerank.core.errors.DataNote")
@pytest.mark.filterwarnings("ignore:.*0 is above some scaled values:rerank.core.errors.DataNote")
@pytest.mark.parametrize("scaling", ["none", "minmax", "zscore"])
@pytest.mark.parametrize("missing", [None, "zero", "mean", "indicator"])
@pytest.mark.parametrize("learner", ["ranksvm", "prank"])
def test_raw_weights_give_the_scores_of_the_model(scaling, missing, learner):
    share = 0.0 if missing is None else 0.1
    model = rerank.train(drawn(0, share), learner=learner, scaling=scaling, missing=missing)
    test, raw = drawn(1, share), model.unscaled()
    filled = test if missing is None else model.imputation.apply(test)
    X = filled.features.to_dense()
    if missing == "zero" and scaling != "none":  # a scaled 0 is a raw shift
        X = np.where(np.isnan(test.features.values), model.scaling.values["shift"], X)
    by_hand = X @ raw.weights + raw.constant
    np.testing.assert_allclose(by_hand, model.raw_score(test), rtol=1e-9, atol=1e-9)
    assert raw.names == model.feature_names
    assert missing in ("zero", "indicator") or scaling == "none" or raw.weights[3] == 0


def test_sparse_features_were_divided_only():
    lists = drawn(0)
    sparse = lists.with_features(lists.features.compressed(), lists.names())
    model = rerank.train(sparse, learner="ranksvm", scaling="zscore")
    raw = model.unscaled()
    assert raw.constant == 0
    np.testing.assert_allclose(sparse.features.scores(raw.weights), model.score(sparse), rtol=1e-9)


def test_what_has_no_raw_weights_is_refused():
    for scaling in ("list-zscore", "list-minmax", "rank", "list-rank"):
        model = rerank.train(drawn(0), learner="ranksvm", scaling=scaling)
        with pytest.raises(
            ConfigError, match=f"^m: scaling {scaling} has no fixed factor for each feature: use none"
        ):
            shown_weights(model, unscaled=True, source="m")
    trees = rerank.train(drawn(0), learner="lambdamart", rounds=2, min_leaf=2)
    with pytest.raises(ConfigError, match=r"^m: a model of kind \w+ has no weights of raw features"):
        shown_weights(trees, unscaled=True, source="m")
    tiny = CandidateLists.from_arrays([[0.0], [1e-290]], [0, 1], group=[2])
    huge = rerank.train(tiny, learner="ranksvm", scaling="minmax")
    huge.weights = np.array([1e200])
    with pytest.raises(DataError, match="weights of raw features that are too large"):
        huge.unscaled()


def test_chosen_rows():
    model = rerank.train(drawn(0), learner="rankboost", rounds=5, thresholds=3)
    rows = model.explain()
    shown = shown_weights(model, ["a", "same"])
    assert shown.rows == [row for row in rows if row[0].split()[0] == "a"]
    assert 0 < len(shown.rows) < shown.n == len(rows)
    spaced = LinearModel(["a b", "a"], np.array([2.0, 1.0]))
    assert shown_weights(spaced, ["a"]).rows == [("a", 1.0)]
    assert shown_weights(spaced, ["-a"]).rows == [("a b", 2.0)]
    with pytest.raises(DataError, match="m: no feature matches 'sam'; did you mean 'same'"):
        shown_weights(model, ["sam"], source="m")
