"""Files of vectors: npy, Parquet and JSON Lines, joined to lists by ids, or by the order of the lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.files.read import first_bytes, is_pipe, opened, shown
from rerank.core.text import count
from rerank.core.types import AnyArray
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.npy import BLOCK, read_header
from rerank.data.reading import ReadOptions
from rerank.formats.builders import filled_lines
from rerank.formats.collection import IDS
from rerank.formats.common import quoted

VECTORS = ("vector", "embedding", "embeddings")
_NPY, _PARQUET = b"\x93NUMPY", b"PAR1"
_FORMS = "an npy file of float16, float32 or float64 (rows, numbers), Parquet or JSON Lines"
_ROWS = 1 << 10  # lines of JSON that are joined at once


class Rows(Struct):
    """Some rows of a file of vectors.

    names : the id of each row, None = the file has none.
    values : (rows, numbers), float32 or float64.
    first : the number of the first row, or its line, from 1.
    lines : numbers of lines if they are not first, first + 1 ...
    """

    names: list[bytes] | None
    values: AnyArray
    first: int
    lines: list[int] | None = None

    def line(self, k: int) -> int:
        """Return the number of row ``k`` in the file."""
        return self.first + k if self.lines is None else self.lines[k]


def with_vectors(lists: CandidateLists, options: ReadOptions) -> CandidateLists:
    """Return the lists with the vectors of the files that ``options`` name.

    Raises
    ------
    FormatError
        If a file has another form, an id twice, or vectors of different lengths or that are not finite.
    DataError
        If a list or an item has no vector, or a file without ids has another number of rows.
    ConfigError
        If the lists have vectors already, or a file has ids and the lists have none.
    """
    columns: dict[str, Any] = {}
    for name, what, ids, n in (
        ("vectors", "item", lists.item_ids, lists.n_items),
        ("query_vectors", "list", lists.list_ids, lists.n_lists),
    ):
        path = getattr(options, name)
        if path is None:
            continue
        if getattr(lists, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{flag}: {lists.source} has vectors of its own; leave the option out")
        found, by_id = read_vectors(path, ids, n, what, lists.source)
        if by_id and what == "item":
            _check_shared_ids(lists, path)
        elif what == "item":
            found = np.ascontiguousarray(lists.from_input_order(found))
        columns[name] = found
    return replace(lists, **columns)


def read_vectors(
    path: str, ids: StringColumn | None, n: int, what: str, source: str
) -> tuple[AnyArray, bool]:
    """Return the vectors (n, numbers) of some entries, and whether they were joined by ids.

    Parameters
    ----------
    path : the file.
    ids : of the entries, which several of them may share; None = they have none.
    n : the number of entries.
    what : "item" or "list", for messages.
    source : what has the entries, for messages.
    """
    blocks = _blocks(path)
    head = next(blocks, None)
    if head is None:
        raise FormatError(shown(path), None, "no vectors", _FORMS)
    join = _by_position if head.names is None else _by_id
    if head.names is not None and ids is None:
        found = f"ids of vectors; {source} has no ids of {what}s, by which they are joined"
        raise ConfigError(f"{shown(path)}: found {found}")
    checked = _checked(path, head, blocks)
    return join(path, checked, ids, n, what, source), head.names is not None


def _checked(path: str, head: Rows, more: Iterator[Rows]) -> Iterator[Rows]:
    """The blocks, of whose vectors all have the same length and all numbers are finite."""
    width = head.values.shape[1]
    if width < 1:
        raise FormatError(shown(path), head.line(0), "a vector of no numbers", "one number at least")
    for block in chain((head,), more):
        if block.values.shape[1] != width:
            expected = f"{width} as in the rows before"
            raise _fault(path, block, 0, f"{count(block.values.shape[1], 'number')}", expected)
        finite = np.isfinite(block.values)
        if not finite.all():
            k = int(np.argmin(finite.all(axis=1)))
            value = block.values[k][~finite[k]][0]
            raise _fault(path, block, k, f"{value:g}", "finite numbers")
        yield block


def _fault(path: str, block: Rows, k: int, found: str, expected: str) -> FormatError:
    """The error at row ``k`` of a block; binary files have rows, not lines."""
    if block.lines is None:
        return FormatError(shown(path), None, f"{found} in row {block.line(k)}", expected)
    return FormatError(shown(path), block.line(k), found, expected)


def _by_position(
    path: str, blocks: Iterator[Rows], ids: StringColumn | None, n: int, what: str, source: str
) -> AnyArray:
    """The rows of a file without ids, which are as many as the entries."""
    out: AnyArray | None = None
    at = 0
    for block in blocks:
        if out is None:
            out = _empty(n, block.values, path)
        stop = at + len(block.values)
        if stop <= n:
            out[at:stop] = block.values
        at = stop
    if at != n or out is None:
        expected = f"{n:,}, one for each {what} of {source}, in their order; the file has no ids"
        raise FormatError(shown(path), None, count(at, "row"), expected)
    return out


def _by_id(
    path: str, blocks: Iterator[Rows], ids: StringColumn | None, n: int, what: str, source: str
) -> AnyArray:
    """The row of each entry's id; rows of other ids are passed over."""
    assert ids is not None  # the caller refuses lists without
    names = [ids.bytes_at(i) for i in range(n)]
    numbers: dict[bytes, int] = {}
    codes = np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.int64, n)
    seen = np.zeros(len(numbers), dtype=bool)
    out: AnyArray | None = None
    for block in blocks:
        if out is None:
            out = _empty(len(numbers), block.values, path)
        if block.names is None:
            raise _fault(path, block, 0, "no id", "an id as in the rows before")
        places: list[int] = []
        rows: list[int] = []
        for k, name in enumerate(block.names):
            place = numbers.get(name)
            if place is None:
                continue
            if seen[place]:
                raise _fault(path, block, k, f"id {quoted(name)} again", "each id once")
            seen[place] = True
            places.append(place)
            rows.append(k)
        out[places] = block.values[rows]
    if out is None or not seen.all():
        absent = np.flatnonzero(~seen)
        found = f"no vector of {what} {quoted(names[int(np.argmax(codes == absent[0]))])}"
        found += f" and {len(absent) - 1} more" * (len(absent) > 1)
        raise DataError(f"{shown(path)}: {found}, expected one for each {what} of {source}")
    return out if n == len(numbers) else out[codes]


def _empty(n: int, values: AnyArray, path: str) -> AnyArray:
    """Room for the vectors of ``n`` entries, float32 unless the file has float64."""
    memory.require(n * values[:1].nbytes, f"the vectors of {shown(path)}")
    return np.empty((n, values.shape[1]), dtype=values.dtype)


def _check_shared_ids(lists: CandidateLists, path: str) -> None:
    """Raise DataError if items with the same id have different texts, so that an id is no item's name."""
    ids, texts = lists.item_ids, lists.texts
    if ids is None or texts is None:
        return
    known: dict[bytes, int] = {}
    for k in range(lists.n_items):
        first = known.setdefault(ids.bytes_at(k), k)
        if first != k and texts.bytes_at(first) != texts.bytes_at(k):
            places = f"{lists.place_of(first)} and {lists.place_of(k)}"
            found = f"{places} share an id, with different texts"
            raise DataError(f"{lists.source}: {found}; vectors of {shown(path)} are joined by ids")


def _blocks(path: str) -> Iterator[Rows]:
    """The rows of a file in blocks; FormatError at another form."""
    if not is_pipe(path):
        start = first_bytes(path, len(_NPY))
        if start == _NPY:
            yield from _npy(path)
            return
        if start[:4] == _PARQUET:
            yield from _parquet(path)
            return
    yield from _json(path)


def _npy(path: str) -> Iterator[Rows]:
    """Blocks of a mapped npy file; no pickle is read."""
    with opened(path) as source:
        file = source.rewound()
        try:
            header = read_header(file)
        except ValueError as error:
            raise FormatError(shown(path), None, str(error), _FORMS) from None
        dtype, shape = header.dtype, header.shape
        if dtype.kind != "f" or dtype.itemsize not in (2, 4, 8) or len(shape) != 2:
            raise FormatError(shown(path), None, f"{dtype.name} of shape {shape}", _FORMS)
        n, width = shape
        start = file.tell()
        end = file.seek(0, 2)
        if end - start != header.n_bytes:
            found = f"{end - start:,} bytes of data"
            raise FormatError(shown(path), None, found, f"{header.n_bytes:,} for {n:,} rows of {width}")
        if n == 0:
            return
        kept = np.float64 if dtype.itemsize == 8 else np.float32
        step = max(BLOCK // max(width * dtype.itemsize, 1), 1)
        for first in range(0, n, step):
            file.seek(start + first * width * dtype.itemsize)
            rows = min(step, n - first)
            content = file.read(rows * width * dtype.itemsize)
            if len(content) != rows * width * dtype.itemsize:
                raise FormatError(shown(path), None, "data that end early", "an unchanged file")
            values = np.frombuffer(content, dtype=dtype).reshape(rows, width)
            yield Rows(None, values.astype(kept, copy=False), first + 1)


def _parquet(path: str) -> Iterator[Rows]:
    """Batches of a Parquet file: a column of lists of numbers, and one of ids if there is one."""
    from rerank.formats.arrow import arrow, arrow_faults

    pa, source = arrow(), shown(path)
    with arrow_faults(source, pa), opened(path) as handle:
        file = pa.parquet.ParquetFile(handle.rewound(), pre_buffer=False)
        schema = file.schema_arrow
        of_numbers = [field.name for field in schema if _holds_vectors(pa, field.type)]
        column = next((name for name in VECTORS if name in of_numbers), None)
        column = of_numbers[0] if column is None and len(of_numbers) == 1 else column
        if column is None:
            found = f"columns {', '.join(schema.names[:8])}"
            raise FormatError(source, None, found, f"one of lists of numbers: {', '.join(VECTORS)}")
        name = next((name for name in IDS if name in schema.names), None)
        first = 1
        for batch in file.iter_batches(_ROWS, columns=[column, *([name] if name else [])]):
            if not batch.num_rows:
                continue
            values = batch.column(batch.schema.get_field_index(column))
            names = None
            if name is not None:
                ids = batch.column(batch.schema.get_field_index(name)).to_pylist()
                odd = next((k for k, one in enumerate(ids) if type(one) not in (str, int)), None)
                if odd is not None:
                    found = f"{ids[odd]!r} as {name} in row {first + odd}"
                    raise FormatError(source, None, found, "an id, text or a whole number")
                names = [str(one).encode("utf-8", "surrogatepass") for one in ids]
            yield Rows(names, _matrix(pa, values, source, first), first)
            first += batch.num_rows


def _holds_vectors(pa: Any, kind: Any) -> bool:
    types = pa.types
    listed = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return listed and types.is_floating(kind.value_type)


def _matrix(pa: Any, values: Any, source: str, first: int) -> AnyArray:
    """The vectors of a batch; FormatError at a row without one, or of another length than the first."""
    lengths = pa.compute.list_value_length(values).to_numpy(zero_copy_only=False)
    if values.null_count:
        row = first + int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
        raise FormatError(source, None, f"no vector in row {row}", "one in each row")
    width = int(lengths[0])
    if np.any(lengths != width):
        k = int(np.argmax(lengths != width))
        found = f"{count(int(lengths[k]), 'number')} in row {first + k}"
        raise FormatError(source, None, found, f"{width} as in the rows before")
    flat = values.flatten()
    if flat.null_count:
        k = int(np.argmax(flat.is_null().to_numpy(zero_copy_only=False))) // max(width, 1)
        raise FormatError(source, None, f"null in the vector of row {first + k}", "finite numbers")
    kept = np.float64 if flat.type == pa.float64() else np.float32
    return flat.to_numpy(zero_copy_only=False).astype(kept, copy=False).reshape(len(values), width)


def _json(path: str) -> Iterator[Rows]:
    """Blocks of JSON Lines: objects with an id and a vector, or arrays."""
    decode = msgspec.json.Decoder(Any).decode
    named: bool | None = None
    width = -1
    lines = filled_lines(path)
    while batch := list(islice(lines, _ROWS)):
        names: list[bytes] = []
        vectors: list[list[float]] = []
        for line, raw in batch:
            content = raw.removeprefix(b"\xef\xbb\xbf") if line == 1 else raw
            try:
                entry = decode(content)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                piped = is_pipe(path) and content.startswith((_NPY, _PARQUET))
                forms = "JSON Lines: npy and Parquet are read from files" if piped else _FORMS
                raise FormatError(shown(path), line, quoted(content), forms) from None
            name, vector = _entry(entry, path, line)
            if named is None:
                named = name is not None
            if named != (name is not None):
                found = "an id" if name is not None else "no id"
                raise FormatError(shown(path), line, found, "an id in every line or in none")
            if width not in (-1, len(vector)):
                expected = f"{width} as in the rows before"
                raise FormatError(shown(path), line, count(len(vector), "number"), expected)
            width = len(vector)
            vectors.append(vector)
            if name is not None:
                names.append(name)
        numbers = [line for line, _ in batch]
        try:
            values = np.array(vectors, dtype=np.float64)
        except OverflowError:  # a whole number of more than 300 digits
            raise FormatError(shown(path), numbers[0], "a number beyond float64", "finite numbers") from None
        yield Rows(names if named else None, values, numbers[0], numbers)


def _entry(entry: Any, path: str, line: int) -> tuple[bytes | None, list[float]]:
    """The id and the vector of a line; FormatError if it has no vector."""
    name: bytes | None = None
    vector = entry
    if isinstance(entry, dict):
        key = next((key for key in VECTORS if key in entry), None)
        if key is None:
            raise FormatError(shown(path), line, "no vector", f"numbers under {', '.join(VECTORS)}")
        vector = entry[key]
        known = next((key for key in IDS if key in entry), None)
        if known is not None:
            value = entry[known]
            if type(value) not in (str, int):
                raise FormatError(shown(path), line, f"{quoted(str(value))} as {known}", "an id")
            name = str(value).encode("utf-8", "surrogatepass")
    if not isinstance(vector, list) or not vector:
        raise FormatError(shown(path), line, quoted(str(vector)), "an array of numbers")
    odd = next((one for one in vector if type(one) not in (int, float)), None)
    if odd is not None:
        raise FormatError(shown(path), line, f"{quoted(str(odd))} in a vector", "numbers")
    return name, vector
