"""Ensembles of saved models: sums of standardised scores, from features, without training again."""

from dataclasses import replace

import numpy as np
import pytest

import rerank as package
from rerank.core.errors import ConfigError, DataError, DataNote, RerankError
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.extensions.decision.gain import deviation
from rerank.models.base import load_model


def lists(seed=0, n=12, names=("tf", "idf", "len")):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4 * n, len(names)))
    labels = (X @ np.arange(1.0, len(names) + 1) + rng.normal(size=4 * n) > 0).astype(float)
    return CandidateLists.from_arrays(X, labels, group=[4] * n, feature_names=list(names))


TRAIN, OTHER, TEST = (lists(seed) for seed in range(3))


def models(*learners, data=TRAIN, **settings):
    return [package.train(data, learner=name, **settings) for name in learners or ("ranksvm", "loglinear")]


def standardised(model, on, of):
    return model.score_items(of) / deviation(on, model.score_items(on))


def test_the_score_is_the_mean_of_scores_divided_by_their_deviation():
    members = models(scaling="zscore")
    made = package.ensemble(members, OTHER)
    expected = sum(standardised(one, OTHER, TEST) for one in members) / 2
    np.testing.assert_allclose(made.score_items(TEST), expected, rtol=1e-12)


@pytest.mark.parametrize("weights", [[3, -1], "3,-1"])
def test_weights_can_be_given(weights):
    members = models()
    first, second = (standardised(one, OTHER, TEST) for one in members)
    made = package.ensemble(members, OTHER, weights)
    np.testing.assert_allclose(made.score_items(TEST), 0.75 * first - 0.25 * second, rtol=1e-12)


def test_weights_are_learnt_from_standardised_scores():
    members = models("ranksvm", "prank")
    made = package.ensemble(members, OTHER, "ridge")
    columns = np.column_stack([standardised(one, OTHER, OTHER) for one in members])
    known = package.train(
        CandidateLists.from_arrays(columns, OTHER.labels, group=OTHER.lengths),
        learner="ridge",
        scaling="none",
    )
    share = known.weights / np.abs(known.weights).sum()
    expected = sum(w * standardised(one, OTHER, TEST) for w, one in zip(share, members, strict=True))
    np.testing.assert_allclose(made.score_items(TEST), expected, rtol=1e-9)
    by_metric = package.ensemble(members, OTHER, "mert", metric="label@1")
    assert by_metric.training.settings == {"weights": "mert"}


def test_models_of_different_features_join_by_name():
    names = ["tf", "len"], ["idf", "len"]
    left, right = (OTHER.with_columns(own) for own in names)
    first = models("ranksvm", data=TRAIN.with_columns(names[0]), scaling="zscore")
    members = [*first, *models("loglinear", data=TRAIN.with_columns(names[1]))]
    made = package.ensemble(members, OTHER)
    assert made.feature_names == ["tf", "len", "idf"]
    moved = TEST.with_columns(["len", "idf", "tf"])
    expected = standardised(members[0], left, TEST.with_columns(names[0]))
    expected = expected + standardised(members[1], right, TEST.with_columns(names[1]))
    np.testing.assert_allclose(made.score_items(moved), expected / 2, rtol=1e-12)
    with pytest.raises(DataError, match=r"found none of the features of model 1 \(tf, len\)"):
        package.ensemble(members, OTHER.with_columns(["idf"]))


def test_a_saved_ensemble_is_an_ordinary_model(tmp_path):
    path, again = str(tmp_path / "both"), str(tmp_path / "again")
    made = package.ensemble(models(scaling="zscore"), OTHER, out=path)
    package.ensemble(models(scaling="zscore"), OTHER, out=again)
    assert (tmp_path / "both").read_bytes() == (tmp_path / "again").read_bytes()
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.score_items(TEST), made.score_items(TEST))
    assert loaded.training_lines() == made.training_lines()
    assert loaded.n_weighted() == 3
    texts = StringColumn.from_strings(f"w{k % 3}" for k in range(TEST.n_items))
    decided = package.decide(loaded, "sBLEU").score_items(replace(TEST, texts=texts))
    assert np.isfinite(decided).all()
    with pytest.raises(ConfigError, match="has no weight of feature 'tf' to multiply"):
        loaded.multiply_weight(0, 2.0)


def test_missing_values_are_filled_by_each_member():
    X = TRAIN.features.to_dense().copy()
    X[::5, 1] = np.nan
    holes = CandidateLists.from_arrays(X, TRAIN.labels, group=TRAIN.lengths, feature_names=TRAIN.names())
    members = models(data=holes, missing="mean")
    made = package.ensemble(members, OTHER)
    expected = sum(standardised(one, OTHER, holes) for one in members) / 2
    np.testing.assert_allclose(made.score_items(holes), expected, rtol=1e-12)
    with pytest.raises(DataError, match="members with different policies for missing values"):
        package.ensemble([*members, *models("ranksvm")], OTHER)


def test_lists_of_training_are_noted():
    with pytest.warns(DataNote, match="many lists that model 1, model 2 learnt from"):
        package.ensemble(models(), TRAIN)


def kept(margin):
    model = models()[0]
    model.keep_margin = margin
    return model


@pytest.mark.parametrize(
    ("members", "data", "settings", "message"),
    [
        (lambda: models()[:1], OTHER, {}, "found 1 model, expected two or more"),
        (lambda: [package.ensemble(models(), OTHER), *models()], OTHER, {}, "model 1: found an ensemble"),
        (lambda: [*models(), package.decide(models()[0])], OTHER, {}, "model 3: found a model that decides"),
        (lambda: [*models(), kept(1.0)], OTHER, {}, "model 3: found a model with a keep margin of 1"),
        (
            lambda: [*models(), *models("score-regularisation", alpha=0.5, neighbours=2)],
            OTHER,
            {},
            "model 3: found a model of kind",
        ),
        (models, OTHER, {"weights": [1, 2, 3]}, "expected 2 finite numbers, not all 0"),
        (models, OTHER, {"weights": "1,nan"}, "expected 2 finite numbers, not all 0"),
        (models, OTHER, {"weights": "0,0"}, "expected 2 finite numbers, not all 0"),
        (models, OTHER, {"weights": "loglinaer"}, "did you mean 'loglinear'"),
        (models, OTHER, {"weights": "rankboost"}, "not a linear one"),
        (models, OTHER, {"metric": "label@1"}, "--metric: not used by weights equal"),
        (models, OTHER, {"weights": "loglinear", "metric": "AP"}, "--metric: not used by weights loglinear"),
        (models, OTHER, {"weights": "mert"}, "needs a metric of single"),
        (
            models,
            replace(OTHER, labels=None),
            {"weights": "ridge"},
            "found no labels, which weights are learnt",
        ),
        (
            models,
            OTHER.subset([0]).kept(np.array([True, False, False, False])),
            {},
            "gives the items of each",
        ),
    ],
)
def test_what_cannot_be_summed_is_refused(members, data, settings, message):
    with pytest.raises(RerankError, match=message):
        package.ensemble(members(), data, **settings)


def test_numbered_features_must_be_the_same():
    def numbered(n):
        made = lists(n=12, names=[str(k + 1) for k in range(n)])
        return package.train(made, learner="ranksvm")

    package.ensemble([numbered(3), numbered(3)], lists(1, names="123"))
    with pytest.raises(DataError, match="model 2: found 4 features, and 3 in model 1, of which some have no"):
        package.ensemble([numbered(3), numbered(4)], lists(1, names="1234"))
    with pytest.raises(DataError, match="expected the same features, or names in all models"):
        package.ensemble([numbered(3), *models("ranksvm")], OTHER)


def test_the_verb(rerank, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    package.save(OTHER, "other.store")
    for name, model in zip("ab", models(), strict=True):
        model.save(f"{name}.model")
    result = rerank("ensemble", "a.model", "b.model", "--data", "other.store", "--out", "both.model")
    assert "standardised on 12 lists" in result.err
    made = load_model("both.model")
    np.testing.assert_array_equal(made.weights_, package.ensemble(models(), OTHER).weights_)
    again = rerank("ensemble", "a.model", "a.model", "--data", "other.store", "--out", "x", code=2)
    assert "a.model is given twice" in again.err
    over = rerank("ensemble", "a.model", "b.model", "--data", "other.store", "--out", "a.model", code=2)
    assert "is one of the input files" in over.err
