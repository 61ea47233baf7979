"""Faults of a SVMlight file in words: what the kernel's code and place mean."""

from __future__ import annotations

import math
import re

import numpy as np

from rerank.data.types import Bytes
from rerank.errors import FormatError

LARGEST_INDEX = 2**31 - 1
_BLOCK = 1 << 20
_TOKEN = re.compile(rb"[^ \t\r\n#]*")
_LATER_QID = re.compile(rb"[^#\n]*?[ \t\r](qid:[^ \t\r\n#]*)")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?(nan|inf|infinity)", re.IGNORECASE)


def line_of(text: Bytes, offset: int) -> int:
    """The line, from 1, on which byte ``offset`` of a file lies."""
    blocks = range(0, offset, _BLOCK)
    return 1 + sum(int(np.count_nonzero(text[at : min(at + _BLOCK, offset)] == 10)) for at in blocks)


def quoted(token: str) -> str:
    """A token for a message: quoted, control characters escaped, cut where it is long."""
    return repr(token if len(token) <= 40 else token[:37] + "...")


def fault_error(
    path: str,
    text: Bytes,
    fault: str,
    offset: int,
    detail: int,
    *,
    first_item: int,
    has_qid: bool,
    first: int,
    dtype: str,
) -> FormatError:
    """The error for ``fault`` (of FAULTS) at byte ``offset`` of the file ``text``.

    first_item : where the first item line starts; first : index of column 0.
    """
    rest = bytes(text[offset : offset + 65536])
    match = _TOKEN.match(rest)
    token = (match[0] if match else b"").decode("utf-8", "backslashreplace")
    if fault == "label":
        found, expected = _label(token)
    elif fault == "qid":
        found, expected = _qid(token)
    elif fault == "no qid":
        late = _LATER_QID.match(rest)
        if late:
            late_qid = quoted(late[1].decode("utf-8", "backslashreplace"))
            found, expected = f"{late_qid} behind a feature", "qid:ID straight behind the label"
        else:
            found, expected = "no qid", f"qid:ID, as on line {line_of(text, first_item)}"
    elif fault == "feature":
        found, expected = _feature(token, first, dtype, has_qid)
        if token.startswith("qid:") and not has_qid and _before(text, offset) == 1:
            found = quoted(token)
            expected = f"no qid, as on line {line_of(text, first_item)}"
    elif fault == "twice":
        found, expected = f"feature {detail} twice", "each feature once a line"
    elif fault == "nul":
        found, expected = "a NUL byte", "text"
    else:
        found, expected = "bytes that change while they are read", "a file at rest"
    return FormatError(path, line_of(text, offset), found, expected)


def _before(text: Bytes, offset: int) -> int:
    """How many tokens stand before ``offset`` on its line (as far as 64 kB back)."""
    back = bytes(text[max(0, offset - 65536) : offset])
    return len(back[back.rfind(b"\n") + 1 :].removeprefix(b"\xef\xbb\xbf").split())


def _label(token: str) -> tuple[str, str]:
    if not token or ":" in token:
        found = quoted(token) if token else "nothing"
        return f"{found} where the label belongs", "a label (a number) first"
    return _number(token, "label", "float64")


def _number(token: str, what: str, dtype: str) -> tuple[str, str]:
    """Why ``token`` is no value of ``dtype``."""
    if _NOT_FINITE.fullmatch(token):
        return f"{what} {quoted(token)}", "a finite number"
    if _NUMBER.fullmatch(token):
        bits = "float32" if dtype == "float32" and math.isfinite(float(token)) else "float64"
        return f"{what} {quoted(token)}, too large for {bits}", "a finite number"
    return f"{what} {quoted(token)}", "a number"


def _qid(token: str) -> tuple[str, str]:
    if token == "qid:":
        return "an empty qid", "qid:ID"
    return f"a control character in {quoted(token)}", "qid:ID"


def _feature(token: str, first: int, dtype: str, has_qid: bool) -> tuple[str, str]:
    name, colon, value = token.partition(":")
    if name == "qid" and colon:
        if has_qid:
            return f"a second qid {quoted(token)}", "one qid a line"
        return f"{quoted(token)} behind a feature", "qid:ID straight behind the label"
    if name in ("cost", "sid") and colon:
        return quoted(token), "index:value (SVMlight's cost: and sid: are not supported)"
    if not colon:
        return quoted(token), "index:value"
    if re.fullmatch(r"-[0-9]+", name):
        return f"index {quoted(name)}", f"an index of {first} or more"
    if not re.fullmatch(r"[0-9]+", name):
        return f"index {quoted(name)}", "a whole number"
    digits = name.lstrip("0") or "0"
    if len(digits) > 10 or int(digits) > LARGEST_INDEX:
        return f"index {quoted(name)}", f"an index of at most {LARGEST_INDEX}"
    if int(digits) < first:
        return "index 0", "indices from 1 (give --zero-based where the file counts from 0)"
    if not value:
        return f"no value for feature {digits}", "index:value"
    return _number(value, f"value of feature {digits}:", dtype)
