"""JSON Lines: a list or a candidate per line, with texts, named features and labels.

A list per line::

    {"id": "s1", "candidates": [{"text": "a b", "features": {"lm": -3.5}, "label": 1, "score": -7}, ...],
     "references": ["a b c"]}

A candidate per line, of the list that it names::

    {"list": "s1", "text": "a b", "cumulative_logprob": -3.5, "correct": true}

The keys of the first line decide which. Keys of a list: its id ("id"; in a candidate's line one of "list",
"list_id", "prompt_id", "query_id", "qid", "task_id", "request_id", the ``query_column``, or "id", which is
then reported), the array of candidates ("candidates", vLLM's "outputs", OpenAI's "choices", "responses",
"completions", "hypotheses", "nbest"), "references" (an array of the same length for every list) or
"reference" (a string), and "prompt" or "question" (of the list's first candidate, if it is a string for
every list; a warning counts others, which are an error under the ``query_column``).

Keys of a candidate, which is an object or just its text:

- "text" (or "generated_text", "completion", "response"), "id" (or "item_id", "docid", "doc_id", "docno"): all
  candidates have one, or none has.
- "label" (or "is_correct", "correct", "passed", "relevance", "GDT_TS"): a number, true = 1, false = 0; null
  or absent = unjudged.
- "predicted_answer" or "answer": its final answer, a string or a number, for votes; null, "" or absent =
  none.
- "features": an object of names and numbers. A null needs missing=nan. A name that other candidates have
  and this one lacks is 0, or NaN with missing=nan; a warning counts them.
- "score": the first stage's score (``base_scores``). Without "features" it is a feature as well.
- "token_logprobs" or "logprobs": numbers, objects with a "logprob", or OpenAI's objects of them; they
  become features logprob_sum, logprob_mean, logprob_min, n_tokens.
- "tree": the candidate's parse in brackets, such as "(S (NP dogs) (VP bark))". "trees": an object of
  further named trees, such as {"question": "(...)", "passage": "(...)"}. Null, "" or no key = a missing tree.
- Any other key with a number, true or false ("cumulative_logprob", "reward", ...) is a feature; then later
  candidates may only have such a value or null under it.

Ignored are "rank" and "index", keys with other values, and of several keys for the same thing all
but the first that the file has; a warning counts the ignored keys, another one names those that resemble
known ones. A string that spells a number is an error, unless its key is one of ids or dates. The order of
candidates is the first stage's. NaN and Infinity (which Python's json would write), repeated keys, lone
surrogates and repeated lists are refused.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rerank.core.errors import DataError
from rerank.data.columns.schema import TREE
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.formats.answers import with_answers
from rerank.formats.base import COLUMNS, FORMATS, Format, ReadOptions
from rerank.formats.builders import bracket_strings
from rerank.formats.common import NAMED_COLUMN_OPTIONS, STORE, first_repeated, refuse_equal_ids
from rerank.formats.jsonl.columns import TREES
from rerank.formats.jsonl.read import read_jsonl
from rerank.formats.jsonl.schema import PROMPTS

if TYPE_CHECKING:
    from rerank.formats.list_stream import ListStream

Row = dict[str, float | None]
Strings = dict[str, StringColumn]

# Some programs take these for the end of a line, though JSON does not; they only occur within strings,
# where they can be escaped.
_LINE_ENDS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}

_MEMBER = re.compile(rb'\s*"(?:[^"\\]|\\.)*"\s*:\s*(.)', re.DOTALL)
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False)


@FORMATS.register("jsonl", "ndjson")
class JSONLines(Format):
    """Reader and writer of JSON Lines; the schema is at the head of this file.

    ``list_column``, ``label_column``, ``id_column``, ``text_column`` and ``answer_column`` name
    other keys. A list per line is written.
    """

    name: ClassVar[str] = "jsonl"
    summary: ClassVar[str] = "JSON, a list or a candidate per line, with texts, features and labels"
    leaves_out_zeros: ClassVar[bool] = True
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")
    signs: ClassVar[tuple[bytes, ...]] = (b"{",)
    honours: ClassVar[frozenset[str]] = NAMED_COLUMN_OPTIONS
    holds: ClassVar[frozenset[str]] = frozenset(COLUMNS) - {
        "classes",
        "rows",
        "gold",
        "traces",
        "natives",
        "counts",
        *("unretrieved", "subtopics", "vectors", "query_vectors", "fields"),
    }
    ranked_by_line: ClassVar[bool] = True

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return head.lstrip().startswith(b"{") and not holds_objects_only(head)

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        lists = read_jsonl(path, options)
        return lists if options.answer_pattern is None else with_answers(lists, options.answer_pattern)

    def _write_stream(self, stream: ListStream, path: str) -> None:
        with stream.open(path) as file:
            for lists in stream:
                names = lists.names()
                if first_repeated(names) is not None:
                    raise DataError(f"{path}: jsonl cannot hold two features with the same name; {STORE}")
                refuse_equal_ids(lists, "jsonl", path)
                trees = {
                    name: bracket_strings(lists.forest(name), "tree", "jsonl", path)
                    for name in lists.tree_names()
                }
                numbers, head = range(lists.n_lists), stream.n_lists == 0
                for at in numbers[::64]:  # a call for each line takes longer
                    some = (_line(lists, i, names, trees, path, head and i == 0) for i in numbers[at:][:64])
                    file.write(b"".join(some))


def _line(lists: CandidateLists, i: int, names: list[str], trees: Strings, path: str, first: bool) -> bytes:
    """Return the line of list ``i``; numbers are written as Python does it, which is exact."""
    line = _ENCODER.encode(_entry(lists, i, names, trees, first))
    for char, escape in _LINE_ENDS.items():
        if char in line:
            line = line.replace(char, escape)
    try:
        return line.encode() + b"\n"
    except UnicodeEncodeError:
        found = f"list {lists.list_id(i)!r} holds bytes that are not UTF-8"
        raise DataError(f"{path}: {found}, which JSON must be; {STORE}") from None


def _entry(lists: CandidateLists, i: int, names: list[str], trees: Strings, first: bool) -> dict[str, Any]:
    """Return list ``i`` as the object of its line."""
    start, stop = lists.offsets[i : i + 2].tolist()
    columns: dict[str, list[Any]] = {}
    for key, strings in (("id", lists.item_ids), ("text", lists.texts), ("answer", lists.answers)):
        if strings is not None:
            columns[key] = [strings[k] for k in range(start, stop)]
    for key, numbers in (("label", lists.labels), ("score", lists.base_scores)):
        if numbers is not None:
            columns[key] = _null_for_nan(numbers[start:stop].tolist())
    if TREE in trees:
        columns[TREE] = [trees[TREE][k] for k in range(start, stop)]
    if lists.structures:
        named = {name: trees[name] for name in lists.structures}
        columns[TREES] = [{name: some[k] for name, some in named.items()} for k in range(start, stop)]
    columns["features"] = _features(lists, start, stop, names, first)
    candidates = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    out: dict[str, Any] = {} if lists.list_ids is None else {"id": lists.list_ids[i]}
    if lists.prompts is not None:
        out[PROMPTS[0]] = lists.prompts[i]
    out["candidates"] = candidates
    if lists.references:
        out["references"] = [column[i] for column in lists.references]
    return out


def _features(lists: CandidateLists, start: int, stop: int, names: list[str], first: bool) -> list[Row]:
    """Return the features of some items by name.

    Zeros of sparse rows are left out, unless the lists have missing values, which are null. Of the first
    list the first item has every name, in order, so that columns keep their places.
    """
    block = lists.features.take(slice(start, stop))
    if isinstance(block, Dense) or lists.has_missing:
        values = block.to_dense().tolist()
        return [dict(zip(names, _null_for_nan(row), strict=True)) for row in values]
    csr = block.compressed()
    data = np.ones(len(csr.indices)) if csr.data is None else csr.data
    cells = list(zip([names[j] for j in csr.indices.tolist()], data.tolist(), strict=True))
    rows: list[Row] = [dict(cells[a:b]) for a, b in itertools.pairwise(csr.indptr.tolist())]
    if first:
        rows[0] = {**dict.fromkeys(names, 0.0), **rows[0]}
    return rows


def _null_for_nan(values: list[float]) -> list[float | None]:
    return [None if value != value else value for value in values]


def holds_objects_only(head: bytes) -> bool:
    """Return whether every value of the first JSON object of a text, as far as it is there, is an object.

    This tells {query: {document: score}} from a line of JSON Lines, which has some other value.
    """
    at = head.find(b"{") + 1
    found = False
    while (member := _MEMBER.match(head, at)) is not None:
        if member[1] != b"{":
            return False
        found = True
        end = _closing(head, member.start(1))
        comma = re.compile(rb"\s*,").match(head, end)
        if comma is None:
            return True
        at = comma.end()
    return found


def _closing(text: bytes, start: int) -> int:
    """Return where the bracket at ``start`` has been closed, or the end of the text."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] in b"{[") - (token[0] in b"}]")
        if depth == 0:
            return token.end()
    return len(text)
