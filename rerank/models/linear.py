"""Models that score by w·x: the linear model of most learners, thresholds between grades, voted weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np
from msgspec import Struct

from rerank.core.errors import DataError
from rerank.core.types import AnyArray, Floats
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.models.base import MODELS, Arrays, Model, heaviest_first, multiplied


class RawWeights(Struct, frozen=True, eq=False):
    """Weights of raw features: score(x) = weights · x + constant, after missing values are filled.

    ``names`` are the model's columns, ``weights`` float64 (n_features). The constant is the same for all
    items, so that it changes no order within a list.
    """

    names: list[str]
    weights: Floats
    constant: float

    def heaviest_first(self) -> list[tuple[str, float]]:
        """Return names and weights, largest magnitude first, without zeros."""
        return heaviest_first(self.names, self.weights)


class Weighted(Model):
    """score(x) = w·x, with ``weights`` float64 (n_features)."""

    def __init__(self, feature_names: list[str], weights: Floats) -> None:
        super().__init__(feature_names)
        if weights.shape != (len(feature_names),):
            raise DataError(f"{weights.size} weights for {len(feature_names)} features")
        if not np.isfinite(weights).all():
            raise DataError("a weight that is not finite")
        self.weights = weights

    def score_aligned(self, lists: CandidateLists) -> Floats:
        return lists.features.scores(self.weights)

    def multiply_weight(self, column: int, factor: float) -> None:
        self.weights = multiplied(self.weights, column, factor)

    def explain(self) -> list[tuple[str, float]]:
        return heaviest_first(self.feature_names, self.weights)

    def arrays(self) -> Arrays:
        return {"weights": self.weights}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"weights": ArrayForm("<f8", (n_features,))}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        return cls(feature_names, arrays["weights"])


class Linear(Weighted):
    """A model whose weights are all that its scores come from, so that it has weights of raw features."""

    def unscaled(self, source: str = "the model") -> RawWeights:
        """Return the weights of the features as they were before scaling, which give the same scores.

        - ``source``: how errors begin.

        Raises ConfigError if features were scaled within lists or by ranks: there are no such weights. Raises
        DataError if a weight overflows.
        """
        if self.scaling is None:
            return RawWeights(self.feature_names, self.weights, 0.0)
        divisors = self.scaling.divisors(source)
        with np.errstate(over="ignore", invalid="ignore"):
            weights = self.weights / divisors
            constant = -float(weights @ self.scaling.values.get("shift", np.zeros(len(weights))))
        if not (np.isfinite(weights).all() and np.isfinite(constant)):
            raise DataError(f"{source}: weights of raw features that are too large")
        return RawWeights(self.feature_names, weights, constant)


@MODELS.register("linear")
class LinearModel(Linear):
    """score(x) = w·x.

    Parameters
    ----------
    feature_names
        The model's columns.
    weights
        w, float64 (n_features).
    """

    kind = "linear"


@MODELS.register("thresholds")
class ThresholdModel(Linear):
    """score(x) = w·x; the grade of x is the number of thresholds at or below its score.

    Parameters
    ----------
    feature_names
        The model's columns.
    weights
        w, float64 (n_features).
    thresholds
        float64 (k - 1), never falling.
    labels
        The label of each grade, from the lowest up, float64 (k).
    """

    kind = "thresholds"

    def __init__(self, feature_names: list[str], weights: Floats, thresholds: Floats, labels: Floats) -> None:
        super().__init__(feature_names, weights)
        if thresholds.ndim != 1 or labels.shape != (len(thresholds) + 1,):
            raise DataError(f"{thresholds.size} thresholds for {labels.size} grades")
        if not np.all(thresholds[1:] >= thresholds[:-1]) or np.isnan(thresholds).any():
            raise DataError("the thresholds are not in ascending order")
        if not np.isfinite(labels).all():
            raise DataError("a label that is not finite")
        self.thresholds = thresholds
        self.labels = labels

    def grades(self, lists: CandidateLists, *, strict: bool = False) -> Floats:
        """Return the predicted label of each item, float64 (n_items), in the order of the caller's rows.

        Order, columns and scaling are as for ``score``. A keep margin changes choices, not grades.
        """
        scores = self.raw_score(lists, strict=strict)
        return self.labels[np.searchsorted(self.thresholds, scores, side="right")]

    def arrays(self) -> Arrays:
        return {**super().arrays(), "thresholds": self.thresholds, "labels": self.labels}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        any_length = ArrayForm("<f8", (None,))
        return {**super().members(n_features), "thresholds": any_length, "labels": any_length}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        return cls(feature_names, arrays["weights"], arrays["thresholds"], arrays["labels"])

    def explain(self) -> list[tuple[str, float]]:
        """Return the weights, largest magnitude first, then the thresholds from the lowest up."""
        names = [f"[threshold of {label:g}]" for label in self.labels[1:].tolist()]
        return super().explain() + list(zip(names, self.thresholds.tolist(), strict=True))


_LARGEST = float(np.finfo(np.float64).max)


class Votes:
    """Votes of weight vectors for the candidates of one set, counted vector by vector.

    Every vector votes for the candidate that it ranks first in each list (on ties the first), with as
    many votes as visits that it survived.
    """

    def __init__(self, lists: CandidateLists) -> None:
        self.lists = lists
        self.sizes = lists.lengths
        self.votes = np.zeros(lists.n_items)
        self.mean = np.zeros(lists.n_items)

    def add(self, scores: Floats, survived: float) -> None:
        """Count the votes of one vector by its scores, float64 (n_items)."""
        with np.errstate(over="ignore", invalid="ignore"):  # scores() reports what is not finite
            self.mean += survived * scores
        scores = np.where(np.isnan(scores), -np.inf, scores)
        begin = self.lists.offsets[:-1]
        top = scores == np.repeat(np.maximum.reduceat(scores, begin), self.sizes)
        first = np.minimum.reduceat(np.where(top, np.arange(len(scores)), len(scores)), begin)
        self.votes[first] += survived

    def copy(self) -> Votes:
        """Return an independent copy."""
        other = Votes(self.lists)
        other.votes, other.mean = self.votes.copy(), self.mean.copy()
        return other

    def scores(self) -> Floats:
        """Return votes plus a fraction below 1 by the rank of the mean score, float64 (n_items).

        If the mean score of an item is not finite, neither is the score returned.
        """
        order = np.lexsort((-self.mean, self.lists.list_index))
        place = np.empty(len(order))
        place[order] = np.arange(len(order)) - np.repeat(self.lists.offsets[:-1], self.sizes)
        scores = self.votes + (1.0 - (place + 1.0) / (np.repeat(self.sizes, self.sizes) + 1.0))
        return np.where(np.isfinite(self.mean), scores, self.mean)


@MODELS.register("voted")
class VotedModel(Model):
    """score(x) = votes for x in its list + a tie-break in (0, 1) by the mean of the weights.

    The score of an item depends on the other items of its list.

    Parameters
    ----------
    feature_names
        The model's columns.
    vectors
        Every weight vector of the training except the zero it began with, float64 (n_vectors, n_features).
    survived
        The number of visits that left each vector unchanged, its own update included, float64 (n_vectors).

    References
    ----------
    Freund, Schapire: Large margin classification using the perceptron algorithm. Machine Learning, 1999.
    Collins, Duffy: New ranking algorithms for parsing and tagging. ACL 2002.
    """

    kind = "voted"
    listwise = True

    def __init__(self, feature_names: list[str], vectors: Floats, survived: Floats) -> None:
        super().__init__(feature_names)
        if vectors.ndim != 2 or vectors.shape != (len(survived), len(feature_names)):
            raise DataError(
                f"voted model: vectors {vectors.shape} do not fit {len(survived)} counts and "
                f"{len(feature_names)} features"
            )
        if not np.isfinite(vectors).all() or not np.all((survived >= 0) & (survived < np.inf)):
            raise DataError("voted model: a weight or count that is not finite")
        if np.abs(vectors).max(initial=0.0) > _LARGEST / max(float(survived.sum(dtype=np.longdouble)), 1.0):
            raise DataError("voted model: weights and counts whose sums are not finite")
        self.vectors = vectors
        self.survived = survived

    def score_aligned(self, lists: CandidateLists) -> Floats:
        votes = Votes(lists)
        for weights, survived in zip(self.vectors, self.survived.tolist(), strict=True):
            votes.add(lists.features.scores(weights), survived)
        return votes.scores()

    def multiply_weight(self, column: int, factor: float) -> None:
        vectors = multiplied(self.vectors, column, factor)
        self.vectors = VotedModel(self.feature_names, vectors, self.survived).vectors  # checked again

    def arrays(self) -> Arrays:
        return {"vectors": self.vectors, "survived": self.survived}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"vectors": ArrayForm("<f8", (None, n_features)), "survived": ArrayForm("<f8", (None,))}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        return cls(feature_names, arrays["vectors"], arrays["survived"])

    def explain(self) -> list[tuple[str, float]]:
        """Return the mean of the weights, whose ranking approximates the votes."""
        mean = self.survived @ self.vectors / max(float(self.survived.sum()), 1.0)
        return heaviest_first(self.feature_names, mean)
