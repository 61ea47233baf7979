"""Reader of JSON Lines with a candidate per line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.core.types import Bytes, Index
from rerank.data.columns.strings import StringColumn
from rerank.formats.base import ReadOptions
from rerank.formats.common import note, quoted
from rerank.formats.jsonl.keys import (
    PROMPTS,
    REFERENCES,
    MisfitError,
    name_of,
    prompt_key,
    references_of,
)
from rerank.formats.jsonl.plain import Part, PlainLines, is_string
from rerank.formats.jsonl.plan import Plan, plan_of_items
from rerank.formats.jsonl.shapes import Reader
from rerank.native.formats._jsonl import changes


class ItemReader(Reader):
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
                raise self._other_references(name)
        self.wait([entry], line)

    def _plan(self) -> Plan:
        return plan_of_items(self.columns, self.list_key or "", self._seen)

    def add_plain(self, plain: PlainLines, parts: list[Part], n: int, line: int) -> None:
        """Add ``n`` lines that have been taken apart, from ``line`` on; raises FormatError."""
        names = parts[plain.plan.of["list"]].strings()
        starts = np.flatnonzero(_changes(names, n))
        runs = list(names.take(starts))
        shared = _Shared.of(plain.plan, parts, n)
        odd = shared.changes()
        odd[starts] = 0
        # The first lines may be of the last list before; the others are, as a rule, of new lists.
        known = int(runs[0] == self.grouping.last)
        if np.any(odd) or not self.grouping.are_new(runs[known:]):
            known = len(runs)
        new = self._add_runs(runs[:known], [*starts.tolist(), n], shared, odd, line)
        if known < len(runs):
            self.grouping.add_new(runs[known:], np.diff(starts[known:], append=n))
            self._remember(shared, starts[known:])
            new = np.append(new, starts[known:])
        if len(new):
            self._add_of_lists(plain, parts, new)
        plain.add_items(parts, n)

    def _add_runs(self, names: list[str], bounds: list[int], shared: _Shared, odd: Bytes, line: int) -> Index:
        """Add runs of lines of one list each, and return where lists start that are new."""
        new = []
        for name, start, stop in zip(names, bounds, bounds[1:], strict=False):
            number = self.grouping.add(name, line + start, stop - start)
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
        self.prompts += (
            [0] * len(starts) if shared.prompts is None else map(hash, shared.prompts.take(starts))
        )

    def _compare(self, shared: _Shared, place: int, number: int, line: int, name: str) -> None:
        """Count a prompt that is not the one its list has; raises FormatError if the references are not."""
        prompts, references = shared.prompts, shared.references
        is_text = prompts is not None and is_string(shared.kinds[place])
        if prompts is not None and is_text and hash(prompts[place]) != self.prompts[number]:
            self.columns.ignore(self._prompt_key())
        if references is not None and shared.hash_of_references(place) != self.references[number]:
            raise self._other_references(name).at(self.source, line)

    def _other_references(self, name: str) -> MisfitError:
        return MisfitError("references", "references", f"those that list {quoted(name)} has above")


@dataclass
class _Shared:
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
