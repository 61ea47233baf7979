"""Similarity of lists and items: assignments, kernels, Gram matrices."""

from __future__ import annotations

from rerank.core.lazy_imports import attach_stub

attach_stub(__name__)
