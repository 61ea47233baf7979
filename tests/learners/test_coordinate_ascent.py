"""Coordinate ascent: intervals and steps against a slow twin, starts, restarts by dev, degenerate lists."""

import numpy as np
import pytest
from make import LAYOUTS, drawn
from reference import coordinate_ascent as slow
from small_training import fit

from rerank.core.errors import ConfigError, FitError
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.learners.sums import rankings
from rerank.learners.sums.rankings import PAIRS, Crossings, _middles, drawn_pairs
from rerank.learners.tuning.coordinate_ascent import CoordinateAscent, _Climb
from rerank.metrics.base import parse
from rerank.metrics.judging import Judging


def some_lists(seed=0, layout="dense"):
    """Lists with ties, an item alone, an unjudged item, a feature that is constant."""
    X = np.round(np.random.default_rng(seed).standard_normal((40, 4)) * 4) / 4
    X[:, 2] = 0.5
    return drawn(seed, layout, sizes=(6, 1, 9, 4, 12, 8), X=X, grades=(0, 3))


def climb_of(lists, metric, weights, crossings=None):
    crossings = crossings or Crossings(lists, np.random.default_rng(0))
    return _Climb(lists, parse(metric).prepare(lists), None, crossings, np.asarray(weights, dtype=float))


def all_pairs(lists):
    """Every pair of items of a list with different labels."""
    found = [
        (a, b)
        for first, last in zip(lists.offsets[:-1], lists.offsets[1:], strict=True)
        for a in range(first, last)
        for b in range(a)
        if abs(lists.labels[a] - lists.labels[b]) > 0
    ]
    return np.array(found).T


@pytest.mark.parametrize(
    "metric", ["nDCG@5", "AP", "P@2", "RR", "nDCG-exp@3(ties=expected)", "label@1", "loss@1"]
)
@pytest.mark.parametrize("seed", range(2))
def test_a_step_finds_the_best_of_all_intervals(metric, seed, monkeypatch):
    name, _, ties = metric.partition("(ties=")
    lists = some_lists(seed)
    monkeypatch.setattr(rankings, "_LEVELS", (10**6,))  # every interval
    rng = np.random.default_rng(seed)
    judge = parse(name).prepare(lists, Judging(ties="expected")) if ties else parse(name).prepare(lists)
    crossings = Crossings(lists, rng)
    crossings.pairs = all_pairs(lists)
    climb = _Climb(lists, judge, None, crossings, rng.standard_normal(4))
    for j in (0, 1, 3):
        column = crossings.column(j)
        scores = climb._scores.copy()
        expected = slow.best_of(judge, scores, column, crossings.pairs)
        middles = _middles(crossings.along(scores, column))
        np.testing.assert_allclose(middles, slow.intervals(scores, column, crossings.pairs), rtol=1e-12)
        found = climb.best_along(j)
        assert found == pytest.approx((expected[0], expected[2]), rel=1e-12)
        before = climb.objective
        moved = climb._step(j, 1e-6)
        assert moved == (expected[0] > before + 1e-6)
        assert climb.objective == (expected[0] if moved else before)


@pytest.mark.parametrize("seed", range(4))
def test_no_interval_along_a_feature_is_better_at_the_end(seed, monkeypatch):
    lists = some_lists(seed)
    monkeypatch.setattr(rankings, "_LEVELS", (10**6,))
    climb = climb_of(lists, "nDCG", np.zeros(4) + 0.1)
    climb.climb(np.random.default_rng(seed), 100, 1e-6)
    for j in climb.crossings.varying.tolist():
        best = slow.best_of(climb.judge, climb._scores, climb.crossings.column(j), climb.crossings.pairs)
        assert best[0] <= climb.objective + 1e-6


@pytest.mark.parametrize("layout", LAYOUTS)
def test_columns_that_never_differ_in_a_list_are_left_out(layout):
    lists = some_lists(1, layout)
    crossings = Crossings(lists, np.random.default_rng(0))
    X = lists.features.to_dense()
    assert crossings.varying.tolist() == [0, 1, 3]
    for j in (0, 1, 3):
        np.testing.assert_array_equal(crossings.column(j), X[:, j])


def test_pairs_are_drawn_in_lists_and_differ_in_their_labels():
    lists = some_lists()
    a, b = drawn_pairs(lists, np.random.default_rng(3))
    assert 0 < len(a) <= PAIRS
    np.testing.assert_array_equal(lists.list_index[a], lists.list_index[b])
    assert (np.abs(lists.labels[a] - lists.labels[b]) > 0).all()
    bare = lists.replace_labels(None)
    a, b = drawn_pairs(bare, np.random.default_rng(3))
    assert len(a) > 0
    assert (a != b).all()
    np.testing.assert_array_equal(lists.list_index[a], lists.list_index[b])


@pytest.mark.parametrize("metric", ["nDCG@5", "AP", "label@1", "loss@1"])
def test_the_record_is_what_happened(metric):
    lists, dev = some_lists(1), some_lists(2)
    model = fit(CoordinateAscent(), lists, dev=dev, metric=metric, scaling="none")
    record = model.training.rounds
    judge, on_dev = parse(metric).prepare(lists), parse(metric).prepare(dev)
    assert record.train == corpus_value(judge, judge.per_list(model.score(lists)))
    assert record.dev == corpus_value(on_dev, on_dev.per_list(model.score(dev)))
    values = [judge.better * restart.train for restart in record.restarts]
    assert len(values) == 8
    assert judge.better * record.train == max(values) == judge.better * record.best
    assert all(v >= judge.better * r.start for v, r in zip(values, record.restarts, strict=True))
    assert record.restarts[0].start == record.initial


def test_the_best_restart_by_dev():
    lists, dev = some_lists(1), some_lists(2)
    learner = CoordinateAscent(best="dev", restarts=6)
    model = fit(learner, lists, dev=dev, metric="nDCG")
    assert learner.chooses_on_dev
    record = model.training.rounds
    judge = parse("nDCG").prepare(dev)
    initial = corpus_value(judge, judge.per_list(dev.features.scores(model.initial)))
    assert record.dev == max(initial, *(restart.dev for restart in record.restarts))
    with pytest.raises(FitError, match="best=dev needs development lists and a metric"):
        fit(learner, lists, metric="nDCG")
    with pytest.raises(ConfigError, match="best=dev chooses among restarts: found restarts=0"):
        CoordinateAscent(best="dev", restarts=0)
    with pytest.raises(ConfigError, match="average: found 9, but there are 8 restarts"):
        CoordinateAscent(average=9)


def test_nothing_better_leaves_the_initial_weights():
    lists = CandidateLists.from_arrays([[0.0, 1.0], [1.0, 1.0]], [0, 1], source="set")
    start = np.array([0.3, 7.0])
    model = CoordinateAscent().fit(lists, judge=parse("nDCG").prepare(lists), initial=start)
    np.testing.assert_array_equal(model.weights, start)
    assert not model.training.rounds.improved
    flat = CandidateLists.from_arrays([[2.0, 1.0], [2.0, 1.0]], [0, 1], source="set")
    model = CoordinateAscent().fit(flat, judge=parse("nDCG").prepare(flat))
    np.testing.assert_array_equal(model.weights, [0.5, 0.5])


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_extreme_features_give_a_model_or_an_error_of_ours(scale):
    lists = some_lists(1)
    far = CandidateLists.from_arrays(lists.features.values * scale, lists.labels, group=lists.lengths)
    judge = parse("nDCG").prepare(far)
    try:
        model = CoordinateAscent().fit(far, judge=judge)
    except FitError as error:
        assert "scores overflow; scale the features" in str(error)  # noqa: PT017
    else:
        assert np.isfinite(model.score(far)).all()
