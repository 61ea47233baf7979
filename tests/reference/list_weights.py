"""KLIEP on lists by its definition: kernels of one pair of lists at a time, the EM algorithm."""

import math

import numpy as np
from reference import list_kernels
from reference.kliep import em


def similarity(kernel, X, Y, m=5, ridge=0.01):
    """K of two lists' items."""
    if kernel == "bhattacharyya":
        return list_kernels.bhattacharyya(X, Y, ridge)
    if kernel == "list":
        return list_kernels.list_kernel(X, Y, m)
    return list_kernels.angles(X, Y, m)


def table(kernel, some, others):
    return np.array([[similarity(kernel, X, Y) for Y in others] for X in some])


def weights(phi, tests):
    """The weights of training lists and the mean log w of test lists, from functions (n, n_centres) of both.

    Functions that are 0 at all training lists, and test lists at which all others are 0, are left out.
    """
    phi, tests = (np.array(some, dtype=float) for some in (phi, tests))
    used = phi.mean(axis=0) > 0
    means = phi[:, used].mean(axis=0)
    phi, tests = phi[:, used] / means, tests[:, used] / means
    tests = tests[tests.any(axis=1)]
    y = em(tests)
    return phi @ y, float(np.log(tests @ y).mean())


def gaussians(similarities, width):
    return np.exp(-(2 - 2 * np.array(similarities)) / (2 * width**2))


def held_out(train, tests, width, parts):
    """The mean log w of test lists, all of them centres, under fits to and centred at the other parts."""
    phi, psi = gaussians(train, width), gaussians(tests, width)
    means = phi.mean(axis=0)
    total = 0.0
    for part in parts:
        others = [k for other in parts if other is not part for k in other]
        kept = [c for c in range(len(means)) if c not in part]
        y = em(psi[np.ix_(others, kept)] / means[kept])
        total += sum(math.log(float(psi[k, kept] / means[kept] @ y)) for k in part)
    return total / len(tests)
