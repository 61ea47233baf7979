"""Pairs of structures, the residues that they share, and their superpositions by several workers.

Residues of two structures are the same if their keys are. Whatever is computed of a pair depends on that pair
alone, so results do not depend on how pairs are shared out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rerank.core.types import Floats, Index
from rerank.core.workers import parallel
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.traces import Traces
from rerank.metrics.superposition import superpositions

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

    Parameters
    ----------
    models, natives : Traces
    of_model : int64 (n_models)
        The native of each model.
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

    Parameters
    ----------
    models : Traces
    first, second : int64 (n_pairs)
        The models of each pair.
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
    """Return what is known of each pair (n_pairs, WIDTH), computed by the pool.

    Parameters
    ----------
    pairs : ResiduePairs
    search : whether the best superpositions are searched for GDT and the TM-score.
    step : what is being done, for the display of progress.
    """
    tasks = [(part, search, search) for part in pairs.parts()]
    found = parallel.each(ResiduePairs.superposed, tasks, threads=True, anywhere=True, step=(step, "block"))
    return np.concatenate(found) if found else np.empty((0, WIDTH))
