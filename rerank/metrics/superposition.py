"""Superpositions of two CA traces: the counts behind GDT, the TM-score and the RMSD.

A superposition turns and shifts one structure; mirror images are not used. The counts and the TM-score belong
to the best superpositions that a search finds: see ``rerank/native/metrics/_superposition.pyx``. They do not
depend on how either structure lies in space, nor on which of the two is first: the search places both in
frames of their own, where positions are rounded to 2.4e-7 Å. A squared distance up to 1e-5 Å² above that of a
cutoff counts as inside it, so that rounding decides no tie.
"""

from __future__ import annotations

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import ArrayLike, Floats, Index
from rerank.native.metrics import _superposition

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
