"""All heavy atoms of structures, read again from the files of their CA traces."""

from __future__ import annotations

import functools
import os
from typing import NamedTuple

import numpy as np

from rerank.core.errors import DataError, FormatError
from rerank.core.files.read import STDIN, inflated_bytes, read_bytes
from rerank.core.types import Bytes, Floats, Index, Mask, NDArray
from rerank.data.columns.traces import Keys, Traces, residue_name
from rerank.extensions.proteins.atoms.file_traces import FileTraces
from rerank.extensions.proteins.atoms.rows import ALPHA, Rows, atom_name
from rerank.extensions.proteins.native import _pdb
from rerank.extensions.proteins.pdb import fault_words
from rerank.extensions.proteins.sources import files_of, is_mmcif, read_file
from rerank.formats.buffers import content_start
from rerank.formats.common import line_of


class Structure(NamedTuple):
    """One structure with the heavy atoms of its amino acids.

    Attributes
    ----------
    keys : uint64 (n), residues as their file names them; they rise.
    letters : uint8 (n), amino acids.
    starts : int64 (n + 1), atoms of residue i are ``starts[i]:starts[i + 1]``.
    names : uint32 (n_atoms), names of atoms, up to four characters, packed (see ``rows.atom_code``).
    xyz : float64 (n_atoms, 3), positions in Å.
    """

    keys: Keys
    letters: Bytes
    starts: Index
    names: NDArray[np.uint32]
    xyz: Floats

    @property
    def residue(self) -> Index:
        """The residue of each atom, int64 (n_atoms)."""
        return np.repeat(np.arange(len(self.keys)), np.diff(self.starts))

    @property
    def is_trace(self) -> bool:
        """Return whether it has no atoms but alpha carbons."""
        return bool((self.names == ALPHA).all())

    def rows(self, which: Index) -> Structure:
        """Return the structure with only the residues at ``which``, which rise."""
        sizes = np.diff(self.starts)[which]
        starts = np.r_[0, np.cumsum(sizes)]
        atoms = np.repeat(self.starts[which] - starts[:-1], sizes) + np.arange(starts[-1])
        return Structure(self.keys[which], self.letters[which], starts, self.names[atoms], self.xyz[atoms])


def structure_of(traces: Traces, i: int) -> Structure:
    """Return structure ``i`` with all residues of its file and their heavy atoms.

    Traces that come from no file give their alpha carbons. Raises RerankError if the file can no longer be
    read, has another content than when the traces were read, or a bad atom.
    """
    if not isinstance(traces, FileTraces) or not traces.files[i]:
        own = traces.of(i)
        n = own.stop - own.start
        names = np.full(n, ALPHA, dtype=np.uint32)
        return Structure(traces.keys[own], traces.residues[own], np.arange(n + 1), names, traces.xyz[own])
    place, number = traces.files[i], int(traces.numbers[i])
    content = _content(place)
    name, trace = read_file(place, content)[number]
    if is_mmcif(content[:4096], place):
        from rerank.extensions.proteins.atoms.mmcif_atoms import heavy_rows

        rows = heavy_rows(content, place, name)
        where = _AtomPlace(place, None)
    else:
        rows, text = _pdb_rows(content, place, number if name else -1)
        where = _AtomPlace(place, text)
    found = _arranged(trace, rows, where)
    own = traces.of(i)
    at = np.minimum(np.searchsorted(found.keys, traces.own[own]), len(found.keys) - 1)
    if not (
        np.array_equal(found.keys[at], traces.own[own]) and np.array_equal(trace.xyz[at], traces.xyz[own])
    ):
        raise DataError(f"{place}: its alpha carbons are not those that were read before; read the set again")
    return found


class _AtomPlace(NamedTuple):
    """Place of an atom, for messages."""

    path: str
    text: Bytes | None  # of a PDB file

    def fault(self, place: int, found: str, expected: str) -> FormatError:
        if self.text is None:
            return FormatError(self.path, None, f"{found} in atom {place + 1}", expected)
        return FormatError(self.path, line_of(self.text, place), found, expected)


def _content(place: str) -> bytes:
    """The content of a file, or of a file within an archive."""
    if place == STDIN or place == "-":
        raise DataError(
            "metrics of all atoms read files a second time; standard input cannot be, name a file"
        )
    if os.path.isfile(place):
        return bytes(inflated_bytes(bytes(read_bytes(place)), place))
    archive = place
    while archive and not os.path.isfile(archive) and archive != os.path.dirname(archive):
        archive = os.path.dirname(archive)
    if not os.path.isfile(archive):
        raise DataError(f"{place}: metrics of all atoms read it again, and it is not there any more")
    known = _members(archive, os.stat(archive).st_mtime_ns)
    content = known.get(place[len(archive) + 1 :])
    if content is None:
        raise DataError(f"{archive}: no file {place[len(archive) + 1 :]!r} any more")
    return bytes(inflated_bytes(content, place))


@functools.lru_cache(maxsize=1)
def _members(archive: str, changed: int) -> dict[str, bytes]:
    """The files of an archive by name; the last archive is kept."""
    return dict(files_of(archive))


def _pdb_rows(content: bytes, path: str, number: int) -> tuple[Rows, Bytes]:
    """The heavy atoms of a model of a PDB file, and the bytes that their places are in."""
    data = content[content_start(content, path, "a structure in PDB format") :]
    text = np.frombuffer(data + b"\n" + bytes(64), dtype=np.uint8)[:-64]
    n = len(text) // 55 + 1  # the shortest line of an atom
    rows = Rows(
        np.empty(n, np.uint64),
        np.empty((n, 3)),
        np.empty(n, np.uint32),
        np.empty(n, np.uint32),
        np.empty(n, np.uint8),
        np.empty(n),
        np.empty(n, np.int64),
    )
    fault, place, column, kept = _pdb.read_heavy(text, number, rows)
    if fault:
        raise FormatError(path, line_of(text, place), *fault_words(_pdb.FAULTS[fault], text, place, column))
    return Rows._make(part[:kept] for part in rows), text


def _arranged(trace: Traces, rows: Rows, where: _AtomPlace) -> Structure:
    """The atoms of the residues of a trace, one of each name.

    Of alternative locations of an atom the one with the highest occupancy is taken, on ties the first letter,
    and only atoms of the amino acid whose alpha carbon was taken.
    """
    residue = np.minimum(np.searchsorted(trace.keys, rows.keys), max(len(trace.keys) - 1, 0))
    inside = np.flatnonzero(trace.keys[residue] == rows.keys)
    rows, residue = Rows._make(part[inside] for part in rows), residue[inside]
    order, first = _by_name(residue, rows)
    alpha = order[first & (rows.names[order] == ALPHA)]
    kind = np.zeros(len(trace.keys), dtype=np.uint32)
    kind[residue[alpha]] = rows.residues[alpha]
    same = np.flatnonzero(rows.residues == kind[residue])
    rows, residue = Rows._make(part[same] for part in rows), residue[same]
    twice = np.lexsort((rows.places, rows.altlocs, rows.names, residue))
    code = np.stack([residue, rows.names, rows.altlocs], axis=1)[twice]
    again = twice[1:][(code[1:] == code[:-1]).all(axis=1)]
    if len(again):
        k = int(again[np.argmin(rows.places[again])])
        name = f"atom {atom_name(int(rows.names[k]))} of residue {residue_name(int(rows.keys[k]))} again"
        raise where.fault(int(rows.places[k]), name, "one per residue and alternative location")
    order, first = _by_name(residue, rows)
    chosen = np.sort(order[first])
    chosen = chosen[np.argsort(residue[chosen], kind="stable")]
    starts = np.searchsorted(residue[chosen], np.arange(len(trace.keys) + 1))
    return Structure(trace.keys, trace.residues, starts, rows.names[chosen], rows.xyz[chosen])


def _by_name(residue: Index, rows: Rows) -> tuple[Index, Mask]:
    """Atoms by residue, name, occupancy and alternative location, and which are the first of their name."""
    order = np.lexsort((rows.altlocs, -rows.occupancies, rows.names, residue))
    names = rows.names[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(residue[order]) != 0) | (names[1:] != names[:-1])
    return order, first
