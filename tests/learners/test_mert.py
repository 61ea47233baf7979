"""The learner: what it keeps and reports, lists that leave nothing to do, the same for any number of jobs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from learners.test_line_search import METRICS, drawn
from scipy.sparse import csr_array
from small_judging import values
from small_training import fit

from rerank import load
from rerank.core.errors import FitError
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.learners.sums.lines import LineProblem
from rerank.learners.tuning.mert import Mert
from rerank.metrics.base import parse
from rerank.metrics.selecting import RatioJudge, Selection

QUICK = {"restarts": 4, "perturbations": 1}


def fitted(lists, metric="label@1", *, initial=None, list_weights=None, **settings):
    judge = parse(metric).prepare(lists)
    learner = Mert(**{**QUICK, **settings})
    return learner.fit(lists, judge=judge, initial=initial, list_weights=list_weights)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("directions", ["coordinate", "random", "both"])
def test_the_reported_value_is_that_of_the_models_scores(metric, directions):
    lists = drawn(3, n_lists=15)
    model = fitted(lists, metric, directions=directions)
    rounds = model.training.rounds
    better = parse(metric).prepare(lists).better
    if np.isnan(rounds.train):
        return
    found = values(lists, model.score(lists), [metric])
    assert rounds.train == pytest.approx(next(iter(found.values())), rel=1e-12)
    reached = [better * row.train for row in rounds.restarts]
    assert better * rounds.train == pytest.approx(max(reached), rel=1e-12)
    assert better * rounds.train >= better * rounds.initial
    if rounds.improved:
        assert np.abs(model.weights).sum() == pytest.approx(1)


def test_features_of_any_scale_give_the_same_choices():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 3))
    y = X @ np.array([1.0, -1, 0.5]) + rng.normal(size=200)
    powers = 2.0 ** np.array([-300, 0, 300])
    one, two = (CandidateLists.from_arrays(X * factor, y, group=[10] * 20) for factor in (np.ones(3), powers))
    a, b = (fitted(x, init="zero") for x in (one, two))
    assert a.training.rounds.train == b.training.rounds.train
    ratio = b.weights * powers / a.weights
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)


NOTHING = {
    "equal candidates": (np.ones((6, 2)), [1.0, 0, 2, 0, 1, 1], [3, 3]),
    "equal labels": (np.arange(12.0).reshape(6, 2), np.ones(6), [3, 3]),
    "one list of one": (np.ones((1, 2)), [1.0], [1]),
    "lists of one": (np.arange(6.0).reshape(3, 2), [1.0, 2, 3], [1, 1, 1]),
    "labels of zero": (np.arange(12.0).reshape(6, 2), np.zeros(6), [3, 3]),
}


@pytest.mark.parametrize("case", NOTHING)
@pytest.mark.parametrize("sparse", [False, True])
def test_if_nothing_can_be_gained_the_initial_weights_stay_with_a_note(case, sparse):
    X, y, group = NOTHING[case]
    lists = CandidateLists.from_arrays(csr_array(X) if sparse else X, y, group=group)
    initial = np.array([0.3, -7.0])
    model = fitted(lists, initial=initial)
    np.testing.assert_array_equal(model.weights, initial)
    assert model.training.rounds.improved is False
    assert model.training.rounds.train == model.training.rounds.initial


def test_a_constant_feature_keeps_its_share_and_hurts_nothing():
    lists = drawn(8, n_lists=15)
    X = np.column_stack([lists.features.values, np.repeat(np.arange(15.0), lists.lengths)])
    model = fitted(replace(lists, features=Dense(X)), "WER", init="even")
    assert np.isfinite(model.weights).all()
    plain = fitted(lists, "WER", init="even")
    assert model.training.rounds.train == pytest.approx(plain.training.rounds.train, rel=0.1)


def test_a_metric_without_a_value_is_never_chosen(tmp_path):
    """A ratio whose denominator is zero for some choices, or for all."""
    lists = drawn(2)
    counts = np.zeros((lists.n_items, 2))
    counts[:, 0] = np.arange(lists.n_items)
    judge = RatioJudge("ratio", "ratio", Selection(lists), counts)
    model = Mert(**QUICK).fit(lists, judge=judge)
    assert np.isnan(model.training.rounds.train)
    assert model.training.rounds.improved is False
    model.save(str(tmp_path / "model"))
    some = counts.copy()
    some[-1, 1] = 4.0
    judge = RatioJudge("ratio", "ratio", Selection(lists), some)
    found = Mert(restarts=10).fit(lists, judge=judge, initial=np.zeros(3))
    assert found.training.rounds.train == pytest.approx(100 * found_ratio(lists, found, some))


def found_ratio(lists, model, counts):
    top, bottom = RatioJudge("", "", Selection(lists), counts).per_list(model.score(lists)).sum(axis=0)
    return top / bottom


def test_repeated_candidates_change_nothing():
    lists = drawn(9, n_lists=10)
    items = np.repeat(np.arange(lists.n_items), 2)
    twice = CandidateLists(lists.offsets * 2, lists.features.take(items), labels=lists.labels[items])
    plain = CandidateLists(lists.offsets, lists.features, labels=lists.labels)
    np.testing.assert_array_equal(fitted(twice).weights, fitted(plain).weights)


def test_more_restarts_are_the_old_ones_and_more():
    lists = drawn(6, n_lists=20)
    few, many = (fitted(lists, "BLEU", restarts=n, perturbations=0).training.rounds.restarts for n in (3, 6))
    assert many[:4] == few
    assert fitted(lists, "BLEU", seed=2, restarts=3).training.rounds.restarts[1:] != few[1:]


def test_the_penalty_keeps_near_to_the_initial_weights():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(400, 3))
    y = X @ np.array([1.0, -1, 0.5]) + rng.normal(size=400)
    lists = CandidateLists.from_arrays(X, y, group=[10] * 40)
    initial = np.array([0.0, 0.0, 1.0])
    angles = []
    for l2 in (0.0, 0.3, 100.0):
        weights = fitted(lists, initial=initial, l2=l2).weights
        angles.append(weights @ initial / np.linalg.norm(weights))
    assert angles[0] < angles[1] < angles[2]
    assert angles[2] > 0.999
    with pytest.raises(FitError, match="l2 needs initial weights that are not zero"):
        fitted(lists, init="zero", l2=1.0)


def test_the_mean_of_the_best_restarts():
    """Their weights times the features' scales, each of length 1; kept where better than the start alone."""
    kept = set()
    for seed in range(16):
        lists = drawn(seed, n_lists=8)
        initial = np.array([1.0, 0.5, -0.5])
        if seed % 2:  # the mean is seldom better than the end of a climb
            initial = fitted(lists, "WER", initial=initial, restarts=0).weights
        judge = parse("WER").prepare(lists)
        problem = LineProblem(lists, judge, None)
        ends = Mert(**QUICK)._search(problem, initial * problem.scale)
        ends.sort(key=lambda end: -end.objective)
        units = [end.weights * problem.scale for end in ends[:3]]
        mean = sum(unit / np.linalg.norm(unit) for unit in units) / problem.scale
        model = fitted(lists, "WER", initial=initial, average=3)
        rounds = model.training.rounds
        assert rounds.best == ends[0].value
        assert rounds.train <= rounds.initial
        assert rounds.train == pytest.approx(values(lists, model.score(lists), ["WER"])["WER"])
        if rounds.averaged == 3:
            np.testing.assert_allclose(model.weights, mean / np.abs(mean).sum(), rtol=1e-12)
        else:
            np.testing.assert_array_equal(model.weights, ends[0].weights if rounds.improved else initial)
            at_mean = values(lists, lists.features.scores(mean), ["WER"])["WER"]
            assert at_mean >= rounds.initial
        kept.add((rounds.averaged, rounds.improved))
    assert kept == {(3, True), (1, True), (1, False)}
    with pytest.raises(FitError, match="learner mert: average=6, but there are 5 restarts"):
        fitted(lists, "WER", average=6)


@pytest.mark.parametrize("metric", ["label@1", "WER", "BLEU(smooth=add-k)"])
def test_a_single_list_ends_with_its_best_item_and_as_well_as_with_all_restarts(metric, monkeypatch):
    ended = 0
    for seed in range(20):
        lists = drawn(seed, n_lists=1, n_features=2)
        early = fitted(lists, metric, directions="both").training.rounds
        with monkeypatch.context() as patched:
            patched.setattr(LineProblem, "most", np.inf)
            whole = fitted(lists, metric, directions="both").training.rounds
        assert early.train == pytest.approx(whole.train, rel=1e-12, nan_ok=True)
        ended += len(early.restarts) < len(whole.restarts) == 5
        judge = parse(metric).prepare(lists)
        best = judge.score_from_sums(judge.per_item)[np.argmax(judge.better * judge.item_values())]
        if len(early.restarts) < 5:
            assert early.train == pytest.approx(best, rel=1e-12)
    assert ended >= 5


def test_the_mean_of_restarts_on_a_single_list_needs_them_all():
    lists = drawn(2, n_lists=1, n_features=2)
    assert len(fitted(lists).training.rounds.restarts) == 1
    assert len(fitted(lists, average=2).training.rounds.restarts) == 5


def test_a_penalty_makes_no_climb_creep():
    """The penalty slopes everywhere: were any gain enough, steps would be ten times as many."""
    rng = np.random.default_rng(10)
    X = rng.normal(size=(3000, 15))
    y = X @ rng.normal(size=15) + 3 * rng.normal(size=3000)
    lists = CandidateLists.from_arrays(X, y, group=[100] * 30)
    plain, penalised = (
        sum(row.steps for row in fitted(lists, initial=np.ones(15), l2=l2).training.rounds.restarts)
        for l2 in (0.0, 0.3)
    )
    assert penalised < 6 * plain


def test_dev_lists_are_watched():
    lists, dev = drawn(6, n_lists=20), drawn(7, n_lists=10)
    model = fit(Mert(**QUICK), lists, dev=dev, metric="WER")
    rounds = model.training.rounds
    assert rounds.dev == pytest.approx(values(dev, model.score(dev), ["WER"])["WER"])
    assert all(row.dev is not None for row in rounds.restarts)


def test_the_spread_is_that_of_the_better_half():
    rounds = fitted(drawn(6, n_lists=20), "WER", restarts=6).training.rounds
    assert [row.feature for row in rounds.spread] == ["1", "2", "3"]
    for row in rounds.spread:
        assert row.min <= row.max
        assert 0 <= row.sd <= row.max - row.min


@pytest.mark.parametrize(
    ("name", "metric", "least"), [("syscomb-wmt10", "BLEU", 19.75), ("asr-pocketsphinx", "WER", -40.7)]
)
def test_real_lists_reach_what_is_known_of_them(shared_data, name, metric, least):
    folder = shared_data / name
    lists = load(str(folder / "dev.nbest.gz"), format="moses", refs=str(folder / "dev.ref.gz"))
    judge = parse(metric).prepare(lists)
    model = Mert().fit(lists, judge=judge)
    assert judge.better * model.training.rounds.train > least
