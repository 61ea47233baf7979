"""Completions of search-and-learn: parallel arrays of completions and of the scores of their steps."""

from __future__ import annotations

from typing import ClassVar

from rerank.formats.base import FORMATS, ReadOptions
from rerank.formats.jsonl.keys import number_of
from rerank.formats.samples.dump import (
    Dump,
    Row,
    Rows,
    expected_of,
    first_key,
    keys_of,
    needed,
    parallel,
    steps,
    text_of,
)


@FORMATS.register("search-and-learn")
class SearchAndLearn(Dump):
    r"""Reader of ``completions`` with ``scores``: a problem is a list.

    The scores of a completion's steps become score_min, score_prod, score_last, score_mean and n_steps; one
    number per completion is the feature score. ``completion_tokens`` is a feature too. Answers are what the
    last \boxed{} of a completion holds, unless ``answer_pattern`` is given; the expected one is ``answer``.
    """

    name: ClassVar[str] = "search-and-learn"
    summary: ClassVar[str] = "completions of search-and-learn with the scores of their steps, only read"
    boxed: ClassVar[bool] = True

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        keys = keys_of(head)
        if not {"problem", "completions"} <= keys:
            return False
        cut_off = b"\n" not in head  # before the scores
        return "scores" in keys or (cut_off and bool(keys & {"solution", "unique_id"}))

    def rows(self, source: str, options: ReadOptions) -> Rows:
        return _Rows(source, options)


class _Rows(Rows):
    def entry(self, row: Row) -> Row | None:
        texts = needed(row, "completions", list, "an array of completions")
        scores = parallel(row, "scores", len(texts), "completions")
        features = [steps(value, f"scores[{i}]", "score") for i, value in enumerate(scores)]
        if isinstance(row.get("completion_tokens"), list):
            tokens = parallel(row, "completion_tokens", len(texts), "completions")
            for i, (own, value) in enumerate(zip(features, tokens, strict=True)):
                own["completion_tokens"] = number_of(value, f"completion_tokens[{i}]")
        self.expected = expected_of(row, "answer")
        key = first_key(row, ("unique_id", "id"))
        candidates = [
            {"text": text_of(text, f"completions[{i}]"), "features": own}
            for i, (text, own) in enumerate(zip(texts, features, strict=True))
        ]
        entry = {"prompt": row.get("problem"), "candidates": candidates}
        return entry if key is None else {"id": row[key], **entry}
