"""Feature files of BLLIP's reranker, ``S=`` and a line per sentence, and files of its weights."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.core.errors import DataError, FormatError
from rerank.core.files.read import Buffer, read_bytes, shown
from rerank.core.files.write import atomic_write, write_lines
from rerank.core.text import count
from rerank.core.types import Bytes, Counts, Floats, Index, Ints
from rerank.data.columns.offsets import fresh_array, offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Sparse
from rerank.extensions.parsing.native._bllip import FAULTS, MOST_FEATURES, fill, scan
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.buffers import content_start, parts_of_lines, write_blocks
from rerank.formats.common import (
    CHANGED,
    exceeds,
    finite,
    line_of,
    not_a_number,
    note,
    quoted,
    token_at,
    unnamed_last,
)
from rerank.formats.feature_columns import ColumnNames, columns_to_keep, is_wide, narrowed, read_feature_names
from rerank.formats.weights import WEIGHTS, WeightOptions, WeightsFormat, weight_lines
from rerank.native.formats._write import BllipLines, most_values

_MEANING = {
    "G": "G=<constituents of the gold tree>",
    "N": "N=<number of parses>",
    "P": "P=<constituents of the parse>",
    "W": "W=<constituents of both>",
}


def fault_error(path: str, text: Bytes, fault: str, offset: int, detail: int) -> FormatError:
    """Return the error for ``fault`` (of the kernel's FAULTS) at byte ``offset`` of the file ``text``."""
    token = token_at(text, offset, b" \t\r\n,")
    if fault in ("edges", "count"):
        found, expected = _assigned(token, chr(detail))
    elif fault == "matched":
        found, expected = quoted(token), f"at most {detail}, as the parse or the gold tree has no more"
    elif fault == "parses":
        found, expected = count(detail, "parse"), f"as many as {token} says"
    elif fault == "no comma":
        found, expected = "the end of the line", "a comma after the last parse"
    elif fault == "order":
        found, expected = f"feature {token.partition('=')[0]} after {detail}", "increasing ids"
    elif fault == "feature":
        found, expected = _feature(token)
    else:
        found, expected = CHANGED
    return FormatError(path, line_of(text, offset), found, expected)


def _assigned(token: str, name: str) -> tuple[str, str]:
    """Return found and expected for a ``token`` that is not "NAME=" and a whole number."""
    expected = _MEANING[name]
    if not token.startswith(f"{name}="):
        return (quoted(token) if token else f"no {name}="), expected
    if re.fullmatch(r"[0-9]+", token[2:]):
        return quoted(token), f"{expected}, at most 999999999"
    return quoted(token), f"{expected}, a whole number"


def _feature(token: str) -> tuple[str, str]:
    """Return found and expected for a ``token`` that is not "id" or "id=value"."""
    name, sign, value = token.partition("=")
    if name in _MEANING and sign:
        return f"{quoted(token)} among the features of a parse", "id, id=value or the comma that ends it"
    if not re.fullmatch(r"[0-9]+", name):
        return quoted(token), "a feature, id or id=value"
    if exceeds(name, MOST_FEATURES - 1):
        return f"feature {quoted(name)}", f"an id below {MOST_FEATURES}"
    if not value:
        return f"no value for feature {quoted(name)[1:-1]}", "id=value"
    return not_a_number(value.encode(), f"value of feature {quoted(name)[1:-1]}:")


_EXPECTED = "S=<number of sentences> alone on the first line"
_HEADER_LINE = re.compile(rb"[ \t\r\n]*(S=([0-9]{1,18})[ \t\r]*(?:\n|\Z))?")


@dataclass
class Sentences:
    """The parses of each sentence, 0 for some; constituents of the gold tree, of the parse, of both."""

    sizes: Ints  # (n_sentences)
    edges: Floats  # (n_parses, 3)
    features: Sparse


def parse(data: Buffer, path: str, n_features: int, strict: bool) -> Sentences:
    """Parse a whole file into at least ``n_features`` columns; raises FormatError at its first bad line.

    Sentences without a parse are reported, or refused under ``strict``.
    """
    text = np.frombuffer(data, dtype=np.uint8)
    announced, start = _header(data, path)
    parts = [(part, origin, scan(part)) for part, origin in parts_of_lines(data, start)]
    lines, rows, values, valued = (sum(column) for column in zip(*(c for *_, c in parts), strict=True))
    sizes = np.empty(lines, dtype=np.int32)
    edges = np.empty((rows, 3))
    indptr = np.zeros(rows + 1, dtype=np.int64)
    indices = fresh_array((values,), np.int32)
    column = fresh_array((values,), np.float64) if valued else None
    width = n_features
    line = row = value = 0
    for part, origin, more in parts:
        ends = indptr[row + 1 : row + more[1] + 1]
        some = slice(value, value + more[2])
        fault, place, detail, widest = fill(
            part,
            sizes[line : line + more[0]],
            edges[row : row + more[1]],
            ends,
            indices[some],
            None if column is None else column[some],
        )
        if fault:
            raise fault_error(path, text, FAULTS[fault], origin + place, detail)
        ends += value
        width = max(width, widest)
        line, row, value = line + more[0], row + more[1], value + more[2]
    _check_sizes(path, text, sizes, announced, strict)
    return Sentences(sizes, edges, Sparse(indptr, indices, column, width))


def _header(data: Buffer, path: str) -> tuple[int, int]:
    """The number of sentences that the first line announces, and where the next line starts."""
    start = content_start(data, path, _EXPECTED)
    match = _HEADER_LINE.match(data, start)
    if match is not None and match[1]:
        return int(match[2]), match.end()
    place = match.end() if match is not None else start
    if place == len(data):
        raise FormatError(path, None, "a file of blanks", _EXPECTED)
    text = np.frombuffer(data, dtype=np.uint8)
    line = line_of(text, place)
    raise FormatError(path, line, quoted(token_at(text, place)), _EXPECTED)


def _check_sizes(path: str, text: Bytes, sizes: Ints, announced: int, strict: bool) -> None:
    """Refuse a file that is cut off or has no parse; report sentences without one."""
    if len(sizes) != announced:
        found = count(len(sizes), "sentence")
        raise FormatError(path, None, found, f"{announced}, as S={announced} on its first line says")
    empty = np.flatnonzero(sizes == 0)
    if len(empty) == len(sizes):
        raise FormatError(path, None, "no parse", "at least one sentence with parses")
    if not len(empty):
        return
    first = int(empty[0]) + 1
    if strict:
        lines = enumerate(bytes(text).split(b"\n"), start=1)  # the header is the first that is not blank
        line = [number for number, content in lines if content.strip()][first]
        raise FormatError(path, line, "a sentence without a parse", "N=1 or more")
    without = f"{count(len(empty), 'sentence')} of {len(sizes)} without a parse left out"
    note(f"{path}: {without} (first: sentence {first})")


def f_of(counts: Counts) -> Floats:
    """Return F (n) of matched, gold and test constituents, the first columns of ``counts``; 0 for 0 / 0."""
    matched, both = 2.0 * counts[:, 0], np.add(counts[:, 1], counts[:, 2], dtype=np.float64)
    return np.divide(matched, both, out=np.zeros(len(counts)), where=both > 0)


_VALUE_BOUND = 34  # bytes of " id=value" at most
_PARSE_BOUND = 28  # of " P=", " W=", the comma
_LINE_BOUND = 30  # of "G=", " N=", the newline
_LARGEST_COUNT = 999_999_999
WHOLE = re.compile(r"0|[1-9][0-9]{0,7}")


def ids_of(names: Sequence[str] | None, n_features: int) -> tuple[Index, bool]:
    """Return the ids of columns, int64 (n_features), and whether the ids tell all that the names do.

    Names that are increasing whole numbers are the ids. Otherwise an id is the number of its column, from 0.
    So it is too for "1", "2", ..., the names of columns without names.
    """
    columns = np.arange(n_features, dtype=np.int64)
    if names is None or all(name == str(j) for j, name in enumerate(names, start=1)):
        return columns, True
    if all(WHOLE.fullmatch(name) for name in names):
        ids = np.array([int(name) for name in names], dtype=np.int64)
        if np.all(np.diff(ids) > 0):
            return ids, True
    return columns, False


def write_lists(lists: CandidateLists, path: str) -> None:
    """Write ``lists`` to ``path``, values exactly, zeros left out; raises DataError as Format.write does."""
    edges = _edges(lists, path)
    if lists.has_missing:
        raise DataError(f"{path}: bllip cannot hold missing values: absent values are 0")
    if lists.n_features > MOST_FEATURES:
        raise DataError(f"{path}: bllip holds {MOST_FEATURES} features at most, found {lists.n_features}")
    ids, _ = ids_of(lists.feature_names, lists.n_features)
    matrix, last = lists.features.matrix(), unnamed_last(lists.features)
    sizes = np.add.reduceat(_PARSE_BOUND + _VALUE_BOUND * most_values(matrix), lists.offsets[:-1])
    lines = BllipLines(matrix, last, lists.offsets, edges, ids)
    header = b"S=%d\n" % lists.n_lists
    with atomic_write(path) as file:
        file.write(header)
        write_blocks(file, sizes + _LINE_BOUND, lines.render, spare=_VALUE_BOUND)


def _edges(lists: CandidateLists, path: str) -> Index:
    """Constituents of the gold tree, of the parse, of both: int64 (n_items, 3)."""
    counts = lists.counts.get("PARSEVAL")
    if counts is None or counts.shape[1] < 3:
        found = ", ".join(lists.counts) or "none"
        raise DataError(f"{path}: bllip needs counts of PARSEVAL (matched, gold, test), found {found}")
    given = np.ascontiguousarray(counts[:, [1, 2, 0]])
    with np.errstate(invalid="ignore"):
        edges = given.astype(np.int64)
    good = (edges == given) & (edges >= 0) & (edges <= _LARGEST_COUNT)
    good &= (edges[:, 2] <= edges[:, :2].min(axis=1))[:, None]
    if not np.all(good):
        item = int(np.argmin(np.all(good, axis=1)))
        gold, test, matched = given[item].tolist()
        raise DataError(
            f"{path}: item {item} has {matched:g} matched, {gold:g} gold, {test:g} test constituents; "
            "bllip holds whole numbers, matched at most as many as either"
        )
    same = edges[:, 0] == np.repeat(edges[lists.offsets[:-1], 0], lists.lengths)
    if not np.all(same):
        i = int(lists.list_index[int(np.argmin(same))])
        raise DataError(f"{path}: list {lists.list_id(i)!r} has several numbers of gold constituents")
    return edges


_LOG_PROBABILITY = re.compile(r"NLogP\b")  # the first stage's, with its sign changed
_FIRST_LINES = re.compile(rb"\s*S=[0-9]+\s+(G=[0-9]|$)")


@FORMATS.register("bllip")
class Bllip(Format):
    """Reader and writer of the files that BLLIP's (Charniak & Johnson's) feature extractors write.

    The first line is ``S=<sentences>``. Then each sentence has a line, ``G=<gold> N=<parses>`` and for each
    parse ``P=<its constituents> W=<those also in the gold tree> id id=value ... ,``. An id without a
    value has 1. Ids count from 0 and increase. Feature j is column j, and its name is its id, unless
    ``feature_names`` is the extractor's own list ("id<TAB>name"), which then also determines the number of
    features. Features are always sparse. If the largest id is far above the number of features present, only
    these, those with a name, and feature 0 have columns.

    counts["PARSEVAL"], float64 (n_items, 5): matched W, gold G, test P, and NaN for crossing brackets
    and the sentence's length, which the file does not contain. A label is F = 2 W / (G + P), 0 to 1. BLLIP
    uses each tree's own punctuation tags, so that values differ a little from those of evalb, which uses
    the gold tree's.
    First-best is the first parse of a list. List ids are numbers of sentences from 1. Sentences without
    a parse (N=0) are left out with a note, so that no recall counts their gold constituents, or refused
    (``strict``).

    Values are relative by default: the extractor subtracts from each feature of a list the value that
    leaves most zeros and ones, so that an absent feature has that value, whatever it was. A shift that a
    whole list shares changes no ranking by a linear model, so that values can be used as they are. They
    cannot be made absolute, as the file does not contain the shifts. They do affect trees and scaling over
    the whole training set.

    If the names say that feature 0 is NLogP, ``base_scores`` are this feature with its sign changed: the
    first stage's log probabilities, less a constant per list. Otherwise they are None.
    """

    name: ClassVar[str] = "bllip"
    summary: ClassVar[str] = "S=, then G= N= P= W= and features of parses (BLLIP's reranker)"
    suffixes: ClassVar[tuple[str, ...]] = (".bllip",)
    signs: ClassVar[tuple[bytes, ...]] = (b"S=",)
    honours: ClassVar[frozenset[str]] = frozenset({"strict", "feature_names"})

    holds: ClassVar[frozenset[str]] = frozenset(
        {"features", "labels", "first_best", "list_ids", "feature_names", "counts"}
    )
    ranked_by_line: ClassVar[bool] = True

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return _FIRST_LINES.match(head) is not None

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        names = None
        if options.feature_names is not None:
            names = read_feature_names(options.feature_names, first=0)
        # The bytes of the file are gone when the lists are put together.
        n_columns = 0 if names is None else names.n_columns
        sentences = parse(read_bytes(path), shown(path), n_columns, options.strict)
        return _lists(sentences, names or ColumnNames("", {}, 0), shown(path))

    def _write(self, lists: CandidateLists, path: str) -> None:
        write_lists(lists, path)

    def keeps(self, lists: CandidateLists, column: str) -> bool:
        if column == "labels":
            return np.array_equal(lists.labels, f_of(lists.counts["PARSEVAL"]))  # type: ignore[arg-type]
        if column == "list_ids":
            return list(lists.list_ids or ()) == [str(i + 1) for i in range(lists.n_lists)]
        if column == "feature_names":
            return ids_of(lists.feature_names, lists.n_features)[1]
        if column == "counts":
            return set(lists.counts) == {"PARSEVAL"}
        return super().keeps(lists, column)


def _lists(sentences: Sentences, given: ColumnNames, source: str) -> CandidateLists:
    features = sentences.features
    if given.names:
        given.check(features.n_features, source)
    columns: Iterable[int] = range(features.n_features)
    # Names of ids begin with that of column 0: so they differ from indices that count from 1.
    kept = columns_to_keep(features, np.union1d(given.columns, [0]).astype(np.int64), zeros=False)
    if kept is not None:
        features, columns = narrowed(features, kept), kept.tolist()
    names = given.at(columns)
    counts = np.full((features.n_items, 5), np.nan)
    counts[:, :3] = sentences.edges[:, [2, 0, 1]]
    base_scores = None
    if names and _LOG_PROBABILITY.match(names[0]):
        base_scores = 0.0 - features.column(0)
    numbers = np.flatnonzero(sentences.sizes) + 1
    return CandidateLists(
        offsets_of(sentences.sizes[numbers - 1]),
        features,
        labels=f_of(counts),
        base_scores=base_scores,
        first_best=-np.arange(features.n_items, dtype=np.float64),
        list_ids=StringColumn.from_strings(map(str, numbers.tolist())),
        feature_names=names,
        counts={"PARSEVAL": counts},
        source=source,
    )


_LINE = re.compile(rb"\s*[0-9]+=[-+0-9.eE]+\s*$")
_ID = re.compile(rb"0*([0-9]+)")


@WEIGHTS.register("bllip")
class BllipWeights(WeightsFormat):
    """Reader and writer of the weights of BLLIP's reranker.

    Names are the ids, or those of the extractor's list ``feature_names`` ("id<TAB>name"); they are the names
    that format bllip gives the columns of its lists. A larger score is better.
    """

    name = "bllip"
    summary = "id=weight per line (BLLIP's reranker)"
    honours = frozenset({"feature_names"})

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return bool(_LINE.match(head.split(b"\n", 1)[0]))

    def read(self, path: str, options: WeightOptions) -> tuple[list[str], Floats]:
        """Read the weights of the features 0 to the last one in the file or the list of names.

        If that is far above the number of weights and names, only features with either, and feature 0, count.
        An id alone has weight 1. Raises DataError if the list has too few names.
        """
        weights: dict[int, float] = {}
        for source, number, line in weight_lines(path, "id=weight"):
            feature, weight = _read_line(source, number, line.strip(b" \t\r"))
            if feature in weights:
                raise FormatError(source, number, f"feature {feature} again", "each feature once")
            weights[feature] = weight
        given = ColumnNames("", {}, 0)
        n_features = max(weights) + 1
        if options.feature_names is not None:
            given = read_feature_names(options.feature_names, first=0)
            given.check(n_features, shown(path))
            n_features = given.n_columns
        present = sorted({0, *weights, *given.names})
        columns = present if is_wide(n_features, len(present)) else range(n_features)
        return given.at(columns), np.array([weights.get(column, 0.0) for column in columns])

    def write(self, path: str, names: Sequence[str], weights: Floats, options: WeightOptions) -> None:
        """Write the weights that are not 0, by rising id.

        A weight of 1 is written too ("7=1"): BLLIP's trainers leave it out, but its reranker stops reading at
        an id alone. Raises DataError if a name has no id.
        """
        kept = np.flatnonzero(weights)
        ids = _ids(path, names, kept, options.feature_names)
        order = np.argsort(ids, kind="stable")
        texts = (repr(weight).removesuffix(".0") for weight in weights[kept][order].tolist())
        write_lines(path, (f"{i}={text}" for i, text in zip(ids[order].tolist(), texts, strict=True)))


def _read_line(source: str, number: int, token: bytes) -> tuple[int, float]:
    name, sign, value = token.partition(b"=")
    match = _ID.fullmatch(name)
    if match is None:
        raise FormatError(source, number, quoted(token), "id=weight, ids from 0")
    if exceeds(match[1], MOST_FEATURES - 1):
        raise FormatError(source, number, f"feature {quoted(name)}", f"an id below {MOST_FEATURES}")
    feature = int(match[1])
    return feature, finite(value, source, number, f"weight of feature {feature}:") if sign else 1.0


def _ids(path: str, names: Sequence[str], kept: Index, feature_names: str | None) -> Index:
    """The ids of the features at ``kept``."""
    if feature_names is None:
        ids, known = ids_of(names, len(names))
        if not known:
            name = next((name for name in names if not name.isdigit()), names[0])
            raise DataError(
                f"{path}: feature {name!r} has no id; give the names by id (--feature-names FILE)"
            )
        return ids[kept]
    given = read_feature_names(feature_names, first=0)
    columns = dict(zip(given.names.values(), given.names, strict=True))
    out = []
    for name in (names[j] for j in kept.tolist()):
        column = columns.get(name, int(name) if WHOLE.fullmatch(name) else given.n_columns)
        if column >= given.n_columns or given.at([column]) != [name]:
            raise DataError(f"{path}: {feature_names} does not name feature {name!r}")
        out.append(column)
    return np.array(out, dtype=np.int64)
