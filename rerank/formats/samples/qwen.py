"""Output of Qwen2.5-Math's evaluation: parallel arrays of generations, answers and judgements."""

from __future__ import annotations

from typing import ClassVar

from rerank.formats.base import FORMATS, ReadOptions
from rerank.formats.jsonl.keys import MisfitError, described, number_of
from rerank.formats.samples.dump import Dump, Row, Rows, expected_of, keys_of, needed, parallel, text_of


@FORMATS.register("qwen-math")
class QwenMath(Dump):
    """Reader of ``code`` (the generations), ``pred`` (their answers) and ``score`` (right or wrong).

    ``pred_score``, the scores of a reward model, become a feature; ``gt`` is the expected answer.
    """

    name: ClassVar[str] = "qwen-math"
    summary: ClassVar[str] = "output of Qwen2.5-Math's evaluation, only read"

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return {"idx", "gt", "code"} <= keys_of(head)

    def rows(self, source: str, options: ReadOptions) -> Rows:
        return _Rows(source, options)


class _Rows(Rows):
    def entry(self, row: Row) -> Row | None:
        texts = needed(row, "code", list, "an array of generations")
        n = len(texts)
        answers = parallel(row, "pred", n, "code")
        labels = parallel(row, "score", n, "code") if "score" in row else [None] * n
        candidates: list[Row] = []
        for i, (text, answer, label) in enumerate(zip(texts, answers, labels, strict=True)):
            if label is not None and not isinstance(label, bool | int | float):
                raise MisfitError(f"score[{i}]", described(label), "true or false")
            known: Row = {"text": text_of(text, f"code[{i}]"), "label": label}
            candidates.append(
                {**known, "predicted_answer": None if answer is None else text_of(answer, f"pred[{i}]")}
            )
        if "pred_score" in row:
            for i, value in enumerate(parallel(row, "pred_score", n, "code")):
                if isinstance(value, list) and len(value) != 1:
                    raise MisfitError(f"pred_score[{i}]", described(value), "one score")
                number = number_of(value[0] if isinstance(value, list) else value, f"pred_score[{i}]")
                candidates[i]["features"] = {"pred_score": number}
        self.expected = expected_of(row, "gt")
        if "idx" not in row:
            raise MisfitError("", "no key 'idx'", "the number of the problem")
        return {"id": row["idx"], "prompt": row.get("question"), "candidates": candidates}
