"""N-best lists of Kaldi: text archives of ``nbest-to-linear`` in a folder, and lattices as text."""

from __future__ import annotations

import os
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
    files_in,
    numbers_of,
    table_of,
)
from rerank.formats.base import FORMATS, ReadOptions
from rerank.formats.builders import filled_lines
from rerank.formats.common import finite, note, quoted

_KEY = re.compile(r"(?P<name>.+)-(?P<rank>[0-9]{1,9})")
_NUMBER = re.compile(rb"[-+]?[0-9.]+(e[-+]?[0-9]+)?|[-+]?(inf|nan)", re.IGNORECASE)
_LATTICE = re.compile(rb"\s*\S+-1(?: \n0[ \t]|\n0\t|\n0 1 )[^\n]*,")
_EXPECTED = "an utterance and its rank, such as utt7-1"
_TEXTS = ("words_text", "text", "words")  # the first that a folder has; the others are left out
_SYMBOLS = "words.txt"
_NO_FEATURES = {*_TEXTS, _SYMBOLS, "ali", "tra"}
_EPSILON = {"0", "<eps>"}


class _Lists:
    """Hypotheses by utterance, in the order of their ranks."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: dict[str, dict[int, tuple[int, Hypothesis]]] = {}

    def add(self, key: str, line: int, hypothesis: Hypothesis) -> None:
        match = _KEY.fullmatch(key)
        if match is None:
            raise FormatError(shown(self.path), line, quoted(key), _EXPECTED)
        ranked = self.found.setdefault(match["name"], {})
        if int(match["rank"]) in ranked:
            raise FormatError(shown(self.path), line, f"{quoted(key)} again", "each key once")
        ranked[int(match["rank"])] = line, hypothesis

    def utterances(self) -> Iterator[Utterance]:
        for name, ranked in self.found.items():
            ordered = [ranked[rank] for rank in sorted(ranked)]
            yield Utterance(name, [hypothesis for _, hypothesis in ordered], line=ordered[0][0])


@FORMATS.register("kaldi")
class Kaldi(Recogniser):
    """Reader of N-best lists with keys utt-1, utt-2, ...

    A folder of text archives, as ``nbest-to-linear`` writes them: texts are those of the file words_text,
    else text, else words, whose numbers become words if the folder has a table words.txt. Each other file of
    a number per key is a feature. Kaldi's numbers are costs: the features are their negatives, so that larger
    is better, and ``cost`` in a name becomes ``score``.

    A file of linear lattices as text, as ``lattice-to-nbest ark:1.lats ark,t:FILE`` writes it: a key, lines
    of arcs, a final state, and an empty line for each hypothesis. Labels are words after
    ``utils/int2sym.pl -f 3``, else numbers. Features ``lm_score`` and ``ac_score`` are the negative sums of
    the graph costs and of the acoustic costs.
    """

    name: ClassVar[str] = "kaldi"
    summary: ClassVar[str] = (
        "N-best lists of Kaldi: folder of text archives (words, ac_cost), lattices as text; only read"
    )
    folder: ClassVar[str] = "a folder of Kaldi's N-best archives (words_text, text or words, and costs)"

    signs: ClassVar[tuple[bytes, ...]] = (b"-1 \n0", b"-1\n0\t", b"-1\n0 1 ")

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return _LATTICE.match(head) is not None

    @classmethod
    def recognises_folder(cls, path: str) -> bool:
        return any(os.path.isfile(os.path.join(path, name)) for name in _TEXTS)

    def utterances(self, path: str, options: ReadOptions) -> Iterator[Utterance]:
        if not os.path.isdir(path):
            return _lattices(path)
        names = files_in(path)
        chosen = next((name for name in _TEXTS if name in names), None)
        if chosen is None:
            raise FormatError(shown(path), None, "no file of texts", f"one of {', '.join(_TEXTS)}")
        source = os.path.join(path, chosen)
        texts = {key: (_words(text), line) for key, (text, line) in table_of(source).items()}
        if chosen == "words":
            texts = _spelled(texts, path, names)
        columns, left = {}, []
        for name in names:
            if name in _NO_FEATURES:
                continue
            if _is_table(os.path.join(path, name)):
                costs = numbers_of(os.path.join(path, name), texts, chosen)
                columns[name.replace("cost", "score")] = costs
            else:
                left.append(name)
        if left:
            note(f"{shown(path)}: {', '.join(left)}: not a number per utterance; left out")
        lists = _Lists(source)
        for key, (text, line) in texts.items():
            features = {name: 0.0 - costs[key] for name, costs in columns.items()}
            lists.add(key, line, Hypothesis(text, None, features))
        return lists.utterances()


def _words(text: str) -> str:
    return " ".join(word for word in text.split() if word not in _EPSILON)


def _is_table(path: str) -> bool:
    """Return whether the first line of a file is a key and a number."""
    first = next(filled_lines(path), (0, b""))[1].split()
    return (
        len(first) == 2 and re.fullmatch(rb"[-+]?[0-9.]+(e[-+]?[0-9]+)?|[-+]?(inf|nan)", first[1]) is not None
    )


def _spelled(texts: dict[str, tuple[str, int]], path: str, names: list[str]) -> dict[str, tuple[str, int]]:
    """Texts with words instead of their numbers, if there is a table of them."""
    if not all(text.replace(" ", "").isdigit() or not text for text, _ in texts.values()):
        return texts
    if _SYMBOLS not in names:
        note(
            f"{shown(path)}: the texts are numbers of words; a table {_SYMBOLS} in the folder, or "
            "'utils/int2sym.pl -f 2-', makes words of them"
        )
        return texts
    table = os.path.join(path, _SYMBOLS)
    words = {number: word for word, (number, _) in table_of(table).items()}
    out = {}
    for key, (text, line) in texts.items():
        unknown = next((number for number in text.split() if number not in words), None)
        if unknown is not None:
            raise FormatError(
                shown(os.path.join(path, "words")), line, f"word {unknown}", f"one of {shown(table)}"
            )
        out[key] = " ".join(words[number] for number in text.split()), line
    return out


def _lattices(path: str) -> Iterator[Utterance]:
    """The lists of an archive of lattices; raises FormatError."""
    lists = _Lists(path)
    key, last = "", 0
    path_so_far: _Path | None = None
    for number, line in filled_lines(path):
        fields = decoded(line, path, number).split()
        blank_before, last = number > last + 1, number
        if path_so_far is None or blank_before:
            if path_so_far is not None:
                lists.add(key, path_so_far.line, path_so_far.hypothesis())
            if len(fields) != 1:
                raise FormatError(shown(path), number, quoted(line), f"{_EXPECTED}, then arcs")
            key, path_so_far = fields[0], _Path(shown(path), number)
        else:
            path_so_far.add(fields, number)
    if path_so_far is None:
        raise FormatError(shown(path), None, "an empty file", "lattices as text")
    lists.add(key, path_so_far.line, path_so_far.hypothesis())
    return lists.utterances()


class _Path:
    """The only path of a lattice whose key is on ``line``."""

    def __init__(self, path: str, line: int) -> None:
        self.path, self.line = path, line
        self.words: list[str] = []
        self.graph = self.acoustic = 0.0
        self.state: str | None = None
        self.ended = False

    def add(self, fields: list[str], number: int) -> None:
        """Take an arc ``from to label [label] [costs]`` or a final state ``state [costs]``."""
        costs = fields.pop() if fields and "," in fields[-1] else None
        if len(fields) not in (1, 3, 4) or not all(
            state.isdigit() for state in fields[: len(fields) > 1 and 2]
        ):
            found = quoted(" ".join(fields))
            raise FormatError(self.path, number, found, "an arc 'from to word costs' or a final state")
        if self.ended or (self.state is not None and fields[0] != self.state):
            expected = "one path, as lattice-to-nbest writes it"
            raise FormatError(self.path, number, "a lattice of several paths", expected)
        if costs is not None:
            graph, _, rest = costs.partition(",")
            self.graph += finite(graph.encode(), self.path, number, "graph cost")
            self.acoustic += finite(rest.partition(",")[0].encode(), self.path, number, "acoustic cost")
        if len(fields) == 1:
            self.ended = True
            return
        self.state = fields[1]
        if fields[-1] not in _EPSILON:
            self.words.append(fields[-1])

    def hypothesis(self) -> Hypothesis:
        """Return what it spells; raises FormatError if it has no end."""
        if not self.ended:
            raise FormatError(
                self.path, self.line, "a lattice without a final state", "one, as its last line"
            )
        scores = {"ac_score": 0.0 - self.acoustic, "lm_score": 0.0 - self.graph}
        return Hypothesis(" ".join(self.words), None, scores)
