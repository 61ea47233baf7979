"""Models with their keep margin, gains and seeds, as fitting and experiment make them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from small_training import all_runs, fit, make_learner, saved

import rerank
from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.core.tables.data import to_json
from rerank.core.workers import parallel
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.evaluation.variance import gain
from rerank.learners.base import Learner
from rerank.metrics.base import parse
from rerank.models.base import load_model
from rerank.models.describe import model_lines, model_record
from rerank.models.linear import LinearModel
from rerank.training.steps.keep_margin import margin_effect, tune_margin


def some_lists(seed, n_lists=40, noise=2.0):
    """Noisy lists whose first item is better than chance."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, 5 * n_lists).astype(float)
    labels[::5] = np.maximum(labels[::5], rng.integers(0, 3, n_lists))
    X = rng.normal(size=(5 * n_lists, 4))
    X[:, 0] += labels / noise
    lists = CandidateLists.from_arrays(X, labels, group=[5] * n_lists, source=f"set {seed}")
    return lists.with_first_best("input")


TRAIN, DEV = some_lists(1), some_lists(2)


def fitted(metric="label@1", dev=DEV, **more):
    learner = make_learner("perceptron", {"epochs": 2, **more.pop("settings", {})})
    return fit(learner, TRAIN, dev=dev, metric=metric, **more)


def test_a_tuned_margin_is_the_best_on_dev_for_scaled_scores():
    model = fitted(keep_margin="auto", scaling="zscore")
    judge = parse("label@1").prepare(DEV)
    margin = tune_margin(DEV, judge, model.raw_score(DEV))
    expected = margin_effect(DEV, judge, model.raw_score(DEV), margin, tuned=True)
    assert 0 < model.keep_margin < math.inf
    assert model.keep_margin == margin
    assert corpus_value(judge, judge.per_list(model.score(DEV))) == expected.value
    assert model.training.keep == expected
    assert expected.value >= expected.without


def test_a_margin_by_hand_is_kept_and_its_effect_noted():
    model = fitted(keep_margin=0.25)
    assert model.keep_margin == 0.25
    assert model.training.keep.tuned is False
    assert fitted(dev=None, keep_margin=0.25).training.keep is None
    assert fitted("nDCG@5", keep_margin=0.25).training.keep is None


@pytest.mark.parametrize("margin", [0.0, 0.3, math.inf])
def test_a_saved_margin_is_the_same_margin(margin, tmp_path):
    model = fitted(keep_margin=margin)
    again = saved(model, tmp_path)
    assert again.keep_margin == margin
    np.testing.assert_array_equal(again.score(DEV), model.score(DEV))
    assert np.isfinite(again.score(DEV)).all()
    assert any(line.startswith("margin") for line in model_lines(again))
    assert "Infinity" not in to_json(model_record(again))
    again.keep_margin = None
    np.testing.assert_array_equal(again.score(DEV), fitted().score(DEV))


def test_a_damaged_margin_is_refused(tmp_path):
    model = fitted()
    model.keep_margin = -1.0
    model.save(str(tmp_path / "m"))
    with pytest.raises(FormatError, match=r"a damaged model \(keep_margin: found -1.0, expected 0 or more\)"):
        load_model(str(tmp_path / "m"))


def test_grades_hear_no_margin():
    model = fit(make_learner("prank", {"epochs": 2}), TRAIN, keep_margin=0.5)
    plain = fit(make_learner("prank", {"epochs": 2}), TRAIN)
    assert not np.array_equal(model.score(DEV), plain.score(DEV))
    np.testing.assert_array_equal(model.grades(DEV), plain.grades(DEV))


def test_what_cannot_be_tuned_is_reported_before_anything_is_learnt():
    with pytest.raises(ConfigError, match="tuned on development lists"):
        fitted(dev=None, keep_margin="auto")
    with pytest.raises(ConfigError, match=r"needs a metric of single candidates .* nDCG@5 judges rankings"):
        fitted("nDCG@5", keep_margin="auto")
    for wrong in (-1.0, float("nan"), "many", [1], True):
        with pytest.raises(ConfigError, match=r"keep_margin: found .*, expected .*a number of at least 0"):
            fitted(keep_margin=wrong)
    with pytest.raises(DataError, match=r"set 2: .*--first-best"):
        fitted(dev=replace(DEV, first_best=None), keep_margin="auto")
    with pytest.raises(DataError, match=r"set 1: .*--first-best"):
        fit(Tuner(), replace(TRAIN, first_best=None), keep_margin=0.1)


def test_the_public_function_takes_a_margin():
    model = rerank.train(TRAIN, dev=DEV, metric="label@1", keep_margin="auto", epochs=2)
    assert model.keep_margin == fitted(keep_margin="auto").keep_margin
    assert type(fitted(keep_margin=np.float32(0.5)).keep_margin) is float


def test_gains_over_first_best_are_noted_for_both_sets():
    model = fitted(keep_margin=0.1, settings={"keep": "last"})
    assert [(g.part, g.use, g.over) for g in model.training.gains] == [
        ("train", "fit", "first-best"),
        ("dev", "none", "first-best"),
        ("dev", "none", "no margin"),
    ]
    for lists, found in zip((TRAIN, DEV), model.training.gains[:2], strict=True):
        judge = parse("label@1").prepare(lists)
        first, own = judge.per_list(lists.first_best), judge.per_list(model.score(lists))
        assert found.before == corpus_value(judge, first)
        assert found.after == corpus_value(judge, own)
        assert found.low < found.gain == found.after - found.before < found.high
        assert found == gain(found.part, found.use, "first-best", judge, first, own)


class Tuner(Learner):
    """Adds a second feature to the one it starts from."""

    name = "tuner"

    def _fit(self, lists, inputs):
        model = LinearModel(lists.names(), np.array([2.0, 0.5, 0.0, 0.0]))
        model.initial = np.array([1.0, 0.0, 0.0, 0.0])
        return model


def test_gains_over_the_initial_weights_of_a_tuner_are_noted_as_well():
    model = fit(Tuner(), TRAIN, dev=DEV, metric="label@1", scaling="zscore")
    assert [(g.part, g.over) for g in model.training.gains] == [
        (part, over) for part in ("train", "dev") for over in ("first-best", "initial weights")
    ]
    judge = parse("label@1").prepare(DEV)
    alone = corpus_value(judge, judge.per_list(DEV.features.column(0)))  # a z-score keeps the order
    assert model.training.gains[3].before == alone
    assert model.training.gains[3].after == model.training.gains[2].after != alone


def test_the_gain_of_the_margin_itself_is_noted_on_dev():
    model = fitted(keep_margin="auto")
    found = model.training.gains[2]
    assert (found.before, found.after) == (model.training.keep.without, model.training.keep.value)
    assert found.low <= found.gain <= found.high


def test_dev_lists_that_chose_something_are_not_unseen():
    assert fitted(keep_margin="auto").training.gains[1].use == "choice"
    assert fitted(settings={"keep": "best"}).training.gains[1].use == "choice"
    assert fitted(dev=TRAIN).training.gains[1].use == "fit"


def test_without_first_best_or_with_a_ranking_metric_there_is_no_gain():
    assert fitted("nDCG@5").training.gains == ()
    lists = replace(TRAIN, first_best=None)
    learner = make_learner("perceptron", {"epochs": 1})
    assert fit(learner, lists, metric="label@1").training.gains == ()


def seeds(n=4, dev=DEV, metric="label@1", learner="perceptron", **settings):
    made = make_learner(learner, {"epochs": 1, **settings} if learner == "perceptron" else settings)
    return all_runs(made, TRAIN, dev, metric=metric, scaling="none", seeds=n)


def test_runs_are_those_of_their_seeds_and_the_best_on_dev_is_chosen():
    runs = seeds(seed=3)
    assert list(runs.by_seed) == [3, 4, 5, 6]
    judge = parse("label@1").prepare(DEV)
    values = [corpus_value(judge, judge.per_list(model.score(DEV))) for model in runs.by_seed.values()]
    assert list(runs.model.training.seeds.values) == values
    assert len(set(values)) > 1
    seed = runs.model.training.seeds.chosen
    assert seed == 3 + values.index(max(values))
    alone = fitted(settings={"epochs": 1, "seed": seed}, scaling="none")
    np.testing.assert_array_equal(alone.weights, runs.model.weights)
    assert runs.model is runs.by_seed[seed]
    assert runs.model.training.gains[1].use == "choice"


@pytest.mark.parametrize("n", [2, 4, 5])
def test_without_dev_the_median_on_train_is_chosen(n):
    runs = seeds(n, dev=None)
    found = runs.model.training.seeds
    values = list(found.values)
    assert values[found.chosen - 1] == sorted(values)[(n - 1) // 2]
    assert runs.model.training.seeds.by == "median"


def test_errors_are_better_the_fewer_and_rankings_have_seeds_too():
    found = seeds(metric="loss@1").model.training.seeds
    values = found.values
    assert found.chosen == 1 + values.index(min(values))
    found = seeds(metric="nDCG@5").model.training.seeds
    values = found.values
    assert found.chosen == 1 + values.index(max(values))


def test_seeds_are_the_same_on_any_number_of_jobs(tmp_path):
    for jobs in (1, 3):
        with parallel.using(jobs):
            seeds().model.save(str(tmp_path / f"{jobs}"))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "3").read_bytes()


@pytest.mark.parametrize(
    ("learner", "settings", "draws"),
    [
        ("best-feature", {}, False),
        ("perceptron", {"shuffle": False}, False),
        ("perceptron", {"shuffle": False, "algorithm": 1}, True),
        ("perceptron", {"shuffle": False, "algorithm": 1, "pair_order": "fixed"}, False),
        ("prank", {"shuffle": False}, False),
        ("oap-bpm", {"shuffle": False}, True),
        ("oap-bpm", {"shuffle": False, "coin": 1.0}, False),
        ("mert", {}, True),
        ("fg", {"base": {"name": "rankboost"}}, False),
        ("fg", {"base": {"name": "perceptron"}}, True),
        ("iw", {}, True),
        ("propagate", {"base": "ranksvm"}, False),
        ("propagate", {"base": "ranksvm", "control": "random"}, True),
    ],
    ids=str,
)
def test_learners_know_whether_they_draw(learner, settings, draws):
    made = make_learner(learner, settings)
    assert made.draws is draws
    if draws or "seed" not in made.settings or made.needs_judge:
        return
    models = [fit(make_learner(learner, {**settings, "seed": seed}), TRAIN, metric=None) for seed in (1, 2)]
    scores = [model.score(TRAIN) for model in models]
    np.testing.assert_array_equal(*scores)


def test_a_learner_that_draws_nothing_is_trained_once():
    with pytest.warns(DataNote, match="seeds: best-feature draws nothing, trained once"):
        runs = seeds(learner="best-feature")
    assert not runs.by_seed
    assert runs.model.training.seeds is None


def test_dev_lists_and_a_metric_keep_the_best_round():
    settings = {"epochs": 30, "tau": 3.0}
    model = fitted(settings=settings)
    values = [row["dev"] for row in model.curve]
    assert model.training.rounds.kept == 1 + values.index(max(values))
    assert model.training.rounds.dev == max(values) > values[-1]
    assert model.training.settings["keep"] == "best"
    last = fitted(settings={**settings, "keep": "last"})
    assert last.training.rounds.kept == 30
    assert fitted(dev=None, settings=settings).training.rounds.kept == 30
    assert fitted(settings=settings, select="cv").training.settings["keep"] == "last"


def test_dev_lists_without_a_metric_are_watched_by_the_default_of_eval():
    with pytest.warns(DataNote, match="watched by AP, eval's default"):
        model = fitted(metric=None, settings={"epochs": 4})
    assert model.training.rounds.metric == "AP"
    assert model.training.rounds.kept == 4  # only a metric that was given chooses
    found = parse("AP").prepare(DEV)
    assert model.training.rounds.dev == corpus_value(found, found.per_list(model.score(DEV)))


def test_seeds_that_mean_nothing_are_refused():
    with pytest.raises(ConfigError, match="compared by a metric"):
        seeds(dev=None, metric=None)
