"""Which functions of plain sequences have the name of a file of this package."""

from __future__ import annotations

# ``rerank.metrics.bleu`` is the function, after ``import rerank.metrics.bleu``, too;
# ``from rerank.metrics.bleu import Bleu`` reads the file.
OF_FILES = frozenset({"bleu", "chrf"})
