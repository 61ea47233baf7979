"""PRank against its pseudo-code; what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import features
from reference.graded import judged_rows, layouts, passes_of, ranks_of, separable_grades, whole_lists
from reference.ordinal import prank as slow_prank
from rerank.native.learners._weights import Weights

from rerank.core.errors import FitError
from rerank.data.lists import CandidateLists
from rerank.learners.ordinal import PRank
from rerank.native.learners import _ordinal


@pytest.mark.parametrize("grades", [2, 3, 6])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("largest", [3, 10**6])
def test_weights_and_thresholds_are_those_of_the_pseudo_code(grades, shuffle, largest):
    for seed in range(4):
        lists = whole_lists(seed, grades=grades, largest=largest)
        for average in ("last", "average"):
            learner = PRank(epochs=5, average=average, shuffle=shuffle, seed=seed)
            ranks, k = ranks_of(lists)
            assert k == grades
            X = lists.features.to_dense()
            last, mean, history = slow_prank(X, ranks, k, passes_of(learner, lists))
            w, b = last if average == "last" else mean
            for data in layouts(lists):
                model = learner.fit(data)
                np.testing.assert_allclose(model.weights, w, rtol=1e-12, atol=1e-12)
                np.testing.assert_allclose(model.thresholds, b, rtol=1e-12, atol=1e-12)
                assert [(row["updates"], row["rank_loss"]) for row in model.curve] == history


streams = st.integers(2, 6).flatmap(
    lambda k: st.tuples(
        st.just(k),
        st.lists(
            st.tuples(
                st.lists(st.sampled_from([0.0, 1.0, -1.0, 0.1, 3.5, -1e9, 1e9]), min_size=3, max_size=3),
                st.integers(0, k - 1),
            ),
            min_size=1,
            max_size=25,
        ),
    )
)


@given(streams)
def test_any_stream_moves_the_kernels_as_the_pseudo_code_and_keeps_the_order(stream):
    k, examples = stream
    X = np.array([x for x, _ in examples])
    grades = np.array([y for _, y in examples], dtype=np.int32)
    visits = np.arange(len(X))
    (w, b), (mean_w, mean_b), history = slow_prank(X, (grades + 1).tolist(), k, [visits])
    for layout in ("dense", "sparse", "mixed"):
        weights, thresholds = Weights(3), Weights(k - 1)
        matrix = features(layout, X).matrix()
        assert _ordinal.prank(matrix, visits, grades, weights, thresholds) == history[0]
        np.testing.assert_array_equal(weights.values, w)
        np.testing.assert_array_equal(thresholds.values, b)
        assert (np.diff(thresholds.values) >= 0).all()
        scale = np.abs(X).max() * 1e-9 + 1e-12
        np.testing.assert_allclose(weights.mean(), mean_w, rtol=1e-9, atol=scale)
        np.testing.assert_allclose(thresholds.mean(), mean_b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_rank_loss_is_within_the_bound_of_theorem_2(k, seed):
    lists, gamma, radius = separable_grades(seed, k)
    model = PRank(average="last", epochs=100_000, seed=seed).fit(lists)
    assert model.training.rounds.converged
    loss = sum(row["rank_loss"] for row in model.curve)
    assert loss >= 1
    assert loss <= (k - 1) * (radius**2 + 1) / gamma**2
    np.testing.assert_array_equal(model.grades(lists), lists.labels)


def test_grades_are_the_labels_and_only_their_order_counts():
    lists = whole_lists(4, grades=3)
    names = np.array([-1.5, 0.25, 70.0])
    other = np.full(lists.n_items, np.nan)
    rows = judged_rows(lists)
    other[rows] = names[lists.labels[rows].astype(int)]
    renamed = CandidateLists.from_arrays(lists.features, other, group=lists.lengths)
    model, again = PRank().fit(lists), PRank().fit(renamed)
    np.testing.assert_array_equal(again.weights, model.weights)
    np.testing.assert_array_equal(again.grades(lists), names[model.grades(lists).astype(int)])
    assert set(again.grades(lists).tolist()) <= set(names.tolist())


def test_without_a_feature_to_tell_grades_apart_all_items_get_one_grade():
    lists = CandidateLists.from_arrays(np.zeros((6, 3)), [0, 1, 1, 1, 1, 2])
    model = PRank(epochs=3).fit(lists)
    assert not model.weights.any()
    assert len(set(model.grades(lists).tolist())) == 1


def test_labels_that_are_no_grades_are_refused():
    at_most = CandidateLists.from_arrays(np.ones((1000, 1)), np.arange(1000.0))
    assert PRank(epochs=1).fit(at_most).thresholds.shape == (999,)
    lists = CandidateLists.from_arrays(np.ones((1001, 1)), np.arange(1001) / 7, source="real.txt")
    with pytest.raises(FitError, match=r"real.txt: 1001 distinct labels, which look real-valued"):
        PRank().fit(lists)


def test_overflow_is_an_error_and_not_nan():
    X = [[1e308, -1e308], [-1e308, 1e308], [1e308, 1e308]]
    with pytest.raises(FitError, match="scale the features"):
        PRank(epochs=50).fit(CandidateLists.from_arrays(X, [2, 1, 0]))
    with pytest.raises(FitError, match="scale the features"):
        PRank(epochs=50).fit(CandidateLists.from_arrays(np.array(X) / 1e150, [2, 1, 0]))
