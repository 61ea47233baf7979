"""Edits between all pairs of texts of a list: those of a pair are the same in both directions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rerank.core import memory
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.metrics.edit import EditRate


def edit_statistics(metric: EditRate, texts: StringColumn, chosen: Sequence[Index]) -> Floats:
    """Return edits and reference tokens of all pairs of texts of each list, each pair counted once.

    Parameters
    ----------
    metric : EditRate
        WER, CER or PER, whose edits of a text and a reference are those of the reference and the text.
    texts : StringColumn
    chosen : sequence of int64
        The items of each list.

    Returns
    -------
    float64 (n_pairs, 2)
        List by list, the pairs of the first reference first.
    """
    items = np.concatenate([rows[k:] for rows in chosen for k in range(len(rows))])
    what = "the texts of a list once for each of its candidates"
    memory.require(int(texts.lengths()[items].sum()), what, "shorter lists need less")
    references = np.concatenate(chosen)
    sizes = np.concatenate([np.arange(len(rows), 0, -1) for rows in chosen])
    offsets = offsets_of(sizes)
    counts = metric.count(texts.take(items), (texts.take(references),), offsets)
    tokens = counts[offsets[:-1], 1]  # a reference's own pair comes first
    out, first, pair = [], 0, 0
    for rows in chosen:
        n = len(rows)
        full, above = np.empty((n, n, 2)), np.triu_indices(n)
        here = counts[pair : pair + len(above[0]), 0]
        full[above[0], above[1], 0] = full[above[1], above[0], 0] = here
        full[:, :, 1] = tokens[first : first + n, None]
        out.append(full.reshape(-1, 2))
        first, pair = first + n, pair + len(here)
    return np.concatenate(out)
