"""Generations of NeMo-Skills: one file for each random seed, a problem per line."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, ClassVar

from rerank.core.errors import FormatError
from rerank.core.files.streams import shown
from rerank.formats.base import FORMATS, ReadOptions
from rerank.formats.jsonl.keys import MisfitError, described, number_of
from rerank.formats.samples.dump import Dump, Row, Rows, expected_of, first_key, keys_of, text_of

_SHARED = ("id", "problem", "question", "expected_answer")
_LABELS = ("symbolic_correct", "is_correct")
_TIMES = ("generation_start_time", "generation_end_time", "_async_position")
_NO_FEATURES = {*_TIMES, *_SHARED}
_NUMBERS = (int, float)
_JUDGED = {"predicted_answer", "expected_answer", "num_generated_tokens", *_LABELS}


@FORMATS.register("nemo-skills")
class NemoSkills(Dump):
    """Reader of output-rs*.jsonl: line i of every file is a sample of problem i.

    ``merge`` names the files of the other seeds; their lines must hold the same problems.
    ``predicted_answer`` is the answer, symbolic_correct, is_correct or the key ``label_column`` the label;
    numbers such as reward_model_score are features, times of day and further judgements are not.
    """

    name: ClassVar[str] = "nemo-skills"
    summary: ClassVar[str] = "generations of NeMo-Skills (output-rs*.jsonl), a file per seed, only read"
    honours: ClassVar[frozenset[str]] = Dump.honours | {"merge", "label_column"}

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        keys = keys_of(head)
        return "generation" in keys and bool(keys & _JUDGED)

    def rows(self, source: str, options: ReadOptions) -> Rows:
        return _Rows(source, options)


class _Rows(Rows):
    def each(self, path: str) -> Iterator[tuple[int, Any]]:
        """Yield the rows of one problem in all files, with their line."""
        paths = [path, *self.options.merge]
        for rows in itertools.zip_longest(*(super(_Rows, self).each(name) for name in paths)):
            if None in rows:
                short, full = paths[rows.index(None)], next(row for row in rows if row is not None)
                expected = f"line {full[0]}, as other files have"
                raise FormatError(shown(short), None, "the end of the file", expected)
            line, first = rows[0]
            for name, (own, row) in zip(paths[1:], rows[1:], strict=True):
                odd = next((key for key in _SHARED if row.get(key) != first.get(key)), None)
                if odd is not None:
                    expected = f"the same as in line {line} of {shown(path)}"
                    raise FormatError(shown(name), own, f"another {odd}", expected)
            yield line, [row for _, row in rows]

    def entry(self, row: list[Row]) -> Row | None:
        first = row[0]
        self.expected = expected_of(first, "expected_answer")
        prompt = first_key(first, ("problem", "question"))
        entry = {"candidates": [self._candidate(sample) for sample in row]}
        entry |= {} if prompt is None else {"prompt": first[prompt]}
        return {"id": first["id"], **entry} if "id" in first else entry

    def _candidate(self, row: Row) -> Row:
        out: Row = {}
        if "generation" in row:
            out["text"] = text_of(row["generation"], "generation")
        if "predicted_answer" in row:
            answer = row["predicted_answer"]
            out["predicted_answer"] = None if answer is None else text_of(answer, "predicted_answer")
        key = self.options.label_column or first_key(row, _LABELS)
        if key is not None:
            if key not in row:
                raise MisfitError("", f"no key {key!r}", "the label (--label-column)")
            label = row[key]
            if label is not None and not isinstance(label, bool | int | float):
                raise MisfitError(key, described(label), "true or false")
            out["label"] = label
        numbers = {
            name: number_of(value, name)
            for name, value in row.items()
            if type(value) in _NUMBERS and name not in _NO_FEATURES and name != key
        }
        return {**out, "features": numbers}
