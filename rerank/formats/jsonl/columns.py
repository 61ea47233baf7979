"""The columns that JSON candidates of either shape fill, one candidate after the other."""

from __future__ import annotations

import math
import warnings
from array import array
from typing import Any

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.types import Index
from rerank.errors import DataNote
from rerank.formats.base import ReadOptions
from rerank.formats.cells import Cells
from rerank.formats.common import quoted
from rerank.formats.growing import Strings
from rerank.formats.jsonl.keys import (
    MisfitError,
    Roles,
    described,
    encoded,
    logprob_features,
    name_of,
    number_of,
    token_logprobs,
)
from rerank.text import count

_MOST_IGNORED = 1000  # keys that are counted each


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
        self.ignored: dict[str, int] = {}

    def ignore(self, key: str) -> None:
        """Count a key that means nothing here."""
        if key not in self.ignored and len(self.ignored) >= _MOST_IGNORED:
            key = "others"
        self.ignored[key] = self.ignored.get(key, 0) + 1

    def candidate(self, item: Any, where: str) -> None:
        """One more candidate; ``where`` is the path to its keys. Raises MisfitError."""
        if isinstance(item, str):
            item = {"text": item}
        elif not isinstance(item, dict):
            raise MisfitError(where, described(item), "a candidate (an object, or its text)")
        where = f"{where}." if where else ""
        values: dict[str, tuple[Any, str]] = {}
        extra: dict[str, float] = {}
        of = self.roles.of
        for key, value in item.items():
            role = of.get(key)
            if role is None:
                kind = type(value)
                if kind is float or kind is int or kind is bool:
                    extra[key] = number_of(value, where + key, False)
                elif value is not None and key in self.cells.names:
                    raise MisfitError(where + key, described(value), "a number, as candidates before have")
                else:
                    self.ignore(key)
                continue
            if role[0] == "?":
                self.roles.settle(role, item)
                role = of[key]
            if role == "spare":
                self.ignore(key)
            else:
                values[role] = (value, where + key)
        self._judgements(values)
        self._strings(values, where)
        self._features(values, extra)

    def _judgements(self, values: dict[str, tuple[Any, str]]) -> None:
        label = score = math.nan
        if "label" in values:
            label = number_of(*values["label"], True)
            self.any_label = True
        if "score" in values:
            score = number_of(*values["score"], True)
            self.any_score = True
        self.labels.append(label)
        self.scores.append(score)

    def _strings(self, values: dict[str, tuple[Any, str]], where: str) -> None:
        before = self.cells.n_items
        if "text" in values:
            value, place = values["text"]
            if len(self.texts) < before:
                raise MisfitError(place, "a text", "none, as the candidates before have none")
            self.texts.add(encoded(value, place))
        elif len(self.texts):
            raise MisfitError(f"{where}text", "no text", "one, as the candidates before have")
        value, place = values.get("id", (None, ""))
        if value is not None:
            if len(self.ids) < before:
                raise MisfitError(place, "an id", "none, as the candidates before have none")
            self.ids.add(encoded(name_of(value, place), place))
        elif len(self.ids):
            raise MisfitError(f"{where}id", "no id", "one, as the candidates before have")

    def _features(self, values: dict[str, tuple[Any, str]], extra: dict[str, float]) -> None:
        own = values.get("features")
        if own is None and "score" in values and not math.isnan(self.scores[-1]):
            extra = {"score": self.scores[-1], **extra}
        if "logprobs" in values:
            self._logprobs(*values["logprobs"], extra)
        if own is None:
            self._add(extra, "")
            return
        features, where = own
        if not isinstance(features, dict):
            raise MisfitError(where, described(features), "an object of names and numbers")
        if extra:
            for name in extra:
                if name in features:
                    raise MisfitError(
                        f"{where}.{name}", "a feature that the candidate also has", "one of them"
                    )
            features = {**features, **extra}
        self._add(features, f"{where}.")

    def _logprobs(self, value: Any, where: str, extra: dict[str, float]) -> None:
        if isinstance(value, int | float):
            found = {where.rpartition(".")[2]: number_of(value, where, False)}
        else:
            logprobs = token_logprobs(value, where)
            if logprobs is None:
                self.ignore(where.rpartition(".")[2])
                return
            found = logprob_features(logprobs, where)
        for name, number in found.items():
            if name in extra:
                raise MisfitError(where, f"log-probabilities beside a number {name!r}", "one of them")
            extra[name] = number

    def _add(self, features: dict[str, Any], where: str) -> None:
        try:
            if math.isfinite(sum(features.values())):
                self.cells.add(features, features.values())
                return
        except (TypeError, OverflowError):
            pass
        numbers = {}
        for name, value in features.items():
            nullable = self.options.missing == "nan"
            if value is None and not nullable:
                raise MisfitError(
                    where + name, "null", "a number (or missing=nan, which keeps missing values apart)"
                )
            number = number_of(value, where + name, nullable)
            self.cells.names.setdefault(name, len(self.cells.names))
            if value is not None:
                numbers[name] = number
        self.cells.add(numbers, numbers.values())

    def refer(self, entry: dict[str, Any], first: bool) -> None:
        """The references of one more list. Raises MisfitError."""
        found = references_of(entry)
        if first:
            self.references = None if found is None else [Strings() for _ in found]
        if (found is None) != (self.references is None):
            expected = "none, as the lists before have none" if found else "some, as the lists before have"
            raise MisfitError("references", "references" if found else "none", expected)
        if found is None or self.references is None:
            return
        if len(found) != len(self.references):
            raise MisfitError(
                "references",
                count(len(found), "reference"),
                f"{len(self.references)}, as the lists before have",
            )
        for column, reference in zip(self.references, found, strict=True):
            column.add(reference)

    def lists(self, offsets: Index, list_ids: StringColumn | None, rows: Index | None) -> CandidateLists:
        """All columns put together; items brought into the order of ``rows``."""
        self._note_ignored()
        features = self.cells.finish(self.options, self.source)
        names = list(self.cells.names)
        texts = self.texts.column() if len(self.texts) else None
        ids = self.ids.column() if len(self.ids) else None
        labels = np.frombuffer(self.labels) if self.any_label else None
        scores = np.frombuffer(self.scores) if self.any_score else None
        first_best = -np.arange(len(self.labels), dtype=np.float64)
        if rows is not None:
            features, first_best = features.take(rows), first_best[rows]
            texts = None if texts is None else texts.take(rows)
            ids = None if ids is None else ids.take(rows)
            labels = None if labels is None else labels[rows]
            scores = None if scores is None else scores[rows]
        return CandidateLists(
            offsets,
            features,
            labels=labels,
            base_scores=scores,
            first_best=first_best,
            list_ids=list_ids,
            item_ids=ids,
            rows=rows,
            feature_names=names,
            texts=texts,
            references=tuple(column.column() for column in self.references or ()),
            source=self.source,
        )

    def _note_ignored(self) -> None:
        if self.ignored:
            keys = ", ".join(f"{quoted(key)} ({n})" for key, n in list(self.ignored.items())[:12])
            more = len(self.ignored) - 12
            tail = f" and {more} more" if more > 0 else ""
            warnings.warn(f"{self.source}: ignored keys: {keys}{tail}", DataNote, stacklevel=2)


def references_of(entry: dict[str, Any]) -> list[bytes] | None:
    """The references of a list, None where it has none."""
    if "references" in entry and "reference" in entry:
        raise MisfitError("reference", "'reference' beside 'references'", "one of them")
    if "reference" in entry:
        return None if entry["reference"] is None else [encoded(entry["reference"], "reference")]
    found = entry.get("references")
    if isinstance(found, str):
        found = [found]
    if found is None or found == []:
        return None
    if not isinstance(found, list):
        raise MisfitError("references", described(found), "an array of strings")
    return [encoded(text, f"references[{i}]") for i, text in enumerate(found)]
