"""Alignment of amino acid sequences."""

from __future__ import annotations

import numpy as np

from rerank.core import memory
from rerank.core.types import AnyArray, Bytes, Index
from rerank.native.data import _sequences

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

    A pair scores as BLOSUM62 has it, 0 if one of the two is no letter of the twenty amino acids (X). A gap
    of n residues costs 11 + n; at each end one of the two may stick out at no cost. Of alignments of equal
    score always the same one is chosen, see the kernel.

    Parameters
    ----------
    a, b : uint8 (m) and (n)
        Letters; neither is empty.

    Returns
    -------
    score : int
        0 or more.
    partners : int64 (m)
        The place in b of the residue beside each residue of a, -1 beside a gap.

    Raises
    ------
    RerankError
        If a byte for each pair does not fit into the memory that is left.

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
