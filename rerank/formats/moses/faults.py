"""Faults of a Moses N-best file in words: what the kernels' codes and places mean."""

from __future__ import annotations

import re

from rerank.core.errors import FormatError
from rerank.core.text import count
from rerank.core.types import Bytes
from rerank.formats.common import not_a_number, quoted

_SEPARATOR = re.compile(rb"(?<=[ \t])\|\|\|(?=[ \t]|$)")
_TOKEN = re.compile(rb"[^ \t]*")


def columns_of_line(line: bytes) -> list[bytes]:
    """Return the columns of a line, with the blanks around them."""
    line = line.removesuffix(b"\r")
    first, bars, rest = line.partition(b"|||")
    return [first, *_SEPARATOR.split(rest)] if bars else [line]


def fault_error(path: str, number: int, fault: str, text: Bytes, place: int, n_columns: int) -> FormatError:
    """Return the error for ``fault`` (of FAULTS) at byte ``place`` of a line, with which ``text`` starts."""
    line = first_line(text)
    rest = line[place:]
    token = (_TOKEN.match(rest) or [b""])[0]
    if fault == "columns":
        found = count(len(columns_of_line(line)), "column") if line.strip() else "an empty line"
        expected = f"{n_columns} separated by ' ||| ', as on line 1"
    elif fault == "id":
        found, expected = "an empty id", "the id of a list, then |||"
    elif fault == "name":
        found, expected = f"{quoted(token)}, a feature without a name", "name= value"
    elif fault == "loose":
        found, expected = f"{quoted(token)} after the value of another feature", "name= value"
    elif fault == "twice":
        found, expected = f"feature {quoted(_name_of(token))} twice", "each feature once per line"
    elif fault == "width":
        what = f"of {quoted(_name_of(token))}" if b"=" in token or token.endswith(b":") else "without a name"
        found, expected = (
            f"{count(_n_values(_SEPARATOR.split(rest)[0]), 'value')} {what}",
            "as many as before",
        )
    elif fault == "no value":
        found, expected = f"no value of {quoted(_name_of(token))}", "a number"
    else:
        value = _SEPARATOR.split(rest)[0].strip(b" \t")
        found, expected = not_a_number(value, "total score") if value else ("no total score", "a number")
    return FormatError(path, number, found, expected)


def number_error(path: str, number: int, text: Bytes, dtype: str = "float64") -> FormatError:
    """Return the error for the bad value at the start of ``text``, a feature's on line ``number``."""
    token = _TOKEN.match(first_line(text))
    return FormatError(path, number, *not_a_number(token[0] if token else b"", "value", dtype))


def first_line(text: Bytes) -> bytes:
    """Return the first line of a text without its end."""
    size = 1 << 12
    while True:
        line, newline, _ = text[:size].tobytes().partition(b"\n")
        if newline or size >= len(text):
            return line.removesuffix(b"\r")
        size *= 16


def _name_of(token: bytes) -> bytes:
    return token[: token.rindex(b"=")] if b"=" in token else token[:-1]


def _n_values(column: bytes) -> int:
    """How many values follow the name at the start of ``column`` (numbers without a name too)."""
    tokens = column.split()
    if tokens and tokens[0][-1:] not in (b"=", b":"):
        if b"=" in tokens[0]:
            return 1
        tokens = [b"", *tokens]
    ends = (i for i, token in enumerate(tokens[1:]) if b"=" in token or token.endswith(b":"))
    return next(ends, len(tokens) - 1)
