"""Which residue of a model stands for which residue of the native: by number, or by sequence."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from rerank.core.types import Bytes, Floats, Index, Mask
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.traces import Keys, Traces, chain_codes, in_chain, numbers
from rerank.data.sequences import BLOSUM62, align

Method = Literal["number", "sequence"]
METHODS = ("number", "sequence")

_KNOWN: Mask = BLOSUM62.diagonal() > 0  # bytes that are letters of the twenty amino acids
_UNIFORM = 0.9  # share of a sequence's most frequent amino acid from which on it tells nothing


@dataclass(frozen=True, eq=False, slots=True)
class Partners:
    """The native's residue of each residue of models.

    Attributes
    ----------
    of : int64 (n_residues)
        Its place among all residues of the natives, -1 = none.
    matched : int64 (n_items)
        The residues of each model that have one.
    compared, equal : int64 (n_items)
        The matched residues whose amino acid is known on both sides, and those with the same one.
    """

    of: Index
    matched: Index
    compared: Index
    equal: Index

    @property
    def identity(self) -> Floats:
        """The share of equal amino acids of each model, 0 to 1; 1 if none can be compared."""
        return np.where(self.compared > 0, self.equal / np.maximum(self.compared, 1), 1.0)


class Chain(NamedTuple):
    """A chain of a structure: its code, and its residues ``first:end`` of the column."""

    code: int
    first: int
    end: int


def partners(
    models: Traces, natives: Traces, lists: Index, method: Method, counted: Mask | None = None
) -> Partners:
    """Return the native's residue of each residue of the models.

    By number: the residue with the same chain, number and insertion code. The names of chains do not matter
    if the model and the native have one chain each.

    By sequence: the residue beside it in an alignment of the chains' sequences, see ``data.sequences``.
    Chains of the same name belong together. If the two structures share no name, chains belong together
    so that the scores of their alignments have the largest sum.

    Parameters
    ----------
    models : Traces (n_items)
    natives : Traces (n_lists)
    lists : int64 (n_lists + 1)
        Items of list i are ``lists[i]:lists[i + 1]``.
    method : {"number", "sequence"}
    counted : bool (residues of the natives), optional
        Those that have partners; the others are aligned too. None = all.

    Raises
    ------
    RerankError
        If the memory that is left does not suffice for an alignment.
    """
    find = _by_number if method == "number" else _by_sequence
    of = find(models, natives, lists)
    if counted is not None and len(counted):
        of[(of >= 0) & ~counted[of]] = -1
    rows = np.flatnonzero(of >= 0)
    ours, theirs = models.residues[rows], natives.residues[of[rows]]
    known = _KNOWN[ours] & _KNOWN[theirs]
    item = np.repeat(np.arange(len(models)), models.lengths)[rows]

    def count(items: Index) -> Index:
        return np.bincount(items, minlength=len(models)).astype(np.int64)

    return Partners(of, count(item), count(item[known]), count(item[known & (ours == theirs)]))


def given_keys(models: Traces, natives: Traces, found: Partners, judged: Mask) -> Traces:
    """Return the models with the keys of the natives.

    Parameters
    ----------
    models : Traces (n_items)
    natives : Traces (n_lists)
    found : Partners
        Residues without a partner are left out.
    judged : bool (n_items)
        Models whose list has a native; the others stay as they are.
    """
    item = np.repeat(np.arange(len(models)), models.lengths)
    has = found.of >= 0
    kept = has | ~judged[item]
    keys = np.where(has, natives.keys[found.of], models.keys)[kept] if has.any() else models.keys[kept]
    item, rows = item[kept], np.flatnonzero(kept)
    if np.any((keys[1:] < keys[:-1]) & (item[1:] == item[:-1])):  # chains come in another order
        order = np.lexsort((keys, item))
        rows, keys = rows[order], keys[order]
    offsets = offsets_of(np.bincount(item, minlength=len(models)))
    return Traces(offsets, keys, models.xyz[rows], models.residues[rows])


def chains_of(traces: Traces, i: int) -> list[Chain]:
    """Return the chains of structure ``i`` in the order of its residues."""
    here = traces.of(i)
    codes = chain_codes(traces.keys[here])
    starts = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    bounds = [0, *starts.tolist(), len(codes)] if len(codes) else []
    return [Chain(int(codes[a]), here.start + a, here.start + b) for a, b in itertools.pairwise(bounds)]


def _by_number(models: Traces, natives: Traces, lists: Index) -> Index:
    of = np.full(len(models.keys), -1, dtype=np.int64)
    keys = _in_the_natives_chain(models, natives, lists)
    for i in np.flatnonzero(natives.lengths).tolist():
        native = natives.of(i)
        rows = slice(int(models.offsets[lists[i]]), int(models.offsets[lists[i + 1]]))
        theirs, ours = natives.keys[native], keys[rows]
        places = np.minimum(np.searchsorted(theirs, ours), len(theirs) - 1)
        of[rows] = np.where(theirs[places] == ours, places + native.start, -1)
    return of


def _in_the_natives_chain(models: Traces, natives: Traces, lists: Index) -> Keys:
    """The models' keys in the natives' chain wherever both have one chain."""
    ours, theirs = only_chains(models), only_chains(natives)
    wanted = np.repeat(theirs, np.diff(lists))
    renamed = (ours >= 0) & (wanted >= 0) & (ours != wanted)
    if not renamed.any():
        return models.keys
    rows = np.repeat(renamed, models.lengths)
    keys = models.keys.copy()
    keys[rows] = in_chain(keys[rows], np.repeat(wanted, models.lengths)[rows].astype(np.uint64))
    return keys


def only_chains(traces: Traces) -> Index:
    """The code of each structure's only chain, int64 (n); -1 if it has several or no residue."""
    codes = chain_codes(traces.keys).astype(np.int64)
    out = np.full(len(traces), -1, dtype=np.int64)
    there = np.flatnonzero(traces.lengths)
    first, last = codes[traces.offsets[there]], codes[traces.offsets[there + 1] - 1]
    out[there] = np.where(first == last, first, -1)  # chains rise
    return out


class _Aligner:
    """Alignments of chains of models with chains of a native; equal sequences are aligned once."""

    def __init__(self, models: Traces, natives: Traces) -> None:
        self.models, self.natives = models, natives
        self.known: dict[tuple[bytes, int], tuple[int, Index]] = {}

    def of(self, ours: Chain, theirs: Chain) -> tuple[int, Index]:
        """Return the score and the partners that ``align`` gives."""
        letters = self.models.residues[ours.first : ours.end]
        name = letters.tobytes(), theirs.first
        if name not in self.known:
            self.known[name] = align(letters, self.natives.residues[theirs.first : theirs.end])
        return self.known[name]


def _by_sequence(models: Traces, natives: Traces, lists: Index) -> Index:
    of = np.full(len(models.keys), -1, dtype=np.int64)
    for i in np.flatnonzero(natives.lengths).tolist():
        aligner, theirs = _Aligner(models, natives), chains_of(natives, i)
        for k in range(int(lists[i]), int(lists[i + 1])):
            for a, b in _pairs_of_chains(chains_of(models, k), theirs, aligner):
                beside = aligner.of(a, b)[1]
                of[a.first : a.end] = np.where(beside < 0, -1, beside + b.first)
    return of


def _pairs_of_chains(ours: list[Chain], theirs: list[Chain], aligner: _Aligner) -> list[tuple[Chain, Chain]]:
    """Which chain of a model belongs to which chain of the native."""
    if len(ours) == len(theirs) == 1:
        return [(ours[0], theirs[0])]
    named = {chain.code: chain for chain in theirs}
    common = [(chain, named[chain.code]) for chain in ours if chain.code in named]
    if common or not ours:
        return common
    from scipy.optimize import linear_sum_assignment

    scores = np.array([[aligner.of(a, b)[0] for b in theirs] for a in ours])
    rows, columns = linear_sum_assignment(scores, maximize=True)
    return [(ours[a], theirs[b]) for a, b in zip(rows.tolist(), columns.tolist(), strict=True)]


def is_uniform(letters: Bytes) -> bool:
    """Return whether 90 % of the known amino acids of a sequence are the same, as in models of poly-alanine.

    Such a sequence cannot be compared with another one. So it is if none is known.
    """
    counts = np.bincount(letters[_KNOWN[letters]], minlength=1)
    return bool(counts.max() >= _UNIFORM * counts.sum())


def first_difference(models: Traces, natives: Traces, found: Partners, item: int) -> tuple[int, int] | None:
    """Return the places of the first matched residues of an item with different amino acids, None if none."""
    here = models.of(item)
    rows = np.flatnonzero(found.of[here] >= 0) + here.start
    ours, theirs = models.residues[rows], natives.residues[found.of[rows]]
    differ = np.flatnonzero(_KNOWN[ours] & _KNOWN[theirs] & (ours != theirs))
    return (int(rows[differ[0]]), int(found.of[rows[differ[0]]])) if len(differ) else None


def shift(models: Traces, natives: Traces, found: Partners, item: int) -> tuple[int, float]:
    """Return the most frequent difference of numbers (native minus model) of an item's matched residues.

    The smallest one on ties. The share of the matched residues that have it comes second; an item without
    matched residues has (0, 0.0).
    """
    here = models.of(item)
    rows = np.flatnonzero(found.of[here] >= 0) + here.start
    if not len(rows):
        return 0, 0.0
    differences = numbers(natives.keys[found.of[rows]]) - numbers(models.keys[rows])
    values, counts = np.unique(differences, return_counts=True)
    most = int(np.argmax(counts))
    return int(values[most]), float(counts[most] / len(rows))
