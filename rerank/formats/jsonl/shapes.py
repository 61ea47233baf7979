"""Readers of JSON Lines: what both shapes share, and a list per line."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.text import count
from rerank.core.types import Index
from rerank.data.lists import CandidateLists
from rerank.formats.base import ReadOptions
from rerank.formats.common import note, quoted
from rerank.formats.growing import Grouping
from rerank.formats.jsonl.columns import Columns
from rerank.formats.jsonl.keys import (
    LISTS,
    PROMPTS,
    REFERENCES,
    MisfitError,
    described,
    name_of,
)
from rerank.formats.jsonl.plain import Part, PlainLines, count_ignored, is_string
from rerank.formats.jsonl.plan import Plan, UnplannedError, plan_of_lists

_BATCH = 256  # candidates that are added together, at least


class Reader(ABC):
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
        self._seen: dict[str, Any] = {}  # the keys of lines with the last value of each
        self._plain: PlainLines | None = None
        self._planned = False  # after the last line that was not plain

    @abstractmethod
    def _plan(self) -> Plan:
        """Return what lines hold; raises UnplannedError."""

    def learn(self, entry: dict[str, Any]) -> None:
        """Remember what a line holds that has been added."""
        self._seen.update(entry)
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
        columns.prompt_key = self._prompt_key()
        if "prompt" in of:
            part = parts[of["prompt"]]
            columns.prompts.join(part.strings().take(first[is_string(part.kinds[first])]))
        if columns.references is not None:
            found = parts[of["references"]].strings()
            for place, column in enumerate(columns.references):
                column.join(found.take(first * len(columns.references) + place))
        for key, number in plain.plan.lists:
            count_ignored(columns, key, parts[number].kinds[first] > 0)

    def _prompt_key(self) -> str:
        return next((key for key in PROMPTS if key in self._seen), PROMPTS[0])

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


class ListReader(Reader):
    """A list per line."""

    def __init__(self, source: str, options: ReadOptions, candidates: str, list_key: str | None) -> None:
        super().__init__(source, options, list_key)
        self.candidates = candidates
        self.known = {candidates, *REFERENCES, *PROMPTS, list_key}
        self.lines: dict[str, int] = {}
        self.empty = 0
        self._seen_of_items: dict[str, None] = {}

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

    def learn(self, entry: dict[str, Any]) -> None:
        super().learn(entry)
        for item in entry[self.candidates]:
            self._seen_of_items.update(dict.fromkeys(item if isinstance(item, dict) else ("text",)))

    def _plan(self) -> Plan:
        return plan_of_lists(self.columns, self.candidates, self.list_key, self._seen, self._seen_of_items)

    def add_plain(self, plain: PlainLines, parts: list[Part], n: int, line: int) -> None:
        """Add ``n`` lines that have been taken apart, from ``line`` on; raises FormatError."""
        of = plain.plan.of
        names = list(parts[of["list"]].strings()) if self.list_key else list(map(str, range(line, line + n)))
        sizes = parts[of["candidates"]].lengths
        if self.list_key:
            self._all_once(names, self.list_key, line)
        self.grouping.add_new(names, sizes)
        self._add_of_lists(plain, parts, np.arange(n))
        plain.add_items(parts, int(sizes.sum()))

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
        if not len(self.grouping):
            raise FormatError(self.source, None, "no candidate", "one at least")
        if self.empty:
            note(f"{self.source}: {count(self.empty, 'list')} without a candidate left out")
        return super().finish()
