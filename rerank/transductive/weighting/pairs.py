"""Importance weights of training pairs for one list, and the settings that they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError
from rerank.core.settings import Settings, setting
from rerank.core.types import Floats
from rerank.models.training import statistics_of
from rerank.transductive.space import Points
from rerank.transductive.weighting.differences import ListDifferences, PairGaussians, TrainingPairs
from rerank.transductive.weighting.kliep import CENTRES, FOLDS, WIDTHS, fit_ratio, typical_distance

Space = tuple[Points, Points]  # the items of the labelled lists, and those of the list
_FIGURES = (
    *("differences", "width", "held_out", "likelihood", "active", "violation"),
    *statistics_of(np.ones(1)),
    "train_accuracy",
)


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
        "costs of pairs in the rounds of RankBoost (AdaCost), or the initial distribution over pairs",
    )
    pairs: Literal["all", "oracle"] = setting(
        "all",
        "differences of the list: of all pairs, or (oracle: uses test labels) of those with different labels",
    )
    directions: Literal["both", "better"] = setting(
        "both", "a labelled pair as differences in both directions, or of the better item minus the worse one"
    )
    centres: int = setting(CENTRES, "differences of the list that Gaussians are centred at, at most", ge=1)
    widths: tuple[float, ...] = setting(
        WIDTHS,
        "widths of Gaussians to choose from, with commas, in units of the median distance of differences",
        parse=lambda value: tuple(value.split(",")) if isinstance(value, str) else value,
    )
    folds: int = setting(FOLDS, "parts of the differences; each is left out once to choose the width", ge=2)
    samples: Literal["all"] | int = setting(
        5000, "differences of the list in the likelihood, at most; more are drawn from"
    )

    def check_values(self) -> None:
        super().check_values()
        if not self.widths or min(self.widths) <= 0:
            raise ConfigError(f"widths: found {list(self.widths)}, expected numbers above 0")
        if self.samples != "all" and self.samples < 2:
            raise ConfigError(f"samples: found {self.samples}, expected all or a number of at least 2")

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
        both = self.directions == "both"
        differences = ListDifferences.of(
            [own for _, own in spaces], labels if self.pairs == "oracle" else None, both
        )
        reason = _unfit(differences)
        if reason:
            return Weighed.unknown(reason)
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
        figures = {
            "differences": float(len(differences)),
            "width": ratio.width,
            "held_out": ratio.best_held_out,
            "likelihood": ratio.log_likelihood,
            "active": float(ratio.active),
            "violation": ratio.violation,
            **statistics_of(weights),
            "train_accuracy": np.nan,
        }
        return Weighed(weights, "", figures)


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


def _unfit(differences: ListDifferences) -> str:
    """Return why differences allow no weights, "" if they do."""
    if len(differences) == 0:
        return "no pair of different labels"
    if not np.isfinite(differences.products).all() or not np.isfinite(differences.squared).all():
        return "distances overflow"
    return "" if differences.norms.any() else "equal items"
