"""Reading JSON Lines into growing columns; the schema is in rerank/formats/jsonl/format.py."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import msgspec

from rerank.data.lists import CandidateLists
from rerank.errors import FormatError
from rerank.files import shown
from rerank.formats.base import ReadOptions
from rerank.formats.common import first_repeated, note, quoted
from rerank.formats.growing import Grouping, each_line
from rerank.formats.jsonl.columns import Columns
from rerank.formats.jsonl.keys import (
    CANDIDATES,
    LISTS,
    PROMPTS,
    REFERENCES,
    MisfitError,
    Roles,
    described,
    encoded,
    name_of,
    prompt_key,
    references_of,
)
from rerank.native.formats._json import repeats_key
from rerank.text import count

_ONE_LINE = "one whole JSON object per line"
_BLANKS = b" \t\r\n"
_BATCH = 256  # candidates that are added together, at least


def read_jsonl(path: str, options: ReadOptions) -> CandidateLists:
    """Return the lists of a file of either shape; raises FormatError."""
    source = shown(path)
    reader: ListReader | _Items | None = None
    line = 0
    try:
        for line, raw in enumerate(each_line(path), start=1):
            try:
                value = _parsed(raw)
                if value is not None:
                    reader = reader or _reader(value, source, options)
                    reader.add(value, line)
            except MisfitError as misfit:
                raise misfit.at(source, line) from None
    except FormatError:
        if reader is not None:
            reader.flush()  # a fault of an earlier line goes first
        raise
    if reader is None:
        raise FormatError(source, None, "an empty file" if line == 0 else "blank lines only", _ONE_LINE)
    reader.flush()
    return reader.finish()


def _no_constant(token: str) -> Any:
    raise MisfitError("", token, "a number (JSON has no NaN or Infinity; null is a missing value)")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        names = [key for key, _ in pairs]
        twice = names[first_repeated(names) or 0]
        raise MisfitError("", f"key {quoted(twice)} twice in one object", "each key once")
    for key, value in pairs:
        encoded(key, "a key")
        if isinstance(value, str):
            encoded(value, key)
    return out


_FAST = msgspec.json.Decoder()
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant)


def _parsed(raw: bytes) -> dict[str, Any] | None:
    """Return the object of a line, None if it is blank; raises MisfitError."""
    value = parsed(raw, _ONE_LINE)
    if type(value) is not dict and (value is not None or raw.strip(_BLANKS)):
        raise MisfitError("", described(value), _ONE_LINE)
    return value


def parsed(raw: bytes, expected: str) -> Any:
    """Return the value of a text, None if it is blank; raises MisfitError, also for a repeated key."""
    try:
        value = _FAST.decode(raw)
        return _strictly_parsed(raw, expected) if repeats_key(raw, value) else value
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _strictly_parsed(raw, expected) if raw.strip(_BLANKS) else None


def _strictly_parsed(raw: bytes, expected: str) -> Any:
    """Return the value of a text, or raise the MisfitError that has the words for its fault."""
    try:
        value = _STRICT.decode(raw.decode())
        if _SURROGATE.search(raw):
            encoded(json.dumps(value, ensure_ascii=False), "a text of an array")
        return value
    except UnicodeDecodeError:
        raise MisfitError("", "bytes that are not UTF-8", expected) from None
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
        raise MisfitError("", f"no JSON ({error.msg}, {place})", expected) from None
    except RecursionError:
        raise MisfitError("", "JSON nested too deeply", expected) from None
    except ValueError:  # Python refuses whole numbers of more than 4300 digits
        raise MisfitError("", "a whole number of too many digits", "a finite number") from None


def _reader(first: dict[str, Any], source: str, options: ReadOptions) -> ListReader | _Items:
    """Return a reader of the shape that the first line has."""
    candidates = next((key for key in CANDIDATES if isinstance(first.get(key), list)), None)
    wanted = options.list_column
    keys = [key for key in (*LISTS, "id") if key in first] if wanted is None else [wanted]
    if candidates is not None:
        key = "id" if "id" in keys else next(iter(keys), None)
        return ListReader(source, options, candidates, key)
    of = Roles(options).of
    if not keys or not any(
        of.get(key, "spare") != "spare" or isinstance(value, int | float)
        for key, value in first.items()
        if key not in (*LISTS, *PROMPTS, "id", wanted)
    ):
        raise MisfitError(
            "",
            f"keys {', '.join(map(quoted, list(first)[:8])) or '(none)'}",
            "a list per line (with 'candidates'), or a candidate per line with its 'list' (--list-column "
            "names another key) and a text, label, score or feature",
        )
    return _Items(source, options, keys[0])


class _Reader:
    """Candidates of some lines that wait to be added to the columns together."""

    candidates = ""  # the key of a line's candidates, if it holds several

    def __init__(self, source: str, options: ReadOptions, list_key: str | None) -> None:
        self.columns = Columns(source, options)
        self.source = source
        self.strict = options.strict
        self.list_key = list_key
        self.grouping = Grouping(source, options.strict)
        self._waiting: list[dict[str, Any]] = []
        self._lines: list[int] = []  # of each of them

    def wait(self, candidates: list[dict[str, Any]], line: int) -> None:
        """Take the candidates of a line."""
        self._waiting += candidates
        self._lines += [line] * len(candidates)
        if len(self._waiting) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Add the candidates that wait; raises FormatError."""
        items, self._waiting = self._waiting, []
        lines, self._lines = self._lines, []
        try:
            self.columns.add(items)
        except MisfitError as misfit:
            line = lines[misfit.item]
            if self.candidates:
                place = f"{self.candidates}[{misfit.item - lines.index(line)}]"
                misfit.where = f"{place}.{misfit.where}" if misfit.where else place
            raise misfit.at(self.source, line) from None

    def finish(self) -> CandidateLists:
        """Return all lists."""
        offsets, list_ids, rows = self.grouping.finish()
        return self.columns.lists(offsets, list_ids if self.list_key else None, rows)


class ListReader(_Reader):
    """A list per line."""

    def __init__(self, source: str, options: ReadOptions, candidates: str, list_key: str | None) -> None:
        super().__init__(source, options, list_key)
        self.candidates = candidates
        self.known = {candidates, *REFERENCES, *PROMPTS, list_key}
        self.lines: dict[str, int] = {}
        self.empty = 0

    def add(self, entry: dict[str, Any], line: int) -> None:
        """Add the list of a line; raises MisfitError."""
        candidates = entry.get(self.candidates)
        if not isinstance(candidates, list):
            found = described(candidates) if self.candidates in entry else f"no key {self.candidates!r}"
            raise MisfitError("", found, f"an array {self.candidates!r}, as on the first line")
        for key in entry:
            if key not in self.known:
                self.columns.ignore(key)
        name = self._name(entry, line)
        if not candidates:
            if self.strict:
                raise MisfitError(self.candidates, "no candidate", "one at least")
            self.empty += 1
            return
        self.columns.add_list(entry, not len(self.grouping))
        self.grouping.add(str(line) if name is None else name, line, len(candidates))
        if not all(map(isinstance, candidates, itertools.repeat(dict))):
            candidates = [self._object(item, i) for i, item in enumerate(candidates)]
        self.wait(candidates, line)

    def _object(self, item: Any, i: int) -> dict[str, Any]:
        """Return candidate ``i``, which may be given by its text alone, as an object; raises MisfitError."""
        if isinstance(item, str):
            return {"text": item}
        if isinstance(item, dict):
            return item
        where = f"{self.candidates}[{i}]"
        raise MisfitError(where, described(item), "a candidate (an object, or its text)")

    def _name(self, entry: dict[str, Any], line: int) -> str | None:
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
        return name

    def finish(self) -> CandidateLists:
        if not len(self.grouping):
            raise FormatError(self.source, None, "no candidate", "one at least")
        if self.empty:
            note(f"{self.source}: {count(self.empty, 'list')} without a candidate left out")
        return super().finish()


class _Items(_Reader):
    """A candidate per line."""

    def __init__(self, source: str, options: ReadOptions, list_key: str) -> None:
        super().__init__(source, options, list_key)
        self.columns.roles.of.update(dict.fromkeys((*REFERENCES, *PROMPTS, list_key), "of the list"))
        if list_key == "id" and options.list_column is None:
            note(f"{source}: the key 'id' is taken as the list of each candidate (list_column names another)")
        self.references: list[int] = []  # hashes, to see that a list's lines agree
        self.prompts: list[int] = []

    def add(self, entry: dict[str, Any], line: int) -> None:
        """Add the candidate of a line; raises MisfitError."""
        key = self.list_key
        if key not in entry:
            raise MisfitError("", f"no key {key!r}", "the id of the candidate's list, as on the first line")
        name = entry[key]
        if type(name) is not str:
            name = name_of(name, key)
        number = self.grouping.add(name, line)
        prompt = entry.get(prompt_key(entry))
        if number == len(self.references):
            self.columns.add_list(entry, number == 0)
            self.references.append(_hash_of(entry))
            self.prompts.append(hash(prompt) if type(prompt) is str else 0)
        else:
            if type(prompt) is str and hash(prompt) != self.prompts[number]:
                self.columns.ignore(prompt_key(entry))
            if ("references" in entry or "reference" in entry) and _hash_of(entry) != self.references[number]:
                raise MisfitError("references", "references", f"those that list {quoted(name)} has above")
        self.wait([entry], line)


def _hash_of(entry: dict[str, Any]) -> int:
    return hash(tuple(references_of(entry) or ()))
