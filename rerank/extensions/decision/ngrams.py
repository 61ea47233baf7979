"""Statistics of BLEU and chrF for all pairs of texts of a list: the n-grams of a text are numbered once.

They equal those that the metrics count with one text as the candidate and the other one as its reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from rerank.core.types import Index, Ints
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.extensions.decision.native import _matches
from rerank.metrics.bleu import ORDERS, BleuStatistics
from rerank.metrics.chrf import PORTION, Chrf
from rerank.metrics.edit import numbers
from rerank.metrics.selecting import prepared

Statistics = BleuStatistics | Chrf
_BYTES = 1 << 20  # of texts whose words are numbered at a time


class PairedTexts:
    """The texts of some lists, the rows before the columns, or rows alone if these are the columns too.

    Parameters
    ----------
    own, others : StringColumn
    chosen : sequence of (int64, int64)
        The rows of each list, items of ``own``, and its columns, items of ``others``.
    within : bool
        Whether rows and columns are the same texts.
    """

    def __init__(
        self,
        own: StringColumn,
        others: StringColumn,
        chosen: Sequence[tuple[Index, Index]],
        within: bool,
    ) -> None:
        self.n_rows = np.array([len(rows) for rows, _ in chosen], dtype=np.int64)
        self.n_columns = np.array([len(columns) for _, columns in chosen], dtype=np.int64)
        sides = [(own, rows) if k == 0 else (others, rows) for both in chosen for k, rows in enumerate(both)]
        if within:
            sides = sides[::2]
        self.sizes = self.n_rows if within else self.n_rows + self.n_columns
        self.offsets = offsets_of(self.sizes)
        self.texts = StringColumn.from_strings(
            column.bytes_at(item) for column, items in sides for item in items.tolist()
        )
        starts = self.offsets[:-1]
        second = starts if within else starts + self.n_rows
        self.rows, self.columns = (
            np.concatenate(parts)
            for parts in zip(
                *(
                    (np.repeat(np.arange(a, a + n), m), np.tile(np.arange(b, b + m), n))
                    for a, b, n, m in zip(starts, second, self.n_rows, self.n_columns, strict=True)
                ),
                strict=True,
            )
        )

    def statistics(self, of: Statistics) -> Ints:
        """Return the statistics of each pair, row by row and list by list, int32 (n_pairs, width)."""
        if isinstance(of, BleuStatistics):
            texts = prepared(self.texts, of.tok, of.lc)
            matches, totals, lengths = self._counted(texts, "words", ORDERS, _BYTES)
            sizes = lengths[self.rows], lengths[self.columns]
            return np.column_stack([matches, totals[self.rows], *sizes]).astype(np.int32)
        texts = prepared(self.texts, lc=of.lc)
        parts = []
        for kind, orders in (("all" if of.space else "unspaced", of.nc), ("separated", of.nw)):
            if orders:
                matches, totals, _ = self._counted(texts, kind, orders, PORTION)
                three = np.stack([totals[self.rows], totals[self.columns], matches], axis=2)
                parts.append(three.reshape(len(matches), 3 * orders))
        return np.concatenate(parts, axis=1, dtype=np.int32)

    def _counted(
        self, texts: StringColumn, kind: str, orders: int, portion: int
    ) -> tuple[Ints, Index, Index]:
        """Matches of pairs (n_pairs, orders), n-grams of texts (n_texts, orders), tokens (n_texts)."""
        bounds = self.offsets.tolist()
        every = StringColumn.from_strings(
            b" ".join(texts.bytes_at(j) for j in range(a, b)) for a, b in pairwise(bounds)
        )
        out = np.empty((len(self.rows), orders), dtype=np.int32)
        lengths, at, first = [], 0, 0
        for piece in numbers(texts, (every,), self.offsets, kind=kind, portion=portion):
            stop = first + len(piece.offsets) - 1
            n_pairs = int((self.n_rows[first:stop] * self.n_columns[first:stop]).sum())
            _matches.matches(piece, self.n_rows[first:stop], out[at : at + n_pairs])
            lengths.append(_matches.lengths(piece))
            at, first = at + n_pairs, stop
        tokens = np.concatenate(lengths)
        return out, np.maximum(tokens[:, None] - np.arange(orders), 0), tokens
