"""Files of weights: of features by name, as other tools have them, and of lists by id."""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from msgspec import Struct, structs

from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.files.read import opening_once, read_bytes, read_head, shown
from rerank.core.files.write import write_lines
from rerank.core.registry import Registry
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.formats.buffers import BOM
from rerank.formats.common import finite, quoted


class WeightOptions(Struct, frozen=True):
    """Options of some formats; a format that does not use an option refuses it."""

    feature_names: str | None = None  # path of a list of names that gives each feature's id (bllip)
    ini: str | None = None  # path of a file whose other content is kept when weights are written (moses-ini)


class WeightsFormat(ABC):
    """A file format of weights. Register a subclass with ``WEIGHTS.register(name)``."""

    name: ClassVar[str]
    summary: ClassVar[str]
    honours: ClassVar[frozenset[str]] = frozenset()  # the options that the format uses

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Return whether content that starts with ``head`` can only be of this format."""
        return False

    @abstractmethod
    def read(self, path: str, options: WeightOptions) -> tuple[list[str], Floats]:
        """Return names (n) and weights (n); raises FormatError at the first fault."""

    @abstractmethod
    def write(self, path: str, names: Sequence[str], weights: Floats, options: WeightOptions) -> None:
        """Write finite weights (n) of the features ``names``; raises DataError if a name does not fit."""


WEIGHTS: Registry[type[WeightsFormat]] = Registry(
    "weights format", "rerank.formats", "rerank.extensions", base=lambda: WeightsFormat
)


@opening_once
def read_weights(
    path: str, format: str | None = None, options: WeightOptions | None = None
) -> tuple[list[str], Floats]:
    """Return the names (n) and weights (n) of a file.

    format : None finds it by the content; tsv if no other one matches. Raises FormatError at the first fault.
    """
    if format is None:
        head = read_head(path)
        if head.startswith(b"PK\x03\x04"):
            raise FormatError(shown(path), None, "a model or another archive", "a file of weights")
        format = next((name for name in WEIGHTS.names() if WEIGHTS.get(name).recognises(head)), "tsv")
    return _checked(format, options).read(path, options or WeightOptions())


def write_weights(
    path: str, names: Sequence[str], weights: Floats, format: str, options: WeightOptions | None = None
) -> None:
    """Write weights by name; raises DataError if a weight is not finite, or the format cannot hold a name.

    path : the file, "-" = standard output.
    names, weights : the names of features (n) and their weights, float64 (n).
    format : name of the format of weights.
    options : what the format needs beside them, such as an ini file to change.
    """
    target = _checked(format, options)
    if len(names) != len(weights):
        raise DataError(f"{path}: {count(len(weights), 'weight')} for {count(len(names), 'feature')}")
    if not np.isfinite(weights).all():
        name = names[int(np.argmin(np.isfinite(weights)))]
        raise DataError(f"{path}: the weight of feature {name!r} is not finite")
    target.write(path, names, weights, options or WeightOptions())


def _checked(format: str, options: WeightOptions | None) -> WeightsFormat:
    found = WEIGHTS.get(format)()
    for name, value in structs.asdict(options or WeightOptions()).items():
        if value is not None and name not in found.honours:
            raise ConfigError(f"weights of format {found.name} do not use --{name.replace('_', '-')}")
    return found


def weight_lines(path: str, form: str) -> Iterator[tuple[str, int, bytes]]:
    """Yield the lines of ``form`` that are not blank: the file's name, the number from 1, the line.

    Raises FormatError if there are none.
    """
    source, empty = shown(path), True
    for number, line in enumerate(io.BytesIO(bytes(read_bytes(path)).removeprefix(BOM)), start=1):
        if line.strip():
            empty = False
            yield source, number, line.removesuffix(b"\n").removesuffix(b"\r")
    if empty:
        raise FormatError(source, None, "no weights", f"lines '{form}'")


def weight_of(token: bytes, path: str, line: int) -> float:
    """Return the finite number that ``token`` spells; raises FormatError otherwise."""
    if not token:
        raise FormatError(path, line, "nothing", "a weight (a finite number)")
    return finite(token, path, line, "weight")


@WEIGHTS.register("tsv")
class Tsv(WeightsFormat):
    """Reader and writer of lines of a name, a tab and its weight."""

    name = "tsv"
    summary = "name<TAB>weight per line"

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return bool(re.match(rb"\s*[^\n]+\t[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?\s*(?:\n|$)", head))

    def read(self, path: str, options: WeightOptions) -> tuple[list[str], Floats]:
        weights: dict[str, float] = {}
        for source, number, line in weight_lines(path, "name<TAB>weight"):
            name, tab, value = line.rpartition(b"\t")
            text = name.decode("utf-8", "surrogateescape")
            if not tab or not text:
                raise FormatError(source, number, quoted(line), "name<TAB>weight")
            if text in weights:
                raise FormatError(source, number, f"feature {quoted(name)} again", "each feature once")
            weights[text] = weight_of(value.strip(), source, number)
        return list(weights), np.array(list(weights.values()))

    def write(self, path: str, names: Sequence[str], weights: Floats, options: WeightOptions) -> None:
        for name in names:
            if "\n" in name or not name:
                raise DataError(f"{path}: the feature name {name!r} does not fit on a line")
        write_lines(path, (f"{n}\t{w!r}" for n, w in zip(names, weights.tolist(), strict=True)))


_HEADS = (["list", "items", "weight"], ["list", "weight"])


def list_weight_lines(lists: CandidateLists, weights: Floats) -> Iterator[str]:
    """Yield the lines of a file with the weights of lists (n_lists), which read back to the bit.

    Raises DataError if two lists have one id, or an id holds a tab or a line end.
    """
    ids = _ids(lists)
    odd = next((one for one in ids if one == "" or set(one) & set("\t\r\n")), None)
    if odd is not None:
        raise DataError(f"{lists.source}: the list id {odd!r} cannot be written in a table")
    yield "\t".join(_HEADS[0])
    for one, items, weight in zip(ids, lists.lengths.tolist(), weights.tolist(), strict=True):
        yield f"{one}\t{items}\t{weight!r}"


def read_list_weights(path: str, lists: CandidateLists) -> Floats:
    """Return the weight of each of ``lists``, float64 (n_lists), matched by list id.

    A line has the list's id, its number of items, which may be absent, and its weight, separated by tabs.
    Each list must have so many items: the ids of lists without ids are their positions from 1, and lists of
    another file would go unnoticed.

    Raises FormatError with the line, if it is malformed, an id is unknown or repeated, a list has another
    number of items, or a weight is negative or not a number; DataError if lists have no weight, every weight
    is 0, or two of ``lists`` have one id.
    """
    name = shown(path)
    places = {one.encode("utf-8", "surrogateescape"): i for i, one in enumerate(_ids(lists))}
    first, *lines = bytes(read_bytes(path)).removeprefix(BOM).removesuffix(b"\n").split(b"\n")
    heads = first.decode("utf-8", "replace").rstrip("\r").split("\t")
    if heads not in _HEADS:
        raise FormatError(
            name, 1, f"the header {quoted(first)}", "list, items, weight or list, weight (tabs)"
        )
    weights = np.full(lists.n_lists, np.nan)
    line_of: dict[int, int] = {}
    for number, line in enumerate(lines, 2):
        cells = line.removesuffix(b"\r").split(b"\t")
        if len(cells) != len(heads):
            raise FormatError(name, number, quoted(line), ", ".join(heads))
        i = places.get(cells[0])
        if i is None:
            expected = f"one of the {lists.n_lists} training lists of {lists.source}"
            raise FormatError(name, number, f"list {quoted(cells[0])}", expected)
        if i in line_of:
            found = f"list {quoted(cells[0])} again"
            raise FormatError(name, number, found, f"each list once (first on line {line_of[i]})")
        line_of[i] = number
        if len(cells) == 3 and cells[1] != str(int(lists.lengths[i])).encode():
            expected = f"{lists.lengths[i]}, as in {lists.source}; are these its lists?"
            raise FormatError(name, number, f"{quoted(cells[1])} items of list {quoted(cells[0])}", expected)
        weights[i] = finite(cells[-1], name, number, "weight")
        if not weights[i] >= 0:
            raise FormatError(name, number, f"weight {quoted(cells[-1])}", "a number that is not negative")
    left = np.flatnonzero(np.isnan(weights))
    if len(left):
        found = f"no weight of list {lists.list_id(int(left[0]))!r} of {lists.source}"
        more = f", nor of {len(left) - 1} more" if len(left) > 1 else ""
        raise DataError(f"{name}: found {found}{more}; expected every training list once")
    if not weights.any():
        raise DataError(f"{name}: every weight is 0, expected one above 0")
    return weights


def _ids(lists: CandidateLists) -> list[str]:
    """The ids of lists; DataError if two are equal."""
    ids = [lists.list_id(i) for i in range(lists.n_lists)]
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            raise DataError(f"{lists.source}: two lists have the id {one!r}; weights are matched by ids")
        seen.add(one)
    return ids
