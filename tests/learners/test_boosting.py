"""Boosting against the paper's Figure 3; Figure 4 chooses the same; infinite steps; classes; records."""

import dataclasses
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make import features
from reference import boosting as slow
from small_training import saved

import rerank
from rerank.core.errors import DataNote, FitError
from rerank.data.lists import CandidateLists
from rerank.learners.boosting import Boosting
from rerank.learners.boosting.rounds import savings


def random_lists(seed=0, *, values=(0, 1), base=True, sizes=(1, 6, 5, 9, 4, 7), n_features=5, layout="dense"):
    """Graded lists with ties, a list of one, one without a pair and an unjudged item."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    X = rng.choice(np.array(values, dtype=float), (n, n_features))
    y = np.round(np.clip(X[:, 1] - X[:, 3] + rng.normal(0, 1, n), 0, 3))
    y[1:7] = 2.0
    y[10] = np.nan
    lists = CandidateLists.from_arrays(features(layout, X), y, group=list(sizes), source="drawn lists")
    return dataclasses.replace(lists, base_scores=np.round(rng.normal(0, 2, n), 1)) if base else lists


def slow_run(lists, learner, rounds):
    """The twin's pairs, stumps and rounds, and alpha_0 of the learner's model."""
    pairs = slow.pairs_of(lists, learner.pair_weighting != "one")
    X = lists.features.to_dense().astype(float)
    used = sorted({item for _, a, b, _ in pairs for item in (a, b)})
    stumps = slow.stumps_of(X[used])
    g = slow.differences(X, stumps, pairs)
    return pairs, stumps, g


def found_rounds(model):
    return list(zip(model.feature.tolist(), model.threshold.tolist(), model.step.tolist(), strict=True))


@pytest.mark.parametrize("values", [(0, 1), (0, 1, 2, 3), (-2, -1, 0, 1), (-1.5, 0.25, 7.0)])
@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("weighting", ["score", "one"])
@pytest.mark.parametrize("base", [True, False])
def test_rounds_are_those_of_figure_3(values, engine, weighting, base):
    for seed in range(3):
        lists = random_lists(seed, values=values, base=base)
        learner = Boosting(engine=engine, pair_weighting=weighting, epsilon=0.01, rounds=40, bins=None)
        model = learner.fit(lists)
        pairs, stumps, g = slow_run(lists, learner, 40)
        alpha = model.training.notes["alpha0"] if base else 0.0
        L = lists.base_scores if base else np.zeros(lists.n_items)
        importance = [s for *_, s in pairs]
        expected = slow.exp_rounds(g, importance, [alpha * (L[a] - L[b]) for _, a, b, _ in pairs], 0.01, 40)
        found = found_rounds(model)
        assert [(f, t) for f, t, _ in found] == [stumps[k] for k, *_ in expected]
        np.testing.assert_allclose(
            [step for *_, step in found], [step for _, step, *_ in expected], atol=2e-12
        )
        np.testing.assert_allclose(
            [row["loss"] for row in model.curve], [loss for *_, loss, _ in expected], rtol=1e-10
        )
        assert [row["errors"] for row in model.curve] == [errors for *_, errors in expected]
        bound = [row["weighted_errors"] <= row["loss"] * (1 + 1e-12) for row in model.curve]
        assert all(bound)


@pytest.mark.parametrize("weighting", ["score", "one"])
def test_alpha_0_is_the_best_of_the_papers_scan(weighting):
    for seed in range(6):
        lists = random_lists(seed)
        lists = dataclasses.replace(
            lists, base_scores=lists.base_scores + (seed % 3) * np.nan_to_num(lists.labels)
        )
        model = Boosting(rounds=1, pair_weighting=weighting).fit(lists)
        scan = slow.scanned_weight(lists.base_scores, slow.pairs_of(lists, weighting == "score"))
        assert model.training.notes["alpha0"] == pytest.approx(scan, abs=0.00051)


@pytest.mark.parametrize(("sign", "expected"), [(1.0, 10.0), (-1.0, 0.001)])
def test_alpha_0_stays_within_its_bounds(sign, expected):
    lists = random_lists(2)
    lists = dataclasses.replace(lists, base_scores=sign * np.nan_to_num(lists.labels))
    assert Boosting(rounds=1).fit(lists).training.notes["alpha0"] == expected


def adversarial(case):
    """Sets on which sums of exponentials tie, cancel or vary by hundreds of orders of magnitude."""
    rng = np.random.default_rng(7)
    n = 40
    X = (rng.random((n, 12)) < 0.4).astype(float)
    y = rng.integers(0, 3, n).astype(float)
    group = [8] * 5
    base = None
    if case == "twins":
        X[:, 6:] = X[:, :6]
    elif case == "opposites":
        X[:, 6:] = 1 - X[:, :6]
    elif case == "one list":
        group = [n]
    elif case == "permuted":  # the same list over and over with permuted features
        X, y = X[:8], y[:8]
        X = np.vstack([X[:, rng.permutation(12)] for _ in range(5)])
        y = np.tile(y, 5)
    elif case == "wide":
        base = rng.normal(0, 300, n)
    elif case == "everywhere":
        X[:, 3] = 1.0
    elif case == "huge labels":
        y *= 1e300
    elif case == "tiny labels":
        y *= 1e-300
    elif case == "never":
        X[:, :] = 1.0
        X[0, 0] = 0.0
    lists = CandidateLists.from_arrays(X, y, group=group, source="odd lists")
    return lists if base is None else dataclasses.replace(lists, base_scores=base)


CASES = [
    "twins", "opposites", "one list", "permuted", "wide", "everywhere", "huge labels", "tiny labels", "never",
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.0025])
@pytest.mark.parametrize("weighting", ["score", "one"])
def test_both_figures_choose_the_same_in_the_same_order(case, epsilon, weighting):
    lists = adversarial(case)
    found = []
    for engine in ("reference", "fast"):
        learner = Boosting(engine=engine, epsilon=epsilon, rounds=300, pair_weighting=weighting)
        try:
            model = learner.fit(lists)
        except FitError as error:
            found.append(str(error))
        else:
            found.append(found_rounds(model))
            assert model.training.rounds.converged == (len(model.curve) < 300)
    assert found[0] == found[1] or [r[:2] for r in found[0]] == [r[:2] for r in found[1]]


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(0, 1), (0, 1, 2), (-1, 0, 1)]),
    st.sampled_from([0.0, 1e-6, 0.001, 0.1]),
    st.sampled_from(["score", "one"]),
    st.booleans(),
)
def test_both_figures_agree_on_any_lists(seed, values, epsilon, weighting, base):
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(1, 9, 4).tolist())
    lists = random_lists(seed, values=values, base=base, sizes=(7, *sizes, 8))
    found = []
    for engine in ("reference", "fast"):
        try:
            model = Boosting(engine=engine, epsilon=epsilon, rounds=60, pair_weighting=weighting).fit(lists)
        except FitError as error:
            found.append(str(error))
        else:
            found.append([r[:2] for r in found_rounds(model)])
    assert found[0] == found[1]


def test_sums_drift_little_and_are_repaired():
    rng = np.random.default_rng(0)
    n = 600
    X = (rng.random((n, 40)) < 0.2).astype(float)
    lists = CandidateLists.from_arrays(X, rng.integers(0, 4, n), group=[20] * 30)
    for epsilon in (0.0025, 1e-6):
        notes = Boosting(epsilon=epsilon, rounds=3000).fit(lists).training.notes
        assert 0 < notes["drift"] < 1e-13
        assert 0 < notes["relative_drift"] < 1e-9
        once = Boosting(epsilon=epsilon, rounds=2).fit(lists).training.notes
        assert 0 <= once["drift"] < 1e-13


def test_an_infinite_step_is_an_error_that_names_the_stump():
    lists = CandidateLists.from_arrays([[1.0, 3], [0, 3], [0, 3]], [1, 0, 0], feature_names=["good", "same"])
    for engine in ("fast", "reference"):
        with pytest.raises(
            FitError, match=r"arrays: 'good' >= 1 points the same way on every pair .* infinite after 0"
        ):
            Boosting(epsilon=0, engine=engine).fit(lists)
        model = Boosting(epsilon=1e-9, rounds=50, engine=engine).fit(lists)
        assert np.isfinite(model.step).all()
        assert model.curve[-1]["errors"] == 0


def test_features_that_do_not_differ_within_lists_teach_nothing():
    lists = CandidateLists.from_arrays([[1.0], [1.0], [2.0], [2.0]], [1, 0, 0, 1], group=[2, 2])
    with pytest.warns(DataNote, match="arrays: boosting learnt nothing"):
        model = Boosting().fit(lists)
    assert model.n_rounds == 0
    assert model.training.rounds.converged
    assert model.curve == []
    np.testing.assert_array_equal(model.score(lists), 0.0)


def test_labels_of_any_size_give_the_same_choices():
    lists = random_lists(1)
    models = [
        Boosting(rounds=30).fit(lists.replace_labels(lists.labels * factor))
        for factor in (1.0, 2.0**900, 2.0**-900)
    ]
    for model in models[1:]:
        assert found_rounds(model) == found_rounds(models[0])


def test_differences_of_labels_that_overflow_are_refused():
    lists = CandidateLists.from_arrays([[1.0], [0.0]], [1.7e308, -1.7e308])
    with pytest.raises(FitError, match="differences of labels overflow"):
        Boosting().fit(lists)


def with_base_feature(lists, factor):
    """The same lists with their base score among the features, in other units."""
    X = np.insert(lists.features.to_dense(), 2, factor * lists.base_scores, axis=1)
    return lists.with_features(rerank.CandidateLists.from_arrays(X).features, None)


@pytest.mark.parametrize("factor", [1.0, -1.0, 0.5])
def test_alpha_0_is_the_weight_of_the_feature_that_is_the_base_score(factor):
    lists = random_lists(6)
    apart = Boosting(rounds=20).fit(lists)
    inside = Boosting(rounds=20).fit(with_base_feature(lists, factor))
    assert apart.base_weight == pytest.approx(inside.weights[2] * factor)
    assert inside.base_weight is None
    assert 2 not in inside.feature
    bare = dataclasses.replace(with_base_feature(lists, factor), base_scores=None)
    np.testing.assert_allclose(inside.score(bare), apart.score(lists), rtol=1e-12, atol=1e-12)


def test_base_scores_can_be_left_out_but_not_asked_for_in_vain():
    lists = random_lists(6)
    bare = dataclasses.replace(lists, base_scores=None)
    model = Boosting(rounds=5, alpha0=0).fit(lists)
    assert (model.base_weight, model.training.notes["alpha0"]) == (None, "none")
    assert Boosting(rounds=5).fit(bare).training.notes["alpha0"] == "none"
    assert Boosting(rounds=5, alpha0=2).fit(lists).base_weight == 2.0
    with pytest.raises(rerank.RerankError, match=r"no first-stage scores; alpha0=2\.0 needs them"):
        Boosting(alpha0=2).fit(bare)
    gap = dataclasses.replace(
        lists, base_scores=np.where(np.arange(lists.n_items) == 3, np.nan, lists.base_scores)
    )
    with pytest.raises(rerank.RerankError, match=r"first-stage score of .* is nan"):
        Boosting().fit(gap)
    Boosting(rounds=5, alpha0=0).fit(gap)


def test_ties_of_the_best_label_go_to_the_base_score_then_to_the_first():
    X = np.eye(4)
    lists = CandidateLists.from_arrays(X, [2, 2, 2, 0])
    first = Boosting(rounds=1, epsilon=0.1).fit(lists)
    assert found_rounds(first)[0][:2] == (0, 1.0)
    based = dataclasses.replace(lists, base_scores=np.array([0.0, 1, 1, 3]))
    assert found_rounds(Boosting(rounds=1, epsilon=0.1, alpha0=0).fit(based))[0][:2] == (1, 1.0)


def test_classes_are_items_above_and_below_0():
    rng = np.random.default_rng(0)
    X = (rng.random((80, 6)) < 0.4).astype(float)
    X[:, 5] = 1.0
    y = np.where(X[:, 0] + X[:, 1] - X[:, 2] + rng.normal(0, 0.4, 80) > 0.5, 2.0, -1.0)
    lists = CandidateLists.from_arrays(X, y)
    for engine in ("fast", "reference"):
        model = Boosting(task="classification", rounds=25, epsilon=0.01, engine=engine).fit(lists)
        pairs = [(i, i, None, 1.0) if y[i] > 0 else (i, None, i, 1.0) for i in range(80)]
        stumps = slow.stumps_of(X)
        g = slow.differences(X, stumps, pairs)
        expected = slow.exp_rounds(g, [1.0] * 80, [0.0] * 80, 0.01, 25)
        assert [(f, t) for f, t, _ in found_rounds(model)] == [stumps[k] for k, *_ in expected]
        wrong = np.mean((model.score(lists) > 0) != (y > 0))
        assert wrong == model.curve[-1]["errors"] / 80 < 0.2
    assert 5 in model.feature  # a feature of ones is the bias


def test_classes_need_items_of_both():
    lists = random_lists(1)
    for relevant, found in ((9.0, "no"), (-9.0, "every")):
        with pytest.raises(FitError, match=f"{found} judged item has a label of"):
            Boosting(task="classification", relevant=relevant).fit(lists)


def test_work_and_savings_are_those_of_the_paper():
    lists = random_lists(0)
    learner = Boosting(rounds=12, bins=None)
    model = learner.fit(lists)
    _, stumps, g = slow_run(lists, learner, 12)
    differences = [sum(map(abs, row)) for row in g]
    total = sum(differences)
    done = 0.0
    for row, (f, t, _) in zip(model.curve, found_rounds(model), strict=True):
        k = stumps.index((f, t))
        done += sum(n for n, of in zip(differences, g, strict=True) if of[k])
        assert row["work"] == pytest.approx(done / total)
    work = np.array([row["work"] for row in model.curve])
    assert model.training.notes["savings"] == pytest.approx(12 / work[-1])
    assert savings(work, 3, 7) == pytest.approx(5 / (work[6] - work[1]))
    assert savings(np.zeros(3), 1, 3) == math.inf


def test_a_prefix_of_a_model_is_the_model_of_fewer_rounds(tmp_path):
    lists = random_lists(2)
    model = Boosting(rounds=30).fit(lists)
    again = saved(model, tmp_path)
    assert found_rounds(again) == found_rounds(model)
    for n in (0, 1, 17, 30):
        short = Boosting(rounds=max(n, 1)).fit(lists).prefix(n)
        np.testing.assert_array_equal(again.prefix(n).score(lists), short.score(lists))
    assert len(again.explain()) == model.curve[-1]["features"]


def test_warnings_of_numpy_do_not_occur_on_wide_data():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lists = dataclasses.replace(random_lists(1), base_scores=np.linspace(-1e300, 1e300, 32))
        model = Boosting(rounds=20).fit(lists)
        assert np.isfinite(model.step).all()
