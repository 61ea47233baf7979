"""Faults of a BLLIP feature file in words: what the kernel's code and place mean."""

from __future__ import annotations

import re

from rerank.core.errors import FormatError
from rerank.core.text import count
from rerank.core.types import Bytes
from rerank.formats.common import CHANGED, exceeds, line_of, not_a_number, quoted, token_at
from rerank.native.formats._bllip import MOST_FEATURES

_MEANING = {
    "G": "G=<constituents of the gold tree>",
    "N": "N=<number of parses>",
    "P": "P=<constituents of the parse>",
    "W": "W=<constituents of both>",
}


def fault_error(path: str, text: Bytes, fault: str, offset: int, detail: int) -> FormatError:
    """Return the error for ``fault`` (of the kernel's FAULTS) at byte ``offset`` of the file ``text``."""
    token = token_at(text, offset, b" \t\r\n,")
    if fault in ("edges", "count"):
        found, expected = _assigned(token, chr(detail))
    elif fault == "matched":
        found, expected = quoted(token), f"at most {detail}, as the parse or the gold tree has no more"
    elif fault == "parses":
        found, expected = count(detail, "parse"), f"as many as {token} says"
    elif fault == "no comma":
        found, expected = "the end of the line", "a comma after the last parse"
    elif fault == "order":
        found, expected = f"feature {token.partition('=')[0]} after {detail}", "increasing ids"
    elif fault == "feature":
        found, expected = _feature(token)
    else:
        found, expected = CHANGED
    return FormatError(path, line_of(text, offset), found, expected)


def _assigned(token: str, name: str) -> tuple[str, str]:
    """Why ``token`` is not "NAME=" and a whole number."""
    expected = _MEANING[name]
    if not token.startswith(f"{name}="):
        return (quoted(token) if token else f"no {name}="), expected
    if re.fullmatch(r"[0-9]+", token[2:]):
        return quoted(token), f"{expected}, at most 999999999"
    return quoted(token), f"{expected}, a whole number"


def _feature(token: str) -> tuple[str, str]:
    """Why ``token`` is not "id" or "id=value"."""
    name, sign, value = token.partition("=")
    if name in _MEANING and sign:
        return f"{quoted(token)} among the features of a parse", "id, id=value or the comma that ends it"
    if not re.fullmatch(r"[0-9]+", name):
        return quoted(token), "a feature, id or id=value"
    if exceeds(name, MOST_FEATURES - 1):
        return f"feature {quoted(name)}", f"an id below {MOST_FEATURES}"
    if not value:
        return f"no value for feature {quoted(name)[1:-1]}", "id=value"
    return not_a_number(value.encode(), f"value of feature {quoted(name)[1:-1]}:")
