"""Samples of language models as evaluation tools write them, a format for each tool."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, ClassVar

from rerank.core.errors import DataError, FormatError
from rerank.core.files.read import shown
from rerank.core.text import count
from rerank.data.columns.class_sets import plain_answer
from rerank.formats.base import FORMATS, ReadOptions
from rerank.formats.common import note, quoted
from rerank.formats.jsonl.schema import MisfitError, described, name_of, number_of
from rerank.formats.samples import (
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

_KNOWN = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
    *("doc_hash", "prompt_hash", "target_hash"),
}
_INVALID = "[invalid]"  # what the filter regex gives if it finds nothing


class _LmEvalRows(Rows):
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
    rows: ClassVar[type[Rows]] = _LmEvalRows
    honours: ClassVar[frozenset[str]] = Dump.honours | {"filter", "label_column"}

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return {"doc_id", "doc", "arguments"} <= keys_of(head)


class _BatchRows(Rows):
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
    """Return why a request failed, None if it did not; raises MisfitError."""
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


_SHARED = ("id", "problem", "question", "expected_answer")
_LABELS = ("symbolic_correct", "is_correct")
_TIMES = ("generation_start_time", "generation_end_time", "_async_position")
_NO_FEATURES = {*_TIMES, *_SHARED}
_NUMBERS = (int, float)
_JUDGED = {"predicted_answer", "expected_answer", "num_generated_tokens", *_LABELS}


@FORMATS.register("openai-batch", "vllm-batch")
class OpenAIBatch(Dump):
    """Reader of batch output: a request is a list with its ``custom_id``, its choices are the candidates.

    Requests that failed are left out and counted. Log-probabilities become features as in JSON Lines.
    Responses of chat completions and of completions are read.
    """

    name: ClassVar[str] = "openai-batch"
    summary: ClassVar[str] = "batch output of OpenAI's API and of vLLM, a request per line, only read"
    rows: ClassVar[type[Rows]] = _BatchRows
    honours: ClassVar[frozenset[str]] = Dump.honours - {"answer_match"}

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return {"custom_id", "response"} <= keys_of(head)


class _NemoRows(Rows):
    def each(self, path: str) -> Iterator[tuple[int, Any]]:
        """Yield the rows of one problem in all files, with their line."""
        paths = [path, *self.options.merge]
        for rows in itertools.zip_longest(*(super(_NemoRows, self).each(name) for name in paths)):
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


@FORMATS.register("nemo-skills")
class NemoSkills(Dump):
    """Reader of output-rs*.jsonl: line i of every file is a sample of problem i.

    ``merge`` names the files of the other seeds; their lines must hold the same problems.
    ``predicted_answer`` is the answer, symbolic_correct, is_correct or the key ``label_column`` the label;
    numbers such as reward_model_score are features, times of day and further judgements are not.
    """

    name: ClassVar[str] = "nemo-skills"
    summary: ClassVar[str] = "generations of NeMo-Skills (output-rs*.jsonl), a file per seed, only read"
    rows: ClassVar[type[Rows]] = _NemoRows
    honours: ClassVar[frozenset[str]] = Dump.honours | {"merge", "label_column"}

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        keys = keys_of(head)
        return "generation" in keys and bool(keys & _JUDGED)


class _QwenRows(Rows):
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


@FORMATS.register("qwen-math")
class QwenMath(Dump):
    """Reader of ``code`` (the generations), ``pred`` (their answers) and ``score`` (right or wrong).

    ``pred_score``, the scores of a reward model, become a feature; ``gt`` is the expected answer.
    """

    name: ClassVar[str] = "qwen-math"
    summary: ClassVar[str] = "output of Qwen2.5-Math's evaluation, only read"
    rows: ClassVar[type[Rows]] = _QwenRows

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return {"idx", "gt", "code"} <= keys_of(head)


class _SearchRows(Rows):
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


@FORMATS.register("search-and-learn")
class SearchAndLearn(Dump):
    r"""Reader of ``completions`` with ``scores``: a problem is a list.

    The scores of a completion's steps become score_min, score_prod, score_last, score_mean and n_steps; one
    number per completion is the feature score. ``completion_tokens`` is a feature too. Answers are what the
    last \boxed{} of a completion holds, unless ``answer_pattern`` is given; the expected one is ``answer``.
    """

    name: ClassVar[str] = "search-and-learn"
    summary: ClassVar[str] = "completions of search-and-learn with the scores of their steps, only read"
    rows: ClassVar[type[Rows]] = _SearchRows
    boxed: ClassVar[bool] = True

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        keys = keys_of(head)
        if not {"problem", "completions"} <= keys:
            return False
        cut_off = b"\n" not in head  # before the scores
        return "scores" in keys or (cut_off and bool(keys & {"solution", "unique_id"}))
