"""Which residues count: ranges for all lists, or a file with the ranges of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from rerank.core.errors import DataError, FormatError
from rerank.core.files.inputs import is_file
from rerank.core.files.streams import read_bytes
from rerank.core.text import count, some
from rerank.core.types import Mask
from rerank.data.columns.traces import Traces, chain_codes, chain_name, without_chain
from rerank.data.lists import CandidateLists
from rerank.data.matching import only_chains
from rerank.data.residues import Range, parse_ranges, within
from rerank.formats.buffers import BOM
from rerank.formats.common import note, quoted

Ranges = Sequence[tuple[Range, ...] | None]

_FILE = "a list and its ranges, separated by a tab or a blank"


def ranges_of(residues: str, lists: CandidateLists) -> Ranges:
    """Return the ranges of each list, None for a list whose residues all count.

    Parameters
    ----------
    residues : ranges, which are those of every list, or the path of a file with the ranges of each list.
    lists : CandidateLists

    Raises
    ------
    DataError
        If they are not ranges (see ``parse_ranges``), or both ranges and the name of a file.
    FormatError
        If a line of the file is malformed or a list has two, or no line is of one of the lists.
    """
    try:
        common = parse_ranges(residues)
    except DataError:
        if not is_file(residues):
            raise
        return _of_file(residues, lists)
    if is_file(residues):
        text = f"expected one of the two: ./{residues} is the file, {residues}: the chain"
        raise DataError(f"residues: {residues!r} is a file and a range; {text}")
    return [common] * lists.n_lists


@contextmanager
def _naming(place: str) -> Iterator[None]:
    """Put a place before the message of a DataError."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{place}: {error}") from None


def _of_file(path: str, lists: CandidateLists) -> Ranges:
    """The ranges of each list, by its id."""
    found: dict[str, tuple[Range, ...]] = {}
    line_of: dict[str, int] = {}
    content = bytes(read_bytes(path)).removeprefix(BOM)
    for number, raw in enumerate(content.split(b"\n"), 1):
        line = raw.decode("utf-8", "surrogateescape").strip()
        if not line or line.startswith("#"):
            continue
        name, *rest = line.split("\t", 1) if "\t" in line else line.split(None, 1)
        name = name.strip()
        if not rest:
            raise FormatError(path, number, quoted(line), _FILE)
        if name in found:
            raise FormatError(
                path, number, f"list {name!r} again", f"one line (it is in line {line_of[name]})"
            )
        with _naming(f"{path}:{number}"):
            found[name] = parse_ranges(rest[0])
        line_of[name] = number
    names = [lists.list_id(i) for i in range(lists.n_lists)]
    strangers = [name for name in found if name not in set(names)]
    without = [name for name in names if name not in found]
    if len(without) == len(names):
        raise FormatError(path, None, f"lists {some(strangers) or 'none'}", f"some of {some(names)}")
    if strangers:
        note(f"{path}: {count(len(strangers), 'line')} of lists that are not there ({some(strangers)})")
    if without:
        text = f"{count(len(without), 'list')} without a line ({some(without)}); all their residues count"
        note(f"{path}: {text}")
    return [found.get(name) for name in names]


def counted(natives: Traces, ranges: Ranges, lists: CandidateLists) -> Mask:
    """Return which residues of the natives count, bool (n_residues).

    Raises DataError, with the list, if ranges do not fit its native (see ``within``).
    """
    out = np.ones(len(natives.keys), dtype=bool)
    for i in np.flatnonzero(natives.lengths).tolist():
        own = ranges[i]
        if own is not None:
            with _naming(f"{lists.source}: list {lists.list_id(i)!r}, native"):
                out[natives.of(i)] = within(natives.keys[natives.of(i)], own)
    return out


def named_chains(natives: Traces, ranges: Ranges) -> Mask:
    """Return which residues of the natives are in a chain that the ranges name, bool (n_residues)."""
    out = np.ones(len(natives.keys), dtype=bool)
    for i, own in enumerate(ranges):
        names = {one.chain for one in own or ()} - {None}
        if names:
            codes = chain_codes(natives.keys[natives.of(i)])
            wanted = [code for code in np.unique(codes) if chain_name(code) in names]
            out[natives.of(i)] = np.isin(codes, np.array(wanted, dtype=np.uint64))
    return out


def restricted_models(lists: CandidateLists, models: Traces, ranges: Ranges) -> Traces:
    """Return the models with only the residues in the ranges of their lists.

    Raises
    ------
    DataError
        If a range contains no residue of any model of a list, or names no chain and a model has several.
    """
    kept = np.ones(len(models.keys), dtype=bool)
    chains = only_chains(models)
    for i, own in enumerate(ranges):
        if own is None:
            continue
        first, end = int(lists.offsets[i]), int(lists.offsets[i + 1])
        rows = slice(int(models.offsets[first]), int(models.offsets[end]))
        keys = models.keys[rows]
        if own[0].chain is None:
            several = np.flatnonzero((chains[first:end] < 0) & (models.lengths[first:end] > 0))
            if len(several):
                place = lists.place_of(first + int(several[0]))
                found = f"{place} has several chains, expected ranges with a chain, as in A:{own[0].text}"
                raise DataError(f"{lists.source}: residues {own[0].text}: {found}")
            keys = without_chain(keys)
        with _naming(f"{lists.source}: list {lists.list_id(i)!r}"):
            kept[rows] = within(keys, own)
    return models.kept(kept)
