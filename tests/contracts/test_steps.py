"""What every step around a learner promises; a new one is tested by being there."""

import dataclasses

import numpy as np
import pytest
from make import features
from small_training import all_runs

import rerank
from rerank.core.errors import ConfigError
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.models.base import load_model
from rerank.training.config import read_config
from rerank.training.data import NO_SIDE_INPUTS
from rerank.training.options import KEYWORDS, TrainOptions, options_of
from rerank.training.pipeline import pipeline_of, prepare
from rerank.training.steps import STEPS, AfterStep, steps_in_order
from rerank.training.train import pipeline_from

# A value of the first setting that makes the step do something.
VALUES = {
    "quantise": "best", "missing": "zero", "scaling": "minmax", "unjudged": "negative", "base_scale": 3.0,
    "tune_base": "dev", "keep_margin": 0.5, "text": "text", "vectors": "vectors",
}  # fmt: skip
OFF = {"scaling": "none"}  # what does nothing, if that is not the default
NAMES = STEPS.names()


def some_lists(seed=1, layout="dense", dtype=np.float64):
    """Lists with a base score, first-bests and unjudged items."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 7, 20)
    n = int(sizes.sum())
    X = rng.integers(-3, 4, (n, 4)).astype(dtype)
    X[:, 1] = rng.normal(-5, 2, n).astype(dtype)
    y = np.clip(np.round(X[:, 0] + rng.normal(0, 1, n)), 0, 2).astype(float)
    y[rng.random(n) < 0.2] = np.nan
    y[0], y[1] = 0, 2
    lists = CandidateLists.from_arrays(features(layout, X), y, group=sizes, source=f"lists {seed}")
    texts = [" ".join(rng.choice(["one", "Two", "3", "four five"], 4)) for _ in range(n)]
    return dataclasses.replace(
        lists,
        base_scores=X[:, 1].astype(float),
        texts=StringColumn.from_strings(texts),
        prompts=StringColumn.from_strings(texts[: len(sizes)]),
        vectors=rng.normal(0, 1, (n, 3)),
        query_vectors=rng.normal(0, 1, (len(sizes), 3)).astype(np.float32),
    ).with_first_best("input")


def setting_of(name):
    return STEPS.get(name).settings[0]


def model_of(name, lists, **more):
    given = {"scaling": "none", "metric": "label@1"} | {setting_of(name): VALUES[name]} | more
    return all_runs("perceptron", lists, some_lists(2), epochs=3, **given).model


def test_places_differ_and_every_step_is_tried():
    kinds = steps_in_order()
    assert {kind.name for kind in kinds} == set(NAMES) == set(VALUES)
    assert len({(kind.stage, kind.place) for kind in kinds}) == len(kinds)
    of_features = [kind.name for kind in kinds if kind.stage == "features"]
    assert of_features == ["text", "vectors", "missing", "scaling"]


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_declared_once_and_are_keywords(name):
    kind = STEPS.get(name)
    owner = TrainOptions.settings[kind.section].kind if kind.section else TrainOptions
    for setting in kind.settings:
        assert setting in owner.settings
        assert setting in KEYWORDS
        assert getattr(kind(), setting) in (owner.settings[setting].default, None)


@pytest.mark.parametrize("name", NAMES)
def test_keywords_yaml_and_set_give_one_step(name, tmp_path):
    kind, value = STEPS.get(name), VALUES[name]
    key = f"{kind.section}.{setting_of(name)}" if kind.section else setting_of(name)
    (tmp_path / "c.yaml").write_text("learner: {name: perceptron}\n")
    typed = read_config(str(tmp_path / "c.yaml"), [f"{key}={value}"])
    assert kind.of(typed) == kind.of(read_config(None, [], {key: value}))
    assert kind.of(typed) == kind.of(options_of("perceptron", {setting_of(name): value}))


@pytest.mark.parametrize("name", NAMES)
def test_what_does_nothing_changes_no_byte(name, tmp_path):
    kind, lists = STEPS.get(name), some_lists()
    off = OFF.get(name, getattr(kind(), setting_of(name)))
    assert not kind(**{setting_of(name): off}).active
    for path, given in (("a", {}), ("b", {setting_of(name): off})):
        given = {"scaling": "none"} | given
        all_runs("perceptron", lists, epochs=2, **given).model.save(str(tmp_path / path))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("layout", ["dense", "sparse", "mixed"])
@pytest.mark.parametrize("name", NAMES)
def test_models_of_every_layout_are_saved_whole(name, layout, tmp_path):
    model = model_of(name, some_lists(layout=layout))
    model.save(str(tmp_path / "m"))
    again = load_model(str(tmp_path / "m"))
    again.save(str(tmp_path / "n"))
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()
    test = some_lists(3, layout)
    assert np.array_equal(model.score(test), again.score(test))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", [name for name in NAMES if not issubclass(STEPS.get(name), AfterStep)])
def test_owned_lists_give_the_same_and_others_are_untouched(name, dtype):
    given = {"scaling": "zscore", "epochs": 2} | {setting_of(name): VALUES[name]}
    lists = some_lists(dtype=dtype)
    pipeline = pipeline_from("perceptron", **given).resolve(lists)
    before, labels = lists.features.to_dense().copy(), lists.labels.copy()
    plain = prepare(pipeline, lists, some_lists(2, dtype=dtype))
    assert np.array_equal(before, lists.features.to_dense())
    assert np.array_equal(labels, lists.labels, equal_nan=True)
    owned = prepare(pipeline, some_lists(dtype=dtype), some_lists(2, dtype=dtype), owned=True)
    for one, other in ((plain.train, owned.train), (plain.dev, owned.dev)):
        for side in ("lists", "learnt"):
            a, b = getattr(one, side), getattr(other, side)
            assert a.features.to_dense().tobytes() == b.features.to_dense().tobytes()
            assert np.array_equal(a.rows, b.rows) if a.rows is not None else b.rows is None
            assert np.array_equal(a.offsets, b.offsets)
    assert plain.fingerprint == owned.fingerprint


@pytest.mark.parametrize("name", [name for name in NAMES if not issubclass(STEPS.get(name), AfterStep)])
def test_nothing_is_fitted_to_dev_lists(name):
    given = {"scaling": "zscore"} | {setting_of(name): VALUES[name]}
    lists = some_lists()
    pipeline = pipeline_from("perceptron", **given).resolve(lists)
    one, other = (prepare(pipeline, lists, dev, NO_SIDE_INPUTS) for dev in (some_lists(2), some_lists(9)))
    assert one.train.learnt.features.to_dense().tobytes() == other.train.learnt.features.to_dense().tobytes()
    assert np.array_equal(one.train.learnt.labels, other.train.learnt.labels, equal_nan=True)


@pytest.mark.parametrize("name", NAMES)
def test_use_of_dev_lists_is_recorded(name):
    model = model_of(name, some_lists(), keep="last")  # the round is not chosen on them either
    step = STEPS.get(name)(**{setting_of(name): VALUES[name]})
    expected = "choice" if step.uses_dev else "none"
    assert {gain.use for gain in model.training.gains if gain.part == "dev"} == {expected}


@pytest.mark.parametrize("name", NAMES)
def test_learners_of_classes_refuse_what_works_on_scores(name):
    kind = STEPS.get(name)
    options = options_of("predtron", {"task": "multiclass", setting_of(name): VALUES[name]})
    if kind.accepts_classes:
        pipeline_of(options)
        return
    with pytest.raises(ConfigError, match=f"{setting_of(name)}: not used by learner predtron"):
        pipeline_of(options)


@pytest.mark.parametrize("name", NAMES)
def test_a_grid_varies_only_what_declares_it(name):
    setting = setting_of(name)
    given = {"metric": "label@1", "select": "dev", "grid": {setting: [VALUES[name]]}, "epochs": 2}
    if not STEPS.get(name).in_grid:
        with pytest.raises(ConfigError, match=f"grid: unknown setting '{setting}'"):
            pipeline_from("perceptron", **given)
        return
    model = rerank.train(some_lists(), dev=some_lists(2), **given)
    assert model.training.choice.cells[0].settings == {setting: VALUES[name]}


def test_weights_of_given_features_give_the_same_order_after_every_linear_step():
    lists = some_lists()
    for scaling in ("zscore", "minmax"):
        pipeline = pipeline_from("perceptron", scaling=scaling, base_scale=4.0).resolve(lists)
        data = prepare(pipeline, lists)
        weights = np.array([1.0, -2.0, 0.5, 3.0])
        seen = data.view.unfold(data.chain.unfold(weights, lists.names(), "w"), lists.names(), "w")
        one, other = lists.features.scores(weights), data.train.learnt.features.scores(seen)
        starts = lists.offsets[:-1]
        gaps = (scores - np.repeat(scores[starts], lists.lengths) for scores in (one, other))
        np.testing.assert_allclose(*gaps, atol=1e-9)
    data = prepare(pipeline_from("perceptron", scaling="list-zscore").resolve(lists), lists)
    with pytest.raises(ConfigError, match="has no fixed factor for each feature"):
        data.chain.unfold(np.ones(4), lists.names(), "w")
