"""Comparisons of two or more items: from files of several tools, records and data frames."""

from __future__ import annotations

import csv
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.files.read import opening_once, read_head, shown
from rerank.core.registry import did_you_mean
from rerank.core.text import number, some
from rerank.core.types import Floats, Index, Mask
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
_FIRST = ("first", "1", "a", "A", "model_a", "system_1", "generator_1", "item_1")
_SECOND = ("second", "2", "b", "B", "model_b", "system_2", "generator_2", "item_2")
_TIE = ("tie", "draw", "both", "bothbad", "tie (bothbad)")
_VERDICTS = {**dict.fromkeys(_FIRST, 0), **dict.fromkeys(_TIE, 1), **dict.fromkeys(_SECOND, 2)}


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons of items, two at a time or whole rankings.

    Attributes
    ----------
    items : list of str
        Names of what is compared.
    first, second : int64 (n)
        The items of each comparison.
    outcomes : float64 (n, 3)
        Win, tie and loss of the first item: one of them is 1, or both chances of a soft preference.
    lists : int64 (n)
        The prompt of each comparison or ranking, from 0.
    list_ids : list of str
    source : str
    places : sequence of int
        The line of each comparison or ranking; empty = they are numbered.
    files, sources : of several files, the number of each comparison's, and their names.
    rankings : list of int64, optional
        The best item first. There are no pairs then.
    judges : int64 (n), optional
    judge_ids : list of str
    lengths : float64 (n, 2), optional
    ordered : bool
        Whether the first item was shown first, as far as the file tells.
    by_text : bool
        Whether items are named by their texts, and lists by prompts.
    texts : mapping of (list, item) to str
    prompts : mapping of list to str
    """

    items: list[str]
    first: Index
    second: Index
    outcomes: Floats
    lists: Index
    list_ids: list[str]
    source: str = "comparisons"
    places: Sequence[int] = ()
    files: list[int] | None = None
    sources: Sequence[str] = ()
    rankings: list[Index] | None = None
    judges: Index | None = None
    judge_ids: list[str] = field(default_factory=list)
    lengths: Floats | None = None
    ordered: bool = True
    named_lists: bool = True
    by_text: bool = False
    texts: Mapping[tuple[int, int], str] = field(default_factory=dict)
    prompts: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.lists)

    @property
    def soft(self) -> bool:
        """Whether some preference is a probability."""
        return bool(((self.outcomes[:, 0] > 0) & (self.outcomes[:, 2] > 0)).any())

    def kept(self, which: Mask) -> Comparisons:
        """Return some of the comparisons of pairs, of the same items and lists."""
        return replace(
            self,
            first=self.first[which],
            second=self.second[which],
            outcomes=self.outcomes[which],
            lists=self.lists[which],
            places=[place for place, stays in zip(self.places, which.tolist(), strict=False) if stays],
            files=None if self.files is None else np.array(self.files)[which].tolist(),
            judges=None if self.judges is None else self.judges[which],
            lengths=None if self.lengths is None else self.lengths[which],
        )

    def place(self, k: int) -> str:
        """Return where a comparison is from, for a message."""
        if not self.places or not self.places[k]:
            return f"{self.source}: comparison {k + 1}"
        file = self.source if self.files is None else self.sources[self.files[k]]
        return f"{file}:{self.places[k]}"


def comparisons_of(given: Any, columns: Mapping[str, str] | None = None) -> Comparisons:
    """Return comparisons of a file, several files, a data frame, records, or pairs (winner, loser).

    Parameters
    ----------
    given : Comparisons, the path of a file, a sequence of paths, of mappings such as ``{"first": "a",
        "second": "b", "winner": "tie", "list": "q1"}`` or of pairs of names, or a data frame.
    columns : names of columns by role (``ROLES``), if they have none of the usual names.

    Raises
    ------
    FormatError
        With the line: an unknown verdict, an item compared with itself, an empty name or text, NaN.
    RerankError
    """
    for role in columns or {}:
        if role not in ROLES:
            raise ConfigError(f"column {role!r}: unknown role; {did_you_mean(role, ROLES)}")
    if isinstance(given, Comparisons):
        return given
    if isinstance(given, str | os.PathLike):
        given = [os.fspath(given)]
    if hasattr(given, "to_dict") and hasattr(given, "columns"):  # a frame of pandas or polars
        frame = given.to_dict(orient="list") if hasattr(given, "iloc") else given.to_dict(as_series=False)
        given = [dict(zip(frame, row, strict=True)) for row in zip(*frame.values(), strict=True)]
    given = list(given)
    if given and all(isinstance(one, str | os.PathLike) for one in given):
        tables = [read_columns(os.fspath(path), columns or {}) for path in given]
        return _built(_joined(tables))
    if not given:
        raise DataError("comparisons: found none")
    if not isinstance(given[0], Mapping):
        pairs = [tuple(one) if isinstance(one, list | tuple) else () for one in given]
        wrong = next((k for k, pair in enumerate(pairs) if len(pair) != 2), None)
        if wrong is not None:
            raise DataError(f"comparison {wrong + 1}: found {given[wrong]!r}, expected (winner, loser)")
        given = [{"winner": one, "loser": other} for one, other in pairs]
    return _built(_Columns.of_records(((0, row) for row in given), "comparisons", columns or {}))


@dataclass
class _Columns:
    """Values by role, all of one length; None = the role is absent."""

    source: str
    values: dict[str, list[Any]]
    places: list[int]
    files: list[int] | None = None  # of several sources
    sources: Sequence[str] = ()

    @classmethod
    def of_records(
        cls, records: Iterable[tuple[int, Any]], source: str, columns: Mapping[str, str]
    ) -> _Columns:
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
def read_columns(path: str, columns: Mapping[str, str]) -> _Columns:
    """Read a file: JSON Lines, a JSON array, or a table with a header (TSV or CSV)."""
    head = read_head(path).removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head:
        raise FormatError(shown(path), None, "an empty file", _EXPECTED)
    if head[:1] in (b"{", b"["):
        return _Columns.of_records(_objects(path, head[:1] == b"["), shown(path), columns)
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


def _table(path: str, columns: Mapping[str, str]) -> _Columns:
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
    return _Columns(source, values, places)


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


def _joined(tables: list[_Columns]) -> _Columns:
    """Several files as one; raises DataError if they have other columns."""
    first = tables[0]
    if len(tables) == 1:
        return first
    for other in tables[1:]:
        if other.values.keys() != first.values.keys():
            one, two = (some(sorted(table.values), 12) for table in (first, other))
            raise DataError(f"{other.source}: found {two}, expected {one}, as {first.source} has")
    sizes = [len(next(iter(table.values.values()))) for table in tables]
    return _Columns(
        "comparisons",
        {role: [value for table in tables for value in table.values[role]] for role in first.values},
        [line for table, n in zip(tables, sizes, strict=True) for line in table.places or [0] * n],
        np.repeat(np.arange(len(tables)), sizes).tolist(),
        [table.source for table in tables],
    )


def _built(table: _Columns) -> Comparisons:
    """Comparisons of columns."""
    values, source, places = table.values, table.source, table.places
    if "chosen" in values:
        _name_answers(values)
    elif "loser" in values:
        values["first"], values["second"] = values["winner"], values["loser"]
    n = len(next(iter(values.values())))

    def fail(k: int, found: str, expected: str) -> NoReturn:
        if places:
            file = source if table.files is None else table.sources[table.files[k]]
            raise FormatError(file, places[k] or None, found, expected)
        raise DataError(f"{source}: comparison {k + 1}: found {found}, expected {expected}")

    list_ids: list[str] = []
    lists = np.arange(n)
    if "list" in values:
        lists, list_ids = _codes(values["list"])
    shared: dict[str, Any] = {"lists": lists, "list_ids": list_ids, "source": source, "places": places}
    shared |= {"files": table.files, "sources": table.sources}
    if "judge" in values:
        shared["judges"], shared["judge_ids"] = _codes(values["judge"])
    shared["named_lists"] = "list" in values
    if "ranking" in values:
        flat, items = _codes(list(itertools.chain.from_iterable(values["ranking"])))
        ends = np.cumsum([len(ranking) for ranking in values["ranking"]])[:-1]
        none = np.empty(0, dtype=np.int64)
        rankings = np.split(flat, ends)
        return Comparisons(items, none, none, np.empty((0, 3)), rankings=rankings, **shared)
    both, items = _codes(values["first"] + values["second"])
    first, second = both[:n], both[n:]
    blank = [i for i, name in enumerate(items) if not name.strip()]
    if blank:
        k = int(np.argmax((first == blank[0]) | (second == blank[0])))
        fail(k, "an empty name", "the name of what is compared")
    outcomes = _outcomes(values, n, fail)
    same = first == second
    decided = np.flatnonzero(same & (outcomes[:, 1] == 0))
    if len(decided):
        fail(int(decided[0]), f"{quoted(items[first[decided[0]]])} compared with itself", "two items")
    lengths = None
    if "length_1" in values:
        lengths = np.column_stack([values["length_1"], values["length_2"]]).astype(np.float64)
    elif "text_1" in values:
        lengths = np.array([[len(text) for text in values[side]] for side in ("text_1", "text_2")], float).T
    texts: dict[tuple[int, int], str] = {}
    if "text_1" in values:
        sides = ((first, values["text_1"]), (second, values["text_2"]))
        for codes, column in sides:
            for k, key in enumerate(zip(lists.tolist(), codes.tolist(), strict=True)):
                if texts.setdefault(key, column[k]) != column[k]:
                    texts[key] = ""  # several texts of one name: none is its text
    prompts = {}
    if "prompt" in values:
        prompts = dict(zip(lists.tolist(), values["prompt"], strict=True))
    found = Comparisons(
        items,
        first,
        second,
        outcomes,
        lengths=lengths,
        ordered="first" in values and "loser" not in values and "chosen" not in values,
        by_text="chosen" in values and "chosen_model" not in values,
        texts=texts,
        prompts=prompts,
        **shared,
    )
    if not same.any():
        return found
    if same.all():
        fail(0, f"{quoted(items[first[0]])} compared with itself, as in every comparison", "two items")
    note(
        f"{source}: {int(same.sum())} ties of an item with itself are left out, "
        f"the first of {items[first[same.argmax()]]!r}"
    )
    return found.kept(~same)


def _name_answers(values: dict[str, list[Any]]) -> None:
    """Set items, texts and lists of chosen and rejected answers; what both begin with is the prompt."""
    pairs = list(zip(values["chosen"], values["rejected"], strict=True))
    texts = [(one[1], other[1]) for one, other in pairs]
    if "list" not in values:
        before = [one[0] for one, _ in pairs]
        if not any(before):  # plain texts, which begin with the prompt
            cuts = [_common(*pair) for pair in texts]
            before = [one[:cut] for (one, _), cut in zip(texts, cuts, strict=True)]
            if any(before):
                texts = [(a[cut:], b[cut:]) for (a, b), cut in zip(texts, cuts, strict=True)]
        if any(before):
            values["list"] = values["prompt"] = before
    values["text_1"], values["text_2"] = ([pair[k] for pair in texts] for k in (0, 1))
    models = "chosen_model" in values
    values["first"] = values["chosen_model"] if models else values["text_1"]
    values["second"] = values["rejected_model"] if models else values["text_2"]
    values["preference"] = [1.0] * len(texts)


def _common(one: str, other: str) -> int:
    """The length of a prompt that two texts begin with: up to the last blank before they differ."""
    pairs = enumerate(zip(one, other, strict=False))
    same = next((k for k, (a, b) in pairs if a != b), min(len(one), len(other)))
    while same and not one[same - 1].isspace():
        same -= 1
    return same


def _codes(names: Sequence[str]) -> tuple[Index, list[str]]:
    """Numbers of names in the order of their first appearance, and the names."""
    index: dict[str, int] = {}
    codes = np.fromiter((index.setdefault(name, len(index)) for name in names), np.int64, len(names))
    return codes, list(index)


def _outcomes(values: Mapping[str, list[Any]], n: int, fail: Callable[[int, str, str], NoReturn]) -> Floats:
    """Win, tie and loss of the first items, float64 (n, 3)."""
    out = np.zeros((n, 3))
    if "preference" in values:
        second = np.array(values["preference"]) - 1
        out[:, 0], out[:, 2] = 1 - second, second
        out[second == 0.5] = (0, 1, 0)
        return out
    if "loser" in values:
        out[:, 0] = 1
        return out
    rows = list(zip(values["winner"], values["first"], values["second"], strict=True))
    by_place = [_VERDICTS.get(verdict) for verdict, _, _ in rows]
    by_name = [0 if verdict == one else 2 if verdict == two else None for verdict, one, two in rows]
    by_name = [1 if kind is None and by_place[k] == 1 else kind for k, kind in enumerate(by_name)]
    kinds = by_place
    if None not in by_name and None in by_place:
        kinds = by_name
    elif (None in by_name) == (None in by_place):  # "1", or "a": an item in some files, a place in others
        for k, (verdict, one, two) in enumerate(rows):
            if None not in (by_place[k], by_name[k]) and by_place[k] != by_name[k]:
                fail(k, f"winner {quoted(verdict)}, an item and a place", "a verdict with one meaning")
            kinds[k] = by_name[k] if by_place[k] is None else by_place[k]
            if kinds[k] is None:
                fail(k, f"winner {quoted(verdict)}", f"first, second, tie, {quoted(one)} or {quoted(two)}")
    out[np.arange(n), np.array(kinds, dtype=np.int64)] = 1
    return out
