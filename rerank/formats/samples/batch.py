"""Output of OpenAI's batch API, and of vLLM's run-batch: a row per request."""

from __future__ import annotations

from typing import Any, ClassVar

from rerank.core.errors import DataError
from rerank.core.text import count
from rerank.formats.base import FORMATS, ReadOptions
from rerank.formats.common import note
from rerank.formats.jsonl.keys import MisfitError, described
from rerank.formats.samples.dump import Dump, Row, Rows, keys_of, needed, text_of


@FORMATS.register("openai-batch", "vllm-batch")
class OpenAIBatch(Dump):
    """Reader of batch output: a request is a list with its ``custom_id``, its choices are the candidates.

    Requests that failed are left out and counted. Log-probabilities become features as in JSON Lines.
    Responses of chat completions and of completions are read.
    """

    name: ClassVar[str] = "openai-batch"
    summary: ClassVar[str] = "batch output of OpenAI's API and of vLLM, a request per line, only read"
    honours: ClassVar[frozenset[str]] = Dump.honours - {"answer_match"}

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return {"custom_id", "response"} <= keys_of(head)

    def rows(self, source: str, options: ReadOptions) -> Rows:
        return _Rows(source, options)


class _Rows(Rows):
    def __init__(self, source: str, options: ReadOptions) -> None:
        super().__init__(source, options)
        self.n_read = 0
        self.failed = 0
        self.first_failure = ""

    def entry(self, row: Row) -> Row | None:
        name = needed(row, "custom_id", str, "the id of a request")
        failure = _failure(row)
        if failure is not None:
            if self.options.strict:
                raise MisfitError("", f"a request that failed ({failure})", "a response")
            self.first_failure = self.first_failure or f"{name}: {failure}"
            self.failed += 1
            return None
        body = needed(row["response"], "body", dict, "the body of a response")
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices:
            found = "no key 'choices'" if "choices" not in body else described(choices)
            raise MisfitError("response.body", found, "the choices of a chat completion or a completion")
        self.n_read += 1
        numbered = [_numbered(choice, i) for i, choice in enumerate(choices)]
        ordered = [choice for _, _, choice in sorted(numbered, key=lambda one: one[:2])]
        return {"id": name, "candidates": ordered}

    def finish(self) -> None:
        if self.failed and not self.n_read:
            raise DataError(
                f"{self.source}: all {self.failed} requests failed, the first is {self.first_failure}"
            )
        if self.failed:
            requests = count(self.failed, "request")
            note(f"{self.source}: {requests} that failed left out, the first is {self.first_failure}")


def _failure(row: Row) -> str | None:
    """Why a request failed, None if it did not; raises MisfitError."""
    error, response = row.get("error"), row.get("response")
    if error is not None:
        if not isinstance(error, dict | str):
            raise MisfitError(
                "error", described(error), "an object, a text, or null for a request that succeeded"
            )
        text = error.get("code") or error.get("message") if isinstance(error, dict) else error
        return text[:80] if isinstance(text, str) and text else "an error without a message"
    if response is None:
        return "no response"
    if not isinstance(response, dict):
        raise MisfitError("response", described(response), "an object, or null for a request that failed")
    status = response.get("status_code", 200)
    if type(status) is not int:
        raise MisfitError("response.status_code", described(status), "a whole number")
    return None if status == 200 else f"status {status}"


def _numbered(choice: Any, i: int) -> tuple[float, int, Row]:
    """A choice with its index: as a candidate; raises MisfitError."""
    where = f"response.body.choices[{i}]"
    if not isinstance(choice, dict):
        raise MisfitError(where, described(choice), "an object")
    message = choice.get("message")
    if isinstance(message, dict):
        content = message.get("content")
        text = "" if content is None else text_of(content, f"{where}.message.content")
    else:
        text = text_of(choice.get("text"), f"{where}.text")
    place = choice.get("index", i)
    if type(place) is not int:
        raise MisfitError(f"{where}.index", described(place), "a whole number")
    candidate: Row = {"text": text}
    if choice.get("logprobs") is not None:
        candidate["logprobs"] = choice["logprobs"]
    return place, i, candidate
