"""Lines of JSON like those before: a plan of what they hold, by which a kernel takes many apart at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct, field

from rerank.core.types import Bytes, Floats, Index, Ints, Mask
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.schema import TREE
from rerank.data.columns.strings import StringColumn
from rerank.formats.jsonl.columns import TREES, Columns, uniform_width
from rerank.formats.jsonl.schema import REFERENCES
from rerank.native.data._names import Names
from rerank.native.formats._jsonl import ENDS, KINDS, NODES, Shredder

NO_VALUE, NULL, FALSE, TRUE, WHOLE, REAL, STRING, NESTED = (1 << k for k in range(len(KINDS)))
_NUMBER = FALSE | TRUE | WHOLE | REAL
_ANY = NULL | _NUMBER | STRING | NESTED | NO_VALUE
_OBJECT, _ARRAY, _SCALAR, _FEATURES, _LOGPROBS, _SKIPPED = range(len(NODES))
LOGPROBS = ("logprob_sum", "n_tokens", "logprob_mean", "logprob_min")
Node = tuple[int, int, int, int, tuple[tuple[bytes, int], ...]]


class UnplannedError(Exception):
    """Lines that only Python can read."""


class Plan(Struct):
    """A tree of nodes, see ``native.formats._jsonl.Shredder``, and what they are for; node 0 is a line."""

    nodes: list[Node] = field(default_factory=list)
    of: dict[str, int] = field(default_factory=dict)  # by role; no entry = no such key
    extra: dict[str, int] = field(default_factory=dict)  # by key of candidates that is a feature
    ignored: list[tuple[str, int]] = field(default_factory=list)  # counted keys of lists and candidates
    forbidden: tuple[str, ...] = ()  # names that no object of features may have
    lists: list[tuple[str, int]] = field(default_factory=list)  # that count at the first line of a list

    def add(self, kind: int, allowed: int, size: int = 0, element: int = -1) -> int:
        """Add a node and return its number; ``size`` and ``element`` are as in the kernel."""
        self.nodes.append((kind, allowed, size, element, ()))
        return len(self.nodes) - 1

    def scalar(self, allowed: int, spelt: bool = False) -> int:
        """Add a node for one value."""
        return self.add(_SCALAR, allowed, spelt)

    def skip(self, columns: Columns, key: str, allowed: int, into: list[tuple[str, int]]) -> int:
        """Add a node for what is counted as ignored; raises UnplannedError if it was not yet."""
        if key not in columns.ignored:
            raise UnplannedError(key)
        into.append((key, self.add(_SKIPPED, allowed)))
        return into[-1][1]


def plan_of_lists(
    columns: Columns, candidates: str, list_key: str | None, lines: Mapping[str, Any], items: Iterable[str]
) -> Plan:
    """Return the plan of lines that hold a list each; raises UnplannedError if Python must read all lines.

    candidates, list_key : the keys of the array and of the list's id.
    lines, items : the keys that lines had, with the last value of each, and those of candidates.
    """
    plan = Plan()
    plan.add(_OBJECT, 0, -1)
    keys = []
    for key, value in lines.items():
        if key == candidates:
            nodes, bare = _item_nodes(plan, columns, items)
            item = plan.add(_OBJECT, 0, bare)
            plan.nodes[item] = (*plan.nodes[item][:4], tuple(nodes))
            node = plan.of["candidates"] = plan.add(_ARRAY, NESTED, 0, item)
        elif key == list_key:
            node = _name_node(plan, columns, key)
        elif key in (*REFERENCES, *columns.roles.prompts):
            node = _list_node(plan, columns, key, value, lines)
        else:
            node = plan.skip(columns, key, _ANY, plan.ignored)
        keys.append((key.encode(), node))
    plan.nodes[0] = (*plan.nodes[0][:4], tuple(keys))
    return plan


def plan_of_items(columns: Columns, list_key: str, lines: Mapping[str, Any]) -> Plan:
    """Return the plan of lines that hold a candidate each; see ``plan_of_lists``."""
    plan = Plan()
    plan.add(_OBJECT, 0, -1)
    of_list = {list_key, *REFERENCES, *columns.roles.prompts}
    nodes, _ = _item_nodes(plan, columns, (key for key in lines if key not in of_list))
    for key, value in lines.items():
        if key == list_key:
            nodes.append((key.encode(), _name_node(plan, columns, key)))
        elif key in of_list:
            nodes.append((key.encode(), _list_node(plan, columns, key, value, lines)))
    order = {key.encode(): place for place, key in enumerate(lines)}
    plan.nodes[0] = (*plan.nodes[0][:4], tuple(sorted(nodes, key=lambda pair: order[pair[0]])))
    return plan


def _name_node(plan: Plan, columns: Columns, key: str) -> int:
    """Return the node of the list's id."""
    if key in (*REFERENCES, *columns.roles.prompts):
        raise UnplannedError(key)  # the id of a list, and something else too
    plan.of["list"] = plan.scalar(STRING | WHOLE, spelt=True)
    return plan.of["list"]


def _list_node(plan: Plan, columns: Columns, key: str, value: Any, lines: Mapping[str, Any]) -> int:
    """Return the node of a prompt or of references."""
    if key in (keys := columns.roles.prompts):
        if key == keys[1] and keys[0] in lines:
            return plan.skip(columns, key, _ANY, plan.lists)
        if key in columns.ignored:
            return plan.skip(columns, key, _ANY & ~(STRING | NULL | NO_VALUE), plan.lists)
        plan.of["prompt"] = plan.scalar(STRING | NULL)
        return plan.of["prompt"]
    if all(name in lines for name in REFERENCES):
        raise UnplannedError(key)
    if columns.references is None:
        return plan.add(_SKIPPED, NULL | NO_VALUE)
    plan.of["references"] = plan.scalar(STRING)
    if not isinstance(value, list):
        return plan.of["references"]
    return plan.add(_ARRAY, NESTED, len(columns.references), plan.of["references"])


def _item_nodes(plan: Plan, columns: Columns, keys: Iterable[str]) -> tuple[list[tuple[bytes, int]], int]:
    """Return the nodes of a candidate's keys, and the place of the key "text" if a string stands for it."""
    of = columns.roles.of
    keys = list(keys)
    roles = {key: of.get(key) for key in keys}
    nodes = []
    bare = -1
    for place, (key, role) in enumerate(roles.items()):
        if role is None:
            node = _other_node(plan, columns, key)
        elif role == "spare":
            node = plan.skip(columns, key, _ANY, plan.ignored)
        elif role == "logprobs":
            node = _logprobs_node(plan, columns, key)
        elif role in (TREE, TREES):
            raise UnplannedError(key)
        else:
            node = plan.of[role] = _role_node(plan, columns, role, "features" in roles.values())
        nodes.append((key.encode(), node))
        if role == key == "text":
            bare = place
    plan.forbidden = (*plan.extra, *(LOGPROBS if "logprobs" in plan.of else ()))
    if len(set(plan.forbidden)) < len(plan.forbidden):
        raise UnplannedError(", ".join(LOGPROBS))
    return nodes, bare


def _role_node(plan: Plan, columns: Columns, role: str, with_features: bool) -> int:
    if role in columns.texts:
        return plan.scalar(STRING)
    if role == "id":
        return plan.scalar(STRING | WHOLE, spelt=True) if len(columns.ids) else plan.scalar(NULL | NO_VALUE)
    if role == "answer":
        return plan.scalar(_ANY & ~NESTED, spelt=True)
    if role == "features":
        return plan.add(_FEATURES, NESTED)
    if role == "score" and not with_features and "score" not in columns.numeric:
        return plan.scalar(NULL | NO_VALUE)
    if role in ("label", "score"):
        return plan.scalar(_NUMBER | NULL | NO_VALUE)
    raise UnplannedError(role)


def _other_node(plan: Plan, columns: Columns, key: str) -> int:
    """Return the node of a key without a role, which is a feature or ignored."""
    null = NULL if key in columns.ignored else 0
    if key not in columns.numeric:
        return plan.skip(columns, key, NULL | STRING | NESTED | NO_VALUE, plan.ignored)
    plan.extra[key] = plan.scalar(_NUMBER | null | NO_VALUE)
    return plan.extra[key]


def _logprobs_node(plan: Plan, columns: Columns, key: str) -> int:
    if key in columns.numeric:
        return _other_node(plan, columns, key)
    if columns.numeric.issuperset(LOGPROBS):
        plan.of["logprobs"] = plan.add(_LOGPROBS, NESTED | NO_VALUE)
        return plan.of["logprobs"]
    return plan.skip(columns, key, NULL | STRING | NO_VALUE, plan.ignored)


PADDING = 64  # readable bytes that the kernel needs after the lines
_SLACK = 16  # bytes that it writes beyond a text
_ROWS = 1 << 13
_VALUES = 1 << 17
_DONE, _ODD, _NO_ROOM, _NO_ROOM_FOR_NAMES = range(len(ENDS))
_NO_VALUE, _NULL = NO_VALUE.bit_length() - 1, NULL.bit_length() - 1
_REAL, _STRING = KINDS.index("real"), KINDS.index("string")


class Part(Struct):
    """Values of a node in some lines: views that the next lines overwrite."""

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
        known = self.columns.builder.names
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

        Returns the place after them, how many they are, whether the next one is not plain, and a part per
        node.
        """
        if len(self._names) != len(self.columns.builder.names):
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
        """Give columns to the features that are new, except for those of a line that was dropped."""
        known = self.columns.builder.names
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
        for role in columns.texts.keys() & of.keys():
            columns.texts[role].join(parts[of[role]].strings())
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
        builder, of = self.columns.builder, self.plan.of
        own = parts[of["features"]] if "features" in of else None
        extra: list[tuple[int, Floats, Mask]] = []
        if own is None and "score" in of and "score" in builder.names:
            part = parts[of["score"]]
            extra.append((builder.names["score"], part.numbers, part.kinds > _NULL))
        for key, number in self.plan.extra.items():
            extra.append((builder.names[key], parts[number].numbers, parts[number].kinds > _NULL))
        if "logprobs" in of:
            part = parts[of["logprobs"]]
            total, mean, least = part.numbers.reshape(-1, 3).T
            n_tokens = part.lengths.astype(np.float64)
            for name, values in zip(LOGPROBS, (total, n_tokens, mean, least), strict=True):
                extra.append((builder.names[name], values, part.kinds > _NULL))
        if own is not None and not extra:
            builder.add_rows(own.columns, own.numbers, own.lengths)
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
            builder.add_uniform(array("i", names.tobytes()), rows, n)
            return
        builder.add_rows(*_joined(own, extra, n))


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
