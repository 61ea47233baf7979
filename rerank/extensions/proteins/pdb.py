"""PDB files to CA traces; docs/formats.md has the rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.files.read import Buffer
from rerank.core.text import count
from rerank.core.types import Bytes, Floats, Index, Mask, NDArray
from rerank.data.columns.traces import Keys, Traces, residue_name
from rerank.extensions.proteins.atoms.amino_acids import LETTERS
from rerank.extensions.proteins.native import _pdb
from rerank.formats.buffers import content_start
from rerank.formats.common import line_of, quoted

UNKNOWN = ord("X")


def packed(name: str) -> int:
    """Return a residue name of up to four ASCII characters as the kernel packs it."""
    return int.from_bytes(name.encode("ascii").rjust(3), "big")


def unpacked(code: int) -> str:
    """Return the residue name that ``packed`` made a number of, without blanks."""
    return int(code).to_bytes(4, "big").lstrip(b"\0").decode("ascii", "replace").strip()


_LETTER_OF = sorted((packed(name), ord(letter)) for name, letter in LETTERS.items())
NAMES = np.array([name for name, _ in _LETTER_OF], dtype=np.uint32)
CODES: Bytes = np.array([letter for _, letter in _LETTER_OF], dtype=np.uint8)


class Atoms(NamedTuple):
    """The alpha carbons of a file, model after model, an entry of each column per row.

    keys : uint64, see rerank.data.columns.traces.
    xyz : float64 (n, 3), positions in Å.
    residues : uint8, letters; 0 = a residue of a HETATM record that is not known to be an amino acid.
    altlocs : uint8, a blank = none.
    occupancies : float64.
    names : uint32, names of residues, packed.
    places : int64, where the file has the row.
    """

    keys: Keys
    xyz: Floats
    residues: Bytes
    altlocs: Bytes
    occupancies: Floats
    names: NDArray[np.uint32]
    places: Index


def with_parents(atoms: Atoms, starts: Index, parents: Mapping[int, int]) -> tuple[Atoms, Index]:
    """Return the atoms of amino acids: unknown residues take the letters of ``parents`` or are dropped.

    ``starts``, int64 (n_models + 1), are the rows of each model, here and in the result.
    """
    model = _models(starts)
    for row in np.flatnonzero(atoms.residues == 0).tolist():
        atoms.residues[row] = parents.get(int(atoms.names[row]), 0)
    known = atoms.residues != 0
    return _taken(atoms, np.flatnonzero(known)), np.searchsorted(model[known], range(len(starts)))


def repeated(atoms: Atoms, starts: Index) -> tuple[int, int] | None:
    """Return the first row that has residue and alternative location of an earlier one, and that one.

    None if there is none.
    """
    model = _models(starts)
    order = np.lexsort((atoms.places, atoms.altlocs, atoms.keys, model))
    again = np.flatnonzero(_same(order, model, atoms.keys, atoms.altlocs))
    if len(again) == 0:
        return None
    first = int(again[np.argmin(atoms.places[order[again]])])
    return int(order[first]), int(order[first - 1])


def one_per_residue(atoms: Atoms, starts: Index) -> tuple[Atoms, Index]:
    """Return the atoms in the order of their keys within models, one per residue, and the models' rows.

    Of alternative locations the one with the highest occupancy is taken, on ties the first letter.
    """
    model = _models(starts)
    order = np.lexsort((atoms.altlocs, -atoms.occupancies, atoms.keys, model))
    chosen = order[~_same(order, model, atoms.keys)]
    return _taken(atoms, chosen), np.searchsorted(model[chosen], range(len(starts)))


def trace_of(atoms: Atoms, own: slice) -> Traces:
    """Return one structure, a copy: the columns may have room for more than a file's alpha carbons."""
    offsets = np.array([0, own.stop - own.start], dtype=np.int64)
    return Traces(offsets, atoms.keys[own].copy(), atoms.xyz[own].copy(), atoms.residues[own].copy())


def alpha_carbon(atoms: Atoms, row: int) -> str:
    """Return a row in words."""
    altloc = chr(atoms.altlocs[row]).strip()
    name = f"an alpha carbon of residue {residue_name(int(atoms.keys[row]))}"
    return f"{name} with alternative location {altloc}" if altloc else name


def _models(starts: Index) -> Index:
    """The model of each row."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def _taken(atoms: Atoms, rows: Index) -> Atoms:
    return Atoms._make(column[rows] for column in atoms)


def _same(order: Index, *columns: NDArray[np.generic]) -> Mask:
    """Return whether each row, in an order, equals the one before it in all columns."""
    same = np.ones(len(order), dtype=bool)
    same[:1] = False
    for column in columns:
        values = column[order]
        same[1:] &= values[1:] == values[:-1]
    return same


PDB = "a structure in PDB format"

_PADDING = bytes(64)
_SHORTEST = 55  # bytes of a line with an atom
_MODELS = 64
_UNNAMED, _WITHOUT = -1, -2  # instead of a serial: none is there; no MODEL record
_COLUMNS = {31: ("x", "31-38"), 39: ("y", "39-46"), 47: ("z", "47-54")}
_DECIMAL = re.compile(rb"[-+]?(\d+\.\d*|\.\d+)")


def read_pdb(data: Buffer, path: str, left_out: Counter[str] | None = None) -> list[tuple[str, Traces]]:
    """Return the models of a PDB file: the serial of the MODEL record, "" without one, and their traces.

    data, path : the content, and the file's name in errors.
    left_out : OUT the HETATM residues that have an alpha carbon and are no known amino acid, by their name.
    Raises FormatError at the first fault.
    """
    start = content_start(data, path, PDB)
    text = np.frombuffer(b"".join((memoryview(data)[start:], b"\n", _PADDING)), dtype=np.uint8)
    text = text[: -len(_PADDING)]
    n, room = len(text) // _SHORTEST + 1, _MODELS
    while True:
        atoms = Atoms(
            np.empty(n, np.uint64), np.empty((n, 3)), np.empty(n, np.uint8), np.empty(n, np.uint8),
            np.empty(n), np.empty(n, np.uint32), np.empty(n, np.int64),
        )  # fmt: skip
        models = np.empty((room, 4), dtype=np.int64)
        fault, place, column, rows, n_models, n_atoms, rising, unknown, modres = _pdb.read_atoms(
            text, NAMES, CODES, atoms, models
        )
        if _pdb.FAULTS[fault] != "no room":
            break
        room *= 16
    if fault:
        raise FormatError(path, line_of(text, place), *fault_words(_pdb.FAULTS[fault], text, place, column))
    if n_models == 0:
        raise _no_alpha_carbon(path, n_atoms)
    starts = np.append(models[:n_models, 2], rows)
    atoms = Atoms._make(column[:rows] for column in atoms)
    if not rising or unknown:
        every = atoms
        atoms, starts = with_parents(every, starts, _parents(text) if modres else {})
        if left_out is not None:
            left_out.update(map(unpacked, every.names[every.residues == 0].tolist()))
        again = repeated(atoms, starts)
        if again is not None:
            line, other = (line_of(text, int(atoms.places[row])) for row in again)
            expected = f"one per residue and alternative location (there is one on line {other})"
            raise FormatError(path, line, f"{alpha_carbon(atoms, again[0])} again", expected)
        atoms, starts = one_per_residue(atoms, starts)
    out = []
    seen = set()
    for i in range(n_models):
        serial, where, _, before = models[i].tolist()
        own = slice(int(starts[i]), int(starts[i + 1]))
        if own.start == own.stop:
            if serial == _WITHOUT:
                raise _no_alpha_carbon(path, n_atoms)
            until = int(models[i + 1, 3]) if i + 1 < n_models else n_atoms
            found = f"a model with {count(until - before, 'atom')}, none of them an alpha carbon"
            raise FormatError(path, line_of(text, where), found, "alpha carbons in each model")
        name = "" if serial == _WITHOUT else str(i + 1 if serial == _UNNAMED else serial)
        if name in seen:
            raise FormatError(path, line_of(text, where), f"model {name} again", "serial numbers that differ")
        seen.add(name)
        out.append((name, trace_of(atoms, own)))
    return out


def _parents(text: Bytes) -> dict[int, int]:
    """The letters of residues that MODRES records name, by packed name."""
    letters = {}
    for line in re.findall(rb"^MODRES[^\n]*", text.tobytes(), re.MULTILINE):
        name, parent = (line[at : at + 3].decode("ascii", "replace").strip() for at in (12, 24))
        if name.isascii():
            letters[packed(name)] = ord(LETTERS.get(parent, chr(UNKNOWN)))
    return letters


def _no_alpha_carbon(path: str, n_atoms: int) -> FormatError:
    if n_atoms == 0:
        return FormatError(path, None, "no ATOM record", PDB)
    found = f"{count(n_atoms, 'atom')}, none of them an alpha carbon"
    return FormatError(path, None, found, "' CA ' in columns 13-16 of ATOM records")


def fault_words(fault: str, text: Bytes, place: int, column: int) -> tuple[str, str]:
    """Return what was found and what was expected at a fault of the kernel."""
    line = bytes(text[place : place + 200]).split(b"\n", maxsplit=1)[0].rstrip(b"\r ")
    if fault in ("short", "coordinate"):
        return _without_coordinates(line, column)
    if fault == "far":
        axis, where = _COLUMNS[column]
        return (
            f"{axis} {quoted(line[column - 1 : column + 7].strip())}",
            f"at most 100,000 Å in columns {where}",
        )
    if fault == "text":
        byte = int(text[place + column - 1])
        return f"byte 0x{byte:02x} in column {column}", "printable ASCII characters"
    if fault == "number":
        found = f"residue number {quoted(line[22:27])}"
        return (
            found,
            "a whole number that ends in column 26 (23-26), then a blank or a letter (insertion code)",
        )
    if fault == "occupancy":
        return f"occupancy {quoted(line[54:60])}", "a number in columns 55-60, or blanks"
    if fault == "name":
        residue = line[17:20].decode("ascii", "replace").strip()
        found = f"{quoted(line[12:16])} in columns 13-16 of residue {residue}"
        return found, "' CA ' for an alpha carbon ('CA  ' is calcium)"
    if fault == "serial":
        return f"model {quoted(line[5:].strip())}", "a number after MODEL"
    if fault == "outside":
        return ("an atom outside the models", "atoms between MODEL and ENDMDL") if column else (
            "MODEL after atoms that are in no model", "MODEL before the first atom"
        )  # fmt: skip
    return {
        "shifted": (f"{quoted(line[27:30])} in columns 28-30", "blanks between residue number and x"),
        "chain": (
            f"{quoted(line[17:22])} in columns 18-22",
            "a residue in 18-20 (or one of four letters, such as HISD, in 18-21) and a chain in 22",
        ),
        "record": (f"{quoted(line[:10])}", "ATOM or HETATM from column 1 on"),
    }[fault]


def _fills(line: bytes, column: int) -> bool:
    """Return whether the eight columns hold one word that is no decimal number, such as ********."""
    field, after = line[column - 1 : column + 7], line[column + 7 : column + 8]
    one = len(field.split()) == 1 and not _DECIMAL.fullmatch(field.strip())
    return column in _COLUMNS and one and not field[-1:].isspace() and not after.strip()


def _without_coordinates(line: bytes, column: int) -> tuple[str, str]:
    """Words for a line whose coordinates are not where they should be."""
    tokens = [bool(_DECIMAL.fullmatch(token)) for token in line.split()]
    if any(all(tokens[i : i + 3]) for i in range(len(tokens) - 2)) and not _fills(line, column):
        why = "; its columns are shifted or separated by blanks"
    else:
        why = ""
    if column not in _COLUMNS:
        return f"a line of {count(len(line), 'column')}", f"x, y and z in columns 31-38, 39-46, 47-54{why}"
    axis, where = _COLUMNS[column]
    return f"{axis} {quoted(line[column - 1 : column + 7])}", f"a number in columns {where}{why}"
