"""The ranking at which loss minus margin is largest, by enumeration and by scipy."""

import itertools

import numpy as np
from scipy.optimize import linear_sum_assignment


def profits(scores, gains, discounts, f):
    """Return the profit of item i at position p; discounts and f are divided by ideal DCG and norm."""
    return np.outer(scores, f[: len(scores)]) - np.outer(gains, discounts[: len(scores)])


def total(profit, position_of):
    """Return the sum of profits; positions must be a permutation."""
    assert sorted(position_of.tolist()) == list(range(len(profit)))
    return profit[np.arange(len(profit)), position_of].sum()


def largest_by_enumeration(profit):
    """Return the largest total of all orders."""
    rows = np.arange(len(profit))
    return max(profit[rows, list(order)].sum() for order in itertools.permutations(rows.tolist()))


def largest_by_scipy(profit):
    """Return the largest total."""
    rows, columns = linear_sum_assignment(profit, maximize=True)
    return profit[rows, columns].sum()
