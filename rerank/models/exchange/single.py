"""Formats whose programs compute in single precision: what that changes, checked and reported."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.text import count, some
from rerank.core.types import Floats
from rerank.models.exchange.base import note
from rerank.models.exchange.portable import Portable
from rerank.models.exchange.trees import PortableTree, next_double

_LARGEST = float(np.finfo(np.float32).max)
_LEAST = float(np.finfo(np.float32).smallest_subnormal)


def _nearest(threshold: Floats) -> Floats:
    """Thresholds x <= t in single precision; what is below 0 stays below it."""
    with np.errstate(over="ignore", under="ignore"):
        single = threshold.astype(np.float32).astype(np.float64)
    single[(single == 0.0) & (threshold < 0.0)] = -_LEAST
    return np.clip(single, -_LARGEST, _LARGEST)


def _before(threshold: Floats) -> Floats:
    """Thresholds x <= t in single precision, where t is the double before one that passes."""
    with np.errstate(over="ignore", under="ignore"):
        passes = next_double(threshold, np.inf).astype(np.float32)
        single = np.nextafter(passes, np.float32(-np.inf)).astype(np.float64)
    return np.clip(single, -_LARGEST, _LARGEST)


def single_trees(scorer: Portable, program: str, *, missing: bool) -> list[PortableTree]:
    """Return trees with float32 thresholds for a program that rounds features to float32.

    Rounding keeps the order, so the rounded threshold sends every double up to it the same way, also a value
    that equals it, as midpoints of decimals often do. Thresholds of steps are of the other kind: a value
    that equals them passes. Only values within half a unit of single precision beyond a threshold differ.

    - ``program``: its name, for messages.
    - ``missing``: whether it knows missing values; else it takes them for 0, which is reported if the trees
      send them elsewhere.

    A DataNote names features with thresholds that are one number in single precision: values between them
    cannot be told apart there. Raises ConfigError at trees that take 0 for missing, or leaves that overflow.
    """
    trees = scorer.as_trees()
    found: list[PortableTree] = []
    blurred: set[str] = set()
    elsewhere: set[str] = set()
    features = np.concatenate([np.empty(0, dtype=np.int32), *(tree.feature for tree in trees)])
    exact = np.concatenate([np.empty(0), *(tree.threshold for tree in trees)])
    rounded = (_before if scorer.steps else _nearest)(exact)  # trees beside steps are conjunctions of them
    for j in np.unique(features).tolist():
        mine = features == j
        if len(np.unique(rounded[mine])) < len(np.unique(exact[mine])):
            blurred.add(scorer.inputs[j])
    first = 0
    for tree in trees:
        n = len(tree.feature)
        if tree.zero_missing.any():
            raise ConfigError(
                f"{program} cannot express splits that take 0 for missing; lightgbm and python can"
            )
        if np.abs(tree.leaf).max(initial=0.0) > _LARGEST:
            raise ConfigError(f"{program}: a leaf that is too large for single precision")
        threshold = rounded[first : first + n]
        other = tree.nan_left != (threshold >= 0.0)
        elsewhere.update(scorer.inputs[j] for j in np.unique(tree.feature[other]).tolist())
        fields = (tree.feature, threshold, tree.nan_left, tree.zero_missing, tree.left, tree.right)
        found.append(PortableTree(*fields, tree.leaf.astype(np.float32).astype(np.float64)))
        first += n
    if blurred:
        text = (
            f"{program} computes in single precision, where thresholds of {some(sorted(blurred))} are equal"
        )
        note(f"{text}: subtract a constant from the feature before training")
    if elsewhere and not missing:
        what = count(len(elsewhere), "feature")
        text = f"{program} takes missing values for 0, but the model treats those of {what} otherwise"
        note(f"{text} ({some(sorted(elsewhere))})")
    return found


def server_terms(scorer: Portable, program: str) -> list[tuple[str, float, float, float]]:
    """Return the name, weight, shift and divisor of each feature of a linear model for a server.

    What is the same for every item is left out: it changes no order. Servers take missing values for 0; a
    DataNote says so if the model fills them otherwise.
    """
    found, filled = [], []
    for t in scorer.terms:
        if not np.isnan(t.missing) and t.missing != (0.0 - t.shift) / t.divisor * t.weight:
            filled.append(scorer.inputs[t.source])
        if t.present is None:
            found.append((scorer.inputs[t.source], t.weight, t.shift, t.divisor))
    if scorer.base_weight is not None:
        found.append(("base_score", scorer.base_weight, 0.0, 1.0))
        if "base_score" in scorer.inputs:
            raise ConfigError(
                f"{program}: a feature is called 'base_score', as the first stage's score is: --names"
            )
    if filled:
        text = (
            f"{program} takes missing values for 0, but the model fills those of {some(sorted(set(filled)))}"
        )
        note(f"{text}: give each item a value")
    return found


def raw_pairs(terms: Sequence[tuple[str, float, float, float]]) -> dict[str, float]:
    """Return the weights of raw features by name."""
    return {name: weight / divisor for name, weight, _, divisor in terms}


def float32_text(value: float) -> str:
    """Return a number that reads back to the same float32."""
    return str(np.float32(value))


def as_float32(values: Floats) -> list[float]:
    """Return numbers as JSON of single precision: the shortest decimals of their float32 values."""
    return [float(str(v)) for v in values.astype(np.float32)]
