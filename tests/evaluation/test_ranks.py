"""Average ranks, Friedman's test and critical differences: a published example, scipy, and loops."""

import json
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from rerank.core.errors import ConfigError, DataError
from rerank.evaluation.ranks import ranks_of

# AUC of four decision trees on 14 sets: Demšar (2006), Table 6.
TREES = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
AUC = [
    (0.763, 0.768, 0.771, 0.798),
    (0.599, 0.591, 0.590, 0.569),
    (0.954, 0.971, 0.968, 0.967),
    (0.628, 0.661, 0.654, 0.657),
    (0.882, 0.888, 0.886, 0.898),
    (0.936, 0.931, 0.916, 0.931),
    (0.661, 0.668, 0.609, 0.685),
    (0.583, 0.583, 0.563, 0.625),
    (0.775, 0.838, 0.866, 0.875),
    (1.000, 1.000, 1.000, 1.000),
    (0.940, 0.962, 0.965, 0.962),
    (0.619, 0.666, 0.614, 0.669),
    (0.972, 0.981, 0.9752, 0.975),  # printed as 0.975 both, with ranks 2 and 3
    (0.957, 0.978, 0.946, 0.970),
]


def of_rows(rows, names=None):
    names = names or [f"s{j}" for j in range(len(rows[0]))]
    return {f"set{i}": dict(zip(names, row, strict=True)) for i, row in enumerate(rows)}


def test_the_example_of_the_paper():
    found = ranks_of(of_rows(AUC, TREES), 1)
    assert {name: round(rank, 3) for name, rank in found.average.items()} == {
        "C4.5+m+cf": 1.964,
        "C4.5+m": 2.0,
        "C4.5+cf": 2.893,
        "C4.5": 3.143,
    }
    # The paper does not correct for ties: its chi-square is 9.28, F 3.69.
    n, k = 14, 4
    plain = 12 * n / (k * (k + 1)) * (sum(r * r for r in found.average.values()) - k * (k + 1) ** 2 / 4)
    assert plain == pytest.approx(9.28, abs=0.005)
    assert found.friedman > plain
    assert found.critical_difference == pytest.approx(1.25, abs=0.005)
    assert ranks_of(of_rows(AUC, TREES), 1, alpha=0.1).critical_difference == pytest.approx(1.12, abs=0.005)
    assert found.groups == (("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"),)
    narrow = ranks_of(of_rows(AUC, TREES), 1, alpha=0.1)  # "C4.5+m+cf" and "C4.5+m" are better than "C4.5"
    assert narrow.groups == (("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5"))


@pytest.mark.parametrize("ties", [False, True])
def test_the_statistics_are_those_of_scipy(ties):
    rng = np.random.default_rng(0)
    table = rng.integers(0, 4, (9, 5)).astype(float) if ties else rng.random((9, 5))
    found = ranks_of(of_rows(table.tolist()), 1)
    expected = stats.friedmanchisquare(*table.T)
    assert (found.friedman, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    f = 8 * found.friedman / (9 * 4 - found.friedman)
    assert (found.iman_davenport, found.p_f) == pytest.approx((f, stats.f.sf(f, 4, 32)))


def test_smaller_can_be_better():
    rows = [(1.0, 2.0, 3.0), (5.0, 6.0, 8.0)]
    assert list(ranks_of(of_rows(rows), -1).average) == ["s0", "s1", "s2"]
    assert list(ranks_of(of_rows(rows), 1).average) == ["s2", "s1", "s0"]
    assert ranks_of(of_rows(rows), 1).iman_davenport == np.inf
    json.dumps(ranks_of(of_rows(rows), 1).as_json(), allow_nan=False)


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_the_largest_that_do_not_differ(seed):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(40, 7)) + 0.6 * np.arange(7)
    found = ranks_of(of_rows(table.tolist()), 1)
    names = list(found.average)

    def alike(group):
        pairs = combinations(group, 2)
        return all(abs(found.average[a] - found.average[b]) < found.critical_difference for a, b in pairs)

    every = [g for size in range(2, 8) for g in combinations(names, size) if alike(g)]
    largest = {g for g in every if not any(set(g) < set(other) for other in every)}
    assert set(found.groups) == largest


def test_values_that_differ_by_rounding_are_tied():
    found = ranks_of(of_rows([(0.3, 0.1 + 0.2, 0.1), (0.5, 0.5, 0.5)]), 1)
    assert found.average == {"s0": 1.75, "s1": 1.75, "s2": 2.5}


def test_all_tied_is_no_test():
    found = ranks_of(of_rows([(1.0, 1.0, 1.0)] * 3), 1)
    assert (found.friedman, found.p, found.iman_davenport, found.p_f) == (None, None, None, None)
    assert found.groups == (("s0", "s1", "s2"),)


def test_what_cannot_be_ranked():
    with pytest.raises(ConfigError, match="found 2 systems and 2 sets"):
        ranks_of(of_rows([(1, 2), (1, 2)]), 1)
    with pytest.raises(ConfigError, match="found 3 systems and 1 set"):
        ranks_of(of_rows([(1, 2, 3)]), 1)
    with pytest.raises(ConfigError, match="found 0 systems and 0 sets"):
        ranks_of({}, 1)
    with pytest.raises(ConfigError, match="alpha"):
        ranks_of(of_rows([(1, 2, 3)] * 2), 1, alpha=5)
    with pytest.raises(DataError, match="set1: s1 has no value"):
        ranks_of(of_rows([(1, 2, 3), (1, float("nan"), 2)]), 1)
    with pytest.raises(DataError, match="y: 'c' is not a system of every set"):
        ranks_of({"x": {"a": 1, "b": 2, "c": 3}, "y": {"a": 1, "b": 2, "d": 3}}, 1)
