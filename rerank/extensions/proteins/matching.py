"""Residues of protein models and of their natives: ranges such as "A:12-90,A:110-150", and which match.

By number, or by an alignment of the sequences.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataError
from rerank.core.text import some
from rerank.core.types import AnyArray, Bytes, Floats, Index, Mask
from rerank.data.columns.traces import (
    CHAIN_LENGTH,
    Keys,
    Traces,
    chain_codes,
    chain_name,
    in_chain,
    key_of,
    numbers,
    residue_name,
    without_chain,
)
from rerank.extensions.proteins.atoms.file_traces import arranged
from rerank.extensions.proteins.native import _sequences

EXPECTED = "ranges such as 12-90, A:12-90,A:110-150 or A (a whole chain)"
_RESIDUE = r"(-?[0-9]{1,8})([A-Za-z]?)"
_RANGE = re.compile(rf"{_RESIDUE}(?:\s*-\s*{_RESIDUE})?")
_CHAIN = re.compile(rf"[!-+\-0-9;-~]{{1,{CHAIN_LENGTH}}}")  # no comma, colon, or . and / of paths
_LAST_INSERTION = 0xFF  # above every insertion code
_LAST = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Range:
    """Residues of a chain from one to another, both included."""

    text: str  # as it was written
    chain: str | None  # its name; None = the only chain there is
    first: int  # key of a residue in no chain
    last: int  # another one


def parse_ranges(text: str) -> tuple[Range, ...]:
    """Return the ranges that a text lists, separated by commas.

    A range is ``12-90``, ``A:12-90`` in chain A, one residue (``12``, ``A:12``) or a whole chain (``A``, or
    ``A:`` if its name looks like a number). Numbers may be negative (``-5-20``) and have an insertion code
    (``12B``). A number without one stands for all residues of this number, so 12-90 contains 90A. Raises
    DataError if the text is something else, a range is reversed, or two overlap.
    """
    ranges = tuple(_range(part.strip()) for part in text.split(","))
    if len({one.chain is None for one in ranges}) > 1:
        raise DataError(
            f"residues {text!r}: found ranges with a chain and without, expected it in all or none"
        )
    for i, one in enumerate(ranges):
        for other in ranges[:i]:
            if one.chain == other.chain and one.first <= other.last and other.first <= one.last:
                raise DataError(f"residues {text!r}: {other.text} and {one.text} overlap")
    return ranges


def _range(text: str) -> Range:
    chain, colon, numbers = text.rpartition(":")
    match = _RANGE.fullmatch(numbers.strip())
    if match is None:
        whole = chain if colon and not numbers else text if not colon else ""
        if not _CHAIN.fullmatch(whole) or (not colon and re.match(r"-?[0-9]", whole)):
            raise DataError(f"residues: found {text!r}, expected {EXPECTED}")
        return Range(text, whole, 0, _LAST)
    if colon and not _CHAIN.fullmatch(chain):
        raise DataError(f"residues: found {text!r}, expected a chain of up to {CHAIN_LENGTH} characters")
    number, insertion, to, to_insertion = match.groups()
    if to is None:
        to, to_insertion = number, insertion
    first = key_of("", int(number), insertion)
    last = key_of("", int(to), to_insertion) | (0 if to_insertion else _LAST_INSERTION)
    if last < first:
        raise DataError(f"residues: {text!r} is reversed, expected the smaller number first")
    return Range(text, chain if colon else None, first, last)


def within(keys: Keys, ranges: Sequence[Range]) -> Mask:
    """Return which residues of a structure are in one of the ranges, bool (n).

    Raises DataError if the ranges name no chain and the structure has several, or a range contains no
    residue.

    keys : uint64 (n), in any order.
    ranges : from ``parse_ranges``.
    """
    codes, numbers = chain_codes(keys), without_chain(keys)
    chains = [chain_name(code) for code in np.unique(codes)]
    out = np.zeros(len(keys), dtype=bool)
    for one in ranges:
        if one.chain is None and len(chains) > 1:
            raise DataError(
                f"residues {one.text}: found chains {some(chains, 8)}, expected one, as in "
                f"{chains[0]}:{one.text}"
            )
        inside = (numbers >= np.uint64(one.first)) & (numbers <= np.uint64(one.last))
        if one.chain is not None:
            inside &= codes == np.uint64(key_of(one.chain, 0) >> 32)
        if not inside.any():
            missing = one.chain is not None and one.chain not in chains
            what = f"chain {one.chain!r}" if missing else one.text
            raise DataError(f"residues: found no {what}, expected ranges of {extent(np.unique(keys))}")
        out |= inside
    return out


def extent(keys: Keys) -> str:
    """Return what residues a structure has, chain by chain, for messages: "A:1-120, B:5-90"."""
    if not len(keys):
        return "no residues"
    starts = np.flatnonzero(np.diff(chain_codes(keys), prepend=~chain_codes(keys[:1])))
    ends = [*starts[1:], len(keys)]
    names = [(residue_name(keys[a]), residue_name(keys[b - 1])) for a, b in zip(starts, ends, strict=True)]
    return some([f"{first}-{last.rpartition(':')[2]}" for first, last in names], 8)


# What the first residue of a gap and each further one cost: those of BLAST, 11 for a gap and 1 per residue.
FIRST = 12
FURTHER = 1

_LETTERS = "ARNDCQEGHILKMFPSTWYV"
# BLOSUM62 of Henikoff & Henikoff (1992), as the NCBI distributes it: the rows up to the diagonal.
_BLOSUM62 = """
 4
-1  5
-2  0  6
-2 -2  1  6
 0 -3 -3 -3  9
-1  1  0  0 -3  5
-1  0  0  2 -4  2  5
 0 -2  0 -1 -3 -2 -2  6
-2  0  1 -1 -3  0  0 -2  8
-1 -3 -3 -3 -1 -3 -3 -4 -3  4
-1 -2 -3 -4 -1 -2 -3 -4 -3  2  4
-1  2  0 -1 -3  1  1 -2 -1 -3 -2  5
-1 -1 -2 -3 -1  0 -2 -3 -2  1  2 -1  5
-2 -3 -3 -3 -2 -3 -3 -3 -1  0  0 -3  0  6
-1 -2 -2 -1 -3 -1 -1 -2 -2 -3 -3 -1 -2 -4  7
 1 -1  1  0 -1  0  0  0 -1 -2 -2  0 -1 -2 -1  4
 0 -1  0 -1 -1 -1 -1 -2 -2 -1 -1 -1 -1 -2 -1  1  5
-3 -3 -4 -4 -2 -2 -3 -2 -2 -3 -2 -3 -1  1 -4 -3 -2 11
-2 -2 -2 -3 -2 -1 -2 -3  2 -1 -1 -2 -1  3 -3 -2 -2  2  7
 0 -3 -3 -3 -1 -2 -2 -3 -3  3  1 -2  1 -1 -2 -2  0 -3 -1  4
"""


def _table() -> AnyArray:
    """Scores of pairs of bytes, int8 (256, 256): 0 for all but the twenty amino acids."""
    out = np.zeros((256, 256), dtype=np.int8)
    for a, row in zip(_LETTERS, _BLOSUM62.split("\n")[1:], strict=False):
        for b, value in zip(_LETTERS, row.split(), strict=False):
            out[ord(a), ord(b)] = out[ord(b), ord(a)] = int(value)
    return out


BLOSUM62 = _table()


def align(a: Bytes, b: Bytes) -> tuple[int, Index]:
    """Align two amino acid sequences over their whole length and return the score and the pairs.

    A pair scores as BLOSUM62 has it, 0 if one of the two is no letter of the twenty amino acids (X). A gap of
    n residues costs 11 + n; at each end one of the two may stick out at no cost. Of alignments of equal score
    always the same one is chosen, see the kernel. Raises RerankError if a byte for each pair does not fit
    into the memory that is left.

    Parameters
    ----------
    a, b : uint8 (m) and (n), letters; neither is empty.

    Returns
    -------
    score : int
        0 or more.
    partners : int64 (m)
        The place in b of the residue beside each residue of a, -1 beside a gap.

    References
    ----------
    Needleman, Wunsch: A general method applicable to the search for similarities in the amino acid
    sequence of two proteins. J. Mol. Biol. 48, 1970. Gotoh: An improved algorithm for matching biological
    sequences. J. Mol. Biol. 162, 1982. Henikoff, Henikoff: Amino acid substitution matrices from protein
    blocks. PNAS 89, 1992.
    """
    m, n = len(a), len(b)
    memory.require(m * n, f"the alignment of {m:,} with {n:,} residues")
    partners = np.empty(m, dtype=np.int64)
    rows = np.zeros((3, max(n + 1, 3)), dtype=np.int32)
    steps = np.empty((m, n), dtype=np.uint8)
    score = _sequences.align(
        np.ascontiguousarray(a), np.ascontiguousarray(b), BLOSUM62, FIRST, FURTHER, rows, steps, partners
    )
    return int(score), partners


Method = Literal["number", "sequence"]
METHODS = ("number", "sequence")

_KNOWN: Mask = BLOSUM62.diagonal() > 0  # bytes that are letters of the twenty amino acids
_UNIFORM = 0.9  # share of a sequence's most frequent amino acid from which on it tells nothing


@dataclass(frozen=True, eq=False, slots=True)
class Partners:
    """The native's residue of each residue of models.

    Attributes
    ----------
    of : int64 (n_residues), its place among all residues of the natives, -1 = none.
    matched : int64 (n_items), the residues of each model that have one.
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

    By sequence: the residue beside it in an alignment of the chains' sequences, see ``align``.
    Chains of the same name belong together. If the two structures share no name, chains belong together so
    that the scores of their alignments have the largest sum. Raises RerankError if the memory that is left
    does not suffice for an alignment.

    models : Traces (n_items)
    natives : Traces (n_lists)
    lists : int64 (n_lists + 1), items of list i are ``lists[i]:lists[i + 1]``.
    method : {"number", "sequence"}
    counted : bool (residues of the natives), optional
        Those that have partners; the others are aligned too. None = all.
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

    models : Traces (n_items)
    natives : Traces (n_lists)
    found : Partners, residues without a partner are left out.
    judged : bool (n_items), models whose list has a native; the others stay as they are.
    """
    item = np.repeat(np.arange(len(models)), models.lengths)
    has = found.of >= 0
    kept = has | ~judged[item]
    keys = np.where(has, natives.keys[found.of], models.keys)[kept] if has.any() else models.keys[kept]
    item, rows = item[kept], np.flatnonzero(kept)
    if np.any((keys[1:] < keys[:-1]) & (item[1:] == item[:-1])):  # chains come in another order
        order = np.lexsort((keys, item))
        rows, keys = rows[order], keys[order]
    return arranged(models, item, keys, rows)


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
    """Return the pairs of chains of model and native that belong together."""
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
