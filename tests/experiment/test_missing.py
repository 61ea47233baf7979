"""``missing``: fitted on training lists alone, kept in the model, the same in every step and verb."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from small_training import saved
from typer.testing import CliRunner

import rerank
from rerank.cli.app import app
from rerank.core.errors import ConfigError, DataError, DataNote, FitError
from rerank.core.workers import parallel
from rerank.data.missing import POLICIES, Imputation
from rerank.extensions.transductive.cache_entries import digest_of_model
from rerank.models import importance
from rerank.models.weights import NamedWeights
from rerank.training.ablation import ablation
from rerank.training.options import options_of
from rerank.training.pipeline import prepare
from rerank.training.train import pipeline_from

NAMES = ["a", "b", "c"]


def drawn(seed=0, n_lists=10, share=0.2, names=NAMES):
    """Lists of 4 whose labels follow the features; some values of a and b are missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0, 1, (4 * n_lists, 3)) + 2
    y = np.round(X @ [1.0, -1.0, 0.5] + rng.normal(0, 0.3, len(X))).clip(0, 3)
    X[:, :2][rng.random((len(X), 2)) < share] = np.nan
    return rerank.CandidateLists.from_arrays(
        X, y, group=[4] * n_lists, feature_names=names, source=f"lists {seed}"
    )


@pytest.mark.filterwarnings("ignore:.*0 is above some scaled values:rerank.core.errors.DataNote")
@pytest.mark.parametrize("policy", ["zero", "mean", "list-mean", "list-min", "indicator"])
@pytest.mark.parametrize("scaling", ["none", "zscore", "list-rank"])
def test_a_model_fills_scales_and_scores_by_hand_and_after_loading(policy, scaling, tmp_path):
    train, test = drawn(0), drawn(1)
    model = rerank.train(train, learner="ranksvm", missing=policy, scaling=scaling)
    again = saved(model, tmp_path)
    assert again.missing_policy == policy
    steps = [again.imputation] + ([] if again.scaling is None else [again.scaling])
    ready = test
    for step in reversed(steps) if policy in ("zero", "list-min") else steps:
        ready = step.apply(ready)
    by_hand = ready.features.to_dense() @ again.weights
    np.testing.assert_allclose(again.score(test), by_hand, rtol=1e-12)
    np.testing.assert_array_equal(model.score(test), again.score(test))


def test_nothing_is_fitted_to_other_lists():
    train, dev = drawn(0), drawn(1)
    for policy in ("mean", "indicator"):
        prepared = prepare(pipeline_from("random", missing=policy, scaling="none"), train, dev)
        means = np.nanmean(train.features.values, axis=0)
        np.testing.assert_allclose(prepared.chain.get(Imputation).values["means"], means)
        gone = np.isnan(dev.features.values[:, 0])
        np.testing.assert_allclose(prepared.dev.lists.features.values[gone, 0], means[0])


@pytest.mark.parametrize("policy", ["list-mean", "indicator"])
def test_choice_seeds_and_tuning_are_the_same_for_any_number_of_jobs(policy, tmp_path):
    for jobs in (1, 2):
        with parallel.using(jobs):
            given = {"missing": policy, "select": "cv", "grid": {"tau": [0.0, 0.5]}, "folds": 3}
            model = rerank.train(drawn(0), metric="nDCG@2", seeds=2, epochs=2, **given)
            model.save(str(tmp_path / f"{jobs}"))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    assert np.isfinite(rerank.load_model(str(tmp_path / "1")).score(drawn(1))).all()


def test_without_a_policy_the_error_names_the_flags_and_error_accepts_whole_lists():
    with pytest.raises(
        FitError, match=r"the first is 'a' of list '2', item 2; learner ranksvm accepts none: --mi"
    ):
        rerank.train(drawn(0), learner="ranksvm")
    with pytest.raises(
        FitError, match="accepts none: --missing mean, list-mean, list-min, indicator or zero fills"
    ):
        rerank.train(drawn(0), learner="ranksvm", missing="nan")
    with pytest.raises(
        DataError, match=r"values are missing \(NaN\), of 2 features; the first is .*--missing mean"
    ):
        rerank.train(drawn(0), learner="ranksvm", missing="error")
    with pytest.raises(ConfigError, match="missing: found 'medan', expected 'error', 'nan', 'zero', 'mean'"):
        rerank.train(drawn(0), missing="medan")
    whole = drawn(0, share=0.0)
    model = rerank.train(whole, learner="ranksvm", missing="error")
    np.testing.assert_array_equal(model.score(whole), rerank.train(whole, learner="ranksvm").score(whole))
    with pytest.raises(DataError, match="values are missing"):
        model.score(drawn(1))
    nan = rerank.train(drawn(0), learner="rankboost", rounds=3, missing="nan")
    np.testing.assert_array_equal(
        nan.score(drawn(1)), rerank.train(drawn(0), learner="rankboost", rounds=3).score(drawn(1))
    )


def test_a_column_that_data_lacks_is_missing():
    model = rerank.train(drawn(0), learner="ranksvm", missing="mean")
    test = drawn(1)
    lacking = rerank.CandidateLists.from_arrays(
        test.features.values[:, 1:], group=test.lengths, feature_names=NAMES[1:]
    )
    X = test.features.values.copy()
    X[:, 0] = np.nan
    with pytest.warns(DataNote, match=r"1 of 3 features of the model is absent \(a\), taken as missing"):
        scores = model.score(lacking)
    np.testing.assert_array_equal(scores, model.score(replace(test, features=rerank.data.matrix.Dense(X))))


def test_indicators_take_part_in_importance_ablation_and_initial_weights():
    train, test = drawn(0), drawn(1)
    model = rerank.train(train, learner="ranksvm", missing="indicator")
    assert model.feature_names == ["a", "b", "c", "a?missing", "b?missing"]
    drops = {
        drop.feature: drop.columns for drop in importance.permutation_importance(model, test, "nDCG@2").drops
    }
    assert drops == {"a": 2, "b": 2, "c": 1}
    assert len(importance.standardised_weights(model, test)) == 5
    made = ablation(train, options_of("ranksvm", {"metric": "nDCG@2", "missing": "indicator"}), test=test)
    assert len(made.ablated) == 3
    start = NamedWeights(NAMES, np.ones(3), "w")
    begun = rerank.train(train, epochs=1, initial=start, missing="indicator")
    assert begun.initial[3:].tolist() == [0, 0]
    digests = set()
    for policy in ("mean", "indicator"):
        found = rerank.train(train, learner="ranksvm", missing=policy)
        digests.add(digest_of_model(found, ""))
    assert len(digests) == 2


def run(*args):
    found = CliRunner().invoke(app, [str(arg) for arg in args], standalone_mode=False)
    found.exit_code = found.exit_code or found.return_value or 0
    return found


def test_the_command_line_keeps_the_policy_in_the_model(tmp_path):
    data, model, scores = tmp_path / "t.csv", tmp_path / "m", tmp_path / "s"
    rerank.save(drawn(0), str(data))
    refused = run("train", "--data", data, "--learner", "ranksvm", "--out", model)
    assert refused.exit_code == 2
    assert (
        "(--missing zero or nan, in training also mean, list-mean or indicator accepts empty cells)"
        in refused.stderr
    )
    for policy in POLICIES:
        made = run("train", "--data", data, "--missing", policy, "--learner", "rankboost", "--out", model)
        assert made.exit_code == (2 if policy == "error" else 0), made.stderr
        if policy != "error":
            assert run("predict", model, data, "--out", scores).exit_code == 0
            loaded = rerank.load_model(str(model))
            np.testing.assert_array_equal(np.loadtxt(scores), loaded.score(drawn(0)))
    contradiction = run("predict", model, data, "--missing", "nan")
    assert "--missing nan: the model keeps --missing indicator of its training; leave" in contradiction.stderr
    assert run("predict", model, data, "--missing", "indicator").exit_code == 0
    text = run("show", model).stdout
    assert re.search(r"missing +indicator; in training 2 features had missing values", text)
    assert "instead of a missing value; items without one in training" in text
    found = json.loads(run("show", model, "--as", "json").stdout)["missing"]
    assert found["policy"] == "indicator"
    assert [one["name"] for one in found["features"]] == ["a", "b"]
    for verb in ("validate", "pairs"):
        assert run(verb, data).exit_code == 0
        assert "missing=mean is fitted by 'rerank train'" in run(verb, data, "--missing", "mean").stderr
    assert run("eval", data, scores).exit_code == 0


def test_export_says_that_filling_is_left_out(tmp_path):
    rerank.train(drawn(0), learner="ranksvm", missing="mean").save(str(tmp_path / "m"))
    with pytest.warns(DataNote) as notes:
        rerank.export(str(tmp_path / "m"), str(tmp_path / "w"), "tsv")
    assert "what fills missing values (mean) is no weight, so it is left out" in str(notes[0].message)
    assert "weights of the raw features, from scaling zscore" in str(notes[1].message)


def test_rows_of_an_experiment_have_policies_of_their_own(tmp_path):
    rerank.save(drawn(0), str(tmp_path / "t.csv"))
    config = tmp_path / "e.yaml"
    body = "data: {train: t.csv, missing: %s}\nfolds: 2\nfold_dev: none\nmetrics: [nDCG@2]\nlearners:\n"
    rows = "  mean: {name: ranksvm, data: {missing: mean}}\n  zero: {name: ranksvm, data: {missing: zero}}\n"
    config.write_text(body % "indicator" + "  all: {name: ranksvm}\n" + rows)
    done = run("run", config, "--out", tmp_path / "out", "--models")
    assert done.exit_code == 0, done.output
    models = [rerank.load_model(str(path)) for path in (tmp_path / "out").rglob("model*") if path.is_file()]
    assert sorted(model.missing_policy for model in models) == ["indicator"] * 2 + ["mean"] * 2 + ["zero"] * 2
    config.write_text(body % "zero" + rows)
    refused = run("run", config, "--out", tmp_path / "other")
    assert "learners.mean: data.missing: expected data: {missing: nan} of the experiment" in refused.stderr
