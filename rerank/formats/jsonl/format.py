"""JSON Lines: a list a line, or a candidate a line, with texts, named features and labels.

A list a line::

    {"id": "s1", "candidates": [{"text": "a b", "features": {"lm": -3.5}, "label": 1, "score": -7}, ...],
     "references": ["a b c"]}

A candidate a line, of the list that it names::

    {"list": "s1", "text": "a b", "cumulative_logprob": -3.5, "correct": true}

The keys of the first line say which. Of a list: its id ("id"; of a candidate's line one of "list",
"list_id", "prompt_id", "query_id", "qid", "task_id", "request_id", or "id", which is then said), the
array of candidates ("candidates", vLLM's "outputs", OpenAI's "choices", "responses", "completions",
"hypotheses", "nbest"), "references" (an array, as long for every list) or "reference" (a string), and
"prompt", which is for those who read the file.

Of a candidate, which is an object or just its text:

- "text" (or "generated_text", "completion", "response"), "id" (or "item_id", "docid", "doc_id"): all
  candidates have one, or none.
- "label" (or "is_correct", "correct", "passed", "relevance"): a number, true = 1, false = 0; null or
  absent = unjudged.
- "features": an object of names and numbers. A null needs missing=nan; a name that other candidates
  have and this one lacks is 0, or NaN under missing=nan, and that is counted and said.
- "score": the first stage's score (``base_scores``). Without "features" it is a feature as well.
- "token_logprobs" or "logprobs": numbers, objects with a "logprob", or OpenAI's objects of them; they
  become features logprob_sum, logprob_mean, logprob_min, n_tokens.
- Any other key with a number, true or false ("cumulative_logprob", "reward", ...) is a feature; then no
  later candidate has anything but such a value or null under it.
- "rank" and "index" say what the order of the candidates says already; of several keys for one thing,
  the first that the file has counts. These and keys with other values are ignored, and counted in a note.

The order of candidates is the first stage's. NaN and Infinity (which Python's json would write), keys
that come twice, lone surrogates and lists that come twice are refused.
"""

from __future__ import annotations

from typing import ClassVar

from rerank.data.lists import CandidateLists
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.jsonl.read import read_jsonl
from rerank.formats.jsonl.write import write_jsonl


@FORMATS.register("jsonl", "ndjson")
class JSONLines(Format):
    """Reader and writer of JSON Lines; the schema is at the head of this file.

    ``list_column``, ``label_column``, ``id_column`` and ``text_column`` name other keys. The writer
    writes a list a line.
    """

    name: ClassVar[str] = "jsonl"
    summary: ClassVar[str] = "JSON, a list or a candidate a line, with texts, features and labels"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")
    honours: ClassVar[frozenset[str]] = frozenset(
        {
            "strict",
            "missing",
            "layout",
            "dtype",
            "refs",
            "distinct",
            "list_column",
            "label_column",
            "id_column",
            "text_column",
        }
    )

    holds: ClassVar[frozenset[str]] = frozenset(
        {
            "features",
            "labels",
            "base_scores",
            "first_best",
            "list_ids",
            "item_ids",
            "feature_names",
            "texts",
            "references",
        }
    )
    ranked_by_line: ClassVar[bool] = True

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return head.lstrip().startswith(b"{")

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        return read_jsonl(path, options)

    def _write(self, lists: CandidateLists, path: str) -> None:
        write_jsonl(lists, path)
