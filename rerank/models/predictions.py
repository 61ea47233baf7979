"""Predictions as text: scores, tables, TREC runs, reordered lists, the best candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rerank.core.errors import LONGEST_QUOTE, ConfigError, DataError, cut
from rerank.core.registry import did_you_mean
from rerank.core.tables.data import guarded
from rerank.core.tables.display import Display
from rerank.core.tables.table import Column, Row, Table, value_text
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists
from rerank.data.overlap import note
from rerank.metrics.relevance import resolve_ties

_MOST_ROWS = 50  # at a prompt and in a notebook
_ENDS = "\t\n"  # of cells of a table
Writer = Callable[[CandidateLists, Floats, str], Iterator[str]]


def ranking(lists: CandidateLists, scores: Floats) -> Index:
    """Return items (n_items) list by list, best first, ties in input order."""
    return np.lexsort((-scores, lists.list_index)).astype(np.int64)


class Ranking(Display):
    """Lists from their best items down.

    Parameters
    ----------
    rows : sequence of (str, str, int, float)
        List, item, rank from 1 and score; numbers from 1 stand for ids that are not there.
    more : mapping of str to list of float, optional
        Further columns, such as p_right.
    """

    def __init__(
        self, rows: Sequence[tuple[str, str, int, float]], more: Mapping[str, list[float]] | None = None
    ) -> None:
        self.rows = list(rows)
        self.more = dict(more or {})

    @classmethod
    def of(
        cls, lists: CandidateLists, scores: Floats, columns: Mapping[str, Floats] | None = None
    ) -> Ranking:
        """Return the ranking by scores of the items, ties in input order; ``columns`` are values of lists."""
        return cls(list(_ranked(lists, scores, ranking(lists, scores))), _of_rows(lists, columns or {}))

    def as_run(self) -> dict[str, dict[str, float]]:
        """Return the scores by item, by list.

        Raises
        ------
        DataError
            If a list has an item twice.
        """
        found: dict[str, dict[str, float]] = {}
        for list_id, item, _, score in self.rows:
            items = found.setdefault(list_id, {})
            if item in items:
                raise DataError(f"list {list_id!r} has the item {item!r} twice")
            items[item] = score
        return found

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[str, str, int, float]]:
        return iter(self.rows)

    def tables(self) -> list[Table]:
        """Return the first rows as a table."""
        left = max(len(self.rows) - _MOST_ROWS, 0)
        columns = (
            Column("list", ("list",), left=True),
            Column("item", ("item",), left=True),
            Column("rank", ("rank",)),
            Column("score", ("score",), lambda score: f"{score:.6g}"),
            *(Column(name, (name,), lambda p: value_text(p, 3)) for name in self.more),
        )
        notes = (f"... and {left} more",) * bool(left)
        cells = [(*row, *more) for row, *more in zip(self.rows, *self.more.values(), strict=True)]
        return [Table(columns, tuple(map(Row, cells[:_MOST_ROWS])), notes=notes)]

    def frame_columns(self) -> dict[str, Any]:
        """Return all rows by column."""
        names = ("list", "item", "rank", "score")
        return {name: [row[j] for row in self.rows] for j, name in enumerate(names)} | self.more


def score_lines(lists: CandidateLists, scores: Floats, tag: str) -> Iterator[str]:
    """Yield one score per item line of the input, in its order (svm_rank's form)."""
    return map(repr, lists.input_order(scores).tolist())


def grade_lines(lists: CandidateLists, grades: Floats, tag: str) -> Iterator[str]:
    """Yield one predicted label per item line of the input, in its order; 2.0 is written 2."""
    return (repr(grade).removesuffix(".0") for grade in lists.input_order(grades).tolist())


def table_lines(
    lists: CandidateLists, scores: Floats, tag: str, columns: Mapping[str, Floats] | None = None
) -> Iterator[str]:
    """Yield ``list \\t item \\t rank \\t score``, each list from its best item down; values of lists follow.

    Raises DataError if an id contains a tab or a line end.
    """
    ends = _of_rows(lists, columns or {})
    rows = _ranked(lists, scores, ranking(lists, scores))
    for (list_id, item, rank, score), *more in zip(rows, *ends.values(), strict=True):
        names = [_cell(list_id, "list id", _ENDS, lists.source), _cell(item, "item id", _ENDS, lists.source)]
        yield "\t".join([*names, str(rank), repr(score), *(repr(p) if p == p else "" for p in more)])


def run_lines(lists: CandidateLists, scores: Floats, tag: str) -> Iterator[str]:
    """Yield a TREC run: ``list Q0 item rank score tag``, ranks from 1.

    The order is that of ``rerank eval`` with ties=trec, and of trec_eval: by score as float32, on ties the
    larger id comes first. If items have no unique ids, ties are in input order, and a score that is not
    below the one before it as float32 is written as the next float32 below.

    Parameters
    ----------
    lists
        With ids of lists and items, or numbered from 1.
    scores : float64 (n_items)
        Larger is better; NaN = not returned, which is left out.
    tag
        The name of the run.

    Raises
    ------
    ConfigError
        If the tag is empty or contains blanks.
    DataError
        If an id is empty or contains blanks.
    """
    if any(char.isspace() for char in tag) or not tag:
        raise ConfigError(f"--tag: found {tag!r}, expected a word without blanks")
    _note_numbers(lists)
    last = np.float32(np.inf)
    by_id = resolve_ties(lists, None) == "trec"
    order = trec_ranking(lists, scores) if by_id else ranking(lists, scores)
    with np.errstate(over="ignore"):  # beyond float32 is infinite for trec_eval too
        rounded = scores[order].astype(np.float32)
    for (list_id, item, rank, score), low in zip(_ranked(lists, scores, order), rounded, strict=True):
        if score != score:
            continue
        for what, text in (("list", list_id), ("item", item)):
            if not text or any(char.isspace() for char in text):
                raise DataError(
                    f"{lists.source}: {what} id {text!r} cannot be written to a TREC run, "
                    "whose columns are split at blanks; use --as table"
                )
        if not by_id and rank > 1 and not low < last:
            low = np.nextafter(last, np.float32(-np.inf))
            score = float(low)
        last = low
        yield f"{list_id} Q0 {item} {rank} {score!r} {tag}"


def _note_numbers(lists: CandidateLists) -> None:
    """Report that a run names documents by their numbers if items have no ids."""
    if lists.item_ids is None:
        note(f"{lists.source}: items have no ids: the run names the documents of each list 1, 2, 3 ...")


def best_lines(lists: CandidateLists, scores: Floats, tag: str) -> Iterator[str]:
    """Yield the best candidate of each list: its text, or its id if there are no texts.

    Raises DataError if there is neither, or a line end in one.
    """
    column = lists.texts if lists.texts is not None else lists.item_ids
    if column is None:
        raise DataError(f"{lists.source}: candidates have no text and no id; use --as table")
    for item in ranking(lists, scores)[lists.offsets[:-1]]:
        yield _cell(column[int(item)], "item id" if lists.texts is None else "text", "\n", lists.source)


def trec_ranking(lists: CandidateLists, scores: Floats) -> Index:
    """Return items (n_items) list by list as trec_eval orders them; their ids are unique in each list."""
    assert lists.item_ids is not None
    with np.errstate(over="ignore"):  # beyond float32 is infinite for trec_eval too
        low = scores.astype(np.float32)
    places = np.empty(lists.n_items, dtype=np.int64)
    places[sorted(range(lists.n_items), key=lists.item_ids.bytes_at, reverse=True)] = np.arange(lists.n_items)
    return np.lexsort((places, -low, lists.list_index)).astype(np.int64)


def _ranked(lists: CandidateLists, scores: Floats, order: Index) -> Iterator[tuple[str, str, int, float]]:
    values = scores[order].tolist()
    ids = lists.item_ids
    for i in range(lists.n_lists):
        first, last = int(lists.offsets[i]), int(lists.offsets[i + 1])
        list_id = lists.list_id(i)
        for at in range(first, last):
            item = int(order[at])
            name = ids[item] if ids is not None else str(item - first + 1)
            yield list_id, name, at - first + 1, values[at]


def _of_rows(lists: CandidateLists, columns: Mapping[str, Floats]) -> dict[str, list[float]]:
    """Values of lists (n_lists) by name, for each row of a ranking."""
    return {name: values[lists.list_index].tolist() for name, values in columns.items()}


def output_lines(scores: Floats) -> Iterator[str]:
    """Yield the scores (n, n_outputs) of all outputs of a model of classes, an example per line."""
    return ("\t".join(map(repr, row)) for row in scores.tolist())


def class_table(scores: Floats, outputs: Sequence[str], order: Index) -> Iterator[str]:
    """Yield ``example \t class \t rank \t score``, each example from its best class down."""
    for number, (row, places) in enumerate(zip(scores.tolist(), order.tolist(), strict=True), 1):
        for rank, c in enumerate(places, 1):
            name = _cell(outputs[c], "class", _ENDS)
            yield f"{number}\t{name}\t{rank}\t{row[c]!r}"


def _cell(text: str, what: str, ends: str, source: str = "") -> str:
    """A text for a line of output; DataError if it contains what ends a cell or the line."""
    if any(end in text for end in ends):
        end = "a tab" if "\t" in text and "\t" in ends else "a line end"
        found = f"{what} {cut(text, LONGEST_QUOTE)!r} with {end} in it"
        raise DataError(f"{source}{': ' * bool(source)}{found} would break the line; use --as scores")
    return guarded(text)


WRITERS: dict[str, Writer] = {
    "classes": score_lines,  # of models of classes, see ClassesModel.decoded
    "scores": score_lines,
    "grades": grade_lines,  # takes grades, not scores
    "probabilities": score_lines,  # takes probabilities
    "table": table_lines,
    "run": run_lines,
    "best": best_lines,
    "nbest": score_lines,  # written by the format itself, see write_reordered
}


def writer(name: str) -> Writer:
    """Return the writer called ``name``; raises ConfigError that names the nearest if there is none."""
    if name not in WRITERS:
        raise ConfigError(f"--as: unknown output {name!r}; {did_you_mean(name, WRITERS)}")
    return WRITERS[name]


def write_reordered(lists: CandidateLists, scores: Floats, format: str, out: str) -> None:
    """Write the lists in their own format, each with its best item first."""
    from rerank.formats import FORMATS

    FORMATS.get(format)().write(lists.reordered(ranking(lists, scores)), out)


def in_memory(
    as_: str, lists: CandidateLists, scores: Floats, columns: Mapping[str, Floats] | None = None
) -> Any:
    """Return predictions as ``rerank.predict`` gives them; scores are in the order of the caller's rows."""
    items = lists.from_input_order(scores)
    if as_ == "best":
        return list(best_lines(lists, items, ""))
    if as_ == "nbest":
        return lists.reordered(ranking(lists, items))
    if as_ not in ("table", "run"):
        return scores
    if as_ == "run":
        _note_numbers(lists)
    found = Ranking.of(lists, items, columns)
    return found if as_ == "table" else found.as_run()
