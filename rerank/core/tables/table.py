"""Tables as aligned text: their names until all callers import ``core.tables.text``."""

from rerank.core.tables.text import (
    WIDTH,
    beside,
    block,
    cells_of,
    drawn,
    facts,
    pairs,
    room,
    show,
    styled,
    table,
)

__all__ = [
    "WIDTH",
    "beside",
    "block",
    "cells_of",
    "drawn",
    "facts",
    "pairs",
    "room",
    "show",
    "styled",
    "table",
]
