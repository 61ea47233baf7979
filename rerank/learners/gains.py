"""Gains of nDCG, 2^label - 1, for learners that optimise it."""

from __future__ import annotations

import warnings

import numpy as np

from rerank.core.errors import DataNote, FitError
from rerank.core.types import Floats

_LARGEST = 31.0  # LightGBM's own limit: a label above it counts a billion times as much as one of 1


def exponential_gains(labels: Floats, source: str, instead: str) -> Floats:
    """Return 2^label - 1 of judged items (n), 0 if the label is below 0.

    Warns if labels are so large that only the largest ones count.

    Parameters
    ----------
    labels : float64 (n)
        The labels.
    source : str
        The lists, for messages.
    instead : str
        The setting that takes labels as they are, for messages.

    Raises
    ------
    FitError
        If a gain overflows.
    """
    with np.errstate(over="ignore"):
        gains: Floats = np.exp2(np.maximum(labels, 0.0)) - 1.0
    largest = labels.max(initial=0.0)
    if not np.isfinite(gains).all():
        raise FitError(f"{source}: label {largest:g} is too large for the gain 2^label - 1; use {instead}")
    if largest > _LARGEST:
        text = f"of labels up to {largest:g} only the largest count; {instead} takes them as they are"
        warnings.warn(f"{source}: by gains of 2^label - 1, {text}", DataNote, stacklevel=4)
    return gains
