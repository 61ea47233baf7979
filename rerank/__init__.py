"""N-best reranking and learning to rank."""

from __future__ import annotations

from rerank._version import __version__

__all__ = ["__version__"]
