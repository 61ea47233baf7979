"""Which fragments of trees weigh most in a model with tree kernels."""

from rerank.models.fragments.mining import HeavyFragment, HeavyFragments, heaviest_fragments

__all__ = ["HeavyFragment", "HeavyFragments", "heaviest_fragments"]
