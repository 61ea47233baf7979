"""Tree kernels: what two trees have in common."""

from rerank.similarity.trees.functions import TreeFunction
from rerank.similarity.trees.interning import TreeSet

__all__ = ["TreeFunction", "TreeSet"]
