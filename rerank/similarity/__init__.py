"""Similarity of lists and items: assignments, kernels, Gram matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rerank.core.lazy_imports import attach

if TYPE_CHECKING:
    from rerank.similarity.assignment import assign
    from rerank.similarity.items import ItemKernel, item_gram
    from rerank.similarity.matrices import gram
    from rerank.similarity.neighbours import nearest
    from rerank.similarity.spectra import plane, repaired, spectrum

__all__ = ["ItemKernel", "assign", "gram", "item_gram", "nearest", "plane", "repaired", "spectrum"]

attach(
    __name__,
    {
        "assignment": "assign",
        "items": "ItemKernel item_gram",
        "matrices": "gram",
        "neighbours": "nearest",
        "spectra": "plane repaired spectrum",
    },
)
