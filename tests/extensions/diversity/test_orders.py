"""Greedy orders: each step against the papers' equations, determinants computed anew, and bounds."""

import numpy as np
import pytest
from reference.diversity import order_of as slow_order_of

from rerank.core.errors import ConfigError
from rerank.extensions.diversity.orders import METHODS, OF_ITEMS, diversified, order_of, parsed


def drawn(seed, method, n):
    """Scores, often tied, and cosines of few vectors, some equal, or aspects, some of no item."""
    rng = np.random.default_rng(seed)
    scores = rng.choice([rng.normal(0, 1, n), rng.integers(0, 3, n).astype(float)])
    if method not in OF_ITEMS:
        return scores, np.round(rng.random((n, 3)) * (rng.random((n, 3)) < 0.6), 2)
    vectors = rng.normal(0, 1, (n, 5)) + 0.3
    if n > 3:
        vectors[n - 1] = vectors[0]
    vectors /= np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    table = vectors @ vectors.T
    np.fill_diagonal(table, 1.0)
    return scores, (table + table.T) / 2


@pytest.mark.parametrize("method", METHODS)
def test_each_step_is_that_of_the_paper(method):
    for seed in range(60):
        n = 1 + seed % 8
        scores, table = drawn(seed, method, n)
        for share in (0.0, 0.3, 0.5, 0.9, 1.0):
            if share == 1.0 and method == "dpp":
                continue  # the order of the scores, also of equal items
            for depth in (None, 2):
                found = order_of(method, share, scores, table, depth)
                slow = table.tolist() if method in OF_ITEMS else [*table.tolist(), [1 / 3] * 3]
                assert found.tolist() == slow_order_of(method, share, scores, slow, depth)
                if method not in OF_ITEMS:
                    likely = np.random.default_rng(seed).dirichlet([0.5] * 3)
                    found = order_of(method, share, scores, (table, likely), depth)
                    assert found.tolist() == slow_order_of(
                        method, share, scores, [*table.tolist(), likely.tolist()], depth
                    )


@pytest.mark.parametrize("method", METHODS)
def test_the_neutral_share_keeps_the_order_of_the_scores(method):
    scores, table = drawn(3, method, 6)
    falling = np.argsort(-scores, kind="stable").tolist()
    if method != "pm2":
        assert order_of(method, 0.0 if method == "xquad" else 1.0, scores, table).tolist() == falling
    assert order_of(method, 0.5, scores, table[:, :0]).tolist() == falling  # no aspect


@pytest.mark.parametrize("scores", [[1e308, -1e308, 0.0], [5e-324, 0.0, 0.0], [7.0, 7.0, 7.0]])
def test_huge_tiny_and_equal_scores(scores):
    table = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for method in OF_ITEMS:
        found = order_of(method, 0.5, np.array(scores), table)
        assert sorted(found.tolist()) == [0, 1, 2]
        assert found[0] == 0


def test_scores_are_places_from_the_end_of_the_list():
    table = np.array([[1.0, 1.0], [1.0, 1.0]])
    found = diversified("mmr", 0.5, np.array([1.0, 2.0, 9.0]), np.array([0, 2, 3]), [table, np.ones((1, 1))])
    assert found.tolist() == [1.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mmr:1.5", r"found 'mmr:1\.5', expected mmr and a number from 0 to 1"),
        ("mmr:-0.1", "from 0 to 1"),
        ("mmr:nan", "from 0 to 1"),
        ("xquad:", "from 0 to 1"),
        ("mrr:0.5", "did you mean 'mmr'"),
    ],
)
def test_a_wrong_method_is_one_line(text, message):
    with pytest.raises(ConfigError, match=message):
        parsed(text)
