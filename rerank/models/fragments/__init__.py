"""Which fragments of trees weigh most in a model with tree kernels."""

from rerank.models.fragments.mining import HeavyFragment, HeavyFragments, heaviest_fragments
from rerank.models.fragments.of_model import ModelFragments, has_fragments, model_fragments

__all__ = [
    "HeavyFragment",
    "HeavyFragments",
    "ModelFragments",
    "has_fragments",
    "heaviest_fragments",
    "model_fragments",
]
