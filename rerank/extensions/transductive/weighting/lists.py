"""KLIEP's weights of training lists: one for each, large where the lists to be ranked are denser.

Samples are whole lists, which a kernel K on lists compares, with K = 1 of a list with itself. With the basis
``gaussian`` the ratio of densities is w(x) = sum over centres c of b_c exp(-(2 - 2 K(x, c)) / 2s^2), as
2 - 2 K is the squared distance in the space of the kernel. With the basis ``kernel`` it is w(x) = sum of
b_c K(x, c), without a width. The thesis does not say which it uses. The weights have mean 1 over the training
lists.

Lists of equal items have the similarity 0 to every list, also to themselves, by all kernels but
bhattacharyya. As training lists they are as far from every centre as a list can be, and with the basis
``kernel`` their weight is 0. Among the lists to be ranked they are left out.

References
----------
Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009. Section 8.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError
from rerank.core.settings import Settings, setting
from rerank.core.types import ArrayLike, Floats
from rerank.data.arrays import real_array
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.weighting.kliep import (
    CENTRES,
    FOLDS,
    WIDTHS,
    DistanceTable,
    Ratio,
    fit_mixture,
    fit_ratio,
    typical_distance,
)
from rerank.models.training import statistics_of
from rerank.similarity.base import KERNELS, Kernel, note_tied
from rerank.similarity.gram_matrices import filled

_SAME = 1e-12  # squared distances below it are rounding errors of a similarity of 1
_ROUNDING = 1e-6  # of the mean of the weights, which is 1


@dataclass(frozen=True, eq=False)
class WeighedLists:
    """Weights of training lists.

    Attributes
    ----------
    weights
        float64 (n_lists), of mean 1, not negative.
    figures
        By name: ``width`` of the Gaussians and the mean log w of lists that were left out by it, ``held_out``
        (NaN of the basis kernel); the mean log w of all lists to be ranked, ``likelihood``; ``centres``, and
        those that are used, ``active``; the ``violation`` of the optimality conditions; the statistics of
        the weights (``statistics_of``); ``equal_items`` and ``equal_items_unlabelled``, training lists and
        lists to be ranked of equal items; ``unlike``, lists to be ranked that are left out because no
        training list has a similarity to them (basis kernel).
    """

    weights: Floats
    figures: dict[str, float]


def _split(value: object) -> object:
    """Widths of one text, or of one number."""
    if isinstance(value, str):
        return tuple(value.split(","))
    return (value,) if isinstance(value, int | float) and not isinstance(value, bool) else value


class ListWeighting(Settings):
    """Settings of the importance weights of lists."""

    kernel: str = setting("list", "kernel on lists, see 'rerank list kernels'")
    components: int | None = setting(
        None, "principal axes of each list, for kernels that compare axes; none = their default", ge=1
    )
    ridge: float | None = setting(
        None, "kernel=bhattacharyya: ridge added to the variance of each feature; none = its default", gt=0
    )
    basis: Literal["gaussian", "kernel"] = setting(
        "gaussian", "basis functions of the weights: Gaussians of 2 - 2 K, or K itself (kernel)"
    )
    centres: int = setting(CENTRES, "maximum number of centres, drawn from the lists to be ranked", ge=1)
    widths: tuple[float, ...] = setting(
        WIDTHS,
        "basis=gaussian: candidate widths, separated by commas, in units of the median distance "
        "of the lists to be ranked",
        parse=_split,
    )
    folds: int = setting(
        FOLDS, "basis=gaussian: number of cross-validation folds that select the width", ge=2
    )

    def check_values(self) -> None:
        super().check_values()
        self.kernel_on_lists  # noqa: B018 (it checks the kernel's own settings)
        if not self.widths or min(self.widths) <= 0:
            raise ConfigError(f"widths: found {list(self.widths)}, expected numbers above 0")
        given = sorted({"widths", "folds"} & self.settings_given) if self.basis == "kernel" else []
        if given and getattr(self, given[0]) != type(self).settings[given[0]].default:
            raise ConfigError(f"{given[0]} is for basis=gaussian: found basis=kernel, which has no width")

    @property
    def kernel_on_lists(self) -> Kernel:
        """The kernel with its settings."""
        own: dict[str, Any] = {"components": self.components, "ridge": self.ridge}
        given = {name: value for name, value in own.items() if value is not None}
        return KERNELS.get(self.kernel).checked(given, f"kernel {self.kernel}")

    def weigh_lists(self, training: CandidateLists, unlabelled: CandidateLists, seed: int) -> WeighedLists:
        """Return a weight for each training list.

        Parameters
        ----------
        training
            Training lists, in comparable units; labels are not read.
        unlabelled
            The lists to be ranked, with the same columns.
        seed
            Draws the centres and divides the lists into parts.

        Raises
        ------
        DataError
            If lists cannot be compared; if all lists to be ranked are equal, so that no width is right; or if
            no training list has a similarity to them, so that no weight is known.
        """
        kernel = self.kernel_on_lists
        own, _ = kernel.prepare(unlabelled)
        varied = np.setdiff1d(np.arange(unlabelled.n_lists), own.empty)
        if len(varied) == 0:
            raise DataError(
                f"{unlabelled.source}: every list has equal items; kernel {kernel.name} finds no axis"
            )
        n = min(self.centres, len(varied))
        places = np.sort(np.random.default_rng(seed).choice(varied, n, replace=False))
        count = training.n_lists + unlabelled.n_lists
        memory.require(
            32 * count * n, f"similarities of {count:,} lists to {n:,} centres", "fewer centres need less"
        )
        centres = unlabelled.subset(places)
        mine, to = kernel.prepare(training, centres)
        note_tied(mine, training.source)
        similar = filled(mine, to)
        if not similar.any():
            text = f"no list of {training.source} has a similarity to these lists, so that none counts more"
            raise DataError(f"{unlabelled.source}: {text}; features that vary must be the same")
        tests = filled(*kernel.prepare(unlabelled.subset(varied), centres))
        if self.basis == "kernel":
            weights, figures = _by_kernel(similar, tests)
        else:
            weights, figures = self._by_gaussians(similar, tests, seed, unlabelled.source)
        empty = {"equal_items": len(mine.empty), "equal_items_unlabelled": len(own.empty)}
        counts = {"centres": n, **empty}
        figures |= statistics_of(weights) | {name: float(value) for name, value in counts.items()}
        return WeighedLists(weights, figures)

    def _by_gaussians(
        self, similar: Floats, tests: Floats, seed: int, source: str
    ) -> tuple[Floats, dict[str, float]]:
        """The weights by Gaussians of distances, with figures."""
        training, test = (_squared(some) for some in (similar, tests))
        if not test.any():
            what = "there is one list" if len(test) == 1 else f"all {len(test)} lists are equal"
            advice = "no width of Gaussians is right; basis=kernel needs no width"
            raise DataError(f"{source}: {what}, so {advice}")
        try:
            chosen: dict[str, Any] = {"widths": self.widths, "folds": self.folds, "seed": seed}
            found = weights_from_distances(training, test, **chosen, apart=True)
        except (ConfigError, DataError) as error:
            raise type(error)(f"{source}: {error}") from None
        return found.weights, found.ratio.figures() | {"unlike": 0.0}


def _squared(similarities: Floats) -> Floats:
    """Squared distances in the space of a kernel."""
    found = 2.0 - 2.0 * similarities
    found[found < _SAME] = 0.0
    return found


def _by_kernel(similar: Floats, tests: Floats) -> tuple[Floats, dict[str, float]]:
    """The weights by the similarities themselves, (n, n_centres) and (n_tests, n_centres), with figures."""
    means = similar.mean(axis=0)
    used = np.flatnonzero(means > 0.0)
    covered = tests[:, used].any(axis=1)
    densities = np.ascontiguousarray(tests[np.ix_(covered, used)].T) / means[used, None]
    found = fit_mixture(densities)
    weights = similar[:, used] @ (found.proportions / means[used])
    return weights, {
        "width": np.nan,
        "held_out": np.nan,
        "likelihood": float(np.log(found.proportions @ densities).mean()),
        "active": float(np.count_nonzero(found.proportions)),
        "violation": found.violation,
        "unlike": float(np.count_nonzero(~covered)),
    }


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
    >>> from rerank.extensions.transductive.weighting.lists import weights_from_distances
    >>> found = weights_from_distances([[9.0, 4.0], [0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]])
    >>> [round(float(w), 2) for w in found.weights]
    [0.0, 1.5, 1.5]
    """
    form = "(n, n_centres)", "that are negative or not finite", 0.0
    tables = [_matrix(training, "training distances", *form), _matrix(test, "test distances", *form)]
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
    >>> from rerank.extensions.transductive.weighting.lists import importance_weights
    >>> rng = np.random.default_rng(0)
    >>> training, test = rng.normal(0, 1, (500, 1)), rng.normal(0.5, 0.5, (200, 1))
    >>> weights = importance_weights(training, test).weights
    >>> round(float(weights.mean()), 6), bool(weights[training[:, 0] > 0].mean() > 1)
    (1.0, True)
    """
    form = "(n, d)", "with values that are not finite"
    x, t = _matrix(training, "training samples", *form), _matrix(test, "test samples", *form)
    x, t = np.ascontiguousarray(x), np.ascontiguousarray(t)
    if x.shape[1] != t.shape[1]:
        raise DataError(f"KLIEP: found vectors of {x.shape[1]} and {t.shape[1]} numbers, expected one length")
    if centres < 1:
        raise ConfigError(f"KLIEP: found {centres} centres, expected 1 or more")
    rng = np.random.default_rng(seed)
    around = t[rng.choice(len(t), min(centres, len(t)), replace=False)]
    memory.require(24 * len(x) * len(around), f"distances of {len(x):,} samples to {len(around)} centres")
    from scipy.spatial.distance import cdist

    with np.errstate(over="ignore"):
        tables = [cdist(some, around, "sqeuclidean") for some in (x, t)]
    return weights_from_distances(*tables, widths=widths, folds=folds, seed=seed)


def _matrix(values: ArrayLike, what: str, expected: str, fault: str, least: float = -np.inf) -> Floats:
    """The values as a checked matrix; the rest is for the error."""
    found = real_array(values, f"KLIEP: {what}").astype(np.float64, copy=False)
    if found.ndim != 2 or 0 in found.shape:
        raise DataError(f"KLIEP: found {what} of shape {found.shape}, expected {expected}")
    if not (np.isfinite(found) & (found >= least)).all():
        raise DataError(f"KLIEP: found {what} {fault}")
    return found
