"""Importance weights of training pairs for one list, and the settings that they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError
from rerank.core.settings import Settings, setting
from rerank.core.types import Floats, Index, Mask
from rerank.data.pairs import Pairs
from rerank.extensions.transductive.native import _differences
from rerank.extensions.transductive.space import Points, distances_of
from rerank.extensions.transductive.weighting.kliep import CENTRES, FOLDS, WIDTHS, fit_ratio, typical_distance
from rerank.models.training import statistics_of

Space = tuple[Points, Points]  # the items of the labelled lists, and those of the list
_FIGURES = (
    *("differences", "width", "held_out", "likelihood", "active", "violation"),
    *statistics_of(np.ones(1)),
    "train_accuracy",
)
_NARROW = 150.0  # exponents of factors within it neither overflow nor hide anything that vanishes
_LEAST = 1e-100  # a sum of their products; what has vanished is 1e-170 of it at most


@dataclass(frozen=True, eq=False)
class Weighed:
    """Weights of training pairs for one list.

    Attributes
    ----------
    weights
        float64 (n_pairs) in the order of ``Pairs.explicit``, of mean 1; None = the list allows none.
    reason
        Why not.
    figures
        What KLIEP found, by name: the number of differences of the list; the width; the mean log w of those
        left out and of all; centres that are used; the violation of the optimality conditions; the statistics
        of the weights. The training accuracy has a place among them.
    """

    weights: Floats | None
    reason: str
    figures: dict[str, float]

    @classmethod
    def unknown(cls, reason: str) -> Weighed:
        """Return what a list without weights has."""
        return cls(None, reason, dict.fromkeys(_FIGURES, np.nan))


class PairWeights(Settings):
    """Settings of the importance weights of pairs.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, chapter 6.
    """

    use: Literal["cost", "initial"] = setting(
        "cost",
        "use of the weights: costs of pairs in the rounds of RankBoost (AdaCost), or the initial "
        "distribution over pairs",
    )
    pairs: Literal["all", "oracle"] = setting(
        "all",
        "differences of the list: of all pairs, or (oracle: uses test labels) of those with different labels",
    )
    directions: Literal["both", "better"] = setting(
        "both", "a labelled pair as differences in both directions, or of the better item minus the worse one"
    )
    centres: int = setting(CENTRES, "maximum number of centres, drawn from the differences of the list", ge=1)
    widths: tuple[float, ...] = setting(
        WIDTHS,
        "candidate widths of the Gaussians, separated by commas, in units of the median distance "
        "of differences",
        parse=lambda value: tuple(value.split(",")) if isinstance(value, str) else value,
    )
    folds: int = setting(FOLDS, "number of cross-validation folds that select the width", ge=2)
    samples: Literal["all"] | int = setting(
        5000, "maximum number of differences in the likelihood; more are sampled"
    )

    def check_values(self) -> None:
        super().check_values()
        if not self.widths or min(self.widths) <= 0:
            raise ConfigError(f"widths: found {list(self.widths)}, expected numbers above 0")
        if self.samples != "all" and self.samples < 2:
            raise ConfigError(f"samples: found {self.samples}, expected all or a number of at least 2")

    def fit_inputs(self, weights: Floats) -> dict[str, Any]:
        """Return weights of pairs as the argument of ``Basis.fit`` that ``use`` asks for."""
        return {"costs": costs_of(weights)} if self.use == "cost" else {"pair_weights": weights}

    def weigh(
        self,
        training: TrainingPairs,
        spaces: Sequence[Space],
        labels: Floats | None,
        rng: np.random.Generator,
    ) -> Weighed:
        """Return the weights of training pairs for one list.

        Parameters
        ----------
        training
            The pairs in the space of all ``spaces`` together.
        spaces
            The items of the labelled lists and those of the list, in one space or several side by side.
        labels
            Of the list, for oracle pairs.
        rng
            Draws centres and differences.
        """
        n = spaces[0][1].n
        if n == 1:
            return Weighed.unknown("one item")
        if self.pairs == "oracle" and labels is None:
            return Weighed.unknown("no labels")
        memory.require(64 * n * n, f"the differences of {n:,} items")
        both, of = self.directions == "both", labels if self.pairs == "oracle" else None
        differences = ListDifferences.of([own for _, own in spaces], of, both)
        if len(differences) == 0:
            return Weighed.unknown("no pair of different labels")
        if not np.isfinite(differences.products).all() or not np.isfinite(differences.squared).all():
            return Weighed.unknown("distances overflow")
        if not differences.norms.any():
            return Weighed.unknown("equal items")
        centres = differences.drawn(self.centres, rng)
        some = differences if self.samples == "all" else differences.drawn(self.samples, rng)
        squared = some.squared_distances(centres, sum(own.n_features for _, own in spaces))
        unit = typical_distance(squared)
        if unit == 0.0:
            return Weighed.unknown("equal differences")
        items = training.pairs.items
        products = np.sum([centres.of_columns(theirs.products(own)[items]) for theirs, own in spaces], axis=0)
        gaussians = PairGaussians(training, products, centres.norms, both)
        ratio = fit_ratio(gaussians, squared, unit * np.array(self.widths), self.folds, rng)
        weights = gaussians.weights(ratio.width, ratio.log_factors)
        figures = {"differences": float(len(differences)), **ratio.figures(), **statistics_of(weights)}
        return Weighed(weights, "", figures | {"train_accuracy": np.nan})


def costs_of(weights: Floats) -> Floats:
    """Return AdaCost's costs of pairs put right and put wrong, float64 (2, n_pairs).

    They are 0.5 - 0.5 v and 0.5 + 0.5 v with v = the weight divided by the largest one. So a pair of weight 0
    changes its share by half the step, and of pairs with equal weights only those put wrong change it. The
    footnote of the thesis has the two the other way round; its list of cases and Fan, Stolfo, Zhang & Chan
    (1999) have them as here.

    Parameters
    ----------
    weights
        Of pairs, float64 (n_pairs), not negative and not all 0.
    """
    scaled = weights / weights.max()
    return np.array([0.5 - 0.5 * scaled, 0.5 + 0.5 * scaled])


@dataclass(frozen=True, eq=False)
class TrainingPairs:
    """The pairs of labelled lists in one space; what all test lists share.

    Attributes
    ----------
    pairs
        Which items must beat which.
    squared
        The squared distance of the items of each pair in the order of ``Pairs.explicit``, float64 (n_pairs).
    """

    pairs: Pairs
    squared: Floats

    @classmethod
    def of(cls, pairs: Pairs, points: Points) -> TrainingPairs:
        """Return the pairs of the lists whose items are these points."""
        better, worse = pairs.explicit()
        squared = np.empty(len(better))
        bounds = np.concatenate([[0], np.cumsum(pairs.counts)])
        for k in range(pairs.n_lists):
            first, last = pairs.offsets[k], pairs.offsets[k + 1]
            some = slice(bounds[k], bounds[k + 1])
            among = points.take(pairs.items[first:last])
            squared[some] = among.squared_distances(among)[better[some] - first, worse[some] - first]
        return cls(pairs, squared)

    def __add__(self, other: TrainingPairs) -> TrainingPairs:
        """Return the pairs in the space of the coordinates of both."""
        return TrainingPairs(self.pairs, self.squared + other.squared)

    @cached_property
    def first(self) -> Index:
        """The position of the first item of each item's list, int64 (n_items)."""
        found: Index = np.repeat(self.pairs.offsets[:-1], np.diff(self.pairs.offsets))
        return found


class PairGaussians:
    """Gaussians of the differences of training pairs around differences of test items.

    They are products of factors of each item, exp(x·c / s^2), so that only items need exponentials, unless a
    factor could overflow or a sum vanish: then each pair and centre has its own. See ``kliep.Training``.

    Parameters
    ----------
    training
        The pairs.
    products
        Inner products of the items of the pairs with the centres, float64 (n_items, n_centres).
    norms
        Squared lengths of the centres, float64 (n_centres).
    both
        Whether a pair is two samples, better minus worse and worse minus better, and has their mean weight;
        otherwise it is the first one.
    """

    def __init__(self, training: TrainingPairs, products: Floats, norms: Floats, both: bool = False) -> None:
        pairs = training.pairs
        starts = pairs.offsets[:-1]
        low, high = (f.reduceat(products, starts, axis=0) for f in (np.minimum, np.maximum))
        self._products = products - np.repeat(0.5 * (low + high), np.diff(pairs.offsets), axis=0)
        self._reach = 0.5 * (high - low).max(axis=0)
        self._squared, self._norms = training.squared, norms
        self._ranges = (training.first, pairs.start, pairs.stop)
        self._signs = (1.0, -1.0) if both else (1.0,)

    def log_means(self, width: float) -> Floats:
        """See ``kliep.Training``."""
        scale = 1.0 / (width * width)
        out = np.full(len(self._norms), -np.inf)
        near = np.flatnonzero(self._reach * scale <= _NARROW)
        if len(near):
            factors = self._factors(near, scale)
            pair, sums = np.exp(-0.5 * scale * self._squared), np.zeros(len(near))
            for sign in self._signs:
                _differences.add_sums(pair, *self._ranges, *factors[:: int(sign)], sums)
            held = sums >= _LEAST
            out[near[held]] = np.log(sums[held])
        far = np.flatnonzero(out == -np.inf)
        if len(far):
            logs = [np.empty(len(far)) for _ in self._signs]
            products = scale * self._products.take(far, axis=1)
            for sign, own in zip(self._signs, logs, strict=True):
                _differences.log_sums(-0.5 * scale * self._squared, *self._ranges, sign * products, own)
            out[far] = np.logaddexp.reduce(logs)
        return out - 0.5 * scale * self._norms - np.log(len(self._signs) * len(self._squared))

    def weights(self, width: float, log_factors: Floats) -> Floats:
        """See ``kliep.Training``."""
        scale = 1.0 / (width * width)
        some = np.flatnonzero(log_factors > -np.inf)
        logs = log_factors[some] - 0.5 * scale * self._norms[some] - np.log(len(self._signs))
        out = np.zeros(len(self._squared))
        if np.all(scale * self._reach[some] + np.abs(logs) <= _NARROW):
            pair, factors = np.exp(-0.5 * scale * self._squared), self._factors(some, scale)
            for sign in self._signs:
                better, worse = factors[:: int(sign)]
                _differences.add_weighted(pair, *self._ranges, better * np.exp(logs), worse, out)
        else:
            products = scale * self._products.take(some, axis=1)
            for sign in self._signs:
                squared = -0.5 * scale * self._squared
                _differences.add_exponentials(squared, *self._ranges, sign * products, logs, out)
        return out

    def _factors(self, some: Index, scale: float) -> tuple[Floats, Floats]:
        """The factors of better and worse items for some of the centres."""
        better = np.exp(scale * self._products.take(some, axis=1))
        return better, 1.0 / better


@dataclass(frozen=True, eq=False)
class ListDifferences:
    """Differences x_i - x_j of items of one list.

    Attributes
    ----------
    products
        Inner products of the items, float64 (n, n).
    squared
        Their squared distances, float64 (n, n).
    mine, others
        i and j of each difference, int64 (n_differences).
    """

    products: Floats
    squared: Floats
    mine: Index
    others: Index

    @classmethod
    def of(cls, spaces: Sequence[Points], labels: Floats | None = None, both: bool = True) -> ListDifferences:
        """Return the differences of the items of one list, whose coordinates may be in several spaces.

        Parameters
        ----------
        spaces
            The same items in each.
        labels
            If given, only pairs with different ones; otherwise all.
        both
            Both directions of these pairs; otherwise only the better item minus the worse one.
        """
        products = np.sum([points.products(points) for points in spaces], axis=0)
        squared = np.sum([points.squared_distances(points) for points in spaces], axis=0)
        wanted: Mask = ~np.eye(len(products), dtype=bool)
        if labels is not None:
            wanted = labels[:, None] > labels
            if both:
                wanted |= wanted.T
        mine, others = np.nonzero(wanted)
        return cls(products, squared, mine, others)

    def __len__(self) -> int:
        """Return the number of differences."""
        return len(self.mine)

    def drawn(self, most: int, rng: np.random.Generator) -> ListDifferences:
        """Return at most so many of them, drawn without replacement."""
        if len(self) <= most:
            return self
        chosen = rng.choice(len(self), most, replace=False)
        return ListDifferences(self.products, self.squared, self.mine[chosen], self.others[chosen])

    @property
    def norms(self) -> Floats:
        """Their squared lengths, float64 (n_differences)."""
        return self.squared[self.mine, self.others]

    def of_columns(self, columns: Floats) -> Floats:
        """Return columns of i less those of j, float64 (m, n_differences), for ``columns`` (m, n)."""
        return columns.take(self.mine, axis=1) - columns.take(self.others, axis=1)

    def squared_distances(self, centres: ListDifferences, n_features: int) -> Floats:
        """Return the squared distances of all to ``centres``, float64 (n_differences, n_centres)."""
        with_items = centres.of_columns(self.products)
        inner = with_items[self.mine] - with_items[self.others]
        return distances_of(inner, self.norms, centres.norms, n_features)
