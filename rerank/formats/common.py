"""Pieces that several formats share: words for faults, the layout of features, lines grouped into lists."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from rerank.core.errors import DataError, DataNote, FormatError
from rerank.core.text import count
from rerank.core.types import Bytes, Floats, Index, NDArray
from rerank.data.columns.offsets import fresh_array, offsets_of
from rerank.data.columns.strings import StringColumn, first_again, hashes_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features, require_dense
from rerank.data.reading import ReadOptions
from rerank.native.data._number import parse

STORE = "format store holds it"
# What accepts a missing value that is written as such: where 0 is what is left out, not zero.
KEPT = "--missing nan, in training also mean, list-mean or indicator"
NULLS = "--missing zero or nan, in training also mean, list-mean or indicator"
CHANGED = "bytes that change while they are read", "an unchanged file"

# Of formats whose lists and items have ids.
OF_IDS = frozenset(
    {"structures", "native", "residues", "match", "subtopics", "queries", "collection"}
    | {"vectors", "query_vectors"}
)
# The read options of formats whose columns have names.
OF_ANY = frozenset({"strict", "missing", "layout", "dtype", "refs", "distinct"})
NAMED_COLUMN_OPTIONS = frozenset(
    {"list_column", "label_column", "id_column", "text_column", "answer_column", "answer_pattern"}
    | {"categorical", "query_column"}
    | OF_ANY
    | OF_IDS
)

_LONGEST = 40
_LONGEST_TOKEN = 1 << 16
_COUNTED = 1 << 20
_NOT_FINITE = re.compile(rb"[-+]?(nan|inf|infinity)", re.IGNORECASE)


def note(text: str) -> None:
    """Warn with a DataNote."""
    warnings.warn(text, DataNote, stacklevel=3)


def quoted(token: str | bytes) -> str:
    """Return a piece of a file for a message: in quotes, control characters escaped, shortened if long."""
    text = token if isinstance(token, str) else token.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")


def not_a_number(token: bytes, what: str, dtype: str = "float64") -> tuple[str, str]:
    """Return what was found and expected if ``token``, the value of ``what``, is not finite in ``dtype``."""
    found = f"{what} {quoted(token)}"
    if _NOT_FINITE.fullmatch(token):
        return found, "a finite number"
    value = parse(token)
    if value is None:
        return found, "a number"
    bits = "float32" if dtype == "float32" and math.isfinite(value) else "float64"
    return f"{found}, too large for {bits}", "a finite number"


def exceeds(digits: str | bytes, largest: int) -> bool:
    """Return whether digits spell more than ``largest``; there may be more than int() reads."""
    plain = digits.lstrip("0") if isinstance(digits, str) else digits.lstrip(b"0")
    return len(plain) > len(str(largest)) or int(plain or "0") > largest


def is_finite(token: bytes) -> bool:
    """Return whether ``token`` spells a finite number."""
    value = parse(token)
    return value is not None and not math.isinf(value)


def finite(token: bytes, path: str, line: int, what: str) -> float:
    """Return the number that ``token``, the value of ``what``, spells; raises FormatError if not finite."""
    value = parse(token)
    if value is None or math.isinf(value):
        raise FormatError(path, line, *not_a_number(token, what))
    return float(value)


def token_at(text: Bytes, offset: int, ends: bytes = b" \t\r\n") -> str:
    """Return the token at byte ``offset`` of a file, up to one of the bytes ``ends``, for a message."""
    token = re.split(b"[" + ends + b"]", bytes(text[offset : offset + _LONGEST_TOKEN]), maxsplit=1)[0]
    return token.decode("utf-8", "backslashreplace")


def line_of(text: Bytes, offset: int) -> int:
    """Return the line, from 1, that contains byte ``offset`` of a file."""
    blocks = range(0, offset, _COUNTED)
    return 1 + sum(int(np.count_nonzero(text[at : min(at + _COUNTED, offset)] == 10)) for at in blocks)


def first_repeated(strings: Iterable[Any]) -> int | None:
    """Return the position of the first of ``strings`` that occurred earlier, None if all differ."""
    seen: set[Any] = set()
    for i, string in enumerate(strings):
        if string in seen:
            return i
        seen.add(string)
    return None


def wants_dense(options: ReadOptions, n_values: int, n_cells: int, source: str) -> bool:
    """Return whether features are read as a dense array.

    Raises DataError if they are sparse and ``dtype`` is float32.

    options : with ``layout`` auto they are dense if half of the cells have a value: 8 bytes a cell against 12
        a value.
    n_values, n_cells : how many values the file names, and items times features.
    source : the file's name in errors.
    """
    if options.layout == "dense" or options.missing == "nan":
        return True
    if options.layout == "auto" and 2 * n_values >= n_cells:
        return True
    if options.dtype == "float32":
        raise DataError(f"{source}: sparse features are float64; float32 needs layout=dense")
    return False


def empty_dense(n_items: int, n_features: int, dtype: str, source: str) -> NDArray[Any]:
    """Return an uninitialised array (n_items, n_features); raises RerankError if memory does not suffice."""
    require_dense(n_items, n_features, np.dtype(dtype))
    try:
        return fresh_array((n_items, n_features), dtype)
    except (MemoryError, ValueError, OverflowError, OSError):
        what = f"{n_items} items x {n_features} features"
        raise DataError(f"{source}: {what} are too many for a dense array") from None


def absent_value(options: ReadOptions) -> float:
    """Return the value of features that a line leaves out."""
    return math.nan if options.missing == "nan" else 0.0


def check_float32(values: Floats, source: str) -> None:
    """Raise DataError if a value is too large for float32."""
    over = np.abs(values) > float(np.finfo(np.float32).max)
    if np.any(over):
        raise DataError(f"{source}: feature value {values[np.argmax(over)]} is too large for float32")


def in_list_order(rows: Index | None, **columns: Any) -> dict[str, Any]:
    """Return columns of items with the items at ``rows``, in that order; None = all of them as they are."""
    if rows is None:
        return columns
    return {name: None if column is None else column.take(rows) for name, column in columns.items()}


def check_contiguous(
    codes: Index,
    line_of: Callable[[int], int],
    name_of: Callable[[int], str],
    path: str,
    strict: bool,
    expected: str = "the lines of a list together",
) -> None:
    """Warn about lists whose lines are not contiguous; under ``strict`` raise FormatError.

    codes : int64 (n), the list of each line, or of each run of lines, in the order of the file.
    line_of : returns the number of a line, or the first of a run, by its position in ``codes``.
    name_of : returns how an error names its list, such as "qid:7".
    """
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    _, firsts = np.unique(codes[starts], return_index=True)
    if len(firsts) == len(starts):
        return
    later = np.delete(starts, firsts)
    at = int(later[0])
    if strict:
        raise FormatError(path, line_of(at), f"{name_of(at)} again", expected)
    note_regrouped(path, len(np.unique(codes[later])), line_of(at))


def note_regrouped(path: str, n_lists: int, line: int) -> None:
    """Warn that the lines of ``n_lists`` lists are not contiguous, the first such line being ``line``."""
    note(
        f"{path}: the lines of {count(n_lists, 'list')} are not contiguous (from line {line}); "
        "they are brought together"
    )


def unnamed_last(features: Features) -> int:
    """Return the last column if every value of it is 0, so that no line would name it; otherwise -1."""
    last = features.n_features - 1
    return -1 if last < 0 or np.any(features.column(last)) else last


def check_missing(lists: CandidateLists, name: str, path: str) -> None:
    """Raise DataError if format ``name`` would leave out zeros as well as missing values."""
    if lists.has_missing and lists.features.layout != "dense":
        raise DataError(f"{path}: {name} cannot hold both zeros and missing values left out; {STORE}")


def in_input_order(lists: CandidateLists) -> Index:
    """Return the items in the order of the input's lines, int64 (n_items)."""
    items = np.arange(lists.n_items, dtype=np.int64)
    if lists.rows is not None:
        items[lists.rows] = np.arange(lists.n_items)
    return items


def refuse_equal_ids(lists: CandidateLists, name: str, path: str) -> None:
    """Raise DataError if two lists have one id, which format ``name`` would read as one list."""
    ids = lists.list_ids
    if ids is not None and first_again(hashes_of(ids)) and (i := first_repeated(ids)) is not None:
        raise DataError(
            f"{path}: two lists have the id {ids[i]!r}, {name} would read them as one list; {STORE}"
        )


def contains(column: StringColumn, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether each string contains a byte that is marked: bool (n)."""
    before = offsets_of(marked)
    return before[column.offsets[1:]] > before[column.offsets[:-1]]
