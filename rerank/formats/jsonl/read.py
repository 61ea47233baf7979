"""Reading of JSON Lines into growing columns; the schema is in rerank/formats/jsonl/__init__.py."""

from __future__ import annotations

import itertools
import json
import re
from abc import ABC, abstractmethod
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from rerank.core.errors import FormatError
from rerank.core.files.read import shown
from rerank.core.text import count
from rerank.core.types import Bytes, Index
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.base import ReadOptions
from rerank.formats.builders import Grouper, whole_lines
from rerank.formats.common import first_repeated, note, quoted
from rerank.formats.jsonl.columns import Columns
from rerank.formats.jsonl.schema import (
    CANDIDATES,
    LISTS,
    REFERENCES,
    MisfitError,
    Roles,
    described,
    encoded,
    name_of,
    prompt_key,
    references_of,
)
from rerank.formats.jsonl.shredder import (
    PADDING,
    Part,
    PlainLines,
    Plan,
    UnplannedError,
    count_ignored,
    is_string,
    plan_of_items,
    plan_of_lists,
)
from rerank.native.formats._json import repeats_key
from rerank.native.formats._jsonl import changes

_BATCH = 256  # candidates that are added together, at least


class Reader(ABC):
    """Candidates of some lines that wait to be added to the columns together."""

    candidates = ""  # the key of a line's candidates, if it holds several

    def __init__(self, source: str, options: ReadOptions, list_key: str | None) -> None:
        self.columns = Columns(source, options)
        self.source = source
        self.strict = options.strict
        self.list_key = list_key
        self.grouper = Grouper(source, options.strict)
        self._waiting: list[dict[str, Any]] = []
        self._lines: list[int] = []  # of each of them
        self.seen: dict[str, Any] = {}  # the keys of lines with the last value of each
        self._plain: PlainLines | None = None
        self._planned = False  # after the last line that was not plain

    @abstractmethod
    def _plan(self) -> Plan:
        """Return what lines hold; raises UnplannedError."""

    def learn(self, entry: dict[str, Any]) -> None:
        """Remember what a line holds that has been added."""
        self.seen.update(entry)
        self._planned = False

    def plain(self) -> PlainLines | None:
        """Return what reads lines like those before, None if nothing can; no candidate may wait."""
        if self._planned:
            return self._plain
        self._planned = True
        try:
            plan = self._plan()
        except UnplannedError:
            self._plain = None
            return None
        if self._plain is None or plan != self._plain.plan:
            self._plain = PlainLines(self.columns, plan)
        return self._plain

    def _add_of_lists(self, plain: PlainLines, parts: list[Part], first: Index) -> None:
        """Add prompts and references of lists, whose first lines are ``first`` of those in ``parts``."""
        columns, of = self.columns, plain.plan.of
        columns.prompt_key = prompt_key(self.seen, columns.roles.prompts)
        if "prompt" in of:
            part = parts[of["prompt"]]
            columns.prompts.join(part.strings().take(first[is_string(part.kinds[first])]))
        if columns.references is not None:
            found = parts[of["references"]].strings()
            for place, column in enumerate(columns.references):
                column.join(found.take(first * len(columns.references) + place))
        for key, number in plain.plan.lists:
            count_ignored(columns, key, parts[number].kinds[first] > 0)

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
        offsets, list_ids, rows = self.grouper.finish()
        return self.columns.lists(offsets, list_ids if self.list_key else None, rows)


class ListReader(Reader):
    """A list per line."""

    def __init__(self, source: str, options: ReadOptions, candidates: str, list_key: str | None) -> None:
        super().__init__(source, options, list_key)
        self.candidates = candidates
        self.known = {candidates, *REFERENCES, *self.columns.roles.prompts, list_key}
        self.lines: dict[str, int] = {}
        self.empty = 0
        self.seen_of_items: dict[str, None] = {}

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
        self.columns.add_list(entry, not len(self.grouper))
        self.grouper.add(str(line) if name is None else name, line, len(candidates))
        if not all(map(isinstance, candidates, itertools.repeat(dict))):
            candidates = [{"text": item} if isinstance(item, str) else item for item in candidates]
            odd = next((i for i, item in enumerate(candidates) if not isinstance(item, dict)), None)
            if odd is not None:
                where = f"{self.candidates}[{odd}]"
                raise MisfitError(where, described(candidates[odd]), "a candidate (an object, or its text)")
        self.wait(candidates, line)

    def learn(self, entry: dict[str, Any]) -> None:
        super().learn(entry)
        for item in entry[self.candidates]:
            self.seen_of_items.update(dict.fromkeys(item if isinstance(item, dict) else ("text",)))

    def _plan(self) -> Plan:
        return plan_of_lists(self.columns, self.candidates, self.list_key, self.seen, self.seen_of_items)

    def add_plain(self, plain: PlainLines, parts: list[Part], n: int, line: int) -> None:
        """Add ``n`` lines that have been taken apart, from ``line`` on; raises FormatError."""
        of = plain.plan.of
        names = list(parts[of["list"]].strings()) if self.list_key else list(map(str, range(line, line + n)))
        sizes = parts[of["candidates"]].lengths
        if self.list_key:
            self._all_once(names, self.list_key, line)
        self.grouper.add_new(names, sizes)
        self._add_of_lists(plain, parts, np.arange(n))
        plain.add_items(parts, int(sizes.sum()))

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
        self._once(name, key, line)
        return name

    def _once(self, name: str, key: str, line: int) -> None:
        """Raise MisfitError if an earlier line has this list."""
        before = self.lines.setdefault(name, line)
        if before != line:
            raise MisfitError(key, f"list {quoted(name)} again (line {before})", "each list once")

    def _all_once(self, names: list[str], key: str, line: int) -> None:
        """Raise FormatError if some lines from ``line`` on do not have a list each."""
        lines = dict(zip(names, range(line, line + len(names)), strict=True))
        if len(lines) == len(names) and self.lines.keys().isdisjoint(lines):
            self.lines.update(lines)
            return
        for own, name in enumerate(names, start=line):
            try:
                self._once(name, key, own)
            except MisfitError as misfit:
                raise misfit.at(self.source, own) from None

    def finish(self) -> CandidateLists:
        if not len(self.grouper):
            raise FormatError(self.source, None, "no candidate", "one at least")
        self.note_empty()
        return super().finish()

    def note_empty(self) -> None:
        """Warn about lists without a candidate."""
        if self.empty:
            note(f"{self.source}: {count(self.empty, 'list')} without a candidate left out")


class ItemReader(Reader):
    """A candidate per line."""

    def __init__(self, source: str, options: ReadOptions, list_key: str) -> None:
        super().__init__(source, options, list_key)
        roles = self.columns.roles
        roles.of.update(dict.fromkeys((*REFERENCES, *roles.prompts, list_key), "of the list"))
        if list_key == "id" and options.list_column is None:
            note(f"{source}: the key 'id' is taken as the list of each candidate (list_column names another)")
        self.references: list[int] = []  # hashes, to see that a list's lines agree
        self.prompts: list[int] = []

    def add(self, entry: dict[str, Any], line: int) -> None:
        """Add the candidate of a line; raises MisfitError."""
        key = self.list_key
        if key not in entry:
            raise MisfitError("", f"no key {key!r}", "the id of the candidate's list, as on the first line")
        name = entry[key] if type(entry[key]) is str else name_of(entry[key], key)
        number = self.grouper.add(name, line)
        prompt = entry.get(prompt_key(entry, self.columns.roles.prompts))
        if number == len(self.references):
            self.columns.add_list(entry, number == 0)
            self.references.append(_hash_of(entry))
            self.prompts.append(hash(prompt) if type(prompt) is str else 0)
        else:
            if type(prompt) is str and hash(prompt) != self.prompts[number]:
                self._other_prompt(entry, line, name)
            if ("references" in entry or "reference" in entry) and _hash_of(entry) != self.references[number]:
                raise self._other_references(name)
        self.wait([entry], line)

    def _plan(self) -> Plan:
        return plan_of_items(self.columns, self.list_key or "", self.seen)

    def add_plain(self, plain: PlainLines, parts: list[Part], n: int, line: int) -> None:
        """Add ``n`` lines that have been taken apart, from ``line`` on; raises FormatError."""
        names = parts[plain.plan.of["list"]].strings()
        starts = np.flatnonzero(_changes(names, n))
        runs = list(names.take(starts))
        shared = _Shared.of(plain.plan, parts, n)
        odd = shared.changes()
        odd[starts] = 0
        # The first lines may be of the last list before; the others are, as a rule, of new lists.
        known = int(runs[0] == self.grouper.last)
        if np.any(odd) or not self.grouper.are_new(runs[known:]):
            known = len(runs)
        new = self._add_runs(runs[:known], [*starts.tolist(), n], shared, odd, line)
        if known < len(runs):
            self.grouper.add_new(runs[known:], np.diff(starts[known:], append=n))
            self._remember(shared, starts[known:])
            new = np.append(new, starts[known:])
        if len(new):
            self._add_of_lists(plain, parts, new)
        plain.add_items(parts, n)

    def _add_runs(self, names: list[str], bounds: list[int], shared: _Shared, odd: Bytes, line: int) -> Index:
        """Add runs of lines of one list each, and return where lists start that are new."""
        new = []
        for name, start, stop in zip(names, bounds, bounds[1:], strict=False):
            number = self.grouper.add(name, line + start, stop - start)
            is_new = number == len(self.references)
            if is_new:
                new.append(start)
                self._remember(shared, np.array([start]))
            if not is_new or np.any(odd[start:stop]):
                for place in range(start + is_new, stop):
                    self._compare(shared, place, number, line + place, name)
        return np.array(new, dtype=np.int64)

    def _remember(self, shared: _Shared, starts: Index) -> None:
        """Keep hashes of what the lines of new lists share, which start at these lines."""
        self.references += map(shared.hash_of_references, starts.tolist())
        # That of "", as which no text is kept, is 0.
        texts = shared.prompts
        self.prompts += [0] * len(starts) if texts is None else map(hash, texts.take(starts))

    def _compare(self, shared: _Shared, place: int, number: int, line: int, name: str) -> None:
        """Note a prompt that is not the one its list has; raises FormatError if the references are not."""
        text, references = shared.prompts, shared.references
        if text is not None and is_string(shared.kinds[place]) and hash(text[place]) != self.prompts[number]:
            self._other_prompt(self.seen, line, name)
        if references is not None and shared.hash_of_references(place) != self.references[number]:
            raise self._other_references(name).at(self.source, line)

    def _other_prompt(self, entry: dict[str, Any], line: int, name: str) -> None:
        """Count a prompt that is not the one its list has; FormatError if the user named its key."""
        key = prompt_key(entry, self.columns.roles.prompts)
        if not self.columns.roles.prompts[1]:
            raise FormatError(self.source, line, f"another question at {key}", f"that of list {quoted(name)}")
        self.columns.ignore(key)

    def _other_references(self, name: str) -> MisfitError:
        return MisfitError("references", "references", f"those that list {quoted(name)} has above")


class _Shared(Struct):
    """The prompts and references of some lines, which the lines of a list should share."""

    n: int
    prompts: StringColumn | None
    kinds: Bytes  # of the prompts
    references: StringColumn | None  # those of a line together

    @classmethod
    def of(cls, plan: Plan, parts: list[Part], n: int) -> _Shared:
        prompt = parts[plan.of["prompt"]] if "prompt" in plan.of else None
        references = parts[plan.of["references"]].strings() if "references" in plan.of else None
        if prompt is None:
            return cls(n, None, np.zeros(n, dtype=np.uint8), references)
        return cls(n, prompt.strings(), prompt.kinds, references)

    def changes(self) -> Bytes:
        """Return which lines have another prompt or other references than the line before."""
        out = np.zeros(self.n, dtype=np.uint8)
        for column in (self.prompts, self.references):
            if column is not None:
                out |= _changes(column, self.n)
        return out

    def hash_of_references(self, line: int) -> int:
        """Return the hash of the references of a line."""
        if self.references is None:
            return hash(())
        width = len(self.references) // self.n
        return hash(tuple(map(self.references.bytes_at, range(line * width, (line + 1) * width))))


def _changes(column: StringColumn, n: int) -> Bytes:
    """Return which of ``n`` records of a column are not as the record before; the first is not."""
    out = np.zeros(n, dtype=np.uint8)
    changes(column.data, column.offsets, len(column) // n, out)
    return out


def _hash_of(entry: dict[str, Any]) -> int:
    return hash(tuple(references_of(entry) or ()))


ONE_LINE = "one whole JSON object per line"
_BLANKS = b" \t\r\n"
_BLANK_LINES = re.compile(rb"[ \t\r\n]*\n")
_PIECE = 1 << 20  # bytes that are taken apart together, at least
_WORTH = 32  # plain lines in a row, as many as make it worth to look for them
_MOST_SINGLE = 1024


def read_jsonl(path: str, options: ReadOptions) -> CandidateLists:
    """Return the lists of a file of either shape; raises FormatError."""
    source = shown(path)
    blocks = LineReader(source, options)
    try:
        for block in whole_lines(path):
            blocks.add(block)
    except FormatError:
        if blocks.reader is not None:
            blocks.reader.flush()  # a fault of an earlier line goes first
        raise
    if blocks.reader is None:
        found = "an empty file" if blocks.line == 0 else "blank lines only"
        raise FormatError(source, None, found, ONE_LINE)
    blocks.reader.flush()
    return blocks.reader.finish()


class LineReader:
    """Adds blocks of lines to a reader: plain lines many at a time, the others one by one."""

    def __init__(self, source: str, options: ReadOptions) -> None:
        self.source = source
        self.options = options
        self.reader: ListReader | ItemReader | None = None  # before the first line that is not blank
        self.line = 0  # lines that have been read
        self._single = 0  # so many lines are read one by one before plain ones are tried
        self._patience = 1
        self._run = 0  # plain lines since the last other one

    def add(self, block: bytes) -> None:
        """Add whole lines; raises FormatError."""
        plain = _utf8_lines(block)
        at = 0
        while at < len(block):
            if self.reader is not None and not self._single and at < plain:
                stop = block.find(b"\n", min(at + _PIECE, plain - 1)) + 1
                at = self._add_plain(self.reader, block, at, stop)
                if at == stop:
                    continue
            if (blank := _BLANK_LINES.match(block, at)) is not None:  # millions of them cost nothing
                self.line += block.count(b"\n", at, blank.end())
                at = blank.end()
                continue
            end = block.find(b"\n", at)
            self.line += 1
            self._add_line(block[at:end])
            self._single = max(self._single - 1, 0)
            at = end + 1

    def _add_line(self, raw: bytes) -> None:
        try:
            value = parsed(raw, ONE_LINE)
            if type(value) is not dict and (value is not None or raw.strip(_BLANKS)):
                raise MisfitError("", described(value), ONE_LINE)
            if value is not None:
                self.reader = self.reader or reader_of(value, self.source, self.options)
                self.reader.add(value, self.line)
                self.reader.learn(value)
        except MisfitError as misfit:
            raise misfit.at(self.source, self.line) from None

    def _add_plain(self, reader: ListReader | ItemReader, block: bytes, at: int, stop: int) -> int:
        """Add the plain lines at the start of ``block[at:stop]`` and return the place after them."""
        reader.flush()
        plain = reader.plain()
        text = np.frombuffer(block, dtype=np.uint8)
        start = 0
        if stop + PADDING > len(block):
            text = np.frombuffer(block[at:stop] + bytes(PADDING), dtype=np.uint8)
            start = at
        odd = plain is None
        while at < stop and plain is not None and not odd:
            end, n, odd, parts = plain.read(text, at - start, stop - start)
            at = end + start
            if n:
                reader.add_plain(plain, parts, n, self.line + 1)
            self.line += n
            self._run += n
        if odd:
            self._patience = 1 if self._run >= _WORTH else min(2 * self._patience, _MOST_SINGLE)
            self._single = self._patience
            self._run = 0
        return at


def reader_of(first: dict[str, Any], source: str, options: ReadOptions) -> ListReader | ItemReader:
    """Return a reader of the shape that the first line has."""
    candidates = next((key for key in CANDIDATES if isinstance(first.get(key), list)), None)
    wanted = options.list_column
    named = LISTS if candidates is not None else (*LISTS, options.query_column)
    keys = [key for key in (*named, "id") if key in first] if wanted is None else [wanted]
    if candidates is not None:
        key = "id" if "id" in keys else next(iter(keys), None)
        return ListReader(source, options, candidates, key)
    roles = Roles(options)
    if not keys or not any(
        roles.of.get(key, "spare") != "spare" or isinstance(value, int | float)
        for key, value in first.items()
        if key not in (*LISTS, *roles.prompts, "id", wanted)
    ):
        raise MisfitError(
            "",
            f"keys {', '.join(map(quoted, list(first)[:8])) or '(none)'}",
            "a list per line (with 'candidates'), or a candidate per line with its 'list' (--list-column "
            "names another key) and a text, label, score or feature",
        )
    return ItemReader(source, options, keys[0])


def _utf8_lines(block: bytes) -> int:
    """Return how many bytes the lines before the first one that is not UTF-8 have."""
    if block.isascii():
        return len(block)
    try:
        block.decode()
    except UnicodeDecodeError as error:
        return block.rfind(b"\n", 0, error.start) + 1
    return len(block)


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


def _no_constant(token: str) -> Any:
    raise MisfitError("", token, "a number (JSON has no NaN or Infinity; null is a missing value)")


_FAST = msgspec.json.Decoder()
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant)


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
