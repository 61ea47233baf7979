"""The columns that JSON candidates of either shape fill, many candidates at a time."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.data.column_roles import is_of_number, note_resembling, spells_number
from rerank.data.columns.schema import TREE
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.base import ReadOptions
from rerank.formats.common import NULLS, in_list_order, note, quoted
from rerank.formats.growing import Strings
from rerank.formats.jsonl.cells import Cells
from rerank.formats.jsonl.keys import (
    LISTS,
    PROMPTS,
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
from rerank.formats.jsonl.trees import TREES, Trees
from rerank.native.formats._json import fill_rows

_MOST_IGNORED = 1000  # keys that are counted separately
Row = tuple[tuple[str, ...], "array[float] | Floats", int]  # names, values and items, as Cells.add takes
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
        self.cells = Cells()
        self.trees = Trees(self.roles.of)
        self.texts = Strings()
        self.ids = Strings()
        self.answers = Strings()
        self.labels = array("d")
        self.scores = array("d")
        self.any_label = False
        self.any_score = False
        self.references: list[Strings] | None = None
        self.prompts = Strings()
        self.prompt_key = PROMPTS[0]  # of the last list
        self.ignored: dict[str, int] = {}
        self.numeric: set[str] = set()  # names of features outside of "features"

    def ignore(self, key: str, n: int = 1) -> None:
        """Count a key that has no meaning here, ``n`` times."""
        if key not in self.ignored and len(self.ignored) >= _MOST_IGNORED:
            key = "others"
        self.ignored[key] = self.ignored.get(key, 0) + n

    def add(self, items: Sequence[dict[str, Any]]) -> None:
        """Add candidates, neighbours with the same keys together.

        Raises MisfitError with the number of the first candidate that does not fit.
        """
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
        texts = self._strings("text", "a text", values, self.texts)
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
                extra = self._with_score(values["score"][1], scores, extra)
            numbers = array("d", itertools.chain.from_iterable(zip(*extra.values(), strict=True)))
            rows = [(tuple(extra), numbers, len(items))]
        self.any_label |= "label" in values
        self.any_score |= "score" in values
        self.labels.extend(labels)
        self.scores.extend(scores)
        self.texts.extend(texts)
        if answers:
            self.fill_answers()
            self.answers.extend(answers)
        self.ids.extend(ids)
        self.numeric.update(extra)
        for row in rows:
            self.cells.add(*row)
        for key in ignored:
            self.ignore(key, len(items))

    def fill_answers(self) -> None:
        """Give no answer to the candidates before that have none."""
        self.answers.extend([b""] * (self.cells.n_items - len(self.answers)))

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

    def _strings(self, role: str, what: str, values: Values, before: Strings) -> list[bytes]:
        """Return the texts or ids of candidates; raises MisfitError unless they fit those ``before``."""
        column, key = values.get(role, ([], role))
        if role == "id":
            names = [name_of(value, key) for value in column if value is not None]
            if 0 < len(names) < len(column):
                raise MisfitError(key, "ids and null", _MIXED)
            column = names
        if column and len(before) < self.cells.n_items:
            raise MisfitError(key, what, "none, as the candidates before have none")
        if not column and len(before):
            raise MisfitError(role, f"no {role}", "one, as the candidates before have")
        return strings_of(column, key)

    @staticmethod
    def _with_score(key: str, scores: array[float], extra: Extra) -> Extra:
        """Return ``extra`` with the scores as a feature, unless all of them are null."""
        missing = sum(map(math.isnan, scores))
        if 0 < missing < len(scores):
            raise MisfitError(key, "scores and null", _MIXED)
        return extra if missing else {"score": scores, **extra}

    def _own_features(self, rows: list[Any], key: str, extra: Extra) -> list[Row]:
        """Return the values of objects of features and of the other numbers."""
        if not all(map(isinstance, rows, itertools.repeat(dict))):
            raise MisfitError(key, described(rows[0]), "an object of names and numbers")
        if extra:
            rows = [self._joined(key, row, extra, i) for i, row in enumerate(rows)]
        names = tuple(rows[0])
        values = np.empty((len(rows), len(names)))
        if fill_rows(rows, names, values):
            return [(names, values, len(rows))]
        return [part for row in rows for part in self._own_row(key, row)]

    def _joined(self, key: str, row: dict[str, Any], extra: Extra, i: int) -> dict[str, Any]:
        """Return the features of candidate ``i`` and its other numbers; raises MisfitError if one is both."""
        if not row.keys().isdisjoint(extra):
            name = next(name for name in extra if name in row)
            raise MisfitError(f"{key}.{name}", "a feature that the candidate also has", "one of them")
        return {**row, **{name: values[i] for name, values in extra.items()}}

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
        key = self.prompt_key = prompt_key(entry)
        prompt = entry.get(key)
        if key == PROMPTS[0] and PROMPTS[1] in entry:
            self.ignore(PROMPTS[1])
        try:
            self.prompts.add(encoded(prompt, key))
        except MisfitError:
            if prompt is not None:
                self.ignore(key)
        found = references_of(entry)
        if first:
            self.references = None if found is None else [Strings() for _ in found]
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
        self._note_ignored()
        known = {*self.roles.of, *LISTS, *PROMPTS, "others"}
        others = [key for key in (*self.cells.names, *self.ignored) if key not in known]
        note_resembling(self.source, others, LISTS)
        if len(self.answers):
            self.fill_answers()
        trees, structures = self.trees.finish(rows)
        items = in_list_order(
            rows,
            features=self.cells.finish(self.options, self.source),
            labels=np.frombuffer(self.labels) if self.any_label else None,
            base_scores=np.frombuffer(self.scores) if self.any_score else None,
            first_best=-np.arange(len(self.labels), dtype=np.float64),
            item_ids=self.ids.column() if len(self.ids) else None,
            texts=self.texts.column() if len(self.texts) else None,
            answers=self.answers.column() if len(self.answers) else None,
        )
        return CandidateLists(
            offsets,
            **items,
            list_ids=list_ids,
            rows=rows,
            feature_names=list(self.cells.names),
            prompts=prompts,
            trees=trees,
            structures=structures,
            references=tuple(column.column() for column in self.references or ()),
            source=self.source,
        )

    def _note_ignored(self) -> None:
        if self.ignored:
            keys = ", ".join(f"{quoted(key)} ({n})" for key, n in list(self.ignored.items())[:12])
            more = len(self.ignored) - 12
            note(f"{self.source}: ignored keys: {keys}{f' and {more} more' if more > 0 else ''}")


def _logprobs(column: list[Any], key: str) -> Extra | None:
    """Return the features that log-probabilities become, None if the values are of another kind."""
    rows = [logprobs_of(value, key) for value in column]
    kinds = {None if row is None else tuple(row) for row in rows}
    if len(kinds) > 1:
        raise MisfitError(key, "log-probabilities and other values", _MIXED)
    names = kinds.pop()
    return None if names is None else {name: array("d", [row[name] for row in rows if row]) for name in names}
