"""mmCIF files to CA traces: gemmi reads the tables, the rules are those of PDB files."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from rerank.core.errors import DataError, FormatError, RerankError
from rerank.core.text import count
from rerank.data.columns.traces import Traces, key_of
from rerank.extensions.proteins.atoms.amino_acids import LETTERS
from rerank.extensions.proteins.pdb import (
    UNKNOWN,
    Atoms,
    alpha_carbon,
    one_per_residue,
    repeated,
    trace_of,
)
from rerank.formats.common import quoted

MMCIF = "a structure in mmCIF format"

_SITE = "_atom_site."
_MODIFIED = "_pdbx_struct_mod_residue."
_FURTHEST = 1e5  # Å
_NULLS = (".", "?", "")
_WHERE = re.compile(r"string:(\d+)(?::\d+)?(?:\(\d+\))?:? *")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?(\(\d+\))?")
_WHOLE = re.compile(r"[-+]?\d{1,9}")


def read_mmcif(data: bytes, path: str, left_out: Counter[str] | None = None) -> list[tuple[str, Traces]]:
    """Return the models of an mmCIF file: their numbers, "" if the file has none, and their traces.

    They are in the order of their numbers. Chains and numbers of residues are the authors'
    (``auth_asym_id``, ``auth_seq_id``) if the file has them; ``left_out`` is as in ``read_pdb``. Raises
    FormatError at the first fault, RerankError if gemmi is not installed.
    """
    left_out = Counter() if left_out is None else left_out
    return _models_of(atom_table(data, path), path, left_out)


def atom_table(data: bytes, path: str) -> AtomTable:
    """Return the atoms of an mmCIF file.

    Raises FormatError if it is none, RerankError if gemmi is not installed.
    """
    try:
        import gemmi
    except ImportError:
        text = "mmCIF files need the extra rerank[structures]: pip install 'rerank[structures]'"
        raise RerankError(f"{path}: {text}") from None
    try:
        document = gemmi.cif.read_string(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(path, line, f"byte 0x{data[error.start]:02x}", "text in UTF-8") from None
    except MemoryError:
        raise
    except Exception as error:  # gemmi raises ValueError, RuntimeError and others
        place = _WHERE.match(str(error))  # gemmi names the text "string" and a line of it
        detail = " ".join(str(error)[place.end() if place else 0 :].split())
        found = f"what gemmi cannot read ({detail})"
        raise FormatError(path, int(place[1]) if place else None, found, MMCIF) from None
    blocks = [block for block in document if len(block.find_values(_SITE + "Cartn_x"))]
    if len(blocks) != 1:
        found = f"{count(len(blocks), 'block')} with atoms"
        raise FormatError(path, None, found, f"one: {MMCIF}")
    return AtomTable(blocks[0], path, gemmi.cif.as_string)


class AtomTable:
    """The columns of the atoms of a file."""

    def __init__(self, block: Any, path: str, as_string: Callable[[str], str]) -> None:
        self.block = block
        self.path = path
        self.as_string = as_string
        self.n = len(block.find_values(_SITE + "Cartn_x"))

    def column(self, *names: str, needed: bool = True) -> Any:
        """The first column of these names that is there."""
        for name in names:
            column = self.block.find_values(_SITE + name)
            if len(column):
                return column
        if needed:
            raise FormatError(self.path, None, f"no column {_SITE}{names[0]}", MMCIF)
        return None

    def texts(self, column: Any, rows: list[int]) -> list[str]:
        """Values of rows without quotes, "" for an absent one."""
        if column is None:
            return [""] * len(rows)
        values = (column[row] for row in rows)
        return ["" if value in _NULLS else self.as_string(value) for value in values]

    def fault(self, row: int, found: str, expected: str) -> FormatError:
        return FormatError(self.path, None, f"{found} of atom {row + 1}", expected)

    def number(self, row: int, name: str, text: str) -> float:
        value = float(text.split("(")[0]) if _NUMBER.fullmatch(text) else math.nan
        if not math.isfinite(value):
            raise self.fault(row, f"{name} {quoted(text)}", "a number")
        return value


def _models_of(table: AtomTable, path: str, left_out: Counter[str]) -> list[tuple[str, Traces]]:
    rows = _alpha_carbons(table, left_out)
    if not rows:
        found = f"{count(table.n, 'atom')}, none of them an alpha carbon"
        raise FormatError(path, None, found, "atoms CA of amino acids")
    numbers = table.column("pdbx_PDB_model_num", needed=False)
    every = sorted(set(table.texts(numbers, list(range(table.n)))), key=lambda name: (len(name), name))
    places = {name: i for i, name in enumerate(every)}
    codes = np.array([places[name] for name in table.texts(numbers, rows)], dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], range(len(every) + 1)).astype(np.int64)
    atoms = _atoms(table, [rows[i] for i in order.tolist()])
    again = repeated(atoms, starts)
    if again is not None:
        row, other = (int(atoms.places[i]) for i in again)
        expected = f"one per residue and alternative location (atom {other + 1} is one)"
        raise table.fault(row, f"{alpha_carbon(atoms, again[0])} again", expected)
    atoms, starts = one_per_residue(atoms, starts)
    for i, name in enumerate(every):
        if starts[i] == starts[i + 1]:
            raise FormatError(path, None, f"model {name!r} without an alpha carbon", "one in each model")
    return [
        (name, trace_of(atoms, slice(int(starts[i]), int(starts[i + 1])))) for i, name in enumerate(every)
    ]


def _alpha_carbons(table: AtomTable, left_out: Counter[str]) -> list[int]:
    """The rows of alpha carbons; calcium and atoms of other molecules are none."""
    names = table.column("label_atom_id", "auth_atom_id")
    rows = [row for row, name in enumerate(names) if name in ("CA", "'CA'", '"CA"')]
    residues = table.texts(table.column("auth_comp_id", "label_comp_id"), rows)
    elements = table.texts(table.column("type_symbol", needed=False), rows)
    groups = table.texts(table.column("group_PDB", needed=False), rows)
    parents = _parents(table)
    kept = []
    for row, residue, element, group in zip(rows, residues, elements, groups, strict=True):
        calcium = residue == "CA" or element.upper() == "CA"
        if calcium:
            continue
        if group != "HETATM" or residue in LETTERS or residue in parents:
            kept.append(row)
        else:
            left_out[residue] += 1
    return kept


def _parents(table: AtomTable) -> dict[str, str]:
    """The parents of modified residues that the file names."""
    names = table.block.find_values(_MODIFIED + "label_comp_id")
    parents = table.block.find_values(_MODIFIED + "parent_comp_id")
    return {
        table.as_string(name): table.as_string(parent)
        for name, parent in zip(names, parents, strict=False)
        if parent not in _NULLS
    }


def _atoms(table: AtomTable, rows: list[int]) -> Atoms:
    """The columns of alpha carbons at these rows."""
    n = len(rows)
    xyz = np.empty((n, 3))
    for axis, name in enumerate(("Cartn_x", "Cartn_y", "Cartn_z")):
        texts = table.texts(table.column(name), rows)
        for i, text in enumerate(texts):
            xyz[i, axis] = table.number(rows[i], name, text)
            if abs(xyz[i, axis]) > _FURTHEST:
                raise table.fault(rows[i], f"{name} {quoted(text)}", "at most 100,000 Å")
    occupancies = np.ones(n)
    for i, text in enumerate(table.texts(table.column("occupancy", needed=False), rows)):
        if text:
            occupancies[i] = table.number(rows[i], "occupancy", text)
    altlocs = single_letters(table, "label_alt_id", rows)
    insertions = single_letters(table, "pdbx_PDB_ins_code", rows)
    chains = table.texts(table.column("auth_asym_id", "label_asym_id"), rows)
    numbers = table.texts(table.column("auth_seq_id", "label_seq_id"), rows)
    keys = np.empty(n, dtype=np.uint64)
    for i in range(n):
        if not _WHOLE.fullmatch(numbers[i]):
            raise table.fault(rows[i], f"residue number {quoted(numbers[i])}", "a whole number")
        try:
            keys[i] = key_of(chains[i], int(numbers[i]), insertions[i])
        except DataError as error:
            raise table.fault(rows[i], str(error), "names that keys can hold") from None
    parents = _parents(table)
    names = table.texts(table.column("auth_comp_id", "label_comp_id"), rows)
    letters = [LETTERS.get(name) or LETTERS.get(parents.get(name, ""), chr(UNKNOWN)) for name in names]
    return Atoms(
        keys,
        xyz,
        np.array([ord(letter) for letter in letters], dtype=np.uint8),
        np.array([ord(letter or " ") for letter in altlocs], dtype=np.uint8),
        occupancies,
        np.zeros(n, dtype=np.uint32),
        np.array(rows, dtype=np.int64),
    )


def single_letters(table: AtomTable, name: str, rows: list[int]) -> list[str]:
    """Values of a column of single letters."""
    letters = table.texts(table.column(name, needed=False), rows)
    for row, letter in zip(rows, letters, strict=True):
        if len(letter) > 1 or not letter.isascii():
            raise table.fault(row, f"{name} {quoted(letter)}", "a letter")
    return letters
