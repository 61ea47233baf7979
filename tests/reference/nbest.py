"""Lists of texts for tests: made from strings, or read line by line from Moses' form."""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import replace

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists


def text_lists(candidates, *references, **columns):
    """Lists of candidates (a list of strings each) with references (one string per list, for each file)."""
    lengths = [len(of_list) for of_list in candidates]
    plain = CandidateLists.from_arrays(np.zeros((sum(lengths), 1)), group=lengths)
    return replace(
        plain,
        texts=StringColumn.from_strings([text for of_list in candidates for text in of_list]),
        references=tuple(StringColumn.from_strings(strings) for strings in references),
        **columns,
    )


def moses_lists(folder, part):
    """(lists with texts, one reference and the order of the file as first best; totals of the items)."""
    with gzip.open(folder / f"{part}.nbest.gz", "rt", encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n").split(" ||| ") for line in file]
    with gzip.open(folder / f"{part}.ref.gz", "rt", encoding="utf-8", newline="\n") as file:
        references = [line.rstrip("\n") for line in file]
    candidates = {}
    for line in lines:
        candidates.setdefault(line[0], []).append(line[1])
    assert list(candidates) == [str(i) for i in range(len(references))]
    assert list(Counter(line[0] for line in lines)) == list(candidates)
    order = -np.arange(len(lines), dtype=np.float64)
    lists = text_lists(list(candidates.values()), references, first_best=order)
    return lists, np.array([float(line[3]) for line in lines])
