"""What every learner must do, run over the whole registry: a registered learner is a tested one."""

import contextlib
import dataclasses
import functools
import importlib.util
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make import features
from small_training import all_runs, make_learner
from small_training import fit as fit_learner

import rerank
from rerank.cli.listings import learner_lines
from rerank.core.errors import ConfigError, DataNote, FitError, FormatError, RerankError
from rerank.core.settings import describe
from rerank.core.workers import parallel
from rerank.core.workers.pool import packed, run_task, unpacked
from rerank.data import npy
from rerank.data.first_best import first_largest, leads_of
from rerank.data.joining import joined
from rerank.data.lists import CandidateLists
from rerank.data.scaling import SCALINGS
from rerank.data.shards.read import read_shards
from rerank.data.shards.write import write_shards
from rerank.learners.base import LEARNERS
from rerank.learners.meta_learner import MetaLearner
from rerank.metrics.base import parse
from rerank.models.base import load_model
from rerank.models.describe import model_lines, model_record
from rerank.models.describe_training import seed_lines, training_lines
from rerank.models.training import Training
from rerank.training.data import SideInputs
from rerank.training.select import select
from rerank.training.train import pipeline_from


def installed(extra: str) -> bool:
    """Whether the optional package that a learner needs is there; none is needed if it is empty."""
    return not extra or importlib.util.find_spec(extra) is not None


def _testable(name: str) -> pytest.ParameterSet:
    """A learner to test, skipped if the package that it needs is not installed."""
    extra = LEARNERS.get(name).extra
    return pytest.param(name, marks=pytest.mark.skipif(not installed(extra), reason=f"no {extra}"))


NAMES = [_testable(name) for name in LEARNERS.names()]
pytestmark = pytest.mark.parametrize("name", NAMES)


def test_lists_without_features_are_refused_unless_none_is_used(name: str) -> None:
    lists = CandidateLists.from_arrays(np.empty((4, 0)), [1, 0, 0, 1], group=[2, 2], source="set")
    kind = LEARNERS.get(name)
    if kind.needs_features:
        with pytest.raises(FitError, match=f"set: no features; learner {name} learns from features"):
            kind().fit(lists, judge=parse("label@1").prepare(lists), **further(kind, lists))
    else:
        assert kind().fit(lists, **further(kind, lists)).score(lists).shape == (4,)


def some_lists(
    seed: int = 1, *, layout: str = "dense", indicators: bool = False, missing: bool = False
) -> CandidateLists:
    """Graded lists with ties, a list of one, an unjudged item and a list whose labels are all equal."""
    rng = np.random.default_rng(seed)
    sizes = np.array([1, 6, 5, 9, 4, 7])
    n = int(sizes.sum())
    X = rng.integers(-4, 5, (n, 6)).astype(float)
    if indicators:
        X = (X > 0).astype(float)
    y = np.clip(np.round(X[:, 1] - 0.5 * X[:, 3] + rng.normal(0, 1, n)) / 2, 0, 3).round()
    y[1:7] = 1.0
    y[10] = np.nan
    if missing:
        X[3, 2] = np.nan
    return CandidateLists.from_arrays(
        features(layout, X), y, group=sizes, feature_names=[f"f{j}" for j in range(6)], source="some lists"
    )


def note_of(model, pattern):
    """Expect a note about columns, but of a model that uses no feature."""
    return contextlib.nullcontext() if model.kind == "random" else pytest.warns(DataNote, match=pattern)


def further(learner: Any, lists: CandidateLists) -> dict[str, Any]:
    """What a learner needs besides training lists and a metric: lists to be ranked."""
    return {"unlabelled": lists} if learner.needs_unlabelled else {}


def fit(learner, lists, **more):
    """The model of a learner, with what it needs."""
    return fit_learner(learner, lists, **further(learner, lists), **more)


def settings_of(name: str) -> dict[str, Any]:
    """Settings that keep a learner quick here, and let trees grow on so few items."""
    base = {"name": "rankboost", "rounds": 3}
    small = {"rounds": 3, "epochs": 3, "min_leaf": 2, "base": base, "basis": "kernel"}
    small |= {"inner_folds": 3, "restarts": 1, "perturbations": 1}
    small |= {"beta": 1.0} if name == "ranklda" else {}
    fields = LEARNERS.get(name).settings
    if "base" in fields and fields["base"].default != "rankboost":
        del small["base"]
    if "search" in fields:  # of weights of runs
        small["step"] = 0.25
    if "basis" not in fields:  # of lists, which has widths for another basis
        small["widths"] = (0.5, 0.25)
    return {key: value for key, value in small.items() if key in fields}


def metric_of(name: str) -> str:
    """A metric that the learner can take."""
    return "label@1" if LEARNERS.get(name).needs_selecting else "nDCG@5"


def fitted(name: str, lists: CandidateLists, scaling: str = "auto", **more):
    learner = make_learner(name, {**settings_of(name), **more})
    return fit(learner, lists, metric=metric_of(name), scaling=scaling)


@functools.cache
def model_of(name: str, layout: str = "dense", scaling: str = "auto", indicators: bool = False):
    """The model of ``some_lists``, which several tests look at."""
    return fitted(name, some_lists(layout=layout, indicators=indicators), scaling=scaling)


def with_features(X, lists):
    """The same lists with other features, of the names f0, f1, ..."""
    names = [f"f{j}" for j in range(X.shape[1])]
    return CandidateLists.from_arrays(X, lists.labels, group=lists.lengths, feature_names=names)


@pytest.mark.parametrize("layout", ["float32", "sparse", "mixed", "indicators"])
def test_every_layout_gives_the_same_model(name, layout):
    dense = some_lists(indicators=layout == "indicators")
    other = some_lists(indicators=layout == "indicators", layout=layout)
    binary = layout == "indicators"
    a = model_of(name, "dense", "none", binary).score(dense)
    b = model_of(name, layout, "none", binary).score(other)
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*axes of equal variance:rerank.core.errors.DataNote")
@pytest.mark.parametrize("layout", ["dense", "float32", "sparse", "mixed"])
def test_the_default_scaling_is_of_dense_features_only(name, layout):
    lists, kind = some_lists(layout=layout), LEARNERS.get(name)
    expected = kind.default_scaling if layout in ("dense", "float32") else "none"
    model = model_of(name, layout)
    assert model.scaling_name == expected
    assert f", scaling {expected}" in training_lines(model, lists, None)[0]
    scores = model.score(lists)
    assert (scores.shape, scores.dtype) == ((lists.n_items,), np.float64)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores, model_of(name, layout, expected).score(lists))


def test_the_default_scaling_is_listed(name):
    kind = LEARNERS.get(name)
    assert kind.default_scaling in SCALINGS
    assert kind.default_scaling == "none" or not kind.scale_invariant
    line = next(line for line in learner_lines(name) if line.startswith("default scaling: "))
    assert line.split()[2].strip(",") == kind.default_scaling
    assert ("do not matter" in line) == kind.scale_invariant


def test_the_units_of_features_matter_only_to_learners_that_admit_it(name):
    lists = some_lists()
    units = 10.0 ** np.array([-6, 3, 0, 6, -3, 1])
    other = with_features(lists.features.values * units, lists)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        with contextlib.suppress(FitError):
            fitted(name, other, scaling="none")
    assert any("ranges within lists are" in str(note.message) for note in notes) != (
        LEARNERS.get(name).scale_invariant
    )
    if LEARNERS.get(name).scale_invariant:
        judge = parse(metric_of(name)).prepare(lists)
        a, b = (judge.per_list(fitted(name, some, scaling="none").score(some)) for some in (lists, other))
        np.testing.assert_array_equal(a, b)


def test_the_same_input_and_settings_give_the_same_bytes(name, tmp_path):
    model_of(name).save(str(tmp_path / "1"))
    with parallel.using(3):
        fitted(name, some_lists()).save(str(tmp_path / "3"))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "3").read_bytes()


@pytest.mark.parametrize("scaling", ["none", "zscore"])  # others: data/test_scaling.py
def test_a_saved_model_scores_as_before(name, scaling, tmp_path):
    lists, model = some_lists(), model_of(name, scaling=scaling)
    model.save(str(tmp_path / "model"))
    again = load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(again.score(lists), model.score(lists))
    assert again.training == model.training
    assert again.explain() == model.explain()


def test_a_model_with_a_damaged_byte_is_a_model_or_an_error_of_one_line(name, tmp_path):
    path, draw = tmp_path / "model", np.random.default_rng(0)
    model_of(name).save(str(path))
    whole, kind = path.read_bytes(), type(load_model(str(path)))
    for at in draw.integers(0, len(whole), 40):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << draw.integers(8)]) + whole[at + 1 :])
        try:
            assert isinstance(load_model(str(path)), kind)
        except FormatError as error:
            assert "\n" not in str(error)  # noqa: PT017


def test_a_model_passes_between_processes(name, tmp_path):
    lists = some_lists()
    model = model_of(name)
    scores = model.score(lists)  # which may keep what kernels use
    (again,) = unpacked(run_task(packed(list, ([model],)))).value
    again.save(str(tmp_path / "again"))
    model.save(str(tmp_path / "model"))
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    np.testing.assert_array_equal(again.score(lists), scores)


@pytest.mark.parametrize("with_dev", [False, True])
def test_what_was_learnt_can_be_recorded_and_reported(name, with_dev):
    lists, dev = (some_lists(seed).with_first_best("input") for seed in (1, 2))
    metric = metric_of(name)
    learner = make_learner(name, settings_of(name))
    model = fit(learner, lists, dev=dev if with_dev else None, metric=metric)
    training = model.training
    keep = {"keep": "best"} if with_dev and learner.iterates else {}
    assert (training.learner, training.settings) == (name, learner.get_params() | keep)
    assert (training.data.lists, training.data.items) == (lists.n_lists, lists.n_items)
    assert training.rounds.metric == metric
    assert Training.from_json(json.loads(json.dumps(training.as_json()))) == training
    assert training_lines(model, lists, metric)[0].startswith(f"{name}: 6 lists, 32 items, 6 features")
    assert model_lines(model)[0].split() == ["model", model.kind]
    assert model_record(model)["learner"] == name


def test_runs_over_seeds_can_be_chosen_from(name):
    learner = make_learner(name, settings_of(name))
    side = SideInputs(**further(learner, some_lists()))
    given = {"side": side, "metric": metric_of(name), "scaling": "none", "seeds": 2}
    if not learner.draws:
        with pytest.warns(DataNote, match=f"seeds: {name} draws nothing, trained once"):
            assert not all_runs(learner, some_lists(), **given).by_seed
        return
    runs = all_runs(learner, some_lists(), **given)
    assert list(runs.by_seed) == [1, 2]
    seed = runs.model.training.seeds.chosen
    assert seed_lines(runs.model.training.seeds)[-1] == f"kept seed {seed}, the median run on train"


def test_a_tuned_margin_keeps_the_first_best_unless_led_by_more(name):
    lists, dev = (some_lists(seed).with_first_best("input") for seed in (1, 2))
    learner = make_learner(name, settings_of(name))
    model = fit(learner, lists, dev=dev, metric="label@1", keep_margin="auto")
    scores = model.raw_score(dev)
    leads = leads_of(dev, scores)
    expected = np.where(leads.lead > model.keep_margin, leads.rival, leads.first)
    kept = model.score(dev)
    assert np.isfinite(kept).all()
    np.testing.assert_array_equal(first_largest(kept, dev.offsets), expected)


def with_base(lists, column=1):
    """The same lists with one feature as their base score."""
    return dataclasses.replace(lists, base_scores=lists.features.column(column))


@pytest.mark.parametrize("layout", ["dense", "mixed"])
def test_a_base_scale_is_folded_into_the_model_or_refused(name, layout):
    lists = with_base(some_lists(layout=layout))
    learner = make_learner(name, settings_of(name))
    if not learner.takes_base_scale:
        with pytest.raises(ConfigError, match="base_scale has no effect on learner"):
            fit(learner, lists, metric=metric_of(name), base_scale=4)
        return
    model = fit(learner, lists, metric=metric_of(name), scaling="none", base_scale=4)
    X = lists.features.to_dense().copy()
    X[:, 1] *= 4  # a power of two: every bit is the same
    seen = dataclasses.replace(lists, features=features(layout, X))
    by_hand = fit(learner, seen, metric=metric_of(name), scaling="none")
    np.testing.assert_array_equal(model.score(lists), by_hand.score(seen))


def test_the_weight_of_the_base_score_is_tuned_or_the_model_has_none(name):
    lists, dev = (with_base(some_lists(seed)) for seed in (1, 2))
    learner = make_learner(name, settings_of(name))
    for on, part in (("dev", dev), ("folds", lists)):
        try:
            model = fit(learner, lists, dev=dev, metric="label@1", tune_base=on, folds=None)
        except FitError as error:
            assert "a score that is a weighted sum" in str(error)  # noqa: PT017
            continue
        record = model.training.tune_base
        judge = parse("label@1").prepare(part)
        assert record.after >= record.before
        if on == "dev":
            found = judge.score_from_sums(judge.per_list(model.score(dev)).sum(axis=0))
            assert found == pytest.approx(record.after, abs=1e-12)


def test_rounds_and_settings_are_chosen_on_folds(name):
    lists = joined([some_lists(1), some_lists(2)])  # each half is divided again by learners with folds
    learner = make_learner(name, settings_of(name))
    by_round = bool(learner.iterates) and learner.observable
    more = {} if by_round else {"grid": {"scaling": ["none", "minmax"]}}
    model = fit(learner, lists, metric=metric_of(name), select="cv", folds=2, **more)
    choice = model.training.choice
    assert len(choice.cells) == (1 if by_round else 2)
    assert (choice.cells[0].rounds is not None) == by_round
    assert training_lines(model, lists, None)[0].startswith(name)


def test_training_does_not_change_its_input(name):
    lists = some_lists()
    before = lists.fingerprint()
    fitted(name, lists)
    assert lists.fingerprint() == before


def test_columns_are_matched_by_name(name):
    lists = some_lists()
    model = model_of(name)
    order = [3, 0, 5, 1, 4, 2]
    names = [f"f{j}" for j in order] + ["unknown"]
    X = np.column_stack([lists.features.to_dense()[:, order], np.full(lists.n_items, 9.0)])
    moved = CandidateLists.from_arrays(X, lists.labels, group=lists.lengths, feature_names=names)
    with note_of(model, r"1 feature that the model does not know \(unknown\), ignored$"):
        moved_scores = model.score(moved)
    np.testing.assert_allclose(moved_scores, model.score(lists), rtol=1e-12)


def test_columns_are_matched_by_position_if_the_data_has_no_names(name):
    lists = some_lists()
    model = model_of(name)
    X = np.column_stack([lists.features.to_dense(), np.full(lists.n_items, 9.0)])
    bare = CandidateLists.from_arrays(X, group=lists.lengths)
    with note_of(model, r"by position, 7 to 6, as only the model names them; 1 feature .* \(7\), ignored$"):
        bare_scores = model.score(bare)
    np.testing.assert_array_equal(bare_scores, model.score(lists))


def test_fewer_columns_than_the_model_knows_are_zeros_or_missing(name):
    lists = some_lists()
    model = model_of(name)
    X = lists.features.to_dense().copy()
    fewer = with_features(X[:, :4].copy(), lists)
    X[:, 4:] = model.absent
    taken = "missing" if np.isnan(model.absent) else "0"
    with note_of(model, f"2 of 6 features of the model are absent .*, taken as {taken}"):
        scores = model.score(fewer)
    np.testing.assert_array_equal(scores, model.score(with_features(X, lists)))


def test_features_of_which_the_model_knows_none_are_an_error(name):
    lists = some_lists()
    model = model_of(name)
    other = dataclasses.replace(lists, feature_names=list("abcdef"))
    expected = pytest.raises(
        RerankError, match=r"found features a, b, c, \.\.\., expected those of the model"
    )
    with contextlib.nullcontext() if model.kind == "random" else expected:
        model.score(other)


def test_read_only_features_are_enough(name):
    lists = some_lists()
    values = lists.features.to_dense()
    values.setflags(write=False)
    fitted(name, CandidateLists.from_arrays(values, lists.labels, group=lists.lengths))


@pytest.mark.parametrize("case", ["no columns", "zeros", "constant in lists", "huge", "tiny", "lists of one"])
def test_degenerate_lists_give_a_model_or_an_error_of_ours(name, case):
    lists = some_lists()
    X = lists.features.to_dense().copy()
    group = lists.lengths
    if case == "no columns":
        X = X[:, :0]
    elif case == "zeros":
        X[:] = 0
    elif case == "constant in lists":
        X = np.repeat(X[lists.offsets[:-1]], lists.lengths, axis=0)
    elif case == "lists of one":
        group = np.ones(lists.n_items, dtype=int)
    else:
        X *= {"huge": 1e300, "tiny": 1e-300}[case]
    odd = CandidateLists.from_arrays(X, np.nan_to_num(lists.labels), group=group, source="odd lists")
    with warnings.catch_warnings(), contextlib.suppress(RerankError):
        warnings.simplefilter("ignore", DataNote)
        assert np.isfinite(fitted(name, odd).score(odd)).all()


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
def test_missing_values_are_filled_from_files_as_in_memory(name, tmp_path):
    lists = some_lists()
    X = np.where(
        np.random.default_rng(3).random(lists.features.values.shape) < 0.1, np.nan, lists.features.values
    )
    X[:, 3:] = lists.features.values[:, 3:]
    lists = with_features(X, lists)
    data = str(tmp_path / "set.csv")
    rerank.save(lists, data)
    model = fit(make_learner(name, settings_of(name)), lists, metric=metric_of(name), missing="indicator")
    model.save(str(tmp_path / "model"))
    assert model.kind == "random" or model.feature_names[6:] == ["f0?missing", "f1?missing", "f2?missing"]
    if model.kind != "random":  # which reads no feature, so that nothing is kept
        found = rerank.predict(str(tmp_path / "model"), data, out=str(tmp_path / "scores"))
        np.testing.assert_array_equal(found.scores, model.score(lists))


def test_missing_features_are_refused_or_taken_as_declared(name):
    lists = some_lists(missing=True)
    if LEARNERS.get(name).accepts_nan:
        assert np.isfinite(fitted(name, lists).score(lists)).all()
    else:
        with pytest.raises(FitError, match=r"some lists: 1 of 192 values are missing \(NaN\)"):
            fitted(name, lists)


def test_lists_without_any_label_are_refused_if_labels_are_needed(name):
    lists = some_lists()
    bare = CandidateLists.from_arrays(lists.features, group=lists.lengths, source="bare")
    learner = make_learner(name, settings_of(name))
    if learner.needs_labels:
        with pytest.raises(FitError, match="bare: no judged item"):
            learner.fit(bare, **further(learner, bare))
    elif learner.needs_judge:
        with pytest.raises(FitError, match="needs a metric"):
            learner.fit(bare, **further(learner, bare))
    else:
        assert learner.fit(bare, **further(learner, bare)).score(bare).shape == (lists.n_items,)


def test_a_metric_is_refused_that_the_learner_cannot_optimise(name):
    lists = some_lists()
    learner = make_learner(name, settings_of(name))
    if not learner.needs_judge:
        learner.fit(lists, **further(learner, lists))
        return
    with pytest.raises(FitError, match="needs a metric"):
        learner.fit(lists, **further(learner, lists))
    if learner.needs_selecting:
        with pytest.raises(FitError, match=r"needs a metric of single candidates .* nDCG@5 judges rankings"):
            learner.fit(lists, **further(learner, lists), judge=parse("nDCG@5").prepare(lists))


def test_weights_that_a_learner_does_not_take_are_refused(name):
    lists = some_lists()
    learner = make_learner(name, settings_of(name))
    judge = parse(metric_of(name)).prepare(lists)
    for keyword, accepted, size in (
        ("list_weights", learner.accepts_list_weights, lists.n_lists),
        ("pair_weights", learner.accepts_pair_weights, 3),
        ("initial", learner.accepts_initial, lists.n_features),
    ):
        if not accepted:
            what = "initial weights" if keyword == "initial" else keyword.replace("_", " ")
            with pytest.raises(FitError, match=f"accepts no {what}"):
                learner.fit(lists, **further(learner, lists), judge=judge, **{keyword: np.ones(size)})
    if learner.accepts_list_weights:
        model = learner.fit(
            lists, **further(learner, lists), judge=judge, list_weights=np.ones(lists.n_lists)
        )
        np.testing.assert_array_equal(
            model.score(lists), learner.fit(lists, **further(learner, lists), judge=judge).score(lists)
        )


# One weighs the sums of a list: its weight is a number of copies. Others weigh updates, one after the other.
COPIES = {"coordinate-ascent", "grid", "lda", "listnet", "logistic", "loglinear", "mert", "rankboost"}
COPIES |= {"ranklda", "ranksvm", "ridge"}
# All lists have a part in what is drawn, or where a search from random points begins.
DRAWN_FROM_ALL = {"coordinate-ascent", "mrt", "predtron"}
# They rank whole lists, or draw from all items: an item without a label is not as if absent.
USES_UNJUDGED = {"ensemble", "fg-inductive", "grid", "list-iw", "mapfuse", "mrt", "pm-inductive", "posfuse"}
USES_UNJUDGED |= {"pro", "probfuse", "propagate", "propagate-learned", "propagate-scores", "slidefuse"}
USES_UNJUDGED |= {"w_bordafuse", "w_condorcet", "wrrf"}


def test_the_weight_of_a_list_is_a_number_of_copies_and_0_is_absent(name):
    lists, judge = some_lists(), parse(metric_of(name))
    learner = make_learner(name, settings_of(name))
    if not learner.accepts_list_weights:
        return

    def scores(part, weights=None):
        given = {"judge": judge.prepare(part), "list_weights": weights, **further(learner, lists)}
        return learner.fit(part, **given).score(lists)

    if name not in DRAWN_FROM_ALL:
        some = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 1.0])
        np.testing.assert_array_equal(scores(lists, some), scores(lists.subset(some > 0)))
    if name in COPIES:
        many = np.array([2, 1, 1, 1, 3, 1])
        again = scores(lists.subset(np.repeat(np.arange(6), many)))
        np.testing.assert_allclose(scores(lists, 1.0 * many), again, rtol=1e-9, atol=1e-9)
    with pytest.raises(FitError, match="list weights must be 6 finite numbers that are not negative"):
        scores(lists, -np.ones(6))
    if name not in ("coordinate-ascent", "mert"):
        with pytest.raises(FitError, match=r"^some lists: .*(weight|no value|the same for all candidates)"):
            scores(lists, np.zeros(6))


def test_unjudged_items_change_nothing(name):
    lists = some_lists()
    kept = lists.kept(~np.isnan(lists.labels))
    model, other = (fitted(name, some, scaling="none") for some in (lists, kept))
    same = np.array_equal(model.score(kept), other.score(kept))
    assert same == (name not in USES_UNJUDGED)


def test_lists_whose_labels_are_all_equal_are_refused_in_one_line(name):
    lists, kind = some_lists(), LEARNERS.get(name)
    flat = lists.replace_labels(np.ones(lists.n_items))
    if "extensions.fusion" in kind.__module__ or name == "best-feature":  # which count the best alone
        assert np.isfinite(fitted(name, flat).score(flat)).all()
    elif kind.needs_labels or name in ("mira", "mrt"):
        nothing = "no list has|nothing to learn|no two (classes|grades)|the same for all candidates"
        with pytest.raises(FitError, match=f"^some lists: .*({nothing})"):
            fitted(name, flat)


def test_unlabelled_lists_are_needed_or_refused(name):
    lists = some_lists()
    learner = make_learner(name, settings_of(name))
    judge = parse(metric_of(name)).prepare(lists)
    if learner.needs_unlabelled:
        with pytest.raises(FitError, match=f"learner {name} needs the lists to be ranked, unlabelled"):
            learner.fit(lists, judge=judge)
        other = CandidateLists.from_arrays(np.zeros((2, 3)), source="other lists")
        with pytest.raises(FitError, match="other lists: 3 features, but some lists has 6"):
            learner.fit(lists, judge=judge, unlabelled=other)
    elif not learner.accepts_unlabelled:
        with pytest.raises(FitError, match=f"learner {name} accepts no unlabelled lists"):
            learner.fit(lists, judge=judge, unlabelled=some_lists(7))


def test_initial_weights_are_left_as_they_are(name):
    lists = some_lists()
    learner = make_learner(name, settings_of(name))
    if not learner.accepts_initial:
        assert model_of(name).initial is None
        return
    start = np.array([0.5, -1.0, 0.0, 1.0, 0.0, 2.0]) / 100  # far from good: there is much to learn
    model = learner.fit(
        lists, **further(learner, lists), judge=parse(metric_of(name)).prepare(lists), initial=start.copy()
    )
    np.testing.assert_array_equal(model.initial, start)


def test_rounds_leave_a_curve_and_the_best_can_be_kept(name):
    kind = LEARNERS.get(name)
    if not kind.iterates:
        assert model_of(name).curve == [] or issubclass(kind, MetaLearner)
        return
    with pytest.raises(FitError, match="needs a development set"):
        fitted(name, some_lists(), keep="best")
    learner = make_learner(name, {**settings_of(name), kind.iterates: 6, "keep": "best"})
    model = fit(learner, some_lists(), dev=some_lists(2), metric=metric_of(name))
    dev = [row["dev"] for row in model.curve]
    kept = model.training.rounds.kept
    assert kept == 1 + dev.index(max(dev))
    assert model.training.rounds.dev == max(dev)
    value = parse(metric_of(name)).prepare(some_lists(2))
    found = value.score_from_sums(value.per_list(model.score(some_lists(2))).sum(axis=0))
    assert found == pytest.approx(max(dev), abs=1e-12)


def test_dev_columns_must_be_those_of_the_training_lists(name):
    lists = some_lists()
    dev = CandidateLists.from_arrays(np.zeros((2, 3)), [1, 0], source="dev lists")
    judge, learner = parse(metric_of(name)), make_learner(name, settings_of(name))
    with pytest.raises(FitError, match="dev lists: 3 features, but some lists has 6"):
        learner.fit(
            lists, judge=judge.prepare(lists), dev=(dev, judge.prepare(dev)), **further(learner, lists)
        )


def test_settings_are_listed_with_help_and_make_the_learner_again(name):
    kind = LEARNERS.get(name)
    learner = make_learner(name, settings_of(name))
    assert type(learner)(**learner.get_params()) == learner
    for setting, _, _, meaning in describe(kind):
        assert meaning, f"{name}: setting {setting} has no help"
    with pytest.raises(ConfigError, match="unknown setting 'no_such_setting'"):
        make_learner(name, {"no_such_setting": 1})


def test_settings_out_of_their_range_are_refused_by_name(name):
    for key, field in LEARNERS.get(name).fields.items():
        beyond = {"ge": -1, "gt": 0, "le": 1, "lt": 0}  # what is added to a limit
        wrong = [
            field.limits[sign] + step for sign, step in beyond.items() if field.limits.get(sign) is not None
        ]
        for value in (*wrong, float("nan"), object()):
            with pytest.raises(ConfigError, match=rf"^(learner {name}: )?{key}\b[^\n]*$"):
                make_learner(name, {key: value})


def test_a_learner_describes_itself(name):
    kind = LEARNERS.get(name)
    assert kind.name == name
    assert kind.summary
    assert "\n" not in kind.summary
    assert "__doc__" in vars(kind), f"{name}: no docstring, which `rerank list learners {name}` prints"
    assert learner_lines(name)[0].startswith(f"{name}: ")


def test_scores_follow_the_callers_rows(name):
    """Rows of a list need not be contiguous; each row has the score that it has in contiguous lists."""
    grouped = some_lists()
    rng = np.random.default_rng(5)
    qid = rng.permutation(grouped.list_index)
    codes = np.unique(qid, return_index=True)[1].argsort().argsort()[qid]  # by order of first appearance
    order = np.argsort(codes, kind="stable")
    X, y = grouped.features.to_dense(), grouped.labels
    scattered = CandidateLists.from_arrays(X, y, qid=qid).with_first_best("1")
    contiguous = CandidateLists.from_arrays(X[order], y[order], qid=qid[order]).with_first_best("1")
    model = fitted(name, contiguous)
    metric, selecting = "nDCG@5", "label@1"
    for margin in (None, 0.5):
        model.keep_margin = margin
        scores, expected = model.score(scattered), model.score(contiguous)
        np.testing.assert_array_equal(scores[order], expected)
        np.testing.assert_array_equal(model.raw_score(scattered)[order], model.raw_score(contiguous))
        np.testing.assert_array_equal(scattered.from_input_order(scores), model.score_items(scattered))
        for one in (metric, selecting):
            assert rerank.evaluate(scattered, scores, [one]) == rerank.evaluate(contiguous, expected, [one])
    if hasattr(model, "grades"):
        np.testing.assert_array_equal(model.grades(scattered)[order], model.grades(contiguous))
    if getattr(model, "jointly", False):  # the scores of a list depend on the others
        return
    part = [0, 1, 2]
    np.testing.assert_array_equal(
        model.score(scattered.subset(part)), model.score(scattered)[np.isin(codes, part)]
    )


_SHARDS = ((1, False), (700, True))  # bytes: a list, some lists; whether lists are owned


@pytest.fixture
def scarce(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No memory for arrays; returns what was put into files."""
    made: list[str] = []
    whole = npy.large_array

    def noting(shape: tuple[int, ...], dtype: np.dtype, what: str) -> np.ndarray:
        made.append(what)
        return whole(shape, dtype, what)

    monkeypatch.setattr(npy, "SMALL", 0)
    monkeypatch.setattr(npy, "available", lambda: 1)
    monkeypatch.setattr(npy, "BLOCK", 256)
    for module in ("shards.stack", "scaling", "npy", "matrix"):
        monkeypatch.setattr(f"rerank.data.{module}.large_array", noting)
    monkeypatch.setattr("rerank.data.scaling.memory.SMALL", 0)
    return made


def trained(name: str, lists: CandidateLists, path: Path, scaling: str, owned: bool) -> bytes:
    learner = make_learner(name, settings_of(name))
    side = SideInputs(lists if learner.needs_unlabelled else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        pipeline = pipeline_from(learner, metric=metric_of(name), scaling=scaling)
        select(pipeline, lists, None, side, owned=owned).model.save(str(path))
    return path.read_bytes()


@pytest.mark.parametrize("layout", ["float32", "mixed"])
def test_shards_give_the_model_of_memory(name: str, layout: str, tmp_path: Path, scarce: list[str]) -> None:
    lists = some_lists(layout=layout)
    scaling = "zscore" if layout == "float32" else "auto"
    with pytest.MonkeyPatch.context() as plenty:
        plenty.setattr(npy, "available", lambda: 10**12)
        expected = trained(name, lists, tmp_path / "model", scaling, owned=False)
    for size, owned in _SHARDS:
        write_shards([lists], tmp_path / "shards", size)
        back = read_shards(tmp_path / "shards")
        assert trained(name, back, tmp_path / "new", scaling, owned=owned) == expected
    assert scarce
