"""The logistic loss: Appendix B and iterative scaling against slow twins, and what they promise."""

import dataclasses
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import boosting as slow
from rerank.native.learners._boosting import Trace
from rerank.native.learners._boosting_index import index
from rerank.native.learners._boosting_log import LogLoss

from rerank.core.errors import DataNote, FitError
from rerank.data.lists import CandidateLists
from rerank.learners.boosting import Boosting
from rerank.learners.boosting.examples import ranking_examples, thresholds_of


def random_lists(seed, values=(0, 1), n_lists=9, n_features=5):
    """Lists with ties, a list of one and an unjudged item, whose features say little of the labels."""
    rng = np.random.default_rng(seed)
    sizes = [1, *rng.integers(2, 9, n_lists - 1).tolist()]
    n = sum(sizes)
    X = rng.choice(np.array(values, dtype=float), (n, n_features))
    y = rng.integers(0, 3, n).astype(float)
    y[2] = np.nan
    lists = CandidateLists.from_arrays(X, y, group=sizes, source="drawn lists")
    return dataclasses.replace(lists, base_scores=np.round(rng.normal(0, 1, n), 1))


def twin(lists):
    """Stumps, their differences on pairs, pairs by list as ranges, and (best, others) of each list."""
    pairs = slow.pairs_of(lists, False)
    X = lists.features.to_dense()
    stumps = slow.stumps_of(X[sorted({item for _, a, b, _ in pairs for item in (a, b)})])
    by_list = {}
    for p, (i, best, other, _) in enumerate(pairs):
        by_list.setdefault(i, (best, []))[1].append((p, other))
    groups = [(others[0][0], others[-1][0] + 1) for _, others in by_list.values()]
    lists_of = [(best, [other for _, other in others]) for best, others in by_list.values()]
    return stumps, slow.differences(X, stumps, pairs), groups, lists_of, pairs


def rounds_of(model):
    return list(zip(model.feature.tolist(), model.threshold.tolist(), model.step.tolist(), strict=True))


@pytest.mark.parametrize("values", [(0, 1), (0, 1, 2), (-1, 0, 1)])
def test_fast_rounds_are_those_of_appendix_b(values):
    for seed in range(4):
        lists = random_lists(seed, values)
        model = Boosting(loss="log", epsilon=0.01, rounds=30).fit(lists)
        stumps, g, groups, _, pairs = twin(lists)
        L = lists.base_scores
        expected = slow.log_rounds(g, groups, [L[a] - L[b] for _, a, b, _ in pairs], 0.01, 30)
        found = rounds_of(model)
        assert [r[:2] for r in found] == [stumps[k] for k, *_ in expected]
        np.testing.assert_allclose([r[2] for r in found], [step for _, step, _ in expected], atol=2e-12)
        losses = [row["loss"] for row in model.curve]
        np.testing.assert_allclose(losses, [loss for *_, loss in expected], rtol=1e-11)


@pytest.mark.parametrize("values", [(0, 1), (0, 1, 2), (-1, 0, 1)])
def test_reference_rounds_are_those_of_iterative_scaling(values):
    for seed in range(3):
        lists = random_lists(seed, values)
        model = Boosting(loss="log", engine="reference", rounds=8).fit(lists)
        stumps, _, _, of_lists, _ = twin(lists)
        X = lists.features.to_dense()
        h = [[float(X[j, f] >= t) for f, t in stumps] for j in range(lists.n_items)]
        expected = slow.scaling_rounds(h, of_lists, lists.base_scores.tolist(), 8)
        found = rounds_of(model)
        assert [r[:2] for r in found] == [stumps[k] for k, *_ in expected]
        np.testing.assert_allclose([r[2] for r in found], [step for _, step, _ in expected], atol=1e-9)
        losses = [row["loss"] for row in model.curve]
        np.testing.assert_allclose(losses, [loss for *_, loss in expected], rtol=1e-9)


def native_loss(lists, epsilon, passes=10.0):
    """The kernel's loss of lists without their base scores."""
    examples = ranking_examples(lists, False)
    stumps = thresholds_of(lists.features, None)
    differences = index(lists.features.matrix(), stumps.native, examples.pairs)
    return LogLoss(differences, np.zeros(examples.n_pairs), examples.groups, epsilon, passes)


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_the_loss_falls_by_the_square_of_the_gain_at_least(seed):
    loss = native_loss(random_lists(seed, n_lists=20), 0.0)
    for _ in range(25):
        before = np.exp(loss.loss)
        up, down = loss.sums()
        trace = Trace(1)
        if loss.rounds(trace):
            break
        k = trace.stump[0]
        after = np.exp(loss.loss)
        assert before - after >= (np.sqrt(up[k]) - np.sqrt(down[k])) ** 2 - 1e-12 * before


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([1e-6, 0.0025, 0.1]), st.sampled_from([(0, 1), (-1, 0, 1, 2)]))
def test_the_loss_never_rises_and_sums_that_are_kept_choose_as_new_ones_do(seed, epsilon, values):
    lists = random_lists(seed, values)
    traces = []
    for passes in (0.0, 10.0):
        loss, trace = native_loss(lists, epsilon, passes), Trace(60)
        start = loss.loss
        loss.rounds(trace)
        assert np.all(np.diff(np.append(start, trace.loss[: trace.n])) <= 1e-9)
        traces.append(trace)
    assert traces[0].stump.tolist() == traces[1].stump.tolist()
    assert traces[0].work.tolist() == traces[1].work.tolist()


def test_both_engines_reach_the_same_minimum():
    lists = random_lists(3, n_lists=60, n_features=4)
    models = [
        Boosting(loss="log", rounds=3000, epsilon=0).fit(lists),
        Boosting(loss="log", rounds=300, engine="reference").fit(lists),
    ]
    losses = [model.curve[-1]["loss"] for model in models]
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)
    scores = [model.score(lists) for model in models]
    centred = [
        s - np.repeat(np.add.reduceat(s, lists.offsets[:-1]) / lists.lengths, lists.lengths) for s in scores
    ]
    np.testing.assert_allclose(*centred, atol=1e-5)
    # The exact choice needs fewer rounds.
    assert models[1].curve[5]["loss"] <= models[0].curve[5]["loss"]


def test_a_stump_without_a_counterexample_is_infinite_without_smoothing():
    lists = CandidateLists.from_arrays([[1.0, 3], [0, 3], [0, 3]], [1, 0, 0], feature_names=["good", "same"])
    with pytest.raises(
        FitError, match=r"'good' >= 1 points the same way on every pair .* infinite after 0 rounds"
    ):
        Boosting(loss="log", epsilon=0).fit(lists)
    for settings_ in ({"epsilon": 1e-9}, {"engine": "reference"}):
        model = Boosting(loss="log", rounds=40, **settings_).fit(lists)
        assert np.isfinite(model.step).all()
        assert model.curve[-1]["errors"] == 0


def test_a_stump_that_no_best_item_has_is_skipped_by_scaling():
    lists = CandidateLists.from_arrays([[0.0], [1.0], [0.0], [1.0]], [1, 0, 1, 0], group=[2, 2])
    with pytest.warns(DataNote, match="learnt nothing"):
        assert Boosting(loss="log", engine="reference").fit(lists).n_rounds == 0
    assert Boosting(loss="log", rounds=1).fit(lists).step[0] < 0


def test_margins_of_any_size_are_finite():
    lists = random_lists(1)
    for scale in (1e3, 1e150, 1e300):
        wide = dataclasses.replace(lists, base_scores=lists.base_scores * scale)
        for engine in ("fast", "reference"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataNote)  # it may learn nothing
                model = Boosting(loss="log", engine=engine, rounds=10).fit(wide)
            assert np.isfinite(model.step).all()


def test_classes_by_the_logistic_loss():
    rng = np.random.default_rng(0)
    X = (rng.random((80, 4)) < 0.4).astype(float)
    y = np.where(X[:, 0] + X[:, 1] - X[:, 2] + rng.normal(0, 0.4, 80) > 0.5, 1.0, 0.0)
    lists = CandidateLists.from_arrays(X, y)
    for engine in ("fast", "reference"):
        model = Boosting(task="classification", loss="log", engine=engine, rounds=60).fit(lists)
        scores = model.score(lists)
        loss = float(np.log1p(np.exp(np.where(y > 0, -scores, scores))).sum())
        assert loss == pytest.approx(model.curve[-1]["loss"])
        assert np.mean((scores > 0) != (y > 0)) < 0.25


def test_alpha_0_begins_at_1():
    lists = random_lists(0)
    assert Boosting(loss="log", rounds=1).fit(lists).base_weight == 1.0
    assert Boosting(loss="log", rounds=1, alpha0=0.5).fit(lists).base_weight == 0.5
