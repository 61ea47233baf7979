"""Small sets of lists of texts with references."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists


def made(lists, references):
    """Lists of texts with references, one column for each reference of a list."""
    n = sum(map(len, lists))
    plain = CandidateLists.from_arrays(np.zeros((n, 1)), group=[len(part) for part in lists])
    return replace(
        plain,
        texts=StringColumn.from_strings([text for part in lists for text in part]),
        references=tuple(StringColumn.from_strings(column) for column in zip(*references, strict=True)),
    )


def some_lists(seed=0, n_lists=20, n_references=2):
    rng = np.random.default_rng(seed)
    words = ["der", "Hund", "beißt", "den", "Mann", ".", "nicht", "heute,", "3.5", "internationalisiert"]

    def sentence():
        return " ".join(rng.choice(words, size=rng.integers(0, 12)))

    lists = [[sentence() for _ in range(rng.integers(1, 7))] for _ in range(n_lists)]
    return made(lists, [[sentence() for _ in range(n_references)] for _ in range(n_lists)])
