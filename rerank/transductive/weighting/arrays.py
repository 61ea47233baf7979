"""KLIEP's weights of samples that are given as arrays.

Differences of items are only one kind of sample: whole lists can be weighted by distances of a list kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError
from rerank.core.types import ArrayLike, Floats
from rerank.data.arrays import real_array
from rerank.transductive.weighting.kliep import (
    CENTRES,
    FOLDS,
    WIDTHS,
    DistanceTable,
    Ratio,
    fit_ratio,
    typical_distance,
)

_ROUNDING = 1e-6  # of the mean of the weights, which is 1


@dataclass(frozen=True, eq=False)
class ImportanceWeights:
    """Weights of training samples.

    Attributes
    ----------
    weights
        float64 (n), of mean 1.
    ratio
        The ratio of densities that they are the values of.
    """

    weights: Floats
    ratio: Ratio


def weights_from_distances(
    training: ArrayLike,
    test: ArrayLike,
    *,
    widths: Sequence[float] = WIDTHS,
    folds: int = FOLDS,
    seed: int = 0,
    apart: bool = False,
) -> ImportanceWeights:
    """Return KLIEP's weights of training samples from squared distances to centres.

    Of a kernel k of items or lists they are k(x, x) + k(c, c) - 2 k(x, c).

    Parameters
    ----------
    training, test
        Squared distances of training and test samples to the centres, (n, n_centres) and (n_test, n_centres).
        The centres are usually test samples, up to 100 of them.
    widths
        Widths of the Gaussians to choose from, in units of the median distance of test samples from centres.
    folds
        Parts of the test samples, each of which is left out once.
    seed
        Divides the samples into parts.
    apart
        Leave out the centres at samples that are left out, see ``fit_ratio``.

    Raises
    ------
    DataError
        If distances are not finite or negative, shapes do not fit, every test sample is at every centre, or
        the width is so small that Gaussians are lost in rounding.
    ConfigError
        If there is no width, one is not above 0, or there are fewer than 2 folds.

    Examples
    --------
    >>> from rerank.transductive.weighting.arrays import weights_from_distances
    >>> found = weights_from_distances([[9.0, 4.0], [0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]])
    >>> [round(float(w), 2) for w in found.weights]
    [0.0, 1.5, 1.5]
    """
    tables = [_table(values, name) for values, name in ((training, "training"), (test, "test"))]
    if tables[0].shape[1] != tables[1].shape[1]:
        found = " and ".join(str(table.shape[1]) for table in tables)
        raise DataError(f"KLIEP: found distances to {found} centres, expected the same centres")
    if not len(widths) or not all(0 < width < np.inf for width in widths):
        raise ConfigError(f"KLIEP: found widths {list(widths)}, expected numbers above 0")
    if folds < 2:
        raise ConfigError(f"KLIEP: found {folds} folds, expected 2 or more")
    unit = typical_distance(tables[1])
    if unit == 0.0:
        raise DataError("KLIEP: every test sample is at every centre, so that no width is right")
    samples = DistanceTable(tables[0])
    rng = np.random.default_rng(seed)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        tried = unit * np.array(widths, dtype=np.float64)
        ratio = fit_ratio(samples, tables[1], tried, folds, rng, apart=apart)
        weights = samples.weights(ratio.width, ratio.log_factors)
        exact = abs(weights.mean() - 1.0) < _ROUNDING
    if not exact:
        found = f"found the width {ratio.width / unit:g}, at which Gaussians are lost in rounding"
        raise DataError(f"KLIEP: {found}; expected larger widths")
    return ImportanceWeights(weights, ratio)


def importance_weights(
    training: ArrayLike,
    test: ArrayLike,
    *,
    centres: int = CENTRES,
    widths: Sequence[float] = WIDTHS,
    folds: int = FOLDS,
    seed: int = 0,
) -> ImportanceWeights:
    """Return KLIEP's weights of training samples: large where test samples are denser than training samples.

    Parameters
    ----------
    training, test
        Vectors, such as differences of the features of two items, (n, d) and (n_test, d).
    centres
        So many test samples, drawn without replacement, are centres of Gaussians.
    widths, folds, seed
        See ``weights_from_distances``.

    Raises
    ------
    DataError
        If vectors are not finite, shapes do not fit, or all test vectors are equal.
    ConfigError
        If a setting is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from rerank.transductive.weighting.arrays import importance_weights
    >>> rng = np.random.default_rng(0)
    >>> training, test = rng.normal(0, 1, (500, 1)), rng.normal(0.5, 0.5, (200, 1))
    >>> weights = importance_weights(training, test).weights
    >>> round(float(weights.mean()), 6), bool(weights[training[:, 0] > 0].mean() > 1)
    (1.0, True)
    """
    x, t = (_vectors(values, name) for values, name in ((training, "training"), (test, "test")))
    if x.shape[1] != t.shape[1]:
        raise DataError(f"KLIEP: found vectors of {x.shape[1]} and {t.shape[1]} numbers, expected one length")
    if centres < 1:
        raise ConfigError(f"KLIEP: found {centres} centres, expected 1 or more")
    rng = np.random.default_rng(seed)
    around = t[rng.choice(len(t), min(centres, len(t)), replace=False)]
    memory.require(24 * len(x) * len(around), f"distances of {len(x):,} samples to {len(around)} centres")
    return weights_from_distances(
        _squared_distances(x, around), _squared_distances(t, around), widths=widths, folds=folds, seed=seed
    )


def _squared_distances(x: Floats, y: Floats) -> Floats:
    from scipy.spatial.distance import cdist

    with np.errstate(over="ignore"):
        found: Floats = cdist(x, y, "sqeuclidean")
    return found


def _vectors(values: ArrayLike, name: str) -> Floats:
    found = real_array(values, f"KLIEP: {name} samples").astype(np.float64, copy=False)
    if found.ndim != 2 or len(found) == 0 or found.shape[1] == 0:
        raise DataError(f"KLIEP: found {name} samples of shape {found.shape}, expected (n, d)")
    if not np.isfinite(found).all():
        raise DataError(f"KLIEP: found {name} samples with values that are not finite")
    return np.ascontiguousarray(found)


def _table(values: ArrayLike, name: str) -> Floats:
    found = real_array(values, f"KLIEP: {name} distances").astype(np.float64, copy=False)
    if found.ndim != 2 or 0 in found.shape:
        raise DataError(f"KLIEP: found {name} distances of shape {found.shape}, expected (n, n_centres)")
    if not (np.isfinite(found) & (found >= 0)).all():
        raise DataError(f"KLIEP: found {name} distances that are negative or not finite")
    return found
