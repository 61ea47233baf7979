"""Faults of a SVMlight file in words: what the kernel's code and place mean."""

from __future__ import annotations

import re

from rerank.core.errors import FormatError
from rerank.core.types import Bytes
from rerank.formats.common import CHANGED, KEPT, exceeds, line_of, not_a_number, quoted, token_at

_LARGEST_INDEX = 2**31 - 1
_NEAR = 65536
_LATE_QID = "qid:ID directly after the label"
_LATER_QID = re.compile(rb"[^#\n]*?[ \t\r](qid:[^ \t\r\n#]*)")


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
    """Return the error for a fault of a file.

    Parameters
    ----------
    text : uint8 (n_bytes), the file.
    fault : of the kernel's FAULTS.
    offset, detail : of the fault, as the kernel returns them.
    first_item : where the first item line starts.
    first : the index of column 0.
    """
    token = token_at(text, offset, b" \t\r\n#")
    as_first = f"as on line {line_of(text, first_item)}"
    if fault == "label":
        found, expected = _label(token)
    elif fault == "qid" and token == "qid:":
        found, expected = "an empty qid", "qid:ID"
    elif fault == "qid":
        found, expected = f"a control character in {quoted(token)}", "qid:ID"
    elif fault == "no qid":
        late = _LATER_QID.match(bytes(text[offset : offset + _NEAR]))
        found, expected = "no qid", f"qid:ID, {as_first}"
        if late:
            found, expected = f"{quoted(late[1])} after a feature", _LATE_QID
    elif fault == "feature" and token.startswith("qid:") and not has_qid and _before(text, offset) == 1:
        found, expected = quoted(token), f"no qid, {as_first}"
    elif fault == "feature":
        found, expected = _feature(token, first, dtype, has_qid)
    elif fault == "twice":
        found, expected = f"feature {detail} twice", "each feature once per line"
    elif fault == "nul":
        found, expected = "a NUL byte", "text"
    else:
        found, expected = CHANGED
    return FormatError(path, line_of(text, offset), found, expected)


def _before(text: Bytes, offset: int) -> int:
    """How many tokens are before ``offset`` on its line (as far as 64 kB back)."""
    back = bytes(text[max(0, offset - _NEAR) : offset])
    return len(back[back.rfind(b"\n") + 1 :].removeprefix(b"\xef\xbb\xbf").split())


def _label(token: str) -> tuple[str, str]:
    if not token or ":" in token:
        found = quoted(token) if token else "nothing"
        return f"{found} in place of the label", "a label (a number) first"
    found, expected = not_a_number(token.encode(), "label")
    return found, f"{expected} (--classes reads sets of classes)" if "," in token else expected


def _feature(token: str, first: int, dtype: str, has_qid: bool) -> tuple[str, str]:
    """What is wrong with ``token``, which is not index:value."""
    name, colon, value = token.partition(":")
    if name == "qid" and colon:
        if has_qid:
            return f"a second qid {quoted(token)}", "one qid per line"
        return f"{quoted(token)} after a feature", _LATE_QID
    if name in ("cost", "sid") and colon:
        return quoted(token), "index:value (SVMlight's cost: and sid: are not supported)"
    if not colon:
        return quoted(token), "index:value"
    if re.fullmatch(r"-[0-9]+", name):
        return f"index {quoted(name)}", f"an index of {first} or more"
    if not re.fullmatch(r"[0-9]+", name):
        return f"index {quoted(name)}", "a whole number"
    if exceeds(name, _LARGEST_INDEX):
        return f"index {quoted(name)}", f"an index of at most {_LARGEST_INDEX}"
    digits = name.lstrip("0") or "0"
    if int(digits) < first:
        return "index 0", "indices from 1 (use --zero-based if the file counts from 0)"
    if not value:
        return f"no value for feature {digits}", "index:value"
    found, expected = not_a_number(value.encode(), f"value of feature {digits}:", dtype)
    if value.lower() in ("null", "nan"):
        expected = f"a number (use {KEPT}, if it is a missing value)"
    return found, expected
