"""Comparisons of two or more items: from files of several tools, records and data frames."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.files.read import shown
from rerank.core.registry import did_you_mean
from rerank.core.types import Floats, Index, Mask
from rerank.extensions.preferences.columns import ROLES, Columns, joined, read_columns
from rerank.formats.common import note, quoted

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
        """Return whether some preference is a probability."""
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
        known = [os.path.realpath(path) for path in given]
        twice = next((k for k, path in enumerate(known) if path in known[:k]), None)
        if twice is not None:
            raise ConfigError(f"{shown(os.fspath(given[twice]))}: given twice, expected each file once")
        tables = [read_columns(os.fspath(path), columns or {}) for path in given]
        return _built(joined(tables))
    if not given:
        raise DataError("comparisons: found none")
    if not isinstance(given[0], Mapping):
        pairs = [tuple(one) if isinstance(one, list | tuple) else () for one in given]
        wrong = next((k for k, pair in enumerate(pairs) if len(pair) != 2), None)
        if wrong is not None:
            raise DataError(f"comparison {wrong + 1}: found {given[wrong]!r}, expected (winner, loser)")
        given = [{"winner": one, "loser": other} for one, other in pairs]
    return _built(Columns.of_records(((0, row) for row in given), "comparisons", columns or {}))


def _built(table: Columns) -> Comparisons:
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
    _note_near_names(found)
    if not same.any():
        _note_repeated(found)
        return found
    if same.all():
        fail(0, f"{quoted(items[first[0]])} compared with itself, as in every comparison", "two items")
    note(
        f"{source}: {int(same.sum())} ties of an item with itself are left out, "
        f"the first of {items[first[same.argmax()]]!r}"
    )
    found = found.kept(~same)
    _note_repeated(found)
    return found


def _note_near_names(found: Comparisons) -> None:
    """Warn if two items differ in blanks or capitals only; they count as two."""
    if found.by_text:
        return
    plain: dict[str, str] = {}
    for name in found.items:
        other = plain.setdefault(" ".join(name.split()).casefold(), name)
        if other != name:
            note(f"{found.source}: the names {quoted(other)} and {quoted(name)} are those of two items")
            return


def _note_repeated(found: Comparisons) -> None:
    """Warn if each comparison comes twice at least, as in a file that was joined with itself."""
    turned = found.first > found.second
    keys = [np.where(turned, found.outcomes[:, 2], found.outcomes[:, 0]), found.outcomes[:, 1], found.lists]
    keys += [np.minimum(found.first, found.second), np.maximum(found.first, found.second)]
    keys += [] if found.judges is None else [found.judges]
    if not found.named_lists or np.logical_and.reduce([key == key[0] for key in keys]).sum() < 2:
        return
    order = np.lexsort(keys)
    same = np.logical_and.reduce([key[order[1:]] == key[order[:-1]] for key in keys])
    ends = np.flatnonzero(np.concatenate([[True], ~same, [True]]))
    if np.diff(ends).min() > 1:
        what = "each comparison comes twice at least, with its prompt and verdict"
        note(f"{found.source}: {what}; if they are copies, intervals are too narrow")


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
