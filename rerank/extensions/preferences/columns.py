"""Columns of comparisons in files of several tools: who was compared, and the verdict."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.files.read import opening_once, read_head, shown
from rerank.core.text import number, some
from rerank.formats.builders import filled_lines, whole_lines
from rerank.formats.common import note, quoted
from rerank.formats.jsonl.read import parsed
from rerank.formats.jsonl.schema import MisfitError, described, name_of, number_of

# Role -> names of columns, the first one that is there counts.
ROLES: dict[str, tuple[str, ...]] = {
    "list": ("list", "qid", "question_id", "prompt_id", "instruction", "prompt", "id"),
    "first": ("first", "system_1", "model_a", "generator_1", "item_1"),
    "second": ("second", "system_2", "model_b", "generator_2", "item_2"),
    "winner": ("winner",),
    "loser": ("loser",),
    "preference": ("preference",),
    "ranking": ("ranking",),
    "judge": ("judge", "annotator"),
    "length_1": ("length_1", "length_a"),
    "length_2": ("length_2", "length_b"),
    "text_1": ("text_1", "output_1", "response_a", "conversation_a"),
    "text_2": ("text_2", "output_2", "response_b", "conversation_b"),
    "chosen": ("chosen",),
    "rejected": ("rejected",),
    "chosen_model": ("chosen_model", "chosen-model"),
    "rejected_model": ("rejected_model", "rejected-model"),
}
_PROMPTS = ("instruction", "prompt")  # columns of lists that are texts
_EXPECTED = (
    "columns first and second with winner or preference, winner and loser, chosen and rejected, or ranking"
)


@dataclass
class Columns:
    """Values by role, all of one length; None = the role is absent."""

    source: str
    values: dict[str, list[Any]]
    places: list[int]
    files: list[int] | None = None  # of several sources
    sources: Sequence[str] = ()

    @classmethod
    def of_records(
        cls, records: Iterable[tuple[int, Any]], source: str, columns: Mapping[str, str]
    ) -> Columns:
        """Take JSON objects with their lines, 0 = none."""
        names: dict[str, str] | None = None
        values: dict[str, list[Any]] = {}
        places: list[int] = []
        left_out = line = k = 0
        try:
            for line, row in records:
                k += 1
                if not isinstance(row, Mapping):
                    raise MisfitError("", described(row), "one object for each comparison")
                if names is None:
                    names = _roles(row, source, columns, line or None)
                    values = {role: [] for role in names}
                    prompt = next((key for key in _PROMPTS if key in row), None)
                    values |= {"prompt": []} if prompt else {}
                if row.get(names.get("preference", ""), 0) is None:
                    left_out += 1
                    continue
                for role, key in names.items():
                    if key not in row:
                        raise MisfitError("", f"no key {key!r}", "it in every object, as in the first")
                    values[role].append(_value(role, row[key], key))
                if prompt:
                    values["prompt"].append(_text(row.get(prompt, ""), prompt))
                places.append(line)
        except MisfitError as misfit:
            raise misfit.at(source if line else f"{source}: comparison {k}", line or None) from None
        if left_out:
            note(f"{source}: {left_out} comparisons without a preference (null) are left out")
        if not places or names is None:
            raise FormatError(source, None, "no comparison", "at least one")
        return cls(source, values, places if any(places) else [])


def _roles(keys: Iterable[str], source: str, columns: Mapping[str, str], line: int | None) -> dict[str, str]:
    """The column of each role; raises FormatError if those of a verdict are lacking."""
    there = list(keys)
    found = {}
    for role, names in ROLES.items():
        name = columns.get(role) or next((one for one in names if one in there), None)
        if role in columns and name not in there:
            raise FormatError(source, line, f"columns {some(there, 12)}", f"a column {name!r}")
        if name is not None:
            found[role] = name
    kinds = (("ranking",), ("chosen", "rejected"), ("winner", "loser"), ("first", "second"))
    kind = next((kind for kind in kinds if found.keys() >= set(kind)), None)
    verdicts = [role for role in ("winner", "preference") if role in found]
    if kind is None or ("first" in kind and len(verdicts) != 1):
        raise FormatError(source, line, f"columns {some(there, 12)}", _EXPECTED)
    used = {*kind, "list", "judge"}
    if "chosen" in kind:
        used |= {"chosen_model", "rejected_model"}
    elif "first" in kind:
        used |= {*verdicts, "length_1", "length_2", "text_1", "text_2"}
    for one, other in (("chosen_model", "rejected_model"), ("length_1", "length_2"), ("text_1", "text_2")):
        if (one in found) != (other in found):
            used -= {one, other}
    unused = next((role for role in columns if role not in used), None)
    if unused is not None:
        raise ConfigError(
            f"{source}: column {columns[unused]!r} as {unused}: not used with {', '.join(kind)}"
        )
    return {role: name for role, name in found.items() if role in used}


def _name(value: Any, where: str) -> str:
    name = name_of(value, where)
    if not name.strip():
        raise MisfitError(where, "an empty name", "the name of what is compared")
    return name


def _text(value: Any, where: str) -> str:
    """A text, or the text of an assistant's messages."""
    if isinstance(value, list):
        parts = []
        for message in value:
            content = message.get("content") if isinstance(message, Mapping) else None
            if isinstance(content, list):  # parts of a message, of which texts count
                content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
            if not isinstance(content, str):
                raise MisfitError(where, "a message without a text as its content", "role and content")
            parts.append((message.get("role"), content))
        own = [content for role, content in parts if role == "assistant"]
        return "\n".join(own or [content for _, content in parts])
    if not isinstance(value, str):
        raise MisfitError(where, described(value), "a text, or messages with role and content")
    return value


def _answer(value: Any, where: str) -> tuple[str, str]:
    """The messages before the last one, as one text, and the last one; of a text, nothing and the text."""
    before = ""
    if isinstance(value, list) and len(value) > 1:
        before = "\n".join(_text([message], where) for message in value[:-1])
        value = value[-1:]
    text = _text(value, where)
    if not text.strip():
        raise MisfitError(where, "an empty text", "an answer")
    return before, text


def _ranking(value: Any, where: str) -> list[str]:
    names = [part.strip() for part in value.split(">")] if isinstance(value, str) else value
    if not isinstance(names, list) or len(names) < 2:
        raise MisfitError(where, described(value), "two names or more, the best first, as a > b > c")
    names = [_name(name, where) for name in names]
    tied = next((name for name in names if "=" in name and isinstance(value, str)), None)
    if tied is not None:
        raise MisfitError(where, quoted(tied), "a ranking without ties")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise MisfitError(where, f"{quoted(twice)} twice", "each name once in a ranking")
    return names


def _cell_number(value: Any, where: str) -> float:
    if isinstance(value, str):
        found = number(value)
        if found is None:
            raise MisfitError(where, quoted(value), "a finite number")
        return found
    found = number_of(value, where)
    if found != found:
        raise MisfitError(where, "NaN", "a finite number")
    return found


def _preference(value: Any, where: str) -> float:
    found = _cell_number(value, where)
    if not 1 <= found <= 2:
        raise MisfitError(where, f"{found:g}", "a preference from 1 (first) to 2 (second), 1.5 = a tie")
    return found


def _list(value: Any, where: str) -> str:
    return _text(value, where) if isinstance(value, list) else name_of(value, where)


def _length(value: Any, where: str) -> float:
    found = _cell_number(value, where)
    if found < 0:
        raise MisfitError(where, f"{found:g}", "a length of 0 or more")
    return found


_VALUES: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(ROLES, _name),
    "ranking": _ranking,
    "chosen": _answer,
    "rejected": _answer,
    "winner": name_of,
    "preference": _preference,
    "length_1": _length,
    "length_2": _length,
    "text_1": _text,
    "text_2": _text,
    "list": _list,
}


def _value(role: str, value: Any, where: str) -> Any:
    """The value of a role, of a cell or of JSON; raises MisfitError."""
    return _VALUES[role](value, where)


@opening_once
def read_columns(path: str, columns: Mapping[str, str]) -> Columns:
    """Read a file: JSON Lines, a JSON array, or a table with a header (TSV or CSV)."""
    head = read_head(path).removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head:
        raise FormatError(shown(path), None, "an empty file", _EXPECTED)
    if head[:1] in (b"{", b"["):
        return Columns.of_records(_objects(path, head[:1] == b"["), shown(path), columns)
    return _table(path, columns)


def _objects(path: str, array: bool) -> Iterator[tuple[int, Any]]:
    if array:
        for row in parsed(b"".join(whole_lines(path)), "one JSON array, or an object on each line"):
            yield 0, row
        return
    for line, raw in filled_lines(path):
        try:
            yield line, parsed(raw, "one whole JSON object per line")
        except MisfitError as misfit:
            raise misfit.at(shown(path), line) from None


def _table(path: str, columns: Mapping[str, str]) -> Columns:
    source = shown(path)
    content = b"".join(whole_lines(path))
    try:
        text = content.decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FormatError(source, line, "bytes that are not UTF-8", "text") from None
    lines = [line.rstrip("\r") for line in text.split("\n")] if "\r" in text else text.split("\n")
    delimiter = "\t" if "\t" in lines[0] else ","
    if '"' in text:
        heads, by_column, places = _quoted_cells(lines, delimiter, source)
    else:
        heads, places = lines[0].split(delimiter), [k for k, line in enumerate(lines, 1) if line and k > 1]
        wrong = next((k for k in places if lines[k - 1].count(delimiter) != len(heads) - 1), None)
        if wrong is not None:
            found = f"{lines[wrong - 1].count(delimiter) + 1} cells"
            raise FormatError(source, wrong, found, f"{len(heads)}, as the header has")
        cells = delimiter.join([lines[k - 1] for k in places]).split(delimiter)
        by_column = [cells[j :: len(heads)] for j in range(len(heads))]
    names = _roles(heads, source, columns, 1)
    if len(set(heads)) < len(heads):
        raise FormatError(source, 1, "two columns of one name", "each name once")
    if not places:
        raise FormatError(source, None, "no comparison", "at least one")
    by_name = dict(zip(heads, by_column, strict=True))
    values: dict[str, list[Any]] = {}
    for role, name in names.items():
        values[role] = by_name[name]
        if role in ("preference", "ranking", "chosen", "rejected", "length_1", "length_2"):
            cells = values[role]
            values[role] = [_at(source, places[k], role, cell, name) for k, cell in enumerate(cells)]
    prompt = next((key for key in _PROMPTS if key in heads), None)
    if prompt:
        values["prompt"] = by_name[prompt]
    return Columns(source, values, places)


def _quoted_cells(
    lines: Sequence[str], delimiter: str, source: str
) -> tuple[list[str], list[list[str]], list[int]]:
    """The heads, the cells of each column and the line on which each row ends."""
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter, strict=True)
    limit = csv.field_size_limit(sys.maxsize)  # texts may be long
    rows, places = [], []
    try:
        for row in reader:
            if row:
                rows.append(row)
                places.append(reader.line_num)
                if len(row) != len(rows[0]):
                    found = f"{len(row)} cells"
                    raise FormatError(source, places[-1], found, f"{len(rows[0])}, as the header has")
    except csv.Error as error:
        raise FormatError(source, reader.line_num, str(error), "a row of the table") from None
    finally:
        csv.field_size_limit(limit)
    columns = [list(column) for column in zip(*rows[1:], strict=True)] or [[] for _ in rows[0]]
    return rows[0], columns, places[1:]


def _at(source: str, line: int, role: str, value: Any, where: str) -> Any:
    try:
        return _value(role, value, where)
    except MisfitError as misfit:
        raise misfit.at(source, line) from None


def joined(tables: list[Columns]) -> Columns:
    """Several files as one; raises DataError if they have other columns."""
    first = tables[0]
    if len(tables) == 1:
        return first
    for other in tables[1:]:
        if other.values.keys() != first.values.keys():
            one, two = (some(sorted(table.values), 12) for table in (first, other))
            raise DataError(f"{other.source}: found {two}, expected {one}, as {first.source} has")
    sizes = [len(next(iter(table.values.values()))) for table in tables]
    return Columns(
        "comparisons",
        {role: [value for table in tables for value in table.values[role]] for role in first.values},
        [line for table, n in zip(tables, sizes, strict=True) for line in table.places or [0] * n],
        np.repeat(np.arange(len(tables)), sizes).tolist(),
        [table.source for table in tables],
    )
