"""The heavy atoms of a model of an mmCIF file, whose CA traces were read before."""

from __future__ import annotations

import numpy as np

from rerank.data.columns.traces import key_of
from rerank.extensions.proteins.atoms.rows import Rows, atom_code
from rerank.extensions.proteins.mmcif import AtomTable, atom_table, single_letters
from rerank.formats.common import quoted

_LONGEST = 4  # characters of the name of an atom of an amino acid


def heavy_rows(data: bytes, path: str, model: str) -> Rows:
    """Return all atoms but hydrogens of the model called ``model``; places are numbers of atoms from 0.

    Raises FormatError if an atom is malformed.
    """
    table = atom_table(data, path)
    every = list(range(table.n))
    models = table.texts(table.column("pdbx_PDB_model_num", needed=False), every)
    names = table.texts(table.column("label_atom_id", "auth_atom_id"), every)
    rows = [
        k
        for k in every
        if models[k] == model
        and len(names[k]) <= _LONGEST
        and names[k].lstrip("0123456789")[:1] not in ("H", "D")
    ]
    n = len(rows)
    xyz = np.empty((n, 3))
    for axis, name in enumerate(("Cartn_x", "Cartn_y", "Cartn_z")):
        texts = table.texts(table.column(name), rows)
        xyz[:, axis] = [table.number(row, name, text) for row, text in zip(rows, texts, strict=True)]
    occupancies = np.array(
        [
            table.number(row, "occupancy", text) if text else 1.0
            for row, text in zip(
                rows, table.texts(table.column("occupancy", needed=False), rows), strict=True
            )
        ]
    )
    residues = table.texts(table.column("auth_comp_id", "label_comp_id"), rows)
    codes = {name: k + 1 for k, name in enumerate(sorted(set(residues)))}
    return Rows(
        _keys(table, rows),
        xyz,
        np.array([atom_code(names[row]) for row in rows], dtype=np.uint32),
        np.array([codes[name] for name in residues], dtype=np.uint32),
        np.array(
            [ord(letter or " ") for letter in single_letters(table, "label_alt_id", rows)], dtype=np.uint8
        ),
        occupancies,
        np.array(rows, dtype=np.int64),
    )


def _keys(table: AtomTable, rows: list[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """The key of each atom's residue, 0 for one that keys cannot hold (of water, of another molecule)."""
    insertions = single_letters(table, "pdbx_PDB_ins_code", rows)
    chains = table.texts(table.column("auth_asym_id", "label_asym_id"), rows)
    numbers = table.texts(table.column("auth_seq_id", "label_seq_id"), rows)
    known: dict[tuple[str, str, str], int] = {}
    keys = np.zeros(len(rows), dtype=np.uint64)
    for i, residue in enumerate(zip(chains, numbers, insertions, strict=True)):
        if residue not in known:
            chain, number, insertion = residue
            if not number.lstrip("-").isdigit():
                raise table.fault(rows[i], f"residue number {quoted(number)}", "a whole number")
            known[residue] = key_of(chain, int(number), insertion)
        keys[i] = known[residue]
    return keys
