"""Probabilities that a model keeps: how they are fitted, saved, printed and refused."""

import json
from dataclasses import replace

import make
import numpy as np
import pytest
from scipy.special import softmax
from small_training import rewritten

import rerank as product
from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.extensions.selection.calibrate import Calibrated, Outcome, Temperature, confidence_of
from rerank.extensions.selection.selective import parts_of
from rerank.metrics.judging import Judging
from rerank.models.base import load_model
from rerank.models.linear import LinearModel


def drawn(seed=0, n_lists=80):
    """Judged lists of one feature that is the more right the larger its lead is, with a first stage."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 7, n_lists)
    lists = make.lists(sizes=sizes.tolist(), seed=seed, grades=(0, 1), unjudged=0.0)
    labels = np.zeros(lists.n_items)
    labels[lists.offsets[:-1] + rng.integers(0, sizes)] = 1.0
    easy = rng.exponential(4.0, n_lists)[lists.list_index]
    x = (rng.normal(size=lists.n_items) + easy * labels)[:, None]
    lists = lists.with_features(type(lists.features)(x), ["x"])
    return replace(lists, labels=labels, first_best=labels + 2 * rng.normal(size=lists.n_items))


@pytest.fixture
def model():
    return LinearModel(["x"], np.array([2.0]))


def test_the_temperature_is_the_likeliest(model):
    lists = drawn(n_lists=200)
    scores = model.score_items(lists)
    top = [int(np.argmax(scores[a:b])) + a for a, b in zip(lists.offsets, lists.offsets[1:], strict=False)]
    right = lists.labels[top] == 1
    every = np.ones(lists.n_lists, dtype=bool)
    found = Temperature.fit(lists, scores, right, every)

    def likelihood(t):
        p = [softmax(scores[a:b] / t).max() for a, b in zip(lists.offsets, lists.offsets[1:], strict=False)]
        return np.log(np.where(right, p, 1 - np.array(p))).sum()

    p = [softmax(scores[a:b] / found.temperature).max() for a, b in zip(lists.offsets, lists.offsets[1:])]  # noqa: B905
    np.testing.assert_allclose(found.of(lists, scores), p, rtol=1e-12)
    around = [likelihood(found.temperature * factor) for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2)]
    assert likelihood(found.temperature) > max(around)


@pytest.mark.parametrize("method", ["platt", "isotonic", "temperature"])
def test_the_error_is_that_of_lists_that_were_not_fitted_to(method, model):
    lists = drawn()
    found = product.calibrate(model, lists, method=method)
    scores = model.score_items(lists)
    gaps = confidence_of(lists, scores)[:, 1]
    top = [int(np.argmax(scores[a:b])) + a for a, b in zip(lists.offsets, lists.offsets[1:], strict=False)]
    right = lists.labels[top] == 1
    p = np.zeros(lists.n_lists)
    for train, test in parts_of(lists, np.arange(lists.n_lists), 5, Judging().seed):
        alone = product.calibrate(model, lists.subset(train), method=method, folds=2).model.calibration
        p[test] = alone.columns(lists.subset(test), model.score_items(lists.subset(test)))["p_right"]
    assert found.records[0]["brier"] == pytest.approx(np.mean((p - right) ** 2))
    assert found.records[0]["happens"] == right.mean()
    assert found.records[0]["brier"] < found.records[0]["constant"]  # the gap tells something
    kept = found.model.calibration.columns(lists, scores)["p_right"]
    assert np.corrcoef(kept, gaps)[0, 1] > 0.5
    assert model.calibration is None  # the given one is not changed


def test_p_better_is_of_the_metric_and_the_first_stage(model):
    lists = drawn()
    found = product.calibrate(model, lists, "RR", rule="margin")
    assert [row["probability"] for row in found.records] == ["P(right)", "P(better)"]
    own = product.evaluate(lists, model.score(lists), "RR")["RR"]
    first = product.evaluate(lists, lists.input_order(lists.first_best), "RR")["RR"]
    assert own > first
    values = [
        product.evaluate(lists.subset([i]), model.score(lists.subset([i])), "RR")["RR"]
        > product.evaluate(lists.subset([i]), lists.subset([i]).first_best, "RR")["RR"]
        for i in range(lists.n_lists)
    ]
    assert found.records[1]["happens"] == pytest.approx(np.mean(values))


def test_the_model_file_keeps_them_and_predict_prints_them(model, tmp_path, monkeypatch, rerank):
    monkeypatch.chdir(tmp_path)
    model.save("model")
    train, test = drawn(0), drawn(1)
    product.save(train, "train.store")
    product.save(test, "test.store")
    done = rerank(
        "calibrate", "model", "train.store", "--metric", "RR", "--out", "calibrated", "--as", "json"
    )
    assert set(json.loads(done.out)["bins"]) == {"right", "better"}
    loaded = load_model("calibrated")
    loaded.save("again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "calibrated").read_bytes()
    expected = loaded.calibration.columns(test, loaded.score_items(test))
    rows = [
        line.split("\t")
        for line in rerank("predict", "calibrated", "test.store", "--as", "table").out.splitlines()
    ]
    assert len(rows) == test.n_items
    firsts = [row for row in rows if row[2] == "1"]
    np.testing.assert_array_equal([float(row[4]) for row in firsts], expected["p_right"])
    np.testing.assert_array_equal([float(row[5]) for row in firsts], expected["p_better"])
    frame = product.predict("calibrated", test, "table").to_dataframe()
    assert frame.columns.tolist() == ["list", "item", "rank", "score", "p_right", "p_better"]
    assert frame["p_right"][frame["rank"] == 1].tolist() == expected["p_right"].tolist()
    assert "P(right), P(better) from 80 lists" in rerank("show", "calibrated").out
    np.testing.assert_array_equal(loaded.score(test), model.score(test))
    plain = rerank("predict", "calibrated", "test.store", "--as", "table", "--keep-margin", "1")
    assert {len(line.split("\t")) for line in plain.out.splitlines()} == {4}  # of another choice


def test_without_a_first_stage_some_are_unknown(model):
    lists = drawn()
    kept = product.calibrate(model, lists, "RR", rule="margin").model.calibration
    bare = replace(lists, first_best=None, base_scores=None)
    with pytest.warns(product.DataNote, match="no ranking of a first stage: no p_right, p_better"):
        found = kept.columns(bare, model.score_items(bare))
    assert np.isnan(found["p_right"]).all()
    by_gap = product.calibrate(model, lists).model.calibration.columns(bare, model.score_items(bare))
    assert np.isfinite(by_gap["p_right"]).all()
    with pytest.raises(DataError, match="no ranking of a first stage, which rule margin needs"):
        product.calibrate(model, bare, rule="margin")
    with pytest.raises(DataError, match="a first stage that a choice could be better than by RR"):
        product.calibrate(model, bare, "RR")


def test_what_cannot_be_calibrated_is_one_line(model, rerank, tmp_path, monkeypatch):
    lists = drawn()
    best = replace(
        lists,
        labels=(
            model.score_items(lists)
            == np.repeat(np.maximum.reduceat(model.score_items(lists), lists.offsets[:-1]), lists.lengths)
        ).astype(float),
    )
    with pytest.raises(DataError, match=r"the choice is always right on \d+ lists: no P\(right\)"):
        product.calibrate(model, best)
    with pytest.raises(DataError, match="found 3 judged lists, expected 5 or more for 5 folds"):
        product.calibrate(model, lists.subset([0, 1, 2]))
    with pytest.raises(DataError, match="found no labels"):
        product.calibrate(model, replace(lists, labels=None))
    for setting, text in (
        ({"rule": "logistic"}, "unknown rule 'logistic'"),
        ({"method": "plat"}, "did you mean 'platt'"),
        ({"folds": 1}, "folds: found 1, expected 2 or more"),
    ):
        with pytest.raises(ConfigError, match=text):
            product.calibrate(model, lists, **setting)
    monkeypatch.chdir(tmp_path)
    model.save("model")
    product.save(lists, "l.store")
    given = ("calibrate", "model", "l.store", "--method", "temperature")
    assert "--metric: not used by --method temperature" in rerank(*given, "--metric", "RR", code=2).err
    assert "--rule: not used by --method temperature" in rerank(*given, "--rule", "gap", code=2).err


def test_a_damaged_calibration_is_refused(model, tmp_path):
    path = str(tmp_path / "model")
    product.calibrate(model, drawn(), out=path)
    whole = load_model(path)
    good = whole.calibration.as_json()
    meta = {"kind": "choice", **good}

    def written(record):
        return rewritten(path, tmp_path / "bad", {"calibration": record})

    assert load_model(written(meta)).calibration == whole.calibration
    outcome = good["outcomes"][0]
    for change in (
        {"kind": "no-such"},
        {"lists": "many"},
        {"outcomes": [outcome | {"rule": "luck"}]},
        {"outcomes": [outcome | {"rule": "logistic"}]},
        {"outcomes": [outcome | {"name": "lucky"}]},
        {"outcomes": [{"name": "right", "rule": "gap"}]},
        {"outcomes": [{"name": "right", "rule": "gap", "isotonic": {"levels": [1.0, 0.0], "p": [0.0, 1.0]}}]},
        {"outcomes": [{"name": "right", "rule": "gap", "isotonic": {"levels": [], "p": []}}]},
        {"outcomes": [{"name": "right", "rule": "", "temperature": {"temperature": 0.0}}]},
    ):
        with pytest.raises(FormatError, match="a damaged model"):
            load_model(written(meta | change))
    assert Calibrated(outcomes=(), lists=0).summary() == " from 0 lists"
    with pytest.raises(DataError):
        Outcome(name="right", rule="gap")
