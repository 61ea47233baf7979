"""Metrics of plain sequences, and the families of metrics, one file each (see ``base``).

Each metric is a function of this module, found by its name in small letters: of labels and scores, of
hypotheses and references, of classes, or of trees.

>>> from rerank import metrics
>>> metrics.ap([[1, 0, 2], [0, 1]], [[0.1, 0.2, 0.9], [0.8, 0.3]])
0.6666666666666666
>>> metrics.wer(["the cat", "it rains"], ["the cat sat", "it rains"])
20.0

``dir(rerank.metrics)`` lists them, ``help(rerank.metrics.bleu)`` explains one. ``rerank.evaluate`` gives
several at once, and intervals and tests.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from rerank.metrics.judging import OF_FILES


class _Package(ModuleType):
    """This package, in which a file never hides the function of its name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in OF_FILES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rerank.metrics.functions import function

    return function(name)


def __dir__() -> list[str]:
    from rerank.metrics.functions import names

    return sorted([*globals(), *names()])


sys.modules[__name__].__class__ = _Package
