"""Columns that JSON candidates of either shape fill, many candidates at a time."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rerank.core.text import count
from rerank.core.types import Floats, Index, Ints
from rerank.data.columns.forests import BracketError, Forest, TreeReader
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.schema import TREE, TREE_NAME
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, as_features
from rerank.data.names import is_of_number, note_resembling, spells_number
from rerank.data.text_reading import own_name, own_texts
from rerank.formats.base import ReadOptions
from rerank.formats.builders import ForestBuilder, StringBuilder
from rerank.formats.common import (
    NULLS,
    absent_value,
    check_float32,
    empty_dense,
    in_list_order,
    note,
    quoted,
    wants_dense,
)
from rerank.formats.jsonl.schema import (
    LISTS,
    MisfitError,
    Roles,
    answer_of,
    described,
    encoded,
    logprobs_of,
    name_of,
    number_of,
    numbers_of,
    prompt_key,
    references_of,
    strings_of,
)
from rerank.native.formats._json import fill_rows

TREES = "trees"


class Trees:
    """Growing forests by name; a name that a candidate lacks is a missing tree.

    ``of`` are the roles of keys: one that has another role, such as ``text_column="tree"``, holds no tree.
    """

    def __init__(self, of: Mapping[str, str]) -> None:
        self._of = of
        self._reader = TreeReader()
        self._forests: dict[str, ForestBuilder] = {}
        self._n_items = 0

    def add(self, items: Sequence[dict[str, Any]]) -> None:
        """Add the trees of some candidates; raises MisfitError with the number of the first bad one."""
        if self._of.get(TREE) != TREE and self._of.get(TREES) != TREES:
            self.skip(len(items))
            return
        given: dict[str, list[bytes]] = {}
        places: dict[str, list[int]] = {}
        faults = []
        for i, item in enumerate(items):
            try:
                for name, text in self._trees_of(item):
                    given.setdefault(name, []).append(text)
                    places.setdefault(name, []).append(i)
            except MisfitError as misfit:
                misfit.item = i
                faults.append(misfit)
                break
        for name, texts in given.items():
            misfit_of = self._read(name, texts, places[name], len(items))
            if misfit_of is not None:
                faults.append(misfit_of)
        if faults:
            raise min(faults, key=lambda fault: fault.item)
        self._n_items += len(items)

    def skip(self, n: int) -> None:
        """Add ``n`` candidates without any tree."""
        self._n_items += n

    def _trees_of(self, item: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
        """Yield name and text of each tree that the candidate has a key for, "" for null."""
        if TREE in item and self._of.get(TREE) == TREE:
            yield TREE, b"" if item[TREE] is None else encoded(item[TREE], TREE)
        named = item.get(TREES) if self._of.get(TREES) == TREES else None
        if named is None:
            return
        if not isinstance(named, dict):
            raise MisfitError(TREES, described(named), "an object of names and trees")
        for name, text in named.items():
            if name == TREE or not TREE_NAME.fullmatch(name):
                expected = f"a letter or _, then letters, digits, _ and - (the key {TREE!r} is the parse)"
                raise MisfitError(TREES, f"the name {quoted(name)}", expected)
            yield name, b"" if text is None else encoded(text, f"{TREES}.{name}")

    def _read(self, name: str, texts: list[bytes], places: list[int], n: int) -> MisfitError | None:
        """Add the trees of one name, those of the candidates ``places`` of ``n``; return the first fault."""
        forest = self._forests.setdefault(name, ForestBuilder(self._reader))
        forest.fill(self._n_items)
        lengths = np.zeros(n, dtype=np.int64)
        lengths[places] = [len(text) for text in texts]
        stops = np.cumsum(lengths)
        column = StringColumn.from_strings(texts)
        try:
            forest.read(column.data, np.stack([stops - lengths, stops], axis=1))
        except BracketError as error:
            where = TREE if name == TREE else f"{TREES}.{name}"
            misfit = MisfitError(where, error.found, error.expected)
            misfit.item = error.tree
            return misfit
        return None

    def finish(self, rows: Index | None) -> tuple[Forest | None, dict[str, Forest]]:
        """Return the candidates' own parses, None if no candidate has any, and the named trees.

        They are in the order of ``rows``; nothing can be added afterwards.
        """
        for forest in self._forests.values():
            forest.fill(self._n_items)
        forests = {name: forest.forest() for name, forest in self._forests.items()}
        found = forests if rows is None else {name: some.take(rows) for name, some in forests.items()}
        return found.pop(TREE, None), found


_ROWS = 8192
_REMEMBERED = 256


class FeatureBuilder:
    """Named values of items, put into columns in order of first appearance.

    As long as all items have the same features in the same order, their values one after the other are the
    dense array; columns and lengths of rows are stored only after that.
    """

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.n_items = 0
        self.values = array("d")
        self._uniform: array[int] | None = None  # the columns of every item so far
        self._columns: array[int] | None = None
        self._lengths = array("q")
        self._remembered: dict[tuple[str, ...], array[int]] = {}

    def add(self, names: tuple[str, ...], values: array[float] | Floats, n: int) -> None:
        """Add ``n`` items with the same features in the same order, values item by item."""
        self.add_uniform(self._columns_of(names), values, n)

    def add_rows(self, columns: Ints, values: Floats, lengths: Index) -> None:
        """Add items with features of known columns, item by item.

        columns : int32; values; lengths : int64, how many features each item has.
        """
        width = uniform_width(columns, lengths)
        if width is not None:
            self.add_uniform(array("i", columns[:width].tobytes()), values, len(lengths))
            return
        if self._columns is None:
            self._columns = self._kept_columns()
        self._columns.frombytes(columns.tobytes())
        self._lengths.frombytes(lengths.tobytes())
        self.values.frombytes(values.tobytes())
        self.n_items += len(lengths)

    def add_uniform(self, columns: array[int], values: array[float] | Floats, n: int) -> None:
        """Add ``n`` items with features of the same known columns, values item by item."""
        if self.n_items == 0:
            self._uniform = columns
        elif self._columns is None and columns != self._uniform:
            self._columns = self._kept_columns()
        if self._columns is not None:
            self._columns.extend(columns * n)
            self._lengths.extend(array("q", [len(columns)]) * n)
        self.values.frombytes(values.tobytes())
        self.n_items += n

    def _kept_columns(self) -> array[int]:
        """Return the columns of all items so far, and keep how many each has."""
        uniform = self._uniform or array("i")
        self._lengths = array("q", [len(uniform)]) * self.n_items
        return uniform * self.n_items

    def _columns_of(self, names: tuple[str, ...]) -> array[int]:
        columns = self._remembered.get(names)
        if columns is None:
            known = self.names
            columns = array("i", [known.setdefault(name, len(known)) for name in names])
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            self._remembered[names] = columns
        return columns

    def finish(self, options: ReadOptions, source: str) -> Features:
        """Return the features of all items; nothing can be added afterwards.

        Warns how many values are absent. Whether the features are dense is decided by ``wants_dense``.
        """
        width = len(self.names)
        absent = self.n_items * width - len(self.values)
        note_absent(absent, self.n_items * width, options, source)
        values = np.frombuffer(self.values, dtype=np.float64)
        dense = wants_dense(options, len(values), self.n_items * width, source)
        if dense and options.dtype == "float32":
            check_float32(values, source)
        if dense and self._columns is None and not absent:
            return Dense(values.reshape(self.n_items, width).astype(options.dtype, copy=False))
        if self._columns is None:
            self._columns = self._kept_columns()
        columns = np.frombuffer(self._columns or b"", dtype=np.int32)
        indptr = offsets_of(self._lengths)
        if not dense:
            from scipy.sparse import csr_array  # it takes longer to load than most files to read

            return as_features(csr_array((values, columns, indptr), shape=(self.n_items, width)))
        out = empty_dense(self.n_items, width, options.dtype, source)
        out.fill(absent_value(options))
        for start in range(0, self.n_items, _ROWS):
            ends = indptr[start : start + _ROWS + 1]
            part = slice(ends[0], ends[-1])
            rows = np.repeat(np.arange(start, start + len(ends) - 1), np.diff(ends))
            out[rows, columns[part]] = values[part]
        return Dense(out)


def note_absent(absent: int, n_cells: int, options: ReadOptions, source: str) -> None:
    """Warn that values are absent, if some are."""
    if absent:
        taken = "missing (NaN)" if options.missing == "nan" else "0 (missing=nan keeps them apart)"
        note(f"{source}: {absent} of {n_cells} feature values are absent; taken as {taken}")


def uniform_width(columns: Ints, lengths: Index) -> int | None:
    """Return the length of rows that all have the same columns in the same order, None if they differ."""
    width = int(lengths[0])
    if len(columns) != width * len(lengths) or not np.all(lengths == width):
        return None
    return width if width == 0 or np.array_equal(columns[width:], columns[:-width]) else None


_MOST_IGNORED = 1000  # keys that are counted separately
Row = tuple[tuple[str, ...], "array[float] | Floats", int]  # names, values, number of items
Extra = dict[str, "array[float]"]
Values = dict[str, tuple[list[Any], str]]  # values by role, and the key that has them

_NUMBERS = {float, int, bool}

# Raised if candidates with the same keys differ in what their values are; each is then added by itself.
_MIXED = "values of one kind"


class Columns:
    """The columns of candidates that both shapes fill."""

    def __init__(self, source: str, options: ReadOptions) -> None:
        self.source = source
        self.options = options
        self.roles = Roles(options)
        self.builder = FeatureBuilder()
        self.trees = Trees(self.roles.of)
        self.texts = {role: StringBuilder() for role in options.text_keys()}
        self.ids = StringBuilder()
        self.answers = StringBuilder()
        self.labels = array("d")
        self.scores = array("d")
        self.any_label = False
        self.any_score = False
        self.references: list[StringBuilder] | None = None
        self.prompts = StringBuilder()
        self.prompt_key = self.roles.prompts[0]  # of the last list
        self.ignored: dict[str, int] = {}
        self.numeric: set[str] = set()  # names of features outside of "features"

    def ignore(self, key: str, n: int = 1) -> None:
        """Count a key that has no meaning here, ``n`` times."""
        if key not in self.ignored and len(self.ignored) >= _MOST_IGNORED:
            key = "others"
        self.ignored[key] = self.ignored.get(key, 0) + n

    def add(self, items: Sequence[dict[str, Any]]) -> None:
        """Add candidates, neighbours with the same keys together; raises MisfitError, with their number."""
        start = 0
        try:
            for _, run in itertools.groupby(items, key=tuple):
                some = list(run)
                self._add_run(some, start)
                start += len(some)
        except MisfitError as misfit:
            self.trees.add(items[: misfit.item])  # a fault of an earlier candidate goes first
            raise
        self.trees.add(items)

    def _add_run(self, items: list[Any], start: int) -> None:
        try:
            self._add_checked(items)
        except MisfitError as misfit:
            if len(items) == 1:
                misfit.item = start
                raise
            for i, item in enumerate(items):
                self._add_run([item], start + i)

    def _add_checked(self, items: list[dict[str, Any]]) -> None:
        """Add candidates with the same keys; nothing is added if any of them does not fit."""
        values, extra, ignored = self._by_role(items)
        nan = array("d", [math.nan]) * len(items)
        labels = numbers_of(*values["label"], nullable=True) if "label" in values else nan
        scores = numbers_of(*values["score"], nullable=True) if "score" in values else nan
        texts = {role: self._strings(role, "a text", values, own) for role, own in self.texts.items()}
        ids = self._strings("id", "an id", values, self.ids)
        column, key = values.get("answer", ([], "answer"))
        answers = [answer_of(value, key) for value in column]
        if "logprobs" in values:
            column, key = values["logprobs"]
            found = _logprobs(column, key)
            if found is None:
                ignored.append(key)
            for name in found or ():
                if name in extra:
                    raise MisfitError(key, f"log-probabilities beside a number {name!r}", "one of them")
            extra.update(found or {})
        if "features" in values:
            rows = self._own_features(*values["features"], extra)
        else:
            if "score" in values:
                missing = sum(map(math.isnan, scores))
                if 0 < missing < len(scores):
                    raise MisfitError(values["score"][1], "scores and null", _MIXED)
                extra = extra if missing else {"score": scores, **extra}
            numbers = array("d", itertools.chain.from_iterable(zip(*extra.values(), strict=True)))
            rows = [(tuple(extra), numbers, len(items))]
        self.any_label |= "label" in values
        self.any_score |= "score" in values
        self.labels.extend(labels)
        self.scores.extend(scores)
        for role, found_there in texts.items():
            self.texts[role].extend(found_there)
        if answers:
            self.fill_answers()
            self.answers.extend(answers)
        self.ids.extend(ids)
        self.numeric.update(extra)
        for row in rows:
            self.builder.add(*row)
        for key in ignored:
            self.ignore(key, len(items))

    def fill_answers(self) -> None:
        """Give no answer to the candidates before that have none."""
        self.answers.extend([b""] * (self.builder.n_items - len(self.answers)))

    def _by_role(self, items: list[dict[str, Any]]) -> tuple[Values, Extra, list[str]]:
        """Return values by role, other numbers by key, and the keys that are ignored."""
        of = self.roles.of
        values: Values = {}
        extra: Extra = {}
        ignored = []
        for key in items[0]:
            role = of.get(key)
            if role is not None and role[0] == "?":
                self.roles.settle(role, items[0])
                role = of[key]
            if role in (TREE, TREES):
                continue
            if role == "spare":
                ignored.append(key)
                continue
            column = [item[key] for item in items]
            if role is not None:
                values[role] = column, key
            elif self._is_feature(key, column):
                extra[key] = numbers_of(column, key)
            else:
                ignored.append(key)
        return values, extra, ignored

    def _is_feature(self, key: str, column: list[Any]) -> bool:
        """Return whether a key without a role has numbers; raises MisfitError if only some are."""
        kinds = set(map(type, column))
        if kinds <= _NUMBERS:
            return True
        if kinds & _NUMBERS:
            raise MisfitError(key, "numbers and other values", _MIXED)
        if key in self.numeric and kinds != {type(None)}:
            raise MisfitError(key, described(column[0]), "a number, as candidates before have")
        if str in kinds and key not in self.ignored and is_of_number(key):
            odd = next((v for v in column if isinstance(v, str) and spells_number(v)), None)
            if odd is not None:
                raise MisfitError(key, described(odd), "a number (without quotes, with a decimal point)")
        return False

    def _strings(self, role: str, what: str, values: Values, before: StringBuilder) -> list[bytes]:
        """Return the texts or ids of candidates; raises MisfitError unless they fit those ``before``."""
        column, key = values.get(role, ([], role))
        if role == "id":
            names = [name_of(value, key) for value in column if value is not None]
            if 0 < len(names) < len(column):
                raise MisfitError(key, "ids and null", _MIXED)
            column = names
        if column and len(before) < self.builder.n_items:
            raise MisfitError(key, what, "none, as the candidates before have none")
        if not column and len(before):
            raise MisfitError(own_name(role), f"no {own_name(role)}", "one, as the candidates before have")
        return strings_of(column, key)

    def _own_features(self, rows: list[Any], key: str, extra: Extra) -> list[Row]:
        """Return the values of objects of features and of the other numbers."""
        if not all(map(isinstance, rows, itertools.repeat(dict))):
            raise MisfitError(key, described(rows[0]), "an object of names and numbers")
        for i, row in enumerate(rows if extra else ()):
            if not row.keys().isdisjoint(extra):
                name = next(name for name in extra if name in row)
                raise MisfitError(f"{key}.{name}", "a feature that the candidate also has", "one of them")
            rows[i] = {**row, **{name: values[i] for name, values in extra.items()}}
        names = tuple(rows[0])
        values = np.empty((len(rows), len(names)))
        if fill_rows(rows, names, values):
            return [(names, values, len(rows))]
        return [part for row in rows for part in self._own_row(key, row)]

    def _own_row(self, key: str, row: dict[str, Any]) -> list[Row]:
        """Return one candidate's features, null ones by name only, so that they have columns too."""
        nulls = [name for name, value in row.items() if value is None]
        if nulls and self.options.missing is None:
            expected = f"a number ({NULLS} accepts null)"
            raise MisfitError(f"{key}.{nulls[0]}", "null", expected)
        given = {name: number_of(value, f"{key}.{name}") for name, value in row.items() if value is not None}
        values = tuple(given), array("d", given.values()), 1
        return [(tuple(row), array("d"), 0), values] if nulls else [values]

    def add_list(self, entry: dict[str, Any], first: bool) -> None:
        """Add the prompt and the references of one more list; raises MisfitError."""
        key = self.prompt_key = prompt_key(entry, self.roles.prompts)
        prompt = entry.get(key)
        if key == self.roles.prompts[0] and self.roles.prompts[1] in entry:
            self.ignore(self.roles.prompts[1])
        try:
            self.prompts.add(encoded(prompt, key))
        except MisfitError:
            if prompt is not None:
                self.ignore(key)
        found = references_of(entry)
        if first:
            self.references = None if found is None else [StringBuilder() for _ in found]
        if (found is None) != (self.references is None):
            expected = "none, as the lists before have none" if found else "some, as the lists before have"
            raise MisfitError("references", "references" if found else "none", expected)
        if found is None or self.references is None:
            return
        if len(found) != len(self.references):
            expected = f"{len(self.references)}, as the lists before have"
            raise MisfitError("references", count(len(found), "reference"), expected)
        for column, reference in zip(self.references, found, strict=True):
            column.add(reference)

    def lists(self, offsets: Index, list_ids: StringColumn | None, rows: Index | None) -> CandidateLists:
        """Return all columns as lists, items in the order of ``rows``."""
        prompts = self.prompts.column() if len(self.prompts) == len(offsets) - 1 else None
        if prompts is None and len(self.prompts):
            self.ignore(self.prompt_key, len(self.prompts))
        self.note_keys()
        if len(self.answers):
            self.fill_answers()
        trees, structures = self.trees.finish(rows)
        items = in_list_order(
            rows,
            features=self.builder.finish(self.options, self.source),
            labels=np.frombuffer(self.labels) if self.any_label else None,
            base_scores=np.frombuffer(self.scores) if self.any_score else None,
            first_best=-np.arange(len(self.labels), dtype=np.float64),
            item_ids=self.ids.column() if len(self.ids) else None,
            answers=self.answers.column() if len(self.answers) else None,
        )
        return CandidateLists(
            offsets,
            **items,
            **own_texts(self.texts, rows, self.options, self.source),
            list_ids=list_ids,
            rows=rows,
            feature_names=list(self.builder.names),
            prompts=prompts,
            trees=trees,
            structures=structures,
            references=tuple(column.column() for column in self.references or ()),
            source=self.source,
        )

    def note_keys(self) -> None:
        """Warn about keys that are ignored, and those that resemble known ones."""
        if self.ignored:
            keys = ", ".join(f"{quoted(key)} ({n})" for key, n in list(self.ignored.items())[:12])
            more = len(self.ignored) - 12
            note(f"{self.source}: ignored keys: {keys}{f' and {more} more' if more > 0 else ''}")
        known = {*self.roles.of, *LISTS, *self.roles.prompts, "others"}
        others = [key for key in (*self.builder.names, *self.ignored) if key not in known]
        note_resembling(self.source, others, LISTS)


def _logprobs(column: list[Any], key: str) -> Extra | None:
    """Return the features that log-probabilities become, None if the values are of another kind."""
    rows = [logprobs_of(value, key) for value in column]
    kinds = {None if row is None else tuple(row) for row in rows}
    if len(kinds) > 1:
        raise MisfitError(key, "log-probabilities and other values", _MIXED)
    names = kinds.pop()
    return None if names is None else {name: array("d", [row[name] for row in rows if row]) for name in names}
