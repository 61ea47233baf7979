"""Models that boosting makes: a weight of each feature, and steps at thresholds of features."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from rerank.core.errors import DataError, DataNote
from rerank.core.types import AnyArray, Bytes, Floats, Index, Ints
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features, Sparse, split_missing
from rerank.data.npy import ArrayForm
from rerank.models.base import MODELS, Arrays, heaviest_first
from rerank.models.linear import Weighted
from rerank.native.models import _stumps


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Stumps by feature: each is 1 if the feature is at its threshold or above, else 0.

    Attributes
    ----------
    first : int64 (n_features + 1)
        The bounds of each feature's stumps.
    feature : int32 (n)
        The feature of each stump.
    at : float64 (n)
        Their thresholds, rising within a feature.
    """

    first: Index
    feature: Ints
    at: Floats

    @cached_property
    def native(self) -> Any:
        """The stumps as kernels take them."""
        return _stumps.Stumps(self.first, self.at)

    def __reduce__(self) -> tuple[type[Thresholds], tuple[AnyArray, ...]]:
        return Thresholds, (self.first, self.feature, self.at)  # without ``native``

    def __len__(self) -> int:
        return len(self.at)

    def subset(self, chosen: Index) -> Thresholds:
        """Return the stumps at ``chosen``, int64 and rising, of the same features."""
        feature = self.feature[chosen]
        counts = np.bincount(feature, minlength=len(self.first) - 1)
        return Thresholds(offsets_of(counts), feature, self.at[chosen])

    def scores(self, features: Features, step: Floats) -> Floats:
        """Return the sum of the steps (n) of each item's stumps, less that of an item of zeros (n_items).

        The sum of a feature's steps is added in the order of the features, in every layout.
        """
        reach = np.empty(len(self))
        _stumps.reach(self.native, step, reach)
        if isinstance(features, Sparse) and features.data is None:
            weights = np.zeros(features.n_features)
            some = self.native.one > self.native.zero
            weights[some] = reach[self.native.one[some] - 1]
            return features.scores(weights)
        out = np.empty(features.n_items)
        _stumps.scores(features.matrix(), self.native, self.feature, reach, out)
        return out


@MODELS.register("stumps")
class StumpModel(Weighted):
    """score(x) = w·x + the sum over rounds of step * (h(x_f) - h(0)).

    f is the feature of the round. h(v) is 1 if v >= t, the threshold of the round, else 0; in rounds that are
    raw h(v) = v. So an item whose features are all 0 has the score 0.

    Parameters
    ----------
    feature_names
        The model's columns.
    weights
        w, float64 (n_features).
    feature
        f of each round, int32 (n_rounds).
    threshold, step
        float64 (n_rounds). In raw rounds t is the range of f in training, which no score depends on: the step
        times t is that of f scaled to a range of 1.
    raw
        1 for the rounds that are raw, uint8 (n_rounds); None = no round is.
    missing
        h of a missing value in each round, float64 (n_rounds); NaN = training did not have any, so that one
        counts as 0 and is reported. None = items with a missing value have no score.
    """

    kind = "stumps"

    def __init__(
        self,
        feature_names: list[str],
        weights: Floats,
        feature: Ints,
        threshold: Floats,
        step: Floats,
        raw: Bytes | None = None,
        missing: Floats | None = None,
    ) -> None:
        super().__init__(feature_names, weights)
        if not feature.shape == threshold.shape == step.shape:
            raise DataError(f"{len(feature)} features, {len(threshold)} thresholds and {len(step)} steps")
        for what, array in (("raw rounds", raw), ("missing values", missing)):
            if array is not None and array.shape != step.shape:
                raise DataError(f"{len(array)} marks of {what} and {len(step)} steps")
        if len(feature) and not 0 <= feature.min() <= feature.max() < len(feature_names):
            raise DataError(f"a stump of a feature outside 0..{len(feature_names) - 1}")
        if not (np.isfinite(threshold).all() and np.isfinite(step).all()):
            raise DataError("a threshold or step that is not finite")
        if raw is not None and np.any(raw > 1):
            raise DataError("a round that is neither raw nor not")
        if missing is not None and np.isinf(missing).any():
            raise DataError("an infinite value instead of a missing one")
        self.feature = feature
        self.threshold = threshold
        self.step = step
        self.raw = raw
        self.missing = missing

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return len(self.step)

    def prefix(self, n: int) -> StumpModel:
        """Return the model of the first ``n`` rounds, with the same steps, margin and base weight."""
        if not 0 <= n <= self.n_rounds:
            raise DataError(f"found {n}, expected a number of rounds from 0 to {self.n_rounds}")
        columns = (self.feature, self.threshold, self.step, self.raw, self.missing)
        parts: list[Any] = [None if column is None else column[:n].copy() for column in columns]
        other = type(self)(self.feature_names, self.weights, *parts)
        other.chain, other.keep_margin, other.base_weight = self.chain, self.keep_margin, self.base_weight
        other.training = self.training
        return other

    def followed_by(self, other: StumpModel) -> StumpModel:
        """Return the model of these rounds, then those of ``other``, which has the same features."""

        def joined(name: str, fill: float = 0.0) -> Any:
            a, b = getattr(self, name), getattr(other, name)
            if a is None and b is None:
                return None
            dtype = (b if a is None else a).dtype
            parts = [np.full(m.n_rounds, fill) if x is None else x for m, x in ((self, a), (other, b))]
            return np.concatenate(parts, dtype=dtype, casting="unsafe")

        names, weights = self.feature_names, self.weights
        rounds = (joined("feature"), joined("threshold"), joined("step"))
        return type(self)(names, weights, *rounds, joined("raw"), joined("missing", np.nan))

    def with_missing_as_zero(self) -> StumpModel:
        """Return the same model; a missing value counts as 0 in rounds that know of none from training."""
        missing = self._of_zero()
        if self.missing is not None:
            missing = np.where(np.isnan(self.missing), missing, self.missing)
        return type(self)(
            self.feature_names, self.weights, self.feature, self.threshold, self.step, self.raw, missing
        )

    def added(self, r: int, values: Floats) -> Floats:
        """Return what round ``r`` adds to the score of items whose values of its feature these are."""
        step, raw = self.step[r], self.raw is not None and self.raw[r] == 1
        of_zero = 0.0 if raw else float(self.threshold[r] <= 0)
        out: Floats = step * (values if raw else (values >= self.threshold[r]) - of_zero)
        if self.missing is not None:
            known = not np.isnan(self.missing[r])
            out[np.isnan(values)] = step * (self.missing[r] - of_zero) if known else 0.0
        return out

    @cached_property
    def stumps(self) -> tuple[Thresholds, Floats]:
        """The different stumps, and the sum of the steps of each, added in the order of the rounds."""
        kept = np.arange(self.n_rounds) if self.raw is None else np.flatnonzero(self.raw == 0)
        order = kept[np.lexsort((self.threshold[kept], self.feature[kept]))]
        feature, at = self.feature[order], self.threshold[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (feature[1:] != feature[:-1]) | (at[1:] != at[:-1])
        step = np.zeros(int(new.sum()))
        np.add.at(step, np.cumsum(new) - 1, self.step[order])
        first = offsets_of(np.bincount(feature[new], minlength=len(self.feature_names)))
        return Thresholds(first, feature[new], at[new]), step

    @property
    def linear(self) -> Floats:
        """The weights (n_features) with the steps of raw rounds added, in the order of the rounds."""
        if self.raw is None:
            return self.weights
        weights, raw = self.weights.copy(), self.raw == 1
        np.add.at(weights, self.feature[raw], self.step[raw])
        return weights

    def _of_zero(self) -> Floats:
        """h of the value 0 in each round."""
        out: Floats = (self.threshold <= 0).astype(np.float64)
        if self.raw is not None:
            out[self.raw == 1] = 0.0
        return out

    def of_missing(self) -> Floats:
        """Return what a missing value of each feature adds to a score (n_features), without its weight in w.

        NaN if the model has rounds of the feature, but training had no missing value of it.
        """
        assert self.missing is not None
        out = np.zeros(len(self.feature_names))
        np.add.at(out, self.feature, self.step * (self.missing - self._of_zero()))
        return out

    def score_aligned(self, lists: CandidateLists) -> Floats:
        stumps, step = self.stumps
        features, absent = lists.features, None
        if self.missing is not None and lists.has_missing:
            features, absent = split_missing(features)
        with np.errstate(over="ignore", invalid="ignore"):  # score() reports what is not finite
            scores = features.scores(self.linear) + stumps.scores(features, step)
            return scores if absent is None else scores + absent.scores(self._added(absent, lists.source))

    def _raw(self, lists: CandidateLists, strict: bool) -> Floats:
        if self.missing is not None and not lists.has_missing and not np.isnan(self.missing).all():
            text = f"{lists.source}: no value is missing (NaN), but some were in training"
            warnings.warn(f"{text}; --missing nan reads absent features as such", DataNote, stacklevel=4)
        return super()._raw(lists, strict)

    def _added(self, absent: Sparse, source: str) -> Floats:
        """Return the scores of missing values; warn if training did not have any of a feature."""
        added = self.of_missing()
        unknown = np.isnan(added)
        if unknown.any():
            counts = np.bincount(absent.indices, minlength=len(added)) * unknown
            added[unknown] = 0.0
            if counts.any():
                j = int(np.argmax(counts))
                text = (
                    f"{source}: feature {self.feature_names[j]!r} is missing (NaN) in {counts[j]} items, but "
                )
                warnings.warn(text + "was in none of training: taken as 0 there", DataNote, stacklevel=4)
        added[self.weights != 0] = np.nan  # their product has no value
        return added

    def _cause(self, lists: CandidateLists, item: int) -> str:
        missing = np.isnan(lists.features.take(slice(item, item + 1)).to_dense()[0])
        if self.missing is None and missing.any():
            return f"its feature {self.feature_names[int(np.argmax(missing))]!r} is missing (NaN)"
        return super()._cause(lists, item)

    def arrays(self) -> Arrays:
        extra = {"raw": self.raw, "missing": self.missing}
        return {
            **super().arrays(),
            "feature": self.feature,
            "threshold": self.threshold,
            "step": self.step,
            **{name: array for name, array in extra.items() if array is not None},
        }

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        numbers = ArrayForm("<f8", (None,))
        of_rounds = {"feature": ArrayForm("<i4", (None,)), "threshold": numbers, "step": numbers}
        return {**super().members(n_features), **of_rounds}

    @classmethod
    def optional_members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"raw": ArrayForm("|u1", (None,)), "missing": ArrayForm("<f8", (None,))}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        parts: list[Any] = [arrays[name] for name in ("weights", "feature", "threshold", "step")]
        parts += [arrays.get("raw"), arrays.get("missing")]
        return cls(feature_names, *parts)

    def n_weighted(self) -> int:
        stumps, step = self.stumps
        return len(np.union1d(stumps.feature[step != 0], np.flatnonzero(self.linear)))

    def explain(self) -> list[tuple[str, float]]:
        """Return the weights of features and the steps of stumps, largest magnitude first.

        What a missing value of a feature adds is a row of its own.
        """
        stumps, step = self.stumps
        pairs = zip(stumps.feature.tolist(), stumps.at.tolist(), strict=True)
        names = [f"{self.feature_names[j]} {_passing(t)}" for j, t in pairs]
        rows = [*self.feature_names, *names]
        values = np.append(self.linear, step)
        if self.missing is not None:
            rows += [f"{name} missing" for name in self.feature_names]
            values = np.append(values, np.nan_to_num(self.of_missing()))
        return heaviest_first(rows, values)

    def step_shares(self) -> list[tuple[str, float]]:
        """Return each feature's share of the magnitudes of all steps, the largest first.

        The steps of raw rounds are those of the feature scaled to a range of 1 over the training items.
        """
        size = np.abs(self.step)
        if self.raw is not None:
            size = np.where(self.raw == 1, size * self.threshold, size)
        sums = np.bincount(self.feature, size, len(self.feature_names)).astype(np.float64)
        return heaviest_first(self.feature_names, sums / (sums.sum() or 1.0))


def _passing(threshold: float) -> str:
    """Return the condition for a value to pass a threshold; every value passes the lowest one."""
    return "present" if threshold == -np.finfo(np.float64).max else f">= {threshold:.6g}"
