"""Hypotheses of icefall and k2: ``recogs-*.txt``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import ClassVar

from rerank.core.errors import FormatError
from rerank.core.files.read import shown
from rerank.extensions.speech.utterances import (
    Hypothesis,
    Recogniser,
    Utterance,
    decoded,
    merged,
    plain_number,
)
from rerank.formats.base import FORMATS, ReadOptions
from rerank.formats.builders import filled_lines
from rerank.formats.common import finite, quoted

_LINE = re.compile(r"(?P<name>\S.*?):\t(?P<key>\w+)=(?P<value>.*)")
_EXPECTED = "CUT:<TAB>ref=[...], hyp=[...] or the name of a score and its number"


@FORMATS.register("icefall", "k2")
class Icefall(Recogniser):
    """Reader of recogs-*.txt: ``CUT:<TAB>ref=['A', 'B']`` and one or more lines ``CUT:<TAB>hyp=[...]``.

    Lines ``CUT:<TAB>NAME=NUMBER`` after a hypothesis are its features (``score`` is the total). ``merge``
    names files of other methods or scales: their hypotheses are added to those of the same cut, and
    features file_1, file_2, ..., 1 for the file's own, tell them apart. References are those of the files.
    """

    name: ClassVar[str] = "icefall"
    summary: ClassVar[str] = "recogs-*.txt of icefall and k2 (ref=, hyp=, scores), only read"
    signs: ClassVar[tuple[bytes, ...]] = (b":\thyp=", b":\tref=")
    honours: ClassVar[frozenset[str]] = Recogniser.honours | {"merge"}

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return re.match(rb"\s*\S[^\n]*?:\t(ref|hyp)=", head) is not None

    def utterances(self, path: str, options: ReadOptions) -> Iterator[Utterance]:
        paths = [path, *options.merge]
        return merged(paths, [_read(name) for name in paths])


def _read(path: str) -> dict[str, Utterance]:
    """The lists of one file by cut; raises FormatError."""
    lists: dict[str, Utterance] = {}
    for number, line in filled_lines(path):
        match = _LINE.fullmatch(decoded(line, path, number).rstrip("\r"))
        if match is None:
            raise FormatError(shown(path), number, quoted(line), _EXPECTED)
        name, key, value = match["name"], match["key"], match["value"]
        utterance = lists.setdefault(name, Utterance(name, [], line=number))
        if key.startswith("timestamp"):
            continue
        if key == "ref":
            text = _text(value, path, number)
            if utterance.reference not in (None, text):
                raise FormatError(shown(path), number, f"another reference of {quoted(name)}", "one")
            utterance.reference = text
        elif key == "hyp":
            utterance.hypotheses.append(Hypothesis(_text(value, path, number)))
        elif not utterance.hypotheses:
            raise FormatError(shown(path), number, f"{quoted(key)} before a hypothesis", "it after hyp=")
        else:
            score = finite(plain_number(value.strip()), shown(path), number, "score")
            last = utterance.hypotheses[-1]
            if key in last.features or (key == "score" and last.score is not None):
                raise FormatError(shown(path), number, f"{quoted(key)} again", "it once for each hypothesis")
            if key == "score":
                last.score = score
            else:
                last.features[key] = score
    if not lists:
        raise FormatError(shown(path), None, "an empty file", _EXPECTED)
    for utterance in lists.values():
        if not utterance.hypotheses:
            raise FormatError(shown(path), utterance.line, f"{quoted(utterance.name)} without hyp=", "one")
    return lists


def _text(value: str, path: str, number: int) -> str:
    """The words of a Python list of texts, or the text itself; raises FormatError."""
    if not value.startswith("["):
        return value.strip()
    try:
        words = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise FormatError(shown(path), number, quoted(value), "a list of words, such as ['A', 'B']")
    return " ".join(words)
