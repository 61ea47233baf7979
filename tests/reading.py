"""What tests of readers share: reading without notes, notes alone, faults, agreement with slow readers."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.bad_lines import BadLineError

from rerank.core.errors import DataNote, FormatError
from rerank.data.lists import CandidateLists
from rerank.formats import load


def silent(function: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """What a function returns, without its notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        return function(*given, **options)


def quietly(path: str | Path, read: Callable[..., Any] = load, **options: Any) -> Any:
    """What a file is read as, without its notes."""
    return silent(read, path, **options)


def notes_of(path: str | Path, **options: Any) -> list[str]:
    """The notes of reading a file, without its folder."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load(path, **options)
    assert all(issubclass(note.category, DataNote) for note in caught)
    return [str(note.message).rpartition("/")[2] for note in caught]


def same_bits(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    """Whether two arrays are equal, also in their signs of zero and in what is missing."""
    if a is None or b is None:
        return a is b
    return (
        a.dtype == b.dtype
        and np.array_equal(a, b, equal_nan=True)
        and np.array_equal(np.signbit(a), np.signbit(b))
    )


def check_fault(
    path: str | Path, line: int | None, found: str, read: Callable[..., Any] = load, **options: Any
) -> None:
    """Reading fails in one line that names the file, the line (None: the whole file) and what was found."""
    with pytest.raises(FormatError) as caught:
        quietly(path, read, **options)
    message = str(caught.value)
    assert message.startswith(f"{path}{'' if line is None else f':{line}'}: found ")
    assert found in message
    assert ", expected " in message
    assert "\n" not in message


def check_as_slowly(
    path: Path,
    data: bytes,
    slow: Callable[[bytes], Any],
    check: Callable[[CandidateLists, Any], None],
    **options: Any,
) -> None:
    """A reader reads the same as the slow one (``check(lists, slowly)``), or fails at the same line."""
    path.write_bytes(data)
    bad: BadLineError | UnicodeDecodeError | None = None
    try:
        slowly = slow(data)
    except (BadLineError, UnicodeDecodeError) as error:
        bad = error
    if bad is None:
        check(quietly(path, **options), slowly)
        return
    with pytest.raises(FormatError) as caught:
        quietly(path, **options)
    assert not isinstance(bad, BadLineError) or caught.value.line == bad.line, str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
