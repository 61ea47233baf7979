"""Base of the formats of samples: rows become lists of candidates as JSON Lines have them."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from rerank.core.errors import DataError, FormatError
from rerank.core.files.read import shown
from rerank.data.lists import CandidateLists
from rerank.formats.answers import BOXED, matched, with_answers
from rerank.formats.base import Format, ReadOptions
from rerank.formats.builders import filled_lines
from rerank.formats.common import OF_ANY, note
from rerank.formats.jsonl.read import ListReader, parsed
from rerank.formats.jsonl.schema import MisfitError, answer_of, described, number_of

Row = dict[str, Any]
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:]', re.DOTALL)
_LISTS = "candidates"


class Dump(Format):
    """A dump of samples, one row per line, which is only read; ``rows`` converts the rows of a file."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    honours: ClassVar[frozenset[str]] = OF_ANY | {"answer_pattern", "answer_match"}
    refines: ClassVar[str | None] = "jsonl"
    signs: ClassVar[tuple[bytes, ...]] = (b"{",)
    rows: ClassVar[type[Rows]]
    boxed: ClassVar[bool] = False  # whether answers are those in \boxed{} unless options name a pattern

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        rows = self.rows(shown(path), options)
        # Its keys are those that ``rows`` writes, whatever the options call them in the dump.
        reader = ListReader(shown(path), options.with_settings(label_column=None), _LISTS, "id")
        expected: list[str | None] = []
        line = 0
        try:
            for line, row in rows.each(path):
                entry = rows.entry(row)
                if entry is not None:
                    reader.add({"id": str(line), **entry}, line)
                    expected += [rows.expected] * bool(entry[_LISTS])
            reader.flush()
        except MisfitError as misfit:
            reader.flush()  # a fault of an earlier line goes first
            raise misfit.at(shown(path), line) from None
        rows.finish()
        if not line:
            raise FormatError(shown(path), None, "an empty file", f"rows of {self.name}")
        lists = reader.finish()
        pattern = options.answer_pattern
        if pattern is not None:
            lists = with_answers(lists, pattern)
        elif self.boxed and lists.texts is not None:
            pattern = BOXED
            lists = with_answers(lists, pattern)
            note(f"{lists.source}: answers are what the last \\boxed{{}} of each text holds")
        if options.answer_match is not None:
            return matched(lists, expected, pattern)
        if lists.labels is None and any(text is not None for text in expected):
            hint = "--answer-match exact compares answers with the expected ones"
            note(f"{lists.source}: no sample is judged; {hint}")
        return lists

    def _write(self, lists: CandidateLists, path: str) -> None:
        raise DataError(f"{path}: {self.name} is read only; write jsonl or store")


class Rows(ABC):
    """Converts the rows of one file; ``expected`` is the expected answer of the last one."""

    def __init__(self, source: str, options: ReadOptions) -> None:
        self.source = source
        self.options = options
        self.expected: str | None = None

    def each(self, path: str) -> Iterator[tuple[int, Row]]:
        """Yield the objects of a file with their lines; raises MisfitError with the line in FormatError."""
        for line, raw in filled_lines(path):
            try:
                value = parsed(raw, "one whole JSON object per line")
                if value is None:
                    continue
                if type(value) is not dict:
                    raise MisfitError("", described(value), "one whole JSON object per line")
            except MisfitError as misfit:
                raise misfit.at(shown(path), line) from None
            yield line, value

    @abstractmethod
    def entry(self, row: Any) -> Row | None:
        """Return a row as a line of JSON Lines with "candidates", None = left out; raises MisfitError."""

    def finish(self) -> None:  # noqa: B027  (most tools have nothing to report)
        """Report what was left out; raises FormatError if rows do not fit together."""


def keys_of(head: bytes) -> set[str]:
    """Return the keys of the first JSON object of a text, as far as they are there."""
    keys: set[str] = set()
    depth, last = 0, b""
    for token in _TOKEN.finditer(head):
        text = token[0]
        if text == b":":
            if depth == 1:
                keys.add(last[1:-1].decode("utf-8", "replace"))
        elif text in b"{[":
            depth += 1
        elif text in b"}]":
            depth -= 1
            if depth == 0:
                break
        last = text
    return keys if head.lstrip()[:1] == b"{" else set()


def needed(row: Row, key: str, kind: type, what: str) -> Any:
    """Return the value of a key; raises MisfitError if it is absent or of another kind."""
    if key not in row:
        raise MisfitError("", f"no key {key!r}", what)
    if type(row[key]) is not kind:
        raise MisfitError(key, described(row[key]), what)
    return row[key]


def parallel(row: Row, key: str, n: int, to: str) -> list[Any]:
    """Return an array with a value for each of ``n`` samples; raises MisfitError."""
    values: list[Any] = needed(row, key, list, f"an array with a value for each of {to}")
    if len(values) != n:
        raise MisfitError(key, f"an array of {len(values)}", f"{n}, as {to} has")
    return values


def text_of(value: Any, where: str) -> str:
    """Return a text; raises MisfitError."""
    if not isinstance(value, str):
        raise MisfitError(where, described(value), "a text")
    return value


def expected_of(row: Row, key: str) -> str | None:
    """Return the expected answer under a key, a number as JSON has it; None without one, as for arrays."""
    value = row.get(key)
    if type(value) in (int, float):
        return answer_of(value, key).decode()
    return value if isinstance(value, str) else None


def steps(values: Any, where: str, name: str) -> dict[str, float]:
    """Return the features that the scores of a sample's steps become.

    A number is the feature ``name``; an array becomes its minimum, product, last value, mean and length.
    """
    if not isinstance(values, list):
        return {name: number_of(values, where)}
    if not values:
        raise MisfitError(where, "an empty array", "a score for each step")
    numbers = values
    if set(map(type, values)) != {float} or not math.isfinite(sum(values)):
        numbers = [number_of(value, f"{where}[{i}]") for i, value in enumerate(values)]
    found = {
        f"{name}_min": min(numbers),
        f"{name}_prod": math.prod(numbers),
        f"{name}_last": numbers[-1],
        f"{name}_mean": math.fsum(numbers) / len(numbers) if max(map(abs, numbers)) < 1e300 else math.inf,
        "n_steps": float(len(numbers)),
    }
    if not all(map(math.isfinite, found.values())):
        raise MisfitError(where, "scores too large for float64", "finite numbers")
    return found


def first_key(row: Row, keys: Sequence[str]) -> str | None:
    """Return the first of the keys that a row has."""
    return next((key for key in keys if key in row), None)
