"""PDB files to CA traces, and words for their faults; docs/formats.md has the rules."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.files.streams import Buffer
from rerank.core.text import count
from rerank.core.types import Bytes, Index
from rerank.data.columns.traces import Traces
from rerank.formats.buffers import content_start
from rerank.formats.common import line_of, quoted
from rerank.formats.structures.alpha_carbons import (
    Atoms,
    alpha_carbon,
    one_per_residue,
    repeated,
    trace_of,
    with_parents,
)
from rerank.formats.structures.amino_acids import CODES, LETTERS, NAMES, UNKNOWN, packed, unpacked
from rerank.native.formats import _pdb

PDB = "a structure in PDB format"

_PADDING = bytes(64)
_SHORTEST = 55  # bytes of a line with an atom
_MODELS = 64
_UNNAMED, _WITHOUT = -1, -2  # in place of a serial: none is there; no MODEL record
_COLUMNS = {31: ("x", "31-38"), 39: ("y", "39-46"), 47: ("z", "47-54")}
_DECIMAL = re.compile(rb"[-+]?(\d+\.\d*|\.\d+)")


def read_pdb(data: Buffer, path: str, left_out: Counter[str] | None = None) -> list[tuple[str, Traces]]:
    """Return the models of a PDB file.

    Parameters
    ----------
    data : the content.
    path : the file's name in errors.
    left_out : OUT the HETATM residues that have an alpha carbon and are no known amino acid, by their name.

    Returns
    -------
    list of (serial of the MODEL record, "" without one; Traces of one entry)

    Raises
    ------
    FormatError
        At the first fault.
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
            text, NAMES, CODES, *atoms, models
        )
        if _pdb.FAULTS[fault] != "no room":
            break
        room *= 16
    if fault:
        raise FormatError(path, line_of(text, place), *_words(_pdb.FAULTS[fault], text, place, column))
    if n_models == 0:
        raise _no_alpha_carbon(path, n_atoms)
    starts = np.append(models[:n_models, 2], rows)
    atoms = Atoms._make(column[:rows] for column in atoms)
    if not rising or unknown:
        every = atoms
        atoms, starts = with_parents(every, starts, _parents(text) if modres else {})
        if left_out is not None:
            left_out.update(map(unpacked, every.names[every.residues == 0].tolist()))
        _refuse_repeated(atoms, starts, text, path)
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


def _refuse_repeated(atoms: Atoms, starts: Index, text: Bytes, path: str) -> None:
    found = repeated(atoms, starts)
    if found is None:
        return
    line, other = (line_of(text, int(atoms.places[row])) for row in found)
    expected = f"one per residue and alternative location (there is one on line {other})"
    raise FormatError(path, line, f"{alpha_carbon(atoms, found[0])} again", expected)


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


def _words(fault: str, text: Bytes, place: int, column: int) -> tuple[str, str]:
    """What was found and what was expected at a fault of the kernel."""
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
    """Whether what stands in the eight columns is one word that is no decimal number, such as ********."""
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
