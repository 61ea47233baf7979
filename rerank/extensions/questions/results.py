"""Results of a search engine with the texts of their questions and passages, as in the lab of Moschitti's
lecture.

A line of the results is the question's id, the passage's id and the engine's score, separated by blanks or a
tab. A line of the questions, and of the passages, is an id, a tab and the text. The passage that has the id
of the question is the right one.
"""

from __future__ import annotations

from array import array

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.files.read import shown
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.formats.builders import Grouper, StringBuilder, filled_lines
from rerank.formats.common import finite, in_list_order, note, quoted

ENGINE = "engine"


def read_results(path: str, questions: str, passages: str) -> CandidateLists:
    """Return the results as lists, with the questions as prompts and the passages as texts.

    The engine's score is both ``base_scores`` and the feature "engine"; the order of the lines is the first
    stage's. A warning reports if the scores give another order, or if no question has a right passage. Raises
    FormatError with the line, if one is malformed, an id has no text, or a passage occurs twice for a
    question.

    path : the results.
    questions, passages : their texts.
    """
    source = shown(path)
    asked, known = _texts(questions), _texts(passages)
    grouper, texts = Grouper(source, strict=False), StringBuilder()
    items, scores, labels, seen = StringBuilder(), array("d"), array("d"), set()
    for line, raw in filled_lines(path):
        cells = raw.split()
        if not cells:
            continue
        if len(cells) != 3:
            raise FormatError(source, line, quoted(raw), "question id, passage id and score")
        question, passage, score = cells
        for name, one, file, there, other in (
            ("question", question, questions, asked, known),
            ("passage", passage, passages, known, asked),
        ):
            if one not in there:
                swapped = f" (are {questions} and {passages} swapped?)" if one in other else ""
                raise FormatError(source, line, f"{name} {quoted(one)}{swapped}", f"an id of {file}")
        if (question, passage) in seen:
            raise FormatError(
                source, line, f"passage {quoted(passage)} again", "each passage of a question once"
            )
        seen.add((question, passage))
        grouper.add(question.decode("utf-8", "surrogateescape"), line)
        items.add(passage)
        texts.add(known[passage])
        scores.append(finite(score, source, line, "score"))
        labels.append(float(passage == question))
    if not len(grouper):
        raise FormatError(source, None, "no result", "question id, passage id and score on each line")
    if not any(labels):
        note(f"{source}: no passage has the id of its question, so none is relevant")
    offsets, list_ids, rows = grouper.finish()
    values = np.frombuffer(scores)
    columns = in_list_order(
        rows,
        features=Dense(values.reshape(-1, 1).copy()),
        labels=np.frombuffer(labels),
        base_scores=values,
        first_best=-np.arange(len(scores), dtype=np.float64),
        item_ids=items.column(),
        texts=texts.column(),
    )
    lists = CandidateLists(
        offsets,
        **columns,
        list_ids=list_ids,
        rows=rows,
        feature_names=[ENGINE],
        prompts=StringColumn.from_strings(asked[list_ids.bytes_at(i)] for i in range(len(list_ids))),
        source=source,
    )
    _note_order(lists)
    return lists


def _texts(path: str) -> dict[bytes, bytes]:
    """Return the text of each id of a file; raises FormatError."""
    out: dict[bytes, bytes] = {}
    for line, raw in filled_lines(path):
        name, tab, text = raw.removesuffix(b"\r").partition(b"\t")
        if not name and not tab:
            continue
        if not tab or not name or name != b"".join(name.split()):
            raise FormatError(shown(path), line, quoted(raw), "an id without blanks, a tab and a text")
        if name in out:
            raise FormatError(shown(path), line, f"id {quoted(name)} again", "each id once")
        out[name] = text
    return out


def _note_order(lists: CandidateLists) -> None:
    """Warn if lists are not in the order of the engine's scores."""
    assert lists.base_scores is not None
    rising = np.diff(lists.base_scores) > 0
    rising &= lists.list_index[1:] == lists.list_index[:-1]
    if rising.any():
        n = len(np.unique(lists.list_index[1:][rising]))
        note(f"{lists.source}: the lines of {n} of {lists.n_lists} lists are not in the order of the scores")
