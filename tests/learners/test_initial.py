"""Where tuners start."""

import os
import subprocess
import sys

import numpy as np
import pytest

from rerank.core.errors import FitError
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs
from rerank.learners.initial import _sum_of_squares, base_weights, initial_weights

WEIGHTS = np.array([0.5, -2.0, 0.25])


def lists_with(scores=None, n=3):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, n))
    lists = CandidateLists.from_arrays(X, group=[10, 1, 9, 20], source="some lists")
    object.__setattr__(lists, "base_scores", scores(X) if callable(scores) else scores)
    return lists


def test_the_first_stages_weights_come_back_from_its_scores():
    shift = np.repeat([3.0, -1.0, 0.0, 7.0], [10, 1, 9, 20])
    found = base_weights(lists_with(lambda X: X @ WEIGHTS + shift))
    np.testing.assert_allclose(found, WEIGHTS, rtol=1e-9)


def test_scores_printed_with_few_digits_still_give_them():
    found = base_weights(lists_with(lambda X: np.round(X @ WEIGHTS, 3)))
    np.testing.assert_allclose(found, WEIGHTS, atol=1e-3)


@pytest.mark.parametrize(("noise", "fits"), [(0.0003, True), (0.003, False)])
def test_scores_fit_up_to_a_thousandth(noise, fits):
    rng = np.random.default_rng(5)
    found = base_weights(lists_with(lambda X: X @ WEIGHTS + noise * 2 * rng.standard_normal(len(X))))
    assert isinstance(found, str) != fits


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (None, "no first-stage scores"),
        (np.zeros(40), "all equal within their lists"),
        (np.where(np.arange(40) == 7, np.nan, 1.0), "some items have no first-stage score"),
        (lambda X: X[:, 0] ** 2, "not a weighted sum of the features"),
    ],
)
def test_base_reports_why_it_is_impossible(scores, expected):
    lists = lists_with(scores)
    with pytest.raises(FitError, match=f"some lists: init=base: .*{expected}"):
        initial_weights(lists, FitInputs(), "base")
    weights, how = initial_weights(lists, FitInputs(), "auto")
    assert how == "even"
    np.testing.assert_array_equal(weights, np.full(3, 1 / 3))


def test_features_that_are_the_same_get_the_smallest_weights():
    lists = lists_with(lambda X: X[:, 0])
    features = np.column_stack([lists.features.values, lists.features.values[:, 0]])
    doubled = CandidateLists.from_arrays(features, group=lists.lengths)
    object.__setattr__(doubled, "base_scores", lists.base_scores)
    np.testing.assert_allclose(base_weights(doubled), [0.5, 0, 0, 0.5], atol=1e-9)


def test_features_of_very_different_sizes_are_solved_for_alike():
    lists = lists_with(lambda X: X @ WEIGHTS)
    sizes = np.array([1e-9, 1.0, 1e8])
    scaled = CandidateLists.from_arrays(lists.features.values * sizes, group=lists.lengths)
    object.__setattr__(scaled, "base_scores", lists.base_scores)
    np.testing.assert_allclose(base_weights(scaled), WEIGHTS / sizes, rtol=1e-9)


def test_given_weights_come_first_and_are_asked_for():
    lists = lists_with(lambda X: X @ WEIGHTS)
    given = np.array([1.0, 2.0, 3.0])
    for init in ("auto", "given"):
        weights, how = initial_weights(lists, FitInputs(initial=given), init)
        assert how == "given"
        np.testing.assert_array_equal(weights, given)
        assert weights is not given
    for init in ("base", "even", "zero"):
        with pytest.raises(FitError, match=f"init={init}: initial weights are given too"):
            initial_weights(lists, FitInputs(initial=given), init)
    assert initial_weights(lists, FitInputs(), "auto", "zero")[1] == "zero"
    assert initial_weights(lists, FitInputs(initial=given), "auto", "zero")[1] == "given"
    with pytest.raises(FitError, match="init=given: no initial weights"):
        initial_weights(lists, FitInputs(), "given")
    assert initial_weights(lists, FitInputs(), "auto")[1] == "base"


def test_of_many_features_one_is_the_first_stage():
    rng = np.random.default_rng(4)
    for X in (rng.normal(size=(60, 300)), rng.integers(0, 2, (60, 300)).astype(float)):
        X[:, 7] = rng.normal(size=60)
        lists = CandidateLists(
            np.array([0, 20, 60]), CandidateLists.from_arrays(X).features, base_scores=-0.5 * X[:, 7]
        )
        weights = base_weights(lists)
        np.testing.assert_array_equal(np.flatnonzero(weights), [7])
        assert weights[7] == pytest.approx(-0.5)
        other = CandidateLists(lists.offsets, lists.features, base_scores=X[:, 7] + X[:, 8])
        with pytest.raises(FitError, match="none of the features is the first stage's score"):
            initial_weights(other, FitInputs(), "base")


_MANY = """
import numpy as np
from rerank.data.lists import CandidateLists
from rerank.learners.initial import base_weights
rng = np.random.default_rng(2)
for rank in (150, 200):
    X = rng.normal(size=(1500, rank)) @ rng.normal(size=(rank, 200))
    lists = CandidateLists.from_arrays(X, group=[30] * 50)
    object.__setattr__(lists, "base_scores", np.round(X @ rng.normal(size=200), 1))
    print(base_weights(lists).tobytes().hex())
    print([part.tobytes().hex() for part in np.linalg.eigh(np.einsum("ij,ik->jk", X, X))])
"""


def test_the_same_bits_on_any_number_of_threads():
    found = []
    for threads in "1", "2", "4":
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        known = os.environ | dict.fromkeys(names, threads)
        ran = subprocess.run([sys.executable, "-c", _MANY], env=known, capture_output=True, check=True)
        found.append(ran.stdout.splitlines())
    if len({tuple(lines[1::2]) for lines in found}) > 1:
        pytest.skip("LAPACK uses several threads for 200 features on this processor, and gives other bits")
    assert len({tuple(lines[::2]) for lines in found}) == 1


def test_more_features_are_not_tried():
    assert base_weights(lists_with(np.arange(40.0), n=201)) == (
        "none of the features is the first stage's score, and 201 features are too many to solve for "
        "(at most 200)"
    )


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_squares_are_summed_with_the_bits_of_one_sum(columns: int) -> None:
    X = np.random.default_rng(columns).normal(size=(150_000, columns))
    np.testing.assert_array_equal(_sum_of_squares(X), (X**2).sum(axis=0))
