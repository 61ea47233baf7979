"""Reading JSON Lines: one line at a time into growing columns, see rerank/formats/jsonl.py for the schema."""

from __future__ import annotations

import json
import warnings
from array import array
from typing import Any

import numpy as np

from rerank.data.lists import CandidateLists
from rerank.errors import DataNote, FormatError
from rerank.files import shown
from rerank.formats.base import ReadOptions
from rerank.formats.common import quoted
from rerank.formats.growing import Grouping, Strings, each_line
from rerank.formats.jsonl.columns import Columns, references_of
from rerank.formats.jsonl.keys import (
    ABOUT,
    CANDIDATES,
    LISTS,
    REFERENCES,
    MisfitError,
    Roles,
    described,
    encoded,
    name_of,
)
from rerank.text import count

_ONE_LINE = "one whole JSON object a line"
_BLANKS = b" \t\r"


def read_jsonl(path: str, options: ReadOptions) -> CandidateLists:
    """The lists of a file of either shape. Raises FormatError."""
    source = shown(path)
    reader: _Lists | _Items | None = None
    line = 0
    try:
        for line, raw in enumerate(each_line(path), start=1):
            if not raw.strip(_BLANKS):
                continue
            value = _parsed(raw)
            if reader is None:
                reader = _reader(value, source, options)
            reader.add(value, line)
    except MisfitError as misfit:
        place = f" at {misfit.where}" if misfit.where else ""
        raise FormatError(source, line, misfit.found + place, misfit.expected) from None
    if reader is None:
        raise FormatError(source, None, "an empty file" if line == 0 else "blank lines only", _ONE_LINE)
    return reader.finish()


def _no_constant(token: str) -> Any:
    raise MisfitError("", token, "a number (JSON has no NaN or Infinity; null is a missing value)")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise MisfitError("", f"key {quoted(twice)} twice in one object", "each key once")
    return out


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant)


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        value = _DECODER.decode(raw.decode())
    except UnicodeDecodeError:
        raise MisfitError("", "bytes that are not UTF-8", _ONE_LINE) from None
    except json.JSONDecodeError as error:
        raise MisfitError("", f"no JSON ({error.msg}, column {error.colno})", _ONE_LINE) from None
    except RecursionError:
        raise MisfitError("", "JSON nested too deeply", _ONE_LINE) from None
    except ValueError:  # Python refuses whole numbers of more than 4300 digits
        raise MisfitError("", "a whole number of too many digits", "a finite number") from None
    if not isinstance(value, dict):
        raise MisfitError("", described(value), _ONE_LINE)
    return value


def _reader(first: dict[str, Any], source: str, options: ReadOptions) -> _Lists | _Items:
    """A reader of the shape that the first line has."""
    candidates = next((key for key in CANDIDATES if isinstance(first.get(key), list)), None)
    wanted = options.list_column
    if candidates is not None:
        keys = [key for key in (*LISTS, "id") if key in first] if wanted is None else [wanted]
        key = "id" if "id" in keys else next(iter(keys), None)
        return _Lists(source, options, candidates, key)
    keys = [key for key in (*LISTS, "id") if key in first] if wanted is None else [wanted]
    of = Roles(options).of
    if not keys or not any(
        of.get(key, "spare") != "spare" or isinstance(value, int | float)
        for key, value in first.items()
        if key not in (*LISTS, *ABOUT, "id", wanted)
    ):
        raise MisfitError(
            "",
            f"keys {', '.join(map(quoted, list(first)[:8])) or '(none)'}",
            "a list a line (with 'candidates'), or a candidate a line with its 'list' (--list-column names "
            "another key) and a text, label, score or feature",
        )
    return _Items(source, options, keys[0])


def _hash_of(entry: dict[str, Any]) -> int:
    return hash(tuple(references_of(entry) or ()))


class _Lists:
    """A list a line."""

    def __init__(self, source: str, options: ReadOptions, candidates: str, list_key: str | None) -> None:
        self.columns = Columns(source, options)
        self.candidates = candidates
        self.list_key = list_key
        self.known = {candidates, *REFERENCES, *ABOUT} | ({list_key} if list_key else set())
        self.ids = Strings()
        self.lines: dict[str, int] = {}
        self.lengths = array("q")
        self.empty = 0
        self.seen = False
        self.paths: list[str] = []

    def add(self, entry: dict[str, Any], line: int) -> None:
        candidates = entry.get(self.candidates)
        if not isinstance(candidates, list):
            found = described(candidates) if self.candidates in entry else f"no key {self.candidates!r}"
            raise MisfitError("", found, f"an array {self.candidates!r}, as on the first line")
        for key in entry:
            if key not in self.known:
                self.columns.ignore(key)
        name = self._name(entry, line)
        if not candidates:
            if self.columns.options.strict:
                raise MisfitError(self.candidates, "no candidate", "one at least")
            self.empty += 1
            return
        self.columns.refer(entry, not len(self.lengths))
        if name is not None:
            self.ids.add(name)
        while len(self.paths) < len(candidates):
            self.paths.append(f"{self.candidates}[{len(self.paths)}]")
        for item, where in zip(candidates, self.paths, strict=False):
            self.columns.candidate(item, where)
        self.lengths.append(len(candidates))

    def _name(self, entry: dict[str, Any], line: int) -> bytes | None:
        key = self.list_key
        if key is None:
            for other in (*LISTS, "id"):
                if other in entry:
                    raise MisfitError(other, "a list's id", "none, as on the first line")
            return None
        if key not in entry:
            raise MisfitError("", f"no key {key!r}", "the list's id, as on the first line")
        name = name_of(entry[key], key)
        before = self.lines.setdefault(name, line)
        if before != line:
            raise MisfitError(key, f"list {quoted(name)} again (line {before})", "each list once")
        return encoded(name, key)

    def finish(self) -> CandidateLists:
        source = self.columns.source
        if not self.lengths:
            raise FormatError(source, None, "no candidate", "one at least")
        if self.empty:
            note = f"{source}: {count(self.empty, 'list')} without a candidate left out"
            warnings.warn(note, DataNote, stacklevel=3)
        offsets = np.zeros(len(self.lengths) + 1, dtype=np.int64)
        np.cumsum(self.lengths, out=offsets[1:])
        return self.columns.lists(offsets, self.ids.column() if self.list_key else None, None)


class _Items:
    """A candidate a line."""

    def __init__(self, source: str, options: ReadOptions, list_key: str) -> None:
        self.columns = Columns(source, options)
        self.grouping = Grouping(source, options.strict)
        self.list_key = list_key
        self.columns.roles.of[list_key] = "list"
        self.columns.roles.of.update(dict.fromkeys((*REFERENCES, *ABOUT), "of the list"))
        if list_key == "id" and options.list_column is None:
            note = f"{source}: lists are told apart by the key 'id' (list_column names another)"
            warnings.warn(note, DataNote, stacklevel=4)
        self.references: list[int] = []  # hashes, to see that a list's lines agree

    def add(self, entry: dict[str, Any], line: int) -> None:
        key = self.list_key
        if key not in entry:
            raise MisfitError("", f"no key {key!r}", "the id of the candidate's list, as on the first line")
        name = name_of(entry[key], key)
        encoded(name, key)
        number = self.grouping.add(name, line)
        if number == len(self.references):
            self.columns.refer(entry, number == 0)
            self.references.append(_hash_of(entry))
        elif any(kind in entry for kind in REFERENCES) and _hash_of(entry) != self.references[number]:
            raise MisfitError("references", "references", f"those that list {quoted(name)} has above")
        self.columns.candidate(entry, "")

    def finish(self) -> CandidateLists:
        return self.columns.lists(*self.grouping.finish())
