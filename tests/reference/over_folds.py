"""Values, intervals and tests over folds and seeds, one resampled list after the other."""

import numpy as np


def draws(seed, fold, n, samples, most):
    """Numbers below ``most`` for each list: the lists drawn of a fold, or coins."""
    if fold:
        seed = np.random.SeedSequence(seed, spawn_key=(fold,))
    return np.random.Generator(np.random.PCG64(seed)).integers(most, size=(samples, n), dtype=np.int32)


def mean(values):
    return sum(values) / len(values)


def value(judge_of, statistics, lists_of):
    """The mean over folds of the mean over seeds of the metric of some lists; of folds with lists.

    ``judge_of[k]`` judges fold k, ``statistics[k][s]`` are those of a seed, ``lists_of[k]`` lists of it.
    """
    by_fold = []
    for judge, seeds, which in zip(judge_of, statistics, lists_of, strict=True):
        if len(which):
            sums = [sum(per_list[t] for t in which) for per_list in seeds]
            by_fold.append(mean([float(judge.score_from_sums(total)) for total in sums]))
    return mean(by_fold)


def sampled(judge_of, statistics, judged, samples, seed):
    """The value of every sample of the judged lists of each fold."""
    drawn = [draws(seed, k, len(which), samples, max(1, len(which))) for k, which in enumerate(judged)]
    found = []
    for b in range(samples):
        lists_of = [[which[t] for t in fold[b]] for which, fold in zip(judged, drawn, strict=True)]
        found.append(value(judge_of, statistics, lists_of))
    return found


def shift_p(a, b, difference):
    """Two-sided p of the paired bootstrap from values of both rankings over the same samples."""
    d = [x - y for x, y in zip(a, b, strict=True)]
    extreme = sum(abs(x - mean(d)) >= abs(difference) * (1 - 1e-12) for x in d)
    return (extreme + 1) / (len(d) + 1)


def randomisation_p(judge_of, a, b, judged, samples, seed):
    """Two-sided p if each list's two rankings, averaged over seeds, are swapped by a coin."""
    a, b = ([[mean(seeds)] for seeds in statistics] for statistics in (a, b))
    coins = [draws(seed, k, len(which), samples, 2) for k, which in enumerate(judged)]
    observed = value(judge_of, a, judged) - value(judge_of, b, judged)
    extreme = 0
    for s in range(samples):
        first, second = [], []
        for (in_a,), (in_b,), which, coin in zip(a, b, judged, coins, strict=True):
            one, other = in_a.copy(), in_b.copy()
            for t, swap in zip(which, coin[s], strict=True):
                if swap:
                    one[t], other[t] = in_b[t], in_a[t]
            first.append([one])
            second.append([other])
        difference = value(judge_of, first, judged) - value(judge_of, second, judged)
        extreme += abs(difference) >= abs(observed) * (1 - 1e-12)
    return (extreme + 1) / (samples + 1)
