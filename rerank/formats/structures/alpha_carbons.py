"""Alpha carbons as files list them, and the choice of one for each residue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rerank.core.types import Bytes, Floats, Index, Mask
from rerank.data.columns.traces import Keys, Traces, residue_name


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
    names: npt.NDArray[np.uint32]
    places: Index


def with_parents(atoms: Atoms, starts: Index, parents: Mapping[int, int]) -> tuple[Atoms, Index]:
    """Return the atoms of amino acids: unknown residues take the letters of ``parents`` or are dropped.

    Parameters
    ----------
    atoms : Atoms
    starts : int64 (n_models + 1), the rows of each model.
    parents : letters by packed name.

    Returns
    -------
    tuple of (Atoms, int64 (n_models + 1))
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


def _same(order: Index, *columns: npt.NDArray[np.generic]) -> Mask:
    """Whether each row, in an order, equals the one before it in all columns."""
    same = np.ones(len(order), dtype=bool)
    same[:1] = False
    for column in columns:
        values = column[order]
        same[1:] &= values[1:] == values[:-1]
    return same
