"""Several runs as one set: the union of their documents, a feature column for each run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rerank.core.types import Index
from rerank.data.columns.offsets import grouped
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.formats.base import ReadOptions
from rerank.formats.common import absent_value, check_float32, note, quoted
from rerank.formats.trec.read import Run


def fused(runs: Sequence[Run], options: ReadOptions) -> CandidateLists:
    """Return the lists of several runs, documents in the order in which they first appear."""
    numbers: dict[tuple[bytes, bytes], int] = {}
    places = [_places(run, numbers) for run in runs]
    n = len(numbers)
    queries: dict[bytes, int] = {}
    offsets, rows = grouped(np.array([queries.setdefault(q, len(queries)) for q, _ in numbers], np.int64))
    order = np.arange(n) if rows is None else rows
    item = np.empty(n, dtype=np.int64)
    item[order] = np.arange(n)
    fill = absent_value(options)
    values = np.full((n, len(runs)), fill, dtype=options.dtype)
    for j, (run, place) in enumerate(zip(runs, places, strict=True)):
        if options.dtype == "float32":
            check_float32(run.scores, run.source)
        values[item[place], j] = run.scores
    base_scores = np.full(n, np.nan)
    base_scores[item[places[0]]] = runs[0].scores
    first_best = np.asarray(-1.0 - runs[0].ranks.max() - order, dtype=np.float64)
    first_best[item[places[0]]] = -runs[0].ranks
    _note_absent(runs, n, fill)
    documents = [document for _, document in numbers]
    return CandidateLists(
        offsets,
        Dense(values),
        base_scores=base_scores,
        first_best=first_best,
        run_scores=base_scores,
        list_ids=StringColumn.from_strings(queries),
        item_ids=StringColumn.from_strings(documents[k] for k in order.tolist()),
        rows=rows,
        feature_names=_names(runs),
        source=runs[0].source,
    )


def _places(run: Run, numbers: dict[tuple[bytes, bytes], int]) -> Index:
    """Return the number of each document of a run, int64 (n_documents), after adding new ones."""
    out = np.empty(len(run.documents), dtype=np.int64)
    order = np.arange(len(out)) if run.rows is None else np.argsort(run.rows)
    queries = np.repeat(np.arange(len(run.queries)), np.diff(run.offsets))[order]
    for item, query in zip(order.tolist(), queries.tolist(), strict=True):
        document = run.queries.bytes_at(query), run.documents.bytes_at(item)
        out[item] = numbers.setdefault(document, len(numbers))
    return out


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
    below = [quoted(run.tag) for run in runs if fill == 0.0 and len(run.scores) < n and run.scores.min() < 0]
    if below:
        found = f"{', '.join(below)} {'has' if len(below) == 1 else 'have'} scores below 0"
        note(f"{runs[0].source}: {found}, so that documents that are absent there (0) rank above others")
