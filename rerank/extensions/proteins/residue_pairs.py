"""Pairs of structures, the residues that they share, and their superpositions by several workers.

Residues of two structures are the same if their keys are. Whatever is computed of a pair depends on that pair
alone, so results do not depend on how pairs are shared out.

A superposition turns and shifts one structure; mirror images are not used. The counts and the TM-score belong
to the best superpositions that a search finds: see ``rerank/native/metrics/_superposition.pyx``. They do not
depend on how either structure lies in space, nor on which of the two is first: the search places both in
frames of their own, where positions are rounded to 2.4e-7 Å. A squared distance up to 1e-5 Å² above that of a
cutoff counts as inside it, so that rounding decides no tie.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import ArrayLike, Floats, Index
from rerank.core.workers import parallel
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.traces import Traces
from rerank.extensions.proteins.native import _superposition

CUTOFFS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Distances in Å within which residues are counted."""


def superpositions(
    a: Floats,
    b: Floats,
    rows_a: Index,
    rows_b: Index,
    offsets: Index,
    lengths: ArrayLike,
    *,
    gdt: bool = True,
    tm: bool = True,
    thorough: bool = True,
) -> Floats:
    """Superpose pairs of structures whose residues are matched.

    It works on one thread and releases the interpreter's lock.

    Parameters
    ----------
    a, b : float64 (n_a, 3), float64 (n_b, 3)
        Positions of residues in Å.
    rows_a, rows_b : int64 (n_matched)
        Matched residues, in the order of the chain: ``a[rows_a[i]]`` stands for ``b[rows_b[i]]``.
    offsets : int64 (pairs + 1)
        The matched residues of pair p are ``offsets[p]:offsets[p + 1]``.
    lengths : (pairs)
        Residues of the structure that normalises the TM-score, in most cases the native; positive.
    gdt, tm
        Whether to count residues within ``CUTOFFS``, and to compute the TM-score.
    thorough
        Whether counts start from fragments at all places of the chain, as those of the program TMscore do, or
        from fewer, which takes less than half the time and may miss a residue.

    Returns
    -------
    float64 (pairs, 7)
        0 to 4: the largest number of residues within each of ``CUTOFFS`` that a superposition found reaches;
        5: the TM-score, the largest sum of 1/(1 + d²/d0²) found, divided by the length, where d0 is
        1.24·∛(length - 15) - 1.8 Å, at least 0.5 Å; 6: the RMSD in Å of all matched residues. NaN in columns
        that are not asked for. A pair without residues has counts and a TM-score of 0 and an RMSD of NaN.

    Raises
    ------
    DataError
        If the arrays do not fit together or a position is not a finite number.

    References
    ----------
    Zemla, LGA: a method for finding 3D similarities in protein structures, 2003. Zhang and Skolnick, Scoring
    function for automated assessment of protein structure template quality, 2004.
    """
    a, b = (np.ascontiguousarray(xyz, dtype=np.float64).reshape(-1, 3) for xyz in (a, b))
    rows_a, rows_b = (np.ascontiguousarray(rows, dtype=np.int64) for rows in (rows_a, rows_b))
    offsets = np.ascontiguousarray(offsets, dtype=np.int64)
    lengths = np.ascontiguousarray(lengths, dtype=np.float64)
    for xyz, rows in ((a, rows_a), (b, rows_b)):
        if len(rows) and (rows.min() < 0 or rows.max() >= len(xyz)):
            raise DataError(f"superpositions: rows must be 0 to {len(xyz) - 1}")
        if not np.isfinite(xyz).all():
            raise DataError("superpositions: positions must be finite numbers")
    n = len(offsets) - 1
    if n < 0 or len(rows_a) != len(rows_b) or offsets[0] != 0 or offsets[-1] != len(rows_a):
        raise DataError("superpositions: offsets must run from 0 to the number of rows of both structures")
    if (np.diff(offsets) < 0).any() or lengths.shape != (n,) or not (lengths > 0).all():
        raise DataError("superpositions: offsets must rise, and each pair must have a positive length")
    out = np.zeros((n, 7))
    _superposition.superpositions(a, b, rows_a, rows_b, offsets, lengths, gdt, tm, thorough, out)
    return out


# Residues of a task, so that there are enough tasks for the workers and for the display of progress.
_RESIDUES = 1 << 15

# What is known of a pair of structures, one column each. The RMSD is NaN if no residue is shared; the counts
# within cutoffs and the TM-score are NaN without their search.
MATCHED, LENGTH = 0, 1
COUNTS = slice(2, 7)
TM, RMSD = 7, 8
WIDTH = 9


@dataclass(frozen=True, eq=False)
class ResiduePairs:
    """Pairs of structures with the positions of the residues that both have.

    Attributes
    ----------
    a, b : float64 (n_residues, 3)
        Positions in Å, in the order of the keys.
    offsets : int64 (n_pairs + 1)
        Residues of pair p are ``offsets[p]:offsets[p + 1]``.
    lengths : float64 (n_pairs)
        The length that normalises, at least 1.
    """

    a: Floats
    b: Floats
    offsets: Index
    lengths: Floats

    def part(self, first: int, last: int) -> ResiduePairs:
        """Return the pairs ``first`` to ``last`` - 1."""
        start, stop = self.offsets[first], self.offsets[last]
        offsets = self.offsets[first : last + 1] - start
        return ResiduePairs(self.a[start:stop], self.b[start:stop], offsets, self.lengths[first:last])

    def parts(self) -> Iterator[ResiduePairs]:
        """Yield all pairs, some at a time."""
        n, first = len(self.lengths), 0
        while first < n:
            reached = np.searchsorted(self.offsets, self.offsets[first] + _RESIDUES, side="right")
            last = min(max(first + 1, int(reached) - 1), n)
            yield self.part(first, last)
            first = last

    def superposed(self, gdt: bool, tm: bool, thorough: bool = True) -> Floats:
        """Return what is known of each pair, see WIDTH and ``superpositions``: float64 (n_pairs, WIDTH)."""
        out = np.empty((len(self.lengths), WIDTH))
        out[:, MATCHED] = np.diff(self.offsets)
        out[:, LENGTH] = self.lengths
        rows = np.arange(len(self.a), dtype=np.int64)
        out[:, COUNTS.start :] = superpositions(
            self.a, self.b, rows, rows, self.offsets, self.lengths, gdt=gdt, tm=tm, thorough=thorough
        )
        return out


def with_natives(models: Traces, natives: Traces, of_model: Index) -> ResiduePairs:
    """Return each model with its native.

    - ``of_model``: int64 (n_models); the native of each model.
    """
    known = np.unique(natives.keys)
    # A residue is a number: its structure, then its key. Those of natives rise, as their keys do.
    places = np.searchsorted(known, natives.keys)
    there = np.repeat(np.arange(len(natives)), natives.lengths) * len(known) + places
    places = np.searchsorted(known, models.keys)
    model = np.repeat(np.arange(len(models)), models.lengths)
    here = of_model[model] * len(known) + places
    rows = np.searchsorted(there, here)
    inside = np.minimum(rows, max(len(there) - 1, 0))
    same = np.zeros(len(here), dtype=bool)
    if len(there):
        same = (there[inside] == here) & (natives.keys[inside] == models.keys)
    chosen = np.flatnonzero(same)
    offsets = offsets_of(np.bincount(model[chosen], minlength=len(models)))
    lengths = np.maximum(natives.lengths[of_model], 1).astype(np.float64)
    return ResiduePairs(models.xyz[chosen], natives.xyz[rows[chosen]], offsets, lengths)


def among(models: Traces, first: Index, second: Index) -> ResiduePairs:
    """Return pairs of models; the longer one of each pair normalises.

    - ``first``, ``second``: int64 (n_pairs); the models of each pair.
    """
    known, places = np.unique(models.keys, return_inverse=True)
    table = np.full((len(models), len(known)), -1, dtype=np.int64)
    table[np.repeat(np.arange(len(models)), models.lengths), places] = np.arange(len(places))
    rows_a, rows_b = table[first], table[second]
    both = (rows_a >= 0) & (rows_b >= 0)
    lengths = np.maximum(models.lengths[first], models.lengths[second])
    return ResiduePairs(
        models.xyz[rows_a[both]],
        models.xyz[rows_b[both]],
        offsets_of(both.sum(axis=1)),
        np.maximum(lengths, 1).astype(np.float64),
    )


def superposed(pairs: ResiduePairs, search: bool, step: str) -> Floats:
    """Return what is known of each pair (n_pairs, WIDTH), computed by the pool."""
    tasks = [(part, search, search) for part in pairs.parts()]
    found = parallel.each(ResiduePairs.superposed, tasks, threads=True, anywhere=True, step=(step, "block"))
    return np.concatenate(found) if found else np.empty((0, WIDTH))
