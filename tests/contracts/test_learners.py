"""What every learner must do, run over the whole registry: a new learner is tested by being there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from rerank.data.leads import first_largest, leads_of
from rerank.data.lists import CandidateLists
from rerank.errors import ConfigError, FitError
from rerank.experiment import fit, make_learner
from rerank.learners.base import LEARNERS
from rerank.metrics.base import parse
from rerank.models.base import load_model
from rerank.settings import describe

NAMES = LEARNERS.names()
pytestmark = pytest.mark.parametrize("name", NAMES)


def some_lists(seed: int = 1, *, sparse: bool = False, missing: bool = False) -> CandidateLists:
    """Graded lists with ties, a list of one, an unjudged item and a list whose labels are all equal."""
    rng = np.random.default_rng(seed)
    sizes = np.array([1, 6, 5, 9, 4, 7])
    n = int(sizes.sum())
    X = rng.integers(-4, 5, (n, 6)).astype(float)
    y = np.clip(np.round(X[:, 1] - 0.5 * X[:, 3] + rng.normal(0, 1, n)) / 2, 0, 3).round()
    y[1:7] = 1.0
    y[10] = np.nan
    if missing:
        X[3, 2] = np.nan
    return CandidateLists.from_arrays(
        csr_array(X) if sparse else X,
        y,
        group=sizes,
        feature_names=[f"f{j}" for j in range(6)],
        source="some lists",
    )


def settings_of(name: str) -> dict[str, int]:
    """Settings that keep a learner quick here."""
    fields = LEARNERS.get(name).model_fields
    return {"rounds": 3} if "rounds" in fields else {}


def metric_of(name: str) -> str:
    """A metric that the learner can take."""
    return "label@1" if LEARNERS.get(name).needs_selecting else "nDCG@5"


def fitted(name: str, lists: CandidateLists, **more):
    return fit(make_learner(name, {**settings_of(name), **more}), lists, metric=metric_of(name))


@pytest.mark.parametrize("sparse", [False, True])
def test_a_model_scores_every_item(name, sparse):
    lists = some_lists(sparse=sparse)
    scores = fitted(name, lists).score(lists)
    assert scores.shape == (lists.n_items,)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()


def test_dense_and_sparse_features_give_the_same_model(name):
    dense, sparse = some_lists(), some_lists(sparse=True)
    np.testing.assert_allclose(
        fitted(name, dense).score(dense), fitted(name, sparse).score(sparse), rtol=1e-12, atol=1e-12
    )


def test_the_same_input_and_settings_give_the_same_bytes(name, tmp_path):
    for path in ("a", "b"):
        fitted(name, some_lists()).save(str(tmp_path / path))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("scaling", ["none", "zscore", "list-minmax"])
def test_a_saved_model_scores_as_before(name, scaling, tmp_path):
    lists = some_lists()
    model = fit(make_learner(name, settings_of(name)), lists, metric=metric_of(name), scaling=scaling)
    model.save(str(tmp_path / "model"))
    again = load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(again.score(lists), model.score(lists))
    assert again.training == model.training
    assert again.explain() == model.explain()


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


def test_training_does_not_change_its_input(name):
    lists = some_lists()
    before = lists.fingerprint()
    fitted(name, lists)
    assert lists.fingerprint() == before


def test_columns_are_matched_by_name(name):
    lists = some_lists()
    model = fitted(name, lists)
    order = [3, 0, 5, 1, 4, 2]
    names = [f"f{j}" for j in order] + ["unknown"]
    X = np.column_stack([lists.features.to_dense()[:, order], np.full(lists.n_items, 9.0)])
    moved = CandidateLists.from_arrays(X, lists.labels, group=lists.lengths, feature_names=names)
    np.testing.assert_allclose(model.score(moved), model.score(lists), rtol=1e-12)
    assert model.unknown_features(moved) == ["unknown"]


def test_columns_are_matched_by_position_where_the_data_has_no_names(name):
    lists = some_lists()
    model = fitted(name, lists)
    X = np.column_stack([lists.features.to_dense(), np.full(lists.n_items, 9.0)])
    bare = CandidateLists.from_arrays(X, group=lists.lengths)
    np.testing.assert_array_equal(model.score(bare), model.score(lists))
    assert model.unknown_features(bare) == ["7"]


def test_fewer_columns_than_the_model_knows_are_zeros(name):
    lists = some_lists()
    model = fitted(name, lists)
    X = lists.features.to_dense().copy()
    fewer = CandidateLists.from_arrays(
        X[:, :4].copy(), group=lists.lengths, feature_names=[f"f{j}" for j in range(4)]
    )
    X[:, 4:] = 0
    zeros = CandidateLists.from_arrays(X, group=lists.lengths, feature_names=[f"f{j}" for j in range(6)])
    np.testing.assert_array_equal(model.score(fewer), model.score(zeros))


def test_read_only_features_are_enough(name):
    lists = some_lists()
    values = lists.features.to_dense()
    values.setflags(write=False)
    fitted(name, CandidateLists.from_arrays(values, lists.labels, group=lists.lengths))


def test_missing_features_are_refused_or_taken_as_declared(name):
    lists = some_lists(missing=True)
    if LEARNERS.get(name).accepts_nan:
        assert np.isfinite(fitted(name, lists).score(lists)).all()
    else:
        with pytest.raises(FitError, match=r"some lists: missing \(NaN\) features"):
            fitted(name, lists)


def test_lists_without_any_label_are_refused_where_labels_are_needed(name):
    lists = some_lists()
    bare = CandidateLists.from_arrays(lists.features, group=lists.lengths, source="bare")
    learner = make_learner(name, settings_of(name))
    if learner.needs_labels:
        with pytest.raises(FitError, match="bare: no judged item"):
            learner.fit(bare)
    elif learner.needs_judge:
        with pytest.raises(FitError, match="chooses by a metric; give one"):
            learner.fit(bare)
    else:
        assert learner.fit(bare).score(bare).shape == (lists.n_items,)


def test_weights_that_a_learner_does_not_take_are_refused(name):
    lists = some_lists()
    learner = make_learner(name, settings_of(name))
    judge = parse(metric_of(name)).prepare(lists)
    if not learner.accepts_list_weights:
        with pytest.raises(FitError, match="takes no list weights"):
            learner.fit(lists, judge=judge, list_weights=np.ones(lists.n_lists))
    if not learner.accepts_pair_weights:
        with pytest.raises(FitError, match="takes no pair weights"):
            learner.fit(lists, judge=judge, pair_weights=np.ones(3))
    if not learner.accepts_initial:
        with pytest.raises(FitError, match="takes no initial weights"):
            learner.fit(lists, judge=judge, initial=np.ones(lists.n_features))
        return
    start = np.array([0.5, -1.0, 0.0, 1.0, 0.0, 2.0]) / 100  # far from good: there is much to learn
    model = learner.fit(lists, judge=judge, initial=start.copy())
    np.testing.assert_array_equal(model.initial, start)  # and nothing moved it


def test_rounds_leave_a_curve_and_the_best_can_be_kept(name):
    kind = LEARNERS.get(name)
    if not kind.in_rounds:
        assert fitted(name, some_lists()).curve == []
        return
    with pytest.raises(FitError, match="needs a development set"):
        fitted(name, some_lists(), keep="best")
    learner = make_learner(name, {**settings_of(name), "rounds": 6, "keep": "best"})
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
    judge = parse(metric_of(name))
    with pytest.raises(FitError, match="dev lists: 3 features, but some lists has 6"):
        make_learner(name, settings_of(name)).fit(
            lists, judge=judge.prepare(lists), dev=(dev, judge.prepare(dev))
        )


def test_settings_are_listed_with_help_and_make_the_learner_again(name):
    kind = LEARNERS.get(name)
    learner = make_learner(name, settings_of(name))
    assert type(learner)(**learner.get_params()) == learner
    for setting, _, _, meaning in describe(kind):
        assert meaning, f"{name}: setting {setting} has no help"
    assert kind.summary
    with pytest.raises(ConfigError, match="unknown setting 'no_such_setting'"):
        make_learner(name, {"no_such_setting": 1})
