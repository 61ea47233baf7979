"""Plain lines of JSON, many at a time: a kernel takes them apart, what it finds is added to the columns."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np

from rerank.core.types import Bytes, Floats, Index, Ints, Mask
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.formats.jsonl.cells import uniform_width
from rerank.formats.jsonl.columns import Columns
from rerank.formats.jsonl.plan import LOGPROBS, NO_VALUE, NULL, Plan
from rerank.native.data._names import Names
from rerank.native.formats._jsonl import ENDS, KINDS, NODES, Shredder

PADDING = 64  # readable bytes that the kernel needs after the lines
_SLACK = 16  # bytes that it writes beyond a text
_ROWS = 1 << 13
_VALUES = 1 << 17
_DONE, _ODD, _NO_ROOM, _NO_ROOM_FOR_NAMES = range(len(ENDS))
_NO_VALUE, _NULL = NO_VALUE.bit_length() - 1, NULL.bit_length() - 1
_REAL, _STRING = KINDS.index("real"), KINDS.index("string")
_SCALAR = NODES.index("scalar")


@dataclass
class Part:
    """What a node has of some lines: views that the next lines overwrite."""

    kinds: Bytes
    numbers: Floats
    lengths: Index
    columns: Ints
    text: Bytes

    def strings(self) -> StringColumn:
        """Return the texts."""
        return StringColumn(self.text, offsets_of(self.lengths))

    def nan_for_null(self) -> Floats:
        """Return the numbers, null and absent ones as NaN."""
        self.numbers[self.kinds <= _NULL] = np.nan
        return self.numbers


class PlainLines:
    """Reads lines by a plan and adds their candidates to columns."""

    def __init__(self, columns: Columns, plan: Plan) -> None:
        self.columns = columns
        self.plan = plan
        self._rows, self._values, self._bytes = _ROWS, _VALUES, 0
        self._arrays: list[Part] = []
        self._names = Names()
        self._shredder = self._renamed(0)

    def _renamed(self, room: int) -> Shredder:
        """Return a kernel for the features that are known, and ``room`` at least."""
        known = self.columns.cells.names
        self._names = Names([name.encode() for name in known])
        while self._names.room < room:
            self._names.grow(_VALUES)
        seen = np.zeros(self._names.room, dtype=np.int64)
        seen[[known[name] for name in self.plan.forbidden]] = -1
        nulls = self.columns.options.missing is not None
        shredder = Shredder(self.plan.nodes, self._names, seen, nulls)
        for number, part in enumerate(self._arrays):
            shredder.set_room(number, part.kinds, part.numbers, part.lengths, part.columns, part.text)
        return shredder

    def _make_room(self, n_bytes: int) -> None:
        self._bytes = max(n_bytes + _SLACK, self._bytes)
        self._arrays = []
        for number, (kind, allowed, spelt, *_) in enumerate(self.plan.nodes):
            featured = number == self.plan.of.get("features")
            of_text = kind == _SCALAR and (spelt or allowed >> _STRING & 1)
            part = Part(
                np.empty(self._rows, dtype=np.uint8),
                np.empty(self._values if featured else 3 * self._rows),
                np.empty(self._rows, dtype=np.int64),
                np.empty(self._values if featured else 1, dtype=np.int32),
                np.empty(self._bytes if of_text else _SLACK, dtype=np.uint8),
            )
            self._arrays.append(part)
            self._shredder.set_room(number, part.kinds, part.numbers, part.lengths, part.columns, part.text)

    def read(self, text: Bytes, start: int, stop: int) -> tuple[int, int, bool, list[Part]]:
        """Take plain lines apart, as many as there is room for.

        Returns
        -------
        The place after them, how many they are, whether the next one is not plain, and a part per node.
        """
        if len(self._names) != len(self.columns.cells.names):
            self._shredder = self._renamed(self._names.room)
        if self._bytes < stop - start + _SLACK:
            self._make_room(stop - start)
        while True:
            end, n, why, n_names = self._shredder.read(text, start, stop)
            sizes = self._shredder.sizes()
            self._take_names(why, n_names)
            if n or why in (_DONE, _ODD):
                return end, n, why == _ODD, [self._part(number, *size) for number, size in enumerate(sizes)]
            if why == _NO_ROOM:
                self._rows, self._values = 2 * self._rows, 2 * self._values
                self._make_room(stop - start)

    def _take_names(self, why: int, n_names: int) -> None:
        """Give columns to the features that are new, but for those of a line that was dropped."""
        known = self.columns.cells.names
        kept = len(self._names) if why == _DONE else n_names
        if kept > len(known):
            for name in self._names.strings()[len(known) : kept]:
                known[name.decode()] = len(known)
        if why == _NO_ROOM_FOR_NAMES:
            self._shredder = self._renamed(2 * self._names.room)
        elif len(self._names) > kept:
            self._shredder = self._renamed(self._names.room)

    def _part(self, number: int, n: int, n_values: int) -> Part:
        full, of = self._arrays[number], self.plan.of
        featured = number == of.get("features")
        n_numbers = n_values if featured else 3 * n if number == of.get("logprobs") else n
        columns, text = full.columns[: n_values * featured], full.text[:n_values]
        return Part(full.kinds[:n], full.numbers[:n_numbers], full.lengths[:n], columns, text)

    def add_items(self, parts: list[Part], n: int) -> None:
        """Add ``n`` candidates."""
        columns, of = self.columns, self.plan.of
        nan = np.full(n, np.nan)
        for role, numbers in (("label", columns.labels), ("score", columns.scores)):
            part = parts[of[role]] if role in of else None
            numbers.frombytes((nan if part is None else part.nan_for_null()).tobytes())
            if part is not None and np.any(part.kinds != _NO_VALUE):
                columns.any_label |= role == "label"
                columns.any_score |= role == "score"
        if "text" in of:
            columns.texts.join(parts[of["text"]].strings())
        if "id" in of and len(columns.ids):
            columns.ids.join(parts[of["id"]].strings())
        if "answer" in of:
            columns.fill_answers()
            columns.answers.join(_answers(parts[of["answer"]]))
        self._add_features(parts, n)
        columns.trees.skip(n)
        for key, number in self.plan.ignored:
            count_ignored(columns, key, parts[number].kinds != _NO_VALUE)
        for key, number in self.plan.extra.items():
            count_ignored(columns, key, parts[number].kinds == _NULL)

    def _add_features(self, parts: list[Part], n: int) -> None:
        cells, of = self.columns.cells, self.plan.of
        own = parts[of["features"]] if "features" in of else None
        extra: list[tuple[int, Floats, Mask]] = []
        if own is None and "score" in of and "score" in cells.names:
            part = parts[of["score"]]
            extra.append((cells.names["score"], part.numbers, part.kinds > _NULL))
        for key, number in self.plan.extra.items():
            extra.append((cells.names[key], parts[number].numbers, parts[number].kinds > _NULL))
        if "logprobs" in of:
            part = parts[of["logprobs"]]
            total, mean, least = part.numbers.reshape(-1, 3).T
            n_tokens = part.lengths.astype(np.float64)
            for name, values in zip(LOGPROBS, (total, n_tokens, mean, least), strict=True):
                extra.append((cells.names[name], values, part.kinds > _NULL))
        if own is not None and not extra:
            cells.add_rows(own.columns, own.numbers, own.lengths)
            return
        width = 0 if own is None else uniform_width(own.columns, own.lengths)
        if width is not None and all(present.all() for _, _, present in extra):
            rows = np.empty((n, width + len(extra)))
            names = np.empty(width + len(extra), dtype=np.int32)
            if own is not None:
                rows[:, :width] = own.numbers.reshape(n, width)
                names[:width] = own.columns[:width]
            for place, (column, values, _) in enumerate(extra, start=width):
                rows[:, place] = values
                names[place] = column
            cells.add_uniform(array("i", names.tobytes()), rows, n)
            return
        cells.add_rows(*_joined(own, extra, n))


def is_string(kinds: Bytes) -> Mask:
    """Return which of the values of a node are strings."""
    return kinds == _STRING


def count_ignored(columns: Columns, key: str, where: Mask) -> None:
    """Count an ignored key where it is."""
    n = int(np.count_nonzero(where))
    if n:
        columns.ignore(key, n)


def _answers(part: Part) -> StringColumn:
    """Return answers, numbers as Python writes them."""
    texts = part.strings()
    if not np.any(part.kinds == _REAL):
        return texts
    answers = [texts.bytes_at(i) for i in range(len(texts))]
    for i in np.flatnonzero(part.kinds == _REAL).tolist():
        answers[i] = repr(float(part.numbers[i])).encode()
    return StringColumn.from_strings(answers)


def _joined(own: Part | None, extra: list[tuple[int, Floats, Mask]], n: int) -> tuple[Ints, Floats, Index]:
    """Return columns, values and lengths of rows that have features of their own and some of the others."""
    items = [np.flatnonzero(present) for _, _, present in extra]
    columns = [
        np.full(len(some), name, dtype=np.int32) for some, (name, _, _) in zip(items, extra, strict=True)
    ]
    values = [numbers[present] for _, numbers, present in extra]
    if own is not None:
        items.insert(0, np.repeat(np.arange(n), own.lengths))
        columns.insert(0, own.columns)
        values.insert(0, own.numbers)
    joined = np.concatenate(items)
    order = np.argsort(joined, kind="stable")
    return np.concatenate(columns)[order], np.concatenate(values)[order], np.bincount(joined, minlength=n)
