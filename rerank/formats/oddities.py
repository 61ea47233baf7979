"""Mistakes that a file shows once it is read: near ids, odd names of classes, misplaced references."""

from __future__ import annotations

import re

import numpy as np

from rerank.core.text import count, some
from rerank.data.columns.class_sets import plain_number
from rerank.data.columns.strings import StringColumn
from rerank.data.first_best import sorted_by_label
from rerank.data.lists import CandidateLists
from rerank.formats.common import contains, note, quoted

_SAMPLE = 100  # lists whose texts are compared with references
_MIXED = 20  # lists with several labels
_ODD_ID = re.compile(rb"[\s\x00-\x1f]|\.0|\xef\xbb\xbf")


def note_oddities(lists: CandidateLists) -> None:
    """Warn about each mistake that is found."""
    if lists.classes is not None:
        _note_class_names(lists.classes, lists.source)
    if lists.list_ids is not None:
        _note_near_ids(lists.list_ids, lists.source)
    if lists.references:
        _note_references(lists)
    labels, first_best = lists.labels, lists.first_best
    n = 0 if labels is None or first_best is None else sorted_by_label(lists, labels, first_best)
    if n >= _MIXED:
        text = f"in all {n} lists with several labels they fall in the first-best order"
        note(f"{lists.source}: {text}; if the file is sorted by label, first-best is no first stage")


def _note_class_names(classes: StringColumn, source: str) -> None:
    """Warn if class names contain what separates classes elsewhere, or few of them are no numbers."""
    names = {name for text in set(classes) for name in text.split(",") if name}
    words = sorted(name for name in names if plain_number(name) is None)
    if 0 < 2 * len(words) < len(names):
        few = f"{some([quoted(name) for name in words])} of {len(names)} classes"
        note(f"{source}: {few} are no numbers, so that all are compared as text (1 and 1.0 differ)")
    odd = contains(classes, np.isin(classes.data, list(b";|")))
    if np.any(odd):
        name = quoted(classes[int(np.argmax(odd))])
        note(f"{source}: {name} is the name of one class; several classes are separated by commas")


def _note_near_ids(ids: StringColumn, source: str) -> None:
    """Warn if two list ids differ only in blanks around them, a byte order mark or a final .0."""
    if not _ODD_ID.search(ids.data.tobytes()):
        return
    names = set(ids)
    plain = {name: re.sub(r"(?<=[0-9])\.0+$", "", name.strip().removeprefix("\ufeff")) for name in ids}
    odd = [(name, short) for name, short in plain.items() if name != short and short in names]
    if odd:
        name, short = odd[0]
        more = f" (and {count(len(odd) - 1, 'more pair')})" if len(odd) > 1 else ""
        note(f"{source}: the ids {quoted(name)} and {quoted(short)} are those of two lists{more}")


def _note_references(lists: CandidateLists) -> None:
    source, references = lists.source, lists.references
    for j, column in enumerate(references):
        what = "the references" if len(references) == 1 else f"references {j + 1}"
        if any(column == earlier for earlier in references[:j]):
            note(f"{source}: {what} are the same as earlier ones")
        n = min(len(column), _SAMPLE)
        if 2 * sum(" ||| " in column[i] for i in range(n)) > n:
            note(f"{source}: {what} look like an N-best list (they contain ' ||| ')")
    empty = int(np.all([column.lengths() == 0 for column in references], axis=0).sum())
    if empty:
        note(f"{source}: {count(empty, 'list')} of {lists.n_lists} without a reference (empty lines)")
    if lists.texts is not None and lists.trees is None:
        _note_shift(lists, lists.texts, references[0])


def _note_shift(lists: CandidateLists, texts: StringColumn, references: StringColumn) -> None:
    """Warn if references fit the texts of the list before or after better, to the end of the file."""
    n = lists.n_lists
    if n < 6:
        return
    picked = np.unique(np.linspace(1, n - 2, min(n - 2, _SAMPLE)).astype(np.int64))
    shares = np.array([[_shared(lists, texts, references, i, i + k) for i in picked] for k in (-1, 0, 1)])
    for start in (0, len(picked) // 2, 3 * len(picked) // 4):
        before, own, after = shares[:, start:].mean(axis=1)
        if max(before, after) > 1.5 * own + 0.1:
            where = "before" if before > after else "after"
            note(f"{lists.source}: references fit the texts better on the line {where}; are they shifted?")
            return


def _shared(lists: CandidateLists, texts: StringColumn, references: StringColumn, i: int, k: int) -> float:
    """Return the share of the words of the first text of list ``i`` that are in reference ``k``."""
    words = texts[int(lists.offsets[i])].lower().split()
    known = set(references[k].lower().split())
    return sum(word in known for word in words) / len(words) if words else 0.0
