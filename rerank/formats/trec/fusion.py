"""Several runs as one set: the union of their documents, a feature column for each run."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.types import Index
from rerank.formats.base import ReadOptions
from rerank.formats.common import absent_value, check_float32, note, quoted
from rerank.formats.trec.read import Run


@dataclass
class _Pool:
    """Documents of queries, each with its number in order of appearance over all runs."""

    queries: dict[bytes, int] = field(default_factory=dict)
    documents: list[dict[bytes, int]] = field(default_factory=list)
    n: int = 0

    def places(self, run: Run) -> Index:
        """Return the number of each document of a run, int64 (n_documents), after adding new ones."""
        out = np.empty(len(run.documents), dtype=np.int64)
        order = np.arange(len(out)) if run.rows is None else np.argsort(run.rows, kind="stable")
        queries = np.repeat(np.arange(len(run.queries)), np.diff(run.offsets))[order].tolist()
        for item, q in zip(order.tolist(), queries, strict=True):
            query = self.queries.setdefault(run.queries.bytes_at(q), len(self.queries))
            if query == len(self.documents):
                self.documents.append({})
            number = self.documents[query].setdefault(run.documents.bytes_at(item), self.n)
            self.n = max(self.n, number + 1)
            out[item] = number
        return out


def fused(runs: Sequence[Run], options: ReadOptions) -> CandidateLists:
    """Return the lists of several runs, documents in the order in which they first appear."""
    pool = _Pool()
    places = [pool.places(run) for run in runs]
    rows = np.array([n for documents in pool.documents for n in documents.values()], dtype=np.int64)
    rank_of_row = np.argsort(rows)
    fill = absent_value(options)
    values = np.full((pool.n, len(runs)), fill, dtype=options.dtype)
    for j, (run, place) in enumerate(zip(runs, places, strict=True)):
        if options.dtype == "float32":
            check_float32(run.scores, run.source)
        values[rank_of_row[place], j] = run.scores
    base_scores = np.full(pool.n, np.nan)
    base_scores[rank_of_row[places[0]]] = runs[0].scores
    first_best = np.asarray(-1.0 - runs[0].ranks.max() - rows, dtype=np.float64)
    first_best[rank_of_row[places[0]]] = -runs[0].ranks
    _note_absent(runs, pool.n, fill)
    grouped = np.array_equal(rows, np.arange(pool.n))
    return CandidateLists(
        offsets_of([len(documents) for documents in pool.documents]),
        Dense(values),
        base_scores=base_scores,
        first_best=first_best,
        run_scores=base_scores,
        list_ids=StringColumn.from_strings(pool.queries),
        item_ids=StringColumn.from_strings(itertools.chain.from_iterable(pool.documents)),
        rows=None if grouped else rows,
        feature_names=_names(runs),
        source=runs[0].source,
    )


def _names(runs: Sequence[Run]) -> list[str]:
    """Return the runs' tags; one that an earlier run has too gets a number, with a warning."""
    names: list[str] = []
    for run in runs:
        name, n = run.tag, 1
        while name in names:
            n += 1
            name = f"{run.tag}-{n}"
        if n > 1:
            note(f"{run.source}: an earlier run has the tag {quoted(run.tag)} too; named {quoted(name)}")
        names.append(name)
    return names


def _note_absent(runs: Sequence[Run], n: int, fill: float) -> None:
    absent = [f"{quoted(run.tag)} {n - len(run.scores)}" for run in runs if len(run.scores) < n]
    if absent:
        taken = "0 (missing=nan keeps them apart)" if fill == 0.0 else "missing (NaN)"
        note(f"{runs[0].source}: of {n} documents runs lack {', '.join(absent)}; taken as {taken}")
