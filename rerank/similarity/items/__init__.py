"""Kernels of items: expressions over tree kernels and vector kernels, and Gram matrices."""

from rerank.similarity.items.expression import ItemKernel
from rerank.similarity.items.matrices import item_gram
from rerank.similarity.items.prepared import Items

__all__ = ["ItemKernel", "Items", "item_gram"]
