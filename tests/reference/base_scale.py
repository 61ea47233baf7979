"""The scale of the base score that balances variances within lists, straight from the definition."""

import numpy as np


def balancing(lists, column):
    """Square root of the other features' variance within lists over the column's."""
    X = lists.features.to_dense().astype(np.float64)
    total = np.zeros(X.shape[1])
    for i in range(lists.n_lists):
        part = X[lists.offsets[i] : lists.offsets[i + 1]]
        total += ((part - part.mean(axis=0)) ** 2).sum(axis=0)
    return float(np.sqrt((total.sum() - total[column]) / total[column]))
