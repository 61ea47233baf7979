"""Final answers: found in texts by a pattern, and compared with the expected ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.data.columns.class_sets import plain_answer
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.common import note, quoted

BOXED = "boxed"


def finder(pattern: str) -> Callable[[str], str | None]:
    r"""Return a function that gives the answer in a text, None if it has none.

    Parameters
    ----------
    pattern
        A regular expression: its last match counts, of which the first group if there is one. ``boxed`` is
        what stands in the braces of the last \boxed{...} or \fbox{...}.

    Raises
    ------
    ConfigError
        If it is no regular expression.
    """
    if pattern == BOXED:
        return _boxed
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigError(f"answer_pattern {pattern!r} is no regular expression: {error}") from None

    def last(text: str) -> str | None:
        matches = list(compiled.finditer(text))
        return (matches[-1][1] if compiled.groups else matches[-1][0]) if matches else None

    return last


def _boxed(text: str) -> str | None:
    start = max(text.rfind("\\boxed{"), text.rfind("\\fbox{"))
    if start < 0:
        return None
    start = text.index("{", start)
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return text[start + 1 : place]
    return None  # cut off within the braces


def with_answers(lists: CandidateLists, pattern: str) -> CandidateLists:
    """Return lists whose answers are those in their texts; raises ConfigError or DataError."""
    if lists.texts is None:
        raise DataError(f"{lists.source}: answer_pattern looks in texts, and there are none")
    find = finder(pattern)
    found = [plain_answer(find(text) or "") for text in lists.texts]
    if not any(found):
        raise DataError(f"{lists.source}: answer_pattern {pattern!r} matches none of {lists.n_items} texts")
    return replace(lists, answers=StringColumn.from_strings(found))


def matched(lists: CandidateLists, expected: Sequence[str | None], pattern: str | None) -> CandidateLists:
    """Return lists in which unjudged samples have the label 1 if their answer is the expected one, else 0.

    Texts are compared as ``plain_answer`` returns them.

    lists : with answers
    expected : of each list, None = not known: its samples stay as they are
    pattern : as ``finder`` takes it; an expected answer in which it is found counts as what it finds
    """
    if lists.answers is None:
        raise DataError(
            f"{lists.source}: answer_match needs answers, found none (--answer-pattern finds them in texts)"
        )
    labels = np.full(lists.n_items, np.nan) if lists.labels is None else lists.labels.copy()
    find = finder(pattern) if pattern is not None else lambda text: None
    wanted = [None if text is None else plain_answer(find(text) or text) for text in expected]
    index = lists.list_index.tolist()
    open_items = [i for i in np.flatnonzero(np.isnan(labels)).tolist() if wanted[index[i]] is not None]
    if not open_items:
        known = "every sample has a label" if not np.isnan(labels).any() else "no expected answer is known"
        raise DataError(f"{lists.source}: answer_match=exact has nothing to do: {known}")
    for i in open_items:
        labels[i] = float(plain_answer(lists.answers[i]) == wanted[index[i]])
    if not labels[open_items].any():
        first = next((i for i in open_items if lists.answers[i]), open_items[0])
        answer, wish = quoted(lists.answers[first]), quoted(wanted[index[first]] or "")
        found = f"such as {answer} for {wish}"
        raise DataError(
            f"{lists.source}: answer_match=exact finds no right answer among {len(open_items)}, {found}"
        )
    right = int(labels[open_items].sum())
    note(f"{lists.source}: answer_match=exact labels {len(open_items)} samples, {right} of them right")
    return lists.replace_labels(labels)
