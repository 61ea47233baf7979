"""Faults of a Moses N-best file in words."""

from __future__ import annotations

import math
import re

from rerank.data.types import Bytes
from rerank.errors import FormatError

_SEPARATOR = re.compile(rb"(?<=[ \t])\|\|\|(?=[ \t]|$)")
_TOKEN = re.compile(rb"[^ \t]*")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?(nan|inf|infinity)", re.IGNORECASE)


def line_columns(line: bytes) -> list[bytes]:
    """The columns of a line, with the blanks around them."""
    line = line.removesuffix(b"\r")
    first, bars, rest = line.partition(b"|||")
    return [first, *_SEPARATOR.split(rest)] if bars else [line]


def quoted(token: bytes) -> str:
    """A token for a message: quoted, control characters escaped, cut where it is long."""
    text = token.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


def not_a_number(token: bytes, what: str, dtype: str = "float64") -> tuple[str, str]:
    """What was found and expected where ``token`` is no value of ``dtype``."""
    text = token.decode("utf-8", "backslashreplace")
    if _NOT_FINITE.fullmatch(text):
        return f"{what} {quoted(token)}", "a finite number"
    if _NUMBER.fullmatch(text):
        bits = "float32" if dtype == "float32" and math.isfinite(float(text)) else "float64"
        return f"{what} {quoted(token)}, too large for {bits}", "a finite number"
    return f"{what} {quoted(token)}", "a number"


def _name_of(token: bytes) -> bytes:
    return token[: token.rindex(b"=")] if b"=" in token else token[:-1]


def _values_behind(column: bytes) -> int:
    """How many values follow the name at the start of ``column`` (numbers without a name too)."""
    tokens = column.split()
    if tokens and tokens[0][-1:] not in (b"=", b":"):
        if b"=" in tokens[0]:
            return 1
        tokens = [b"", *tokens]
    count = 0
    for token in tokens[1:]:
        if b"=" in token or token.endswith(b":"):
            break
        count += 1
    return count


def line_at(text: Bytes) -> bytes:
    """The line that ``text`` starts with, without its end."""
    size = 1 << 12
    while True:
        line, newline, _ = text[:size].tobytes().partition(b"\n")
        if newline or size >= len(text):
            return line.removesuffix(b"\r")
        size *= 16


def fault_error(path: str, number: int, fault: str, text: Bytes, place: int, n_columns: int) -> FormatError:
    """The error for ``fault`` (of FAULTS) at byte ``place`` of the line that ``text`` starts with."""
    line = line_at(text)
    rest = line[place:]
    token = (_TOKEN.match(rest) or [b""])[0]
    column = _SEPARATOR.split(rest)[0]
    if fault == "columns":
        n = len(line_columns(line))
        found = f"{n} column{'s' * (n > 1)}" if line.strip() else "an empty line"
        expected = f"{n_columns} parted by ' ||| ', as on line 1"
    elif fault == "id":
        found, expected = "an empty id", "the id of a list, then |||"
    elif fault == "name":
        found, expected = f"{quoted(token)}, a feature without a name", "name= value"
    elif fault == "loose":
        found, expected = f"{quoted(token)} behind the value of another feature", "name= value"
    elif fault == "twice":
        found, expected = f"feature {quoted(_name_of(token))} twice", "each feature once a line"
    elif fault == "width":
        n = _values_behind(column)
        what = f"of {quoted(_name_of(token))}" if b"=" in token or token.endswith(b":") else "without a name"
        found, expected = f"{n} value{'s' * (n > 1)} {what}", "as many as before"
    elif fault == "no value":
        found, expected = f"no value of {quoted(_name_of(token))}", "a number"
    else:
        value = column.strip(b" \t")
        found, expected = not_a_number(value, "total score") if value else ("no total score", "a number")
    return FormatError(path, number, found, expected)


def number_error(path: str, number: int, text: Bytes, dtype: str = "float64") -> FormatError:
    """The error for a bad value of a feature on line ``number``, that ``text`` starts with."""
    token = _TOKEN.match(line_at(text))
    return FormatError(path, number, *not_a_number(token[0] if token else b"", "value", dtype))
