"""Pairwise accuracy against a loop over all pairs."""

import math

import numpy as np
import pytest

from rerank.data.pairs import Concordance


@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_those_of_a_loop(seed):
    rng = np.random.default_rng(seed)
    offsets = np.array([0, 1, 7, 12, 14])
    labels = rng.integers(0, 3, 14).astype(float)
    labels[rng.integers(0, 14, 2)] = np.nan
    scores = rng.integers(0, 4, 14).astype(float)
    right, pairs = np.zeros(4), np.zeros(4)
    for i in range(4):
        for a in range(offsets[i], offsets[i + 1]):
            for b in range(offsets[i], offsets[i + 1]):
                if labels[a] > labels[b]:
                    pairs[i] += 1
                    right[i] += 1.0 if scores[a] > scores[b] else 0.5 if scores[a] == scores[b] else 0.0
    found = Concordance(labels, offsets)
    np.testing.assert_array_equal(found.n_pairs, pairs)
    np.testing.assert_array_equal(found.right(scores), right)
    weights = np.array([1.0, 0.5, 0.0, 2.0])
    expected = (weights * right).sum() / (weights * pairs).sum()
    assert found.accuracy(scores, weights) == pytest.approx(expected, abs=1e-15)
    assert found.accuracy(scores) == pytest.approx(right.sum() / pairs.sum(), abs=1e-15)


def test_accuracy_without_a_pair_is_undefined():
    assert math.isnan(Concordance(np.zeros(3), np.array([0, 3])).accuracy(np.arange(3.0)))
