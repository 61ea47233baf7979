"""An extension of griffe, which reads docstrings for mkdocstrings."""

from __future__ import annotations

import re
from typing import Any

import griffe

_TITLE = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
_ENTRY = re.compile(r"^(\w+)((?:, \*{0,2}\w+)*) : (.+(?:\n[ ]+.+)*)$", re.MULTILINE)


class Descriptions(griffe.Extension):
    """Take what follows "name : " in our docstrings as the description; types are in the signature."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Put the description of each parameter and attribute below its name."""
        if obj.docstring:
            obj.docstring.value = below(obj.docstring.value)


def below(text: str) -> str:
    """Return a docstring whose parameters have their descriptions on lines of their own.

    >>> below("Parameters\\n----------\\na, b : sizes, at least\\n    1.")
    'Parameters\\n----------\\na\\n    sizes, at least\\n    1.\\nb\\n    see a'
    """
    parts = _TITLE.split(text)
    for i in range(1, len(parts), 2):
        if parts[i] in ("Parameters", "Attributes"):
            parts[i + 1] = _ENTRY.sub(_entries, parts[i + 1])
        parts[i] = f"{parts[i]}\n{'-' * len(parts[i])}"
    return "".join(parts)


def _entries(found: re.Match[str]) -> str:
    first, others, text = found.groups()
    return f"{first}\n    {text}" + "".join(f"\n{name}\n    see {first}" for name in others.split(", ")[1:])
