"""Samples of lm-evaluation-harness (--log_samples): a row per document and filter."""

from __future__ import annotations

from typing import Any, ClassVar

from rerank.core.errors import DataError
from rerank.data.answers import plain_answer
from rerank.formats.base import FORMATS, ReadOptions
from rerank.formats.common import note, quoted
from rerank.formats.jsonl.keys import MisfitError, described, name_of, number_of
from rerank.formats.samples.dump import Dump, Row, Rows, expected_of, keys_of, needed, text_of

_KNOWN = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
    *("doc_hash", "prompt_hash", "target_hash"),
}
_INVALID = "[invalid]"  # what the filter regex gives if it finds nothing


@FORMATS.register("lm-eval", "lm-evaluation-harness")
class LmEval(Dump):
    """Reader of samples_*.jsonl: a document is a list, its responses are the candidates.

    The rows of one filter are read, which ``filter`` names if there are several. Filtered responses are the
    answers if there is one for each response ("[invalid]" = none). A document with one response has the
    metric of its row as label: exact_match, or the only one, or that of ``label_column``; several responses
    have no judgement of their own.
    """

    name: ClassVar[str] = "lm-eval"
    summary: ClassVar[str] = "samples of lm-evaluation-harness (samples_*.jsonl), only read"
    honours: ClassVar[frozenset[str]] = Dump.honours | {"filter", "label_column"}

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return {"doc_id", "doc", "arguments"} <= keys_of(head)

    def rows(self, source: str, options: ReadOptions) -> Rows:
        return _Rows(source, options)


class _Rows(Rows):
    def __init__(self, source: str, options: ReadOptions) -> None:
        super().__init__(source, options)
        self.filters: dict[str, int] = {}  # rows of each
        self.chosen = options.filter
        self.reduced = 0  # rows whose filter keeps fewer responses than there are

    def entry(self, row: Row) -> Row | None:
        name = row.get("filter", "none")
        if not isinstance(name, str):
            raise MisfitError("filter", described(name), "the name of a filter")
        self.filters[name] = self.filters.get(name, 0) + 1
        if self.chosen is None:
            self.chosen = name
        if name != self.chosen:
            return None
        requests = needed(row, "resps", list, "an array of the responses to each request")
        filtered = needed(row, "filtered_resps", list, "an array with what the filter leaves of each request")
        if len(requests) != 1 or len(filtered) != 1 or not isinstance(requests[0], list):
            found = f"{len(requests)} requests" if len(requests) != 1 else described(requests[0])
            expected = "the generated responses to one request (a task of log-likelihoods has no samples)"
            raise MisfitError("resps", found, expected)
        texts = requests[0]
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                expected = "a generated text (a task of log-likelihoods has no samples)"
                raise MisfitError(f"resps[0][{i}]", described(text), expected)
        answers = self._answers(filtered[0], len(texts))
        label = self._label(row) if len(texts) == 1 else None
        self.expected = expected_of(row, "target")
        if "doc_id" not in row:
            raise MisfitError("", "no key 'doc_id'", "the number of the document")
        candidates: list[Row] = [{"text": text} for text in texts]
        for candidate, answer in zip(candidates, answers, strict=False):
            candidate |= {"predicted_answer": answer}
        if label is not None:
            candidates[0]["label"] = label
        return {"id": name_of(row["doc_id"], "doc_id"), "prompt": _prompt(row), "candidates": candidates}

    def _answers(self, filtered: Any, n: int) -> list[str | None]:
        """The answer of each response, nothing if the filter keeps fewer than there are."""
        found = filtered if isinstance(filtered, list) else [filtered]
        for i, text in enumerate(found):
            if not isinstance(text, str):
                where = f"filtered_resps[0][{i}]" if found is filtered else "filtered_resps[0]"
                raise MisfitError(where, described(text), "a filtered text")
        if len(found) != n:
            self.reduced += 1
            return []
        return [None if plain_answer(text) == _INVALID else text for text in found]

    def _label(self, row: Row) -> float | None:
        if "metrics" in row:
            names = needed(row, "metrics", list, "the names of metrics")
            for i, name in enumerate(names):
                text_of(name, f"metrics[{i}]")
        else:  # of older versions
            names = [key for key in row if key not in _KNOWN]
        exact = "exact_match" in names and "exact_match" in row
        names = [name for name in names if isinstance(row.get(name), int | float)]
        wanted = self.options.label_column
        if wanted is None:
            if not names and not exact:
                return None
            wanted = "exact_match" if exact else names[0]
            if len(names) > 1 and not exact:
                raise MisfitError("metrics", ", ".join(names), "one of them named by --label-column")
        if wanted not in row:
            expected = f"one of {', '.join(names)}" if names else "a metric"
            raise MisfitError("", f"no metric {quoted(wanted)}", expected)
        if row[wanted] is None and self.options.label_column is None:
            return None
        return number_of(row[wanted], wanted, nullable=False)

    def finish(self) -> None:
        names = ", ".join(self.filters)
        if self.options.filter is None and len(self.filters) > 1:
            raise DataError(f"{self.source}: found rows of the filters {names}; choose one by --filter NAME")
        if self.filters and self.chosen not in self.filters:
            raise DataError(
                f"{self.source}: no rows of the filter {quoted(self.chosen or '')}, found {names}"
            )
        if self.reduced and self.options.answer_pattern is None:
            note(
                f"{self.source}: filter {self.chosen} keeps fewer responses than there are ({self.reduced} "
                "rows); no answers, --answer-pattern finds them in texts"
            )


def _prompt(row: Row) -> str | None:
    """The prompt of a row in the shapes of both versions, None if it is no text."""
    given = row.get("arguments")
    for key, place in (("gen_args_0", 0), ("arg_0", 0)):
        if isinstance(given, list):
            given = given[place] if given else None
        else:
            given = given.get(key) if isinstance(given, dict) else None
    return given if isinstance(given, str) else None
