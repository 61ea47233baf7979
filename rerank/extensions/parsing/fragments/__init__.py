"""Fragments of trees with the largest weights in a model with tree kernels."""

from rerank.extensions.parsing.fragments.mining import (
    HeavyFragment,
    HeavyFragments,
    ModelFragments,
    has_fragments,
    heaviest_fragments,
    model_fragments,
    shown_fragments,
)

__all__ = [
    "HeavyFragment",
    "HeavyFragments",
    "ModelFragments",
    "has_fragments",
    "heaviest_fragments",
    "model_fragments",
    "shown_fragments",
]
