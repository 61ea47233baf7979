"""Names of feature columns, which columns of two sets are the same feature, and roles that names have."""

from __future__ import annotations

import difflib
import itertools
import re
import warnings
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from rerank.core import memory
from rerank.core.errors import DataNote
from rerank.core.types import Index, Mask

_NAME_BYTES = 66  # of a short name in a list of names
_LARGEST = 2**31 - 1


def numbered(n: int) -> list[str]:
    """Return the names of columns that have no names: "1", "2", ..."""
    memory.require(_NAME_BYTES * n, f"the names of {n:,} features")
    return [str(j) for j in range(1, n + 1)]


def numbers_in(names: Sequence[str]) -> Index | None:
    """Return the columns, from 0, that names stand for if all of them are different indices, otherwise None.

    Indices count from 1 as in SVMlight's files, or from 0 as BLLIP's ids if one of them is 0: int64 (n).
    """
    if not names or not (_is_index(names[0]) and _is_index(names[-1])) or not all(map(_is_index, names)):
        return None
    numbers = np.fromiter(map(int, names), np.int64, len(names))
    ordered = numbers if np.all(numbers[1:] > numbers[:-1]) else np.sort(numbers)
    if ordered[-1] > _LARGEST or np.any(ordered[1:] == ordered[:-1]):
        return None
    return numbers - min(int(ordered[0]), 1)


def _is_index(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) <= 10 and (name[0] != "0" or name == "0")


class Columns(Struct, frozen=True, eq=False, dict=True):
    """Columns of a set of lists or of a model.

    Attributes
    ----------
    names : none = "1", "2", ...
    n : how many there are.
    selection : how they were chosen from the columns of a file, "" = all of them (see data.selection).
    """

    names: Sequence[str] | None
    n: int
    selection: str = ""

    @cached_property
    def numbers(self) -> Index | None:
        """The columns that the names stand for if they are indices, int64 (n)."""
        return np.arange(self.n, dtype=np.int64) if self.names is None else numbers_in(self.names)

    @cached_property
    def unnamed(self) -> bool:
        """Return whether the names are "1", "2", ... without a gap."""
        if self.names is None or not self.n:
            return True
        if self.names[0] != "1" or self.numbers is None:
            return False
        return np.array_equal(self.numbers, np.arange(self.n))

    @cached_property
    def from_0(self) -> bool:
        """Return whether the names are indices that count from 0."""
        return self.numbers is not None and self.names is not None and "0" in self.names

    @cached_property
    def labels(self) -> Index | None:
        """The names as numbers if they are indices, int64 (n)."""
        return None if self.numbers is None else self.numbers + (not self.from_0)

    def at(self, columns: Index) -> list[str]:
        """Return the names of some columns."""
        names = self.names
        return [str(j + 1) if names is None else names[j] for j in columns.tolist()]


class Match(Struct, frozen=True, eq=False):
    """The columns of one set among those of another.

    Attributes
    ----------
    places : int64 (n_mine), the place of each column in the other set, -1 if it has none.
    known : bool (n_mine), whether the other set knows a column: has it or, for indices, has a larger one.
    by_position : bool, whether only one side has names, so that columns are matched by position.
    """

    places: Index
    known: Mask
    by_position: bool


def match(mine: Columns, theirs: Columns) -> Match:
    """Match columns by name, or by position if only one side has names.

    Names that are indices stand for the column of that index: 7 is the seventh of unnamed columns. Columns
    that were chosen from others are matched by name only: their positions mean nothing to the other side.
    """
    if mine.selection or theirs.selection:
        return _by_name(mine, theirs)
    if mine.numbers is not None and theirs.numbers is not None:
        places = _places_among(mine.numbers, theirs.numbers)
        return Match(places, mine.numbers <= theirs.numbers.max(initial=-1), mine.from_0 != theirs.from_0)
    if mine.unnamed or theirs.unnamed:
        places = np.arange(mine.n, dtype=np.int64)
        places[theirs.n :] = -1
        return Match(places, places >= 0, by_position=True)
    return _by_name(mine, theirs)


def _by_name(mine: Columns, theirs: Columns) -> Match:
    """Columns matched by equal names; those of unnamed columns are their numbers from 1."""
    if mine.labels is not None and theirs.labels is not None:
        places = _places_among(mine.labels, theirs.labels)
    else:
        place = {name: j for j, name in enumerate(theirs.at(np.arange(theirs.n)))}
        names = mine.at(np.arange(mine.n))
        places = np.fromiter((place.get(name, -1) for name in names), np.int64, mine.n)
    return Match(places, places >= 0, by_position=False)


def _places_among(mine: Index, theirs: Index) -> Index:
    """The place of each number among those of the other side, -1 if it is not there."""
    if not len(theirs):
        return np.full(len(mine), -1, dtype=np.int64)
    order = np.argsort(theirs, kind="stable")
    at = order[np.minimum(np.searchsorted(theirs[order], mine), len(theirs) - 1)]
    return np.where(theirs[at] == mine, at, -1)


# What describes a candidate, by role; of several names for one role a file's first one here is taken.
ITEM_NAMES: dict[str, tuple[str, ...]] = {
    "label": ("label", "is_correct", "correct", "passed", "relevance", "GDT_TS"),
    "id": ("id", "item_id", "docid", "doc_id", "docno"),
    "text": ("text", "generated_text", "completion", "response"),
    "answer": ("predicted_answer", "answer"),
}
# Names of the column of lists, and of the column of classes; a target is a class where there are classes.
LISTS = ("qid", "list", "list_id", "query", "query_id", "target")
CLASSES = ("label", "labels", "class", "classes", "target")

# Names by which a column is found if its role is not given: the first that a table or frame has.
KNOWN = {
    "list_column": LISTS,
    "label_column": ITEM_NAMES["label"],
    "id_column": ITEM_NAMES["id"],
    "text_column": ITEM_NAMES["text"],
    "answer_column": ITEM_NAMES["answer"],
}
# The same for lists of examples: a target is a class there.
KNOWN_OF_CLASSES = KNOWN | {
    "list_column": tuple(name for name in LISTS if name not in CLASSES),
    "label_column": CLASSES,
}

_SUGGESTS = {
    **dict.fromkeys(
        ("em", "exact_match", "f1", "acc", "accuracy", "bleu", "rouge", "wer", "gold"), "a metric"
    ),
    **dict.fromkeys(("rank", "position"), "an order"),
}
_MOST = 8
_EXAMINED = 1000  # names; among more, which were generated, only other cases of known ones are found

# Numbers as people, programs and spreadsheets write them, and damaged ones, which no reader takes for any:
# 0,5 1.000 −1 ٣ 5% 0x1p3 0b1 0o7 1e +-1.
_SPELT = re.compile(
    r"(?=.*\d)[-+\u2212]*(0[xX][0-9a-fA-F.]+([pP][-+]?\d+)?|0[bBoO]\d+"
    r"|(\d{1,3}([,.'_ \u00a0\u202f]\d{3})+|\d+(_\d+)*)?([.,]\d*)?([eE][-+]*\d*)?%?)"
)
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060\ufeff]")
_OF_NO_FEATURE = re.compile(r"(.*[^a-z])?(id|ids|key|no|number|seed|version|date|year|time|hash|index)", re.I)


def spells_number(text: str) -> bool:
    """Return whether a text is a number to its author: in groups, with a decimal comma or invisible bytes."""
    return len(text) < 64 and _SPELT.fullmatch(_INVISIBLE.sub("", text).strip()) is not None


def is_of_number(name: str) -> bool:
    """Return whether texts that spell numbers are odd under a name: not if it is one of ids or dates."""
    return _OF_NO_FEATURE.fullmatch(name) is None


def resembled(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` is in another spelling, such as ``Label`` or ``lable``."""
    names = list(known)
    plain = _INVISIBLE.sub("", name).strip().lower().replace(" ", "_").replace("-", "_")
    if plain in names:
        return plain
    if len(plain) > 3 and (turned := next((n for n in names if sorted(n) == sorted(plain)), None)):
        return turned
    near = difflib.get_close_matches(plain.removesuffix("s"), [n for n in names if len(n) > 3], 1, 0.8)
    return near[0] if near and (plain == f"{near[0]}s" or not plain.startswith(near[0])) else None


def note_resembling(source: str, names: Iterable[str], lists: Iterable[str]) -> None:
    """Warn about ``names`` without a role that look like a known one (``lists`` of lists), or like a leak."""
    found = []
    known = (*lists, *itertools.chain(*ITEM_NAMES.values()), "score", "features", "references")
    names = list(names)
    numbered = "f1" in names and "f2" in names  # features, no measure
    for i, name in enumerate(names):
        plain = name.strip().lower()
        near = None if numbered and plain == "f1" else _SUGGESTS.get(plain)
        if near is None and (plain in known or (i < _EXAMINED and not plain[-1:].isdigit())):  # feature12
            near = resembled(name, known)
        if near is not None and near != name:
            found.append(f"{name!r} ({near}?)")
    if found:
        more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
        text = f"names without a meaning here resemble known ones: {', '.join(found[:_MOST])}{more}"
        warnings.warn(f"{source}: {text}", DataNote, stacklevel=3)


def note_features(source: str, names: Iterable[str]) -> None:
    """Warn about features with the name of lists or labels: given as features, these leak or mean nothing."""
    known = {*LISTS, *ITEM_NAMES["label"]}
    found = [repr(name) for name in names if name.strip().lower() in known]
    if found:
        text = f"features have names of lists or labels: {', '.join(found[:_MOST])}; are they meant?"
        warnings.warn(f"{source}: {text}", DataNote, stacklevel=3)
