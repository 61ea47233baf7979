"""Moses' N-best lists, ``id ||| text ||| features ||| score``, Marian's, and weights of a moses.ini."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, ClassVar

import numpy as np
from msgspec import Struct

from rerank.core.errors import DataError, FormatError, NeedsWholeError
from rerank.core.files.read import read_bytes, shown
from rerank.core.files.write import write_lines
from rerank.core.text import count
from rerank.core.types import Floats, Index, Mask
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.buffers import write_blocks
from rerank.formats.common import (
    STORE,
    check_missing,
    first_repeated,
    in_input_order,
    note,
    quoted,
    refuse_equal_ids,
)
from rerank.formats.moses.read import read_lists
from rerank.formats.weights import WEIGHTS, WeightOptions, WeightsFormat, weight_of
from rerank.native.formats._write import MosesLines, most_values

if TYPE_CHECKING:
    from rerank.formats.list_stream import ListStream

_LINE = re.compile(rb"[^\S\n]*+[^|\s][^|\n]*+\|\|\|[^\n]*[ \t]\|\|\|([ \t]|$)")  # *+: no backtracking

_BARS = re.compile(rb"(?<![^ \t])\|\|\|(?![^ \t])")
_BAD_ID = re.compile(rb"\n|\|\|\||^[ \t]|[ \t]$|^\xef\xbb\xbf|^$")
_BAD_NAME = re.compile(r"[ \t\n]|^WordScores$|^$")
_NUMBERED = re.compile(r"(.+)_0", re.DOTALL)
_LINE_BOUND = 48  # bars, blanks, total, newline
_VALUE_BOUND = 25


@FORMATS.register("moses", "nbest")
class Moses(Format):
    """Reader and writer of N-best lists as Moses, its tuners and Marian write them.

    Lines end at newlines alone. Columns are separated by " ||| "; the text is what is between two of
    them without one blank on each side. Features are ``d: 0 -7.6``, ``Name= v v``, ``Name=v``, or
    numbers alone. A name with several values is the columns Name_0, Name_1, ...; Marian's ``WordScores=``
    become their sum and mean. A feature that a line leaves out is 0 (or NaN, ``missing``). The score
    is ``base_scores`` and not a feature; alignments are left out. First-best is the first line of a list.
    Lines of one id that are not contiguous, or are in files that are merged, are brought together.
    References are attached to the ids as sentence numbers from 0.
    """

    name: ClassVar[str] = "moses"
    summary: ClassVar[str] = "id ||| text ||| features ||| score (Moses, Marian)"
    leaves_out_zeros: ClassVar[bool] = True
    suffixes: ClassVar[tuple[str, ...]] = (".moses",)
    signs: ClassVar[tuple[bytes, ...]] = (b"|||",)
    honours: ClassVar[frozenset[str]] = frozenset(
        {"strict", "missing", "layout", "dtype", "refs", "distinct", "merge"}
    )

    holds: ClassVar[frozenset[str]] = frozenset(
        {"features", "base_scores", "first_best", "list_ids", "rows", "feature_names", "texts"}
    )
    ranked_by_line: ClassVar[bool] = True

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return _LINE.match(head) is not None

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        return read_lists([path, *options.merge], options)

    def _write_stream(self, stream: ListStream, path: str) -> None:
        with stream.open(path) as file:
            writer, held = _Writer(path, file, stream.whole), None
            for lists in stream:
                if held is not None:
                    writer.write(held)
                held = lists  # the last line of sparse rows names columns that no other line names
                if lists.features.layout == "dense":
                    writer.write(lists)
                    held = None
            if held is not None:
                writer.write(held, last=True)
            writer.check_end()


class _Writer:
    """Writes lists, block by block.

    Columns Name_0, Name_1, ... of dense features become one ``Name= v v``, others ``Name= v``, those without
    names numbers alone. NaN is left out.
    """

    def __init__(self, path: str, file: IO[bytes], whole: bool) -> None:
        self.path, self.file, self.whole = path, file, whole
        self.n_lists = self.n_named = 0
        self.names: StringColumn | None = None
        self.known: Mask = np.zeros(0, dtype=bool)  # columns that have had a value

    def write(self, lists: CandidateLists, *, last: bool = False) -> None:
        """Write some lists; ``last`` is needed for sparse rows."""
        path = self.path
        ids = _list_ids(lists, path, self.n_lists)
        texts, scores, matrix = lists.texts, lists.base_scores, lists.features.matrix()
        if texts is not None:
            _check_texts(texts, path)
        if scores is not None and np.any(np.isnan(scores)):
            raise DataError(f"{path}: moses cannot hold items without a score; {STORE}")
        items, list_index = _item_order(lists, path), lists.list_index
        names = _names(lists, path)
        if self.names is not None and names != self.names:
            expected = "none, or one in the first lines: values of one name are written together"
            raise NeedsWholeError(lists.source, None, "a missing value", expected)
        self.names = names
        self._check_missing(lists, items)
        for column, instead in (("texts", "texts are empty"), ("base_scores", "scores are 0")):
            if getattr(lists, column) is None:
                note(f"{path}: the lists have no {column.replace('_', ' ')}; {instead}")
        of_names = names.lengths() + _VALUE_BOUND  # a line has no name twice
        sizes = np.minimum(most_values(matrix) * of_names.max(initial=0), of_names.sum())
        sizes += _LINE_BOUND + ids.lengths()[list_index]
        if texts is not None:
            sizes += texts.lengths()
        lines = MosesLines(matrix, names, scores, items, list_index, ids, texts, self.n_named, last)
        write_blocks(self.file, sizes[items], lines.render, spare=len(names.data) + len(names))
        self.n_named = lines.n_named()
        self.n_lists += lists.n_lists

    def _check_missing(self, lists: CandidateLists, items: Index) -> None:
        """Raise DataError if leaving NaN out would lose a column or its place."""
        if len(self.known) < lists.n_features:
            self.known = np.zeros(lists.n_features, dtype=bool)
        if lists.has_missing:
            check_missing(lists, "moses", self.path)
        if self.known.all():
            return
        if lists.has_missing:
            here = ~np.isnan(lists.features.to_dense()[items])
            firsts = np.where(here.any(axis=0), here.argmax(axis=0), len(items))
            firsts[self.known] = -1
            if np.any(np.diff(firsts) < 0):
                raise self._disordered()
            self.known |= firsts < len(items)
        else:
            self.known[:] = True
        if self.whole:
            self.check_end()

    def check_end(self) -> None:
        """Raise DataError if a column has no value in any list."""
        if not self.known.all():
            raise self._disordered()

    def _disordered(self) -> DataError:
        found = "would read features with missing values in another order"
        return DataError(f"{self.path}: moses {found}; {STORE}")


def _list_ids(lists: CandidateLists, path: str, before: int) -> StringColumn:
    """The ids to write: the lists' own, or their numbers from 0, of which ``before`` are written."""
    ids = lists.list_ids
    if ids is None:
        return StringColumn.from_strings(str(before + i) for i in range(lists.n_lists))
    bad = next((i for i in range(len(ids)) if _BAD_ID.search(ids.bytes_at(i))), None)
    if bad is not None:
        raise DataError(
            f"{path}: moses cannot hold the list id {ids[bad]!r} (empty, or with blanks around it, "
            f"||| or a newline); {STORE}"
        )
    refuse_equal_ids(lists, "moses", path)
    return ids


def _check_texts(texts: StringColumn, path: str) -> None:
    """Raise DataError for the first text that contains a newline or the bars between columns."""
    data = texts.data
    suspects = data == ord("\n")
    bar = data == ord("|")
    suspects[: max(len(data) - 2, 0)] |= bar[:-2] & bar[1:-1] & bar[2:]
    for at in np.flatnonzero(suspects):
        i = int(np.searchsorted(texts.offsets, at, side="right")) - 1
        text = texts.bytes_at(i)
        if b"\n" in text or _BARS.search(text):
            found = repr(texts[i][:60])
            raise DataError(f"{path}: moses cannot hold a text with a newline or ' ||| ', {found}; {STORE}")


def _item_order(lists: CandidateLists, path: str) -> Index:
    """Items in the order of their lines."""
    items = in_input_order(lists)
    _, firsts = np.unique(lists.list_index[items], return_index=True)
    if np.all(np.diff(firsts) > 0):
        return items
    note(f"{path}: the lists are not in the order of their lines; written one after the other")
    return np.arange(lists.n_items, dtype=np.int64)


def _names(lists: CandidateLists, path: str) -> StringColumn:
    """Return the text that precedes the value of each column."""
    dense = lists.features.layout == "dense"
    if dense and lists.feature_names is None and not lists.has_missing:
        return StringColumn.from_strings([" "] * lists.n_features)
    names = lists.names()
    known = set(names)
    if len(known) < len(names):
        raise DataError(f"{path}: moses cannot hold two features of one name; {STORE}")
    bad = next((name for name in names if _BAD_NAME.search(name)), None)
    if bad is not None:
        raise DataError(f"{path}: moses cannot hold a feature named {bad!r}; {STORE}")
    before = [f" {name}= " for name in names]
    if dense and not lists.has_missing:
        for j, base, n in _groups(names, known):
            before[j : j + n] = [f" {base}= ", *([" "] * (n - 1))]
    return StringColumn.from_strings(before)


def _groups(names: Sequence[str], known: set[str]) -> list[tuple[int, str, int]]:
    """Consecutive columns Base_0, Base_1, ...: (first column, Base, how many)."""
    out = []
    for j, name in enumerate(names):
        match = _NUMBERED.fullmatch(name)
        if match is None or match[1] in known or match[1] == "WordScores":
            continue
        base = match[1]
        n = next(k for k in itertools.count() if names[j + k : j + k + 1] != [f"{base}_{k}"])
        if n > 1:
            out.append((j, base, n))
    return out


# The sections of old files, and the names of their features in N-best lists.
_OLD = {
    "weight-d": "d",
    "weight-l": "lm",
    "weight-t": "tm",
    "weight-w": "w",
    "weight-i": "I",
    "weight-generation": "g",
}
_SECTION = re.compile(rb"\s*\[\s*([^\]\s]+)\s*\]\s*$")
_RECOGNISED = re.compile(
    rb"^\s*\[(weight|weight-[a-z]+|feature|ttable-file|input-factors)\]\s*$", re.MULTILINE
)
_NUMBERED_NAME = re.compile(r"(.+)_([0-9]{1,9})")


class _Entry(Struct):
    """The weights of one name; ``lines`` are the lines of the file that contain them, from 0."""

    name: str
    weights: list[float]
    lines: list[int]
    old: bool

    def features(self) -> list[str]:
        """Return the features' names."""
        n = len(self.weights)
        return [self.name] if n == 1 else [f"{self.name}_{k}" for k in range(n)]


@WEIGHTS.register("moses-ini")
class MosesIni(WeightsFormat):
    """Reader and writer of the weights in a moses.ini, named as the features of Moses' N-best lists are.

    ``LM0= 0.5`` in the section [weight] is the weight of feature LM0, ``TranslationModel0= 0.2 0.3`` those of
    TranslationModel0_0 and TranslationModel0_1. Files from before 2013 have sections such as [weight-l] with
    a number per line instead; their features are lm, or lm_0, lm_1, ...
    """

    name = "moses-ini"
    summary = "the [weight] section of a moses.ini"
    honours = frozenset({"ini"})

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return bool(_RECOGNISED.search(head))

    def read(self, path: str, options: WeightOptions) -> tuple[list[str], Floats]:
        entries = _entries(_lines(path), shown(path))
        if not entries:
            raise FormatError(shown(path), None, "no weights", "a section [weight] with lines 'LM0= 0.5'")
        names = [name for entry in entries for name in entry.features()]
        return names, np.array([w for entry in entries for w in entry.weights])

    def write(self, path: str, names: Sequence[str], weights: Floats, options: WeightOptions) -> None:
        """Write a section [weight] alone, or the file ``options.ini`` with these weights in it.

        Weights of that file without a new value stay. New ones that have no place in it are added at the end
        of its [weight]. Both are reported.
        """
        given = dict(zip(names, weights.tolist(), strict=True))
        if options.ini is None:
            write_lines(path, ["[weight]", *_new_lines(given, path)])
            return
        lines, source = _lines(options.ini), shown(options.ini)
        entries = _entries(lines, source)
        text = [line.decode("utf-8", "surrogateescape") for line in lines]
        for entry in entries:
            _replace(entry, given, text, source)
        if given:
            _append(given, lines, text, path, source)
        try:
            again = _entries([line.encode("utf-8", "surrogateescape") for line in text], path)
        except FormatError as error:
            raise DataError(f"{source}: cannot hold these weights too ({error.found})") from None
        kept = {name: w for entry in again for name, w in zip(entry.features(), entry.weights, strict=True)}
        lost = [name for name, w in zip(names, weights.tolist(), strict=True) if kept.get(name) != w]
        if lost:
            raise DataError(f"{source}: cannot hold the weight of {lost[0]!r} so that it reads back")
        write_lines(path, text)


def _lines(path: str) -> list[bytes]:
    lines = bytes(read_bytes(path)).split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def _sections(lines: Sequence[bytes]) -> Iterator[tuple[int, str, bytes]]:
    """Lines that are neither blank nor comments: number from 0, section, content."""
    section = ""
    for i, line in enumerate(lines):
        found = _SECTION.match(line)
        if found:
            section = found[1].decode("utf-8", "surrogateescape")
        elif line.strip() and not line.lstrip().startswith(b"#"):
            yield i, section, line.strip()


def _entries(lines: Sequence[bytes], source: str) -> list[_Entry]:
    """The weights by name, in the order of the file."""
    entries: dict[str, _Entry] = {}
    for i, section, line in _sections(lines):
        if section == "weight":
            name, sign, values = line.partition(b"=")
            text = name.strip().decode("utf-8", "surrogateescape")
            if not sign or not text or not values.strip():
                raise FormatError(source, i + 1, quoted(line), "a name, '=' and its weights")
            if text in entries:
                raise FormatError(source, i + 1, f"weights of {text!r} again", "each name once")
            numbers = [weight_of(token, source, i + 1) for token in values.split()]
            entries[text] = _Entry(text, numbers, [i], old=False)
        elif section in _OLD:
            entry = entries.setdefault(_OLD[section], _Entry(_OLD[section], [], [], old=True))
            if not entry.old:
                raise FormatError(source, i + 1, f"weights of {entry.name!r} again", "each name once")
            entry.weights.append(weight_of(line, source, i + 1))
            entry.lines.append(i)
    found = [(name, entry.lines[0]) for entry in entries.values() for name in entry.features()]
    twice = first_repeated(name for name, _ in found)
    if twice is not None:
        feature, at = found[twice]
        raise FormatError(source, at + 1, f"a second weight {feature!r}", "weights of different names")
    return list(entries.values())


def _replace(entry: _Entry, given: dict[str, float], text: list[str], source: str) -> None:
    """Put new weights on an entry's lines and take them out of ``given``."""
    names = entry.features()
    known = [name for name in names if name in given]
    if not known:
        note(f"{source}: the model has no {entry.name}; its weight stays")
        return
    extra = f"{entry.name}_{len(names)}"
    if len(known) < len(names) or (len(names) > 1 and extra in given):
        raise DataError(
            f"{source}: {entry.name} has {count(len(names), 'weight')}, the model "
            + (f"has no {next(n for n in names if n not in given)!r}" if extra not in given else "has more")
        )
    values = [repr(given.pop(name)) for name in names]
    if entry.old:
        for line, value in zip(entry.lines, values, strict=True):
            text[line] = value
    else:
        text[entry.lines[0]] = f"{entry.name}= {' '.join(values)}"


def _append(given: dict[str, float], lines: Sequence[bytes], text: list[str], path: str, source: str) -> None:
    """Add weights that have no place yet after the last line of [weight], or in one at the end."""
    within = [i for i, section, _ in _sections(lines) if section == "weight"]
    note(f"{source}: no place for {', '.join(given)}; added to [weight]")
    new = _new_lines(given, path)
    if within:
        text[within[-1] + 1 : within[-1] + 1] = new
    else:
        text += ["", "[weight]", *new]


def _new_lines(given: dict[str, float], path: str) -> list[str]:
    """A line for each name: Name_0, Name_1, ... that follow each other are one name's weights."""
    groups: dict[str, list[str]] = {}
    for name in given:
        found = _NUMBERED_NAME.fullmatch(name)
        base = found[1] if found else name
        if found and int(found[2]) == len(groups.get(base, ())) and base not in given:
            groups.setdefault(base, []).append(name)
        else:
            groups[name] = [name]
    lines = []
    for base, members in groups.items():
        label = base if len(members) > 1 else members[0]
        if re.search(r"[\s=\[\]#]", label):
            raise DataError(f"{path}: the feature name {label!r} does not fit in a moses.ini")
        lines.append(f"{label}= {' '.join(repr(given[name]) for name in members)}")
    return lines
