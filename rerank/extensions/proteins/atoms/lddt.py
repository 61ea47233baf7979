"""lDDT: distances between atoms of the native that the model keeps, without a superposition.

The counts of an item are float64 (n_items, 3): distances kept, summed over the four thresholds; four times
the distances of the native; the residues that model and native share. They are NaN without a native.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataNote
from rerank.core.text import some
from rerank.core.types import Floats, Index, NDArray
from rerank.core.workers import parallel
from rerank.data.columns.traces import Traces
from rerank.data.lists import CandidateLists
from rerank.extensions.proteins.atoms.counted import CountedMetric, counts_called, has_atoms, structures_in
from rerank.extensions.proteins.atoms.file_traces import FileTraces
from rerank.extensions.proteins.atoms.rows import ALPHA, atom_code
from rerank.extensions.proteins.atoms.structures import Structure, structure_of
from rerank.extensions.proteins.native import _lddt
from rerank.metrics.base import register

RADIUS = 15.0
"""Distances of the native below it count, in Å."""

KEPT, POSSIBLE, SHARED = range(3)
_THRESHOLDS = 4
_WIDTH = 3
_ITEMS = 16  # models of a task

# Atoms that no experiment tells apart, by the letter of their amino acid: pairs that change names together.
SYMMETRIC = {
    "D": (("OD1", "OD2"),),
    "E": (("OE1", "OE2"),),
    "F": (("CD1", "CD2"), ("CE1", "CE2")),
    "L": (("CD1", "CD2"),),
    "R": (("NH1", "NH2"),),
    "V": (("CG1", "CG2"),),
    "Y": (("CD1", "CD2"), ("CE1", "CE2")),
}
_PAIRS = {
    ord(letter): tuple((atom_code(a), atom_code(b)) for a, b in pairs) for letter, pairs in SYMMETRIC.items()
}


@dataclass(frozen=True, eq=False, slots=True)
class Reference:
    """The atoms of a native, their symmetries, and its distances.

    Attributes
    ----------
    keys : uint64 (n_residues), they rise.
    codes : int64 (n_atoms)
        Residue and name of each atom in one number; they rise.
    pairs, distances : int32 (m, 2), float64 (m)
        Pairs of atoms of different residues that are closer than RADIUS.
    symmetric, other, group : uint8, int32 and int32 (n_atoms)
        See ``_lddt.kept``; residues of groups are numbered from 0.
    """

    keys: NDArray[np.uint64]
    codes: Index
    pairs: NDArray[np.int32]
    distances: Floats
    symmetric: NDArray[np.uint8]
    other: NDArray[np.int32]
    group: NDArray[np.int32]

    @classmethod
    def of(cls, native: Structure, keys: NDArray[np.uint64]) -> Reference:
        """Return the reference of a native whose residues are called ``keys`` (n_residues)."""
        from scipy.spatial import KDTree

        codes = _code(native.residue, native.names)
        places = dict(zip(codes.tolist(), range(len(codes)), strict=True))
        extra = list[int]()  # partners that the native lacks, and the model may have
        links = list[tuple[int, int, int]]()
        for residue, letter in enumerate(native.letters.tolist()):
            for pair in _PAIRS.get(letter, ()):
                both = [residue << 32 | name for name in pair]
                if places.keys().isdisjoint(both):
                    continue
                for code in both:
                    if code not in places:
                        places[code] = len(codes) + len(extra)
                        extra.append(code)
                links.append((places[both[0]], places[both[1]], residue))
        n = len(codes) + len(extra)
        symmetric, other = np.zeros(n, dtype=np.uint8), np.full(n, -1, dtype=np.int32)
        group = np.zeros(n, dtype=np.int32)
        for a, b, residue in links:
            symmetric[[a, b]] = 1
            other[[a, b]] = b, a
            group[[a, b]] = residue
        tree = KDTree(native.xyz, balanced_tree=False) if len(codes) else None
        n_pairs = int(tree.count_neighbors(tree, RADIUS) - len(codes)) // 2 if tree is not None else 0
        memory.require(40 * n_pairs, f"{n_pairs:,} distances of a native of {len(keys):,} residues")
        found = tree.query_pairs(RADIUS, output_type="ndarray") if tree is not None else np.empty((0, 2), int)
        found = found[native.residue[found[:, 0]] != native.residue[found[:, 1]]]
        distances = np.sqrt(np.square(native.xyz[found[:, 0]] - native.xyz[found[:, 1]]).sum(axis=1))
        inside = distances < RADIUS
        order = np.argsort(np.r_[codes, np.array(extra, dtype=np.int64)], kind="stable")
        rank = np.empty(n, dtype=np.int32)
        rank[order] = np.arange(n, dtype=np.int32)
        partner = other[order]
        return cls(
            keys,
            np.r_[codes, np.array(extra, dtype=np.int64)][order],
            np.ascontiguousarray(rank[found[inside]]),
            np.ascontiguousarray(distances[inside]),
            symmetric[order],
            np.where(partner >= 0, rank[partner], -1).astype(np.int32),
            group[order],
        )

    @property
    def possible(self) -> int:
        """Return the count of a model that keeps all distances."""
        return _THRESHOLDS * len(self.pairs)

    def kept(self, model: Structure, keys: NDArray[np.uint64]) -> int:
        """Return what a model counts whose residues stand for those of the native called ``keys``."""
        residue = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        known = self.keys[residue] == keys
        model = model.rows(np.flatnonzero(known))
        codes = _code(residue[known][model.residue], model.names)
        places = np.minimum(np.searchsorted(self.codes, codes), max(len(self.codes) - 1, 0))
        same = self.codes[places] == codes
        xyz = np.zeros((len(self.codes), 3))
        present = np.zeros(len(self.codes), dtype=np.uint8)
        xyz[places[same]] = model.xyz[same]
        present[places[same]] = 1
        gains = np.zeros(len(self.keys), dtype=np.int64)
        return int(
            _lddt.kept(
                self.pairs, self.distances, xyz, present, self.symmetric, self.other, self.group, gains
            )
        )


def _code(residue: Index, names: NDArray[np.uint32]) -> Index:
    return residue.astype(np.int64) << 32 | names.astype(np.int64)


def _atoms(traces: Traces, i: int, alpha: bool) -> tuple[Structure, NDArray[np.uint64]]:
    """The residues of structure ``i`` with their atoms, in the order of the keys that traces give them."""
    own = traces.of(i)
    keys = traces.keys[own]
    if alpha or not isinstance(traces, FileTraces):
        n = len(keys)
        names = np.full(n, ALPHA, dtype=np.uint32)
        return Structure(keys, traces.residues[own], np.arange(n + 1), names, traces.xyz[own]), keys
    found = structure_of(traces, i)
    rows = np.searchsorted(found.keys, traces.own[own])
    order = np.argsort(rows, kind="stable")
    return found.rows(rows[order]), keys[order]


def _block(reference: Reference, traces: Traces, items: list[int], alpha: bool) -> list[int]:
    return [reference.kept(*_atoms(traces, k, alpha)) if traces.lengths[k] else 0 for k in items]


def lddt_counts(lists: CandidateLists, alpha: bool) -> Floats:
    """Return the counts of all items, see above; ``alpha``: of alpha carbons alone.

    Raises DataError if the lists lack models or natives, or RerankError if a file cannot be read again.
    """
    models, natives = structures_in(lists, "lDDT")
    out = np.full((lists.n_items, _WIDTH), np.nan)
    bare = list[str]()
    for i in np.flatnonzero(natives.lengths).tolist():
        native, keys = _atoms(natives, i, alpha)
        bare += [repr(lists.list_id(i))] * (native.is_trace and not alpha)
        order = np.argsort(keys, kind="stable")
        reference = Reference.of(native.rows(order) if np.any(np.diff(order) < 0) else native, keys[order])
        first, last = int(lists.offsets[i]), int(lists.offsets[i + 1])
        blocks = [list(range(k, min(k + _ITEMS, last))) for k in range(first, last, _ITEMS)]
        tasks = [(reference, models, block, alpha) for block in blocks]
        found = parallel.each(_block, tasks, threads=True, step=("comparing distances", "block"))
        out[first:last, KEPT] = [value for block in found for value in block]
        out[first:last, POSSIBLE] = reference.possible
        for k in range(first, last):
            out[k, SHARED] = np.count_nonzero(np.isin(models.keys[models.of(k)], keys))
    if bare:
        what = "natives" if has_atoms(lists) else "the set, not its files,"
        text = f"{what} with alpha carbons alone ({some(bare)}): lDDT counts only these, as lDDT-CA"
        warnings.warn(f"{lists.source}: {text}", DataNote, stacklevel=4)
    return out


class _Lddt(CountedMetric):
    """A share of distances that are kept."""

    unjudged = (
        "no two atoms of different residues of the native are within 15 Å, or no model shares a residue"
    )
    width, shared = _WIDTH, SHARED

    def values(self, counts: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(counts[:, POSSIBLE] > 0, counts[:, KEPT] / counts[:, POSSIBLE], np.nan)

    def formula(self) -> list[str]:
        return ["radius:15", "thresholds:0.5,1,2,4", "stereochemistry:off", "norm:native", "match:keys"]


@register("lDDT", "lDDT-all", "LDDT")
class Lddt(_Lddt):
    """lDDT of all heavy atoms."""

    summary = "local distance difference test: distances between heavy atoms that the model keeps, 0 to 1"
    meaning = (
        "Of all distances below 15 Å between heavy atoms of different residues of the native, the share that"
        " the model has within 0.5, 1, 2 and 4 Å, averaged over these thresholds. Atoms that the model lacks"
        " keep no distance. Atoms that no experiment tells apart (of ASP, GLU, LEU, VAL, ARG, PHE, TYR) take"
        " the names that keep more distances to other atoms. Stereochemistry is not checked. 0 to 1."
    )
    source = "Mariani et al. 2013"
    elsewhere = "lDDT of OpenStructure without stereochemistry checks, as CASP prints it: equal"
    examples = ("lDDT",)
    counts_name = counts_called("lddt")

    @classmethod
    def count(cls, lists: CandidateLists) -> Floats:
        return lddt_counts(lists, alpha=False)


@register("lDDT-CA", "lDDT_CA", "bb-lDDT")
class LddtAlpha(_Lddt):
    """lDDT of alpha carbons."""

    summary = "lDDT of alpha carbons: distances between them that the model keeps, 0 to 1"
    meaning = (
        "The lDDT with distances between alpha carbons alone. It needs no other atoms, so that it is known of"
        " CA traces, too. 0 to 1."
    )
    source = "Mariani et al. 2013"
    elsewhere = "bb_lddt of OpenStructure: equal; lDDT-CA as a mean over residues: close"
    examples = ("lDDT-CA",)
    counts_name = counts_called("lddt-ca")

    @classmethod
    def count(cls, lists: CandidateLists) -> Floats:
        return lddt_counts(lists, alpha=True)
