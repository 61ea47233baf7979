"""Similarity of lists and items: assignments, kernels, Gram matrices."""

from rerank.similarity.assignment import assign

__all__ = ["assign"]
