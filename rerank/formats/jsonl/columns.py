"""The columns that JSON candidates of either shape fill, many candidates at a time."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.types import Floats, Index
from rerank.formats.base import ReadOptions
from rerank.formats.common import in_list_order, note, quoted
from rerank.formats.growing import Strings
from rerank.formats.jsonl.cells import Cells
from rerank.formats.jsonl.keys import (
    PROMPT,
    MisfitError,
    Roles,
    described,
    encoded,
    logprob_features,
    name_of,
    number_of,
    numbers_of,
    references_of,
    strings_of,
    token_logprobs,
)
from rerank.native.formats._json import fill_rows
from rerank.text import count

_MOST_IGNORED = 1000  # keys that are counted separately
Extra = dict[str, "array[float]"]
Values = dict[str, tuple[str, list[Any]]]  # keys and values by role

_NUMBERS = {float, int, bool}
_KEYS_OF_TEXT = ("text",)

# Raised if candidates with the same keys differ in what their values are; each is then added by itself.
_MIXED = "values of one kind"


@dataclass
class _Checked:
    """What a run of candidates with the same keys adds to the columns."""

    labels: array[float]
    scores: array[float]
    texts: list[bytes]
    ids: list[bytes]
    rows: list[tuple[tuple[str, ...], array[float] | Floats, int]] = field(default_factory=list)


class Columns:
    """The columns of candidates that both shapes fill."""

    def __init__(self, source: str, options: ReadOptions) -> None:
        self.source = source
        self.options = options
        self.roles = Roles(options)
        self.cells = Cells()
        self.texts = Strings()
        self.ids = Strings()
        self.labels = array("d")
        self.scores = array("d")
        self.any_label = False
        self.any_score = False
        self.references: list[Strings] | None = None
        self.prompts = Strings()
        self.ignored: dict[str, int] = {}

    def ignore(self, key: str, n: int = 1) -> None:
        """Count a key that has no meaning here, ``n`` times."""
        if key not in self.ignored and len(self.ignored) >= _MOST_IGNORED:
            key = "others"
        self.ignored[key] = self.ignored.get(key, 0) + n

    def add(self, items: Sequence[Any]) -> None:
        """Add candidates, neighbours with the same keys together.

        Raises MisfitError with the number of the first candidate that does not fit.
        """
        start = 0
        for _, run in itertools.groupby(items, key=_keys_of):
            some = list(run)
            self._add_run(some, start)
            start += len(some)

    def _add_run(self, items: list[Any], start: int) -> None:
        try:
            self._add_checked(items)
        except MisfitError as misfit:
            if len(items) == 1:
                misfit.item = start
                raise
            for i, item in enumerate(items):
                self._add_run([item], start + i)

    def _add_checked(self, items: list[Any]) -> None:
        """Add candidates with the same keys; nothing is added if any of them does not fit."""
        if _keys_of(items[0]) == _KEYS_OF_TEXT:
            items = [_object_of(item) for item in items]
        values, extra, ignored = self._by_role(items)
        n = len(items)
        labels, scores = (_numbers_or_nan(values.get(role), n) for role in ("label", "score"))
        checked = _Checked(labels, scores, self._texts(values), self._ids(values))
        if "logprobs" in values:
            key, column = values["logprobs"]
            found = _logprobs(key, column)
            if found is None:
                ignored.append(key)
            elif not found.keys().isdisjoint(extra):
                name = next(name for name in found if name in extra)
                raise MisfitError(key, f"log-probabilities beside a number {name!r}", "one of them")
            else:
                extra.update(found)
        self._features(values, extra, checked)
        self.any_label |= "label" in values
        self.any_score |= "score" in values
        self._commit(checked)
        for key in ignored:
            self.ignore(key, n)

    def _commit(self, checked: _Checked) -> None:
        self.labels.extend(checked.labels)
        self.scores.extend(checked.scores)
        self.texts.extend(checked.texts)
        self.ids.extend(checked.ids)
        for names, numbers, n in checked.rows:
            self.cells.add(names, numbers, n)

    def _by_role(self, items: list[dict[str, Any]]) -> tuple[Values, Extra, list[str]]:
        """Keys and values by role, other numbers by key, and the keys that are ignored."""
        of = self.roles.of
        values: Values = {}
        extra: Extra = {}
        ignored = []
        for key in items[0]:
            role = of.get(key)
            if role is not None and role[0] == "?":
                self.roles.settle(role, items[0])
                role = of[key]
            if role == "spare":
                ignored.append(key)
                continue
            column = [item[key] for item in items]
            if role is not None:
                values[role] = key, column
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
        if key in self.cells.names and kinds != {type(None)}:
            raise MisfitError(key, described(column[0]), "a number, as candidates before have")
        return False

    def _texts(self, values: Values) -> list[bytes]:
        if "text" not in values:
            if len(self.texts):
                raise MisfitError("text", "no text", "one, as the candidates before have")
            return []
        key, column = values["text"]
        if len(self.texts) < self.cells.n_items:
            raise MisfitError(key, "a text", "none, as the candidates before have none")
        return strings_of(column, key)

    def _ids(self, values: Values) -> list[bytes]:
        key, column = values.get("id", ("id", []))
        names = [name_of(value, key) for value in column if value is not None]
        if not names:
            if len(self.ids):
                raise MisfitError("id", "no id", "one, as the candidates before have")
            return []
        if len(names) < len(column):
            raise MisfitError(key, "ids and null", _MIXED)
        if len(self.ids) < self.cells.n_items:
            raise MisfitError(key, "an id", "none, as the candidates before have none")
        return strings_of(names, key)

    def _features(self, values: Values, extra: Extra, checked: _Checked) -> None:
        """Fill the rows of ``checked``: an object's features, then the other numbers."""
        n = len(checked.labels)
        if "features" in values:
            key, rows = values["features"]
            self._own_features(key, rows, extra, checked)
            return
        if "score" in values:
            missing = sum(map(math.isnan, checked.scores))
            if missing == 0:
                extra = {"score": checked.scores, **extra}
            elif missing < n:
                raise MisfitError(values["score"][0], "scores and null", _MIXED)
        numbers = array("d", itertools.chain.from_iterable(zip(*extra.values(), strict=True)))
        checked.rows.append((tuple(extra), numbers, n))

    def _own_features(self, key: str, rows: list[Any], extra: Extra, checked: _Checked) -> None:
        if not all(map(isinstance, rows, itertools.repeat(dict))):
            raise MisfitError(key, described(rows[0]), "an object of names and numbers")
        if extra:
            rows = [self._joined(key, row, extra, i) for i, row in enumerate(rows)]
        names = tuple(rows[0])
        values = np.empty((len(rows), len(names)))
        if fill_rows(rows, names, values):
            checked.rows.append((names, values, len(rows)))
            return
        for row in rows:
            self._own_row(key, row, checked)

    def _joined(self, key: str, row: dict[str, Any], extra: Extra, i: int) -> dict[str, Any]:
        """Return the features of candidate ``i`` and its other numbers; raises MisfitError if one is both."""
        if not row.keys().isdisjoint(extra):
            name = next(name for name in extra if name in row)
            raise MisfitError(f"{key}.{name}", "a feature that the candidate also has", "one of them")
        return {**row, **{name: values[i] for name, values in extra.items()}}

    def _own_row(self, key: str, row: dict[str, Any], checked: _Checked) -> None:
        """Add one candidate's features to ``checked``, null ones by name only."""
        if None in row.values():
            if self.options.missing != "nan":
                name = next(name for name, value in row.items() if value is None)
                expected = "a number (or missing=nan, which keeps missing values apart)"
                raise MisfitError(f"{key}.{name}", "null", expected)
            checked.rows.append((tuple(row), array("d"), 0))  # its null features have columns too
            row = {name: value for name, value in row.items() if value is not None}
        numbers = array("d", [number_of(value, f"{key}.{name}") for name, value in row.items()])
        checked.rows.append((tuple(row), numbers, 1))

    def add_list(self, entry: dict[str, Any], first: bool) -> None:
        """Add the prompt and the references of one more list; raises MisfitError."""
        prompt = entry.get(PROMPT)
        try:
            self.prompts.add(encoded(prompt, PROMPT))
        except MisfitError:
            if prompt is not None:
                self.ignore(PROMPT)
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
            self.ignore(PROMPT, len(self.prompts))
        self._note_ignored()
        items = in_list_order(
            rows,
            features=self.cells.finish(self.options, self.source),
            labels=np.frombuffer(self.labels) if self.any_label else None,
            base_scores=np.frombuffer(self.scores) if self.any_score else None,
            first_best=-np.arange(len(self.labels), dtype=np.float64),
            item_ids=self.ids.column() if len(self.ids) else None,
            texts=self.texts.column() if len(self.texts) else None,
        )
        return CandidateLists(
            offsets,
            **items,
            list_ids=list_ids,
            rows=rows,
            feature_names=list(self.cells.names),
            prompts=prompts,
            references=tuple(column.column() for column in self.references or ()),
            source=self.source,
        )

    def _note_ignored(self) -> None:
        if self.ignored:
            keys = ", ".join(f"{quoted(key)} ({n})" for key, n in list(self.ignored.items())[:12])
            more = len(self.ignored) - 12
            note(f"{self.source}: ignored keys: {keys}{f' and {more} more' if more > 0 else ''}")


def _keys_of(item: Any) -> tuple[str, ...]:
    return tuple(item) if type(item) is dict else _KEYS_OF_TEXT


def _object_of(item: Any) -> dict[str, Any]:
    """Return a candidate that may be given by its text alone as an object."""
    if isinstance(item, str):
        return {"text": item}
    if not isinstance(item, dict):
        raise MisfitError("", described(item), "a candidate (an object, or its text)")
    return item


def _numbers_or_nan(values: tuple[str, list[Any]] | None, n: int) -> array[float]:
    """Return labels or scores; null, or no such key, is NaN."""
    if values is None:
        return array("d", [math.nan]) * n
    return numbers_of(values[1], values[0], nullable=True)


def _logprobs(key: str, column: list[Any]) -> Extra | None:
    """Return the features that log-probabilities become, None if the values are of another kind."""
    if all(isinstance(value, int | float) for value in column):
        return {key: numbers_of(column, key)}
    rows = []
    for value in column:
        logprobs = None if isinstance(value, int | float) else token_logprobs(value, key)
        rows.append(None if logprobs is None else logprob_features(logprobs, key))
    names = rows[0]
    if any((None if row is None else len(row)) != (None if names is None else len(names)) for row in rows):
        raise MisfitError(key, "log-probabilities and other values", _MIXED)
    if names is None:
        return None
    return {name: array("d", [row[name] for row in rows if row is not None]) for name in names}
