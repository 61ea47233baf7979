"""Output of fairseq-generate: ``H-ID<TAB>score<TAB>hypothesis`` and the lines that belong to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rerank.core.errors import DataError, FormatError
from rerank.core.files.read import shown
from rerank.core.system import added
from rerank.data.columns.offsets import grouped
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.builders import filled_lines
from rerank.formats.common import check_contiguous, finite, quoted

_TAGGED = re.compile(rb"([A-Z])-([0-9]{1,18})(?![0-9])")
_FORMS = {
    b"S": "S-ID<TAB>source",
    b"T": "T-ID<TAB>reference",
    b"H": "H-ID<TAB>score<TAB>hypothesis",
    b"D": "D-ID<TAB>score<TAB>text",
    b"P": "P-ID<TAB>scores",
}
_LEFT_OUT = b"ACEIW"  # alignments, constraints, steps of refinement, their number, seconds

_HYPOTHESIS = re.compile(rb"^H-[0-9]+\t", re.MULTILINE)


@FORMATS.register("fairseq")
class Fairseq(Format):
    """Reader of fairseq-generate's output.

    Lists are sorted by their number, because fairseq sorts them by length; items keep the order of the file,
    which is first-best. Texts are those of the D lines (detokenised), or of the H lines if there are none;
    references are the T lines. Features: ``score``, which is ``base_scores`` too; ``P_sum``, ``P_mean`` and
    ``P_min`` of the scores of the P lines, if there are any; ``length``, the tokens of the H line.
    """

    name: ClassVar[str] = "fairseq"
    signs: ClassVar[tuple[bytes, ...]] = (b"H-",)
    summary: ClassVar[str] = "S-, T-, H-, D-, P- lines of fairseq-generate (read only)"
    honours: ClassVar[frozenset[str]] = frozenset({"strict", "refs", "distinct"})

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return _HYPOTHESIS.search(head) is not None

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        return _lists(_output(path, options.strict), shown(path))

    def _write(self, lists: CandidateLists, path: str) -> None:
        """Raise DataError: only the decoder knows what its P lines contain."""
        raise DataError(f"{path}: fairseq is read only; write moses, jsonl or store")


def _lists(output: _Output, source: str) -> CandidateLists:
    unique, codes = np.unique([h.number for h in output.hypotheses], return_inverse=True)
    offsets, in_lists = grouped(codes)
    rows = np.arange(len(codes)) if in_lists is None else in_lists
    items = [output.hypotheses[row] for row in rows.tolist()]
    features = np.array([_features(h) for h in items])
    references: tuple[StringColumn, ...] = ()
    if output.references:
        references = (StringColumn.from_strings(output.references[n][0] for n in unique.tolist()),)
    names = ["score", "P_sum", "P_mean", "P_min", "length"]
    return CandidateLists(
        offsets,
        Dense(features),
        base_scores=features[:, 0].copy(),
        first_best=-rows.astype(np.float64),
        list_ids=StringColumn.from_strings(str(n) for n in unique.tolist()),
        rows=in_lists,
        feature_names=names if items[0].positions else ["score", "length"],
        texts=StringColumn.from_strings(h.text if h.detokenised is None else h.detokenised for h in items),
        references=references,
        source=source,
    )


def _features(h: _Hypothesis) -> list[float]:
    length = float(len(h.text.split()))
    if h.positions is None:
        return [h.score, length]
    total = added(h.positions)
    return [h.score, total, total / len(h.positions), min(h.positions), length]


@dataclass(slots=True)
class _Hypothesis:
    """An H line and the D and P lines after it; ``line`` counts from 1."""

    line: int
    number: int
    score: float
    text: bytes
    detokenised: bytes | None = None
    positions: list[float] | None = None


@dataclass
class _Output:
    """Hypotheses in the order of the file; text and line of the first S and T line, by number."""

    hypotheses: list[_Hypothesis] = field(default_factory=list)
    sources: dict[int, tuple[bytes, int]] = field(default_factory=dict)
    references: dict[int, tuple[bytes, int]] = field(default_factory=dict)


def _output(path: str, strict: bool) -> _Output:
    """Return all hypotheses and references of a file, skipping lines that do not begin as in "H-7".

    Raises FormatError at a malformed or misplaced line, or if only some hypotheses have D, P or T lines.
    """
    name = shown(path)
    output = _Output()
    number = 0
    for number, line in filled_lines(path):
        match = _TAGGED.match(line)
        if match is None:
            continue
        tag, sentence = match[1], int(match[2])
        fields = line.removesuffix(b"\r")[match.end() :].split(b"\t", 2 if tag in b"HD" else 1)
        if tag in _LEFT_OUT:
            continue
        if tag not in _FORMS or fields[0] or len(fields) != (3 if tag in b"HD" else 2):
            expected = _FORMS.get(tag, f"lines {', '.join(sorted(t.decode() for t in _FORMS))}-ID")
            raise FormatError(name, number, quoted(line), expected)
        if tag in b"ST":
            known = output.sources if tag == b"S" else output.references
            if known.setdefault(sentence, (fields[1], number))[0] != fields[1]:
                what = f"another {match[0].decode()}"
                raise FormatError(name, number, what, "one source and one reference per sentence")
        elif tag == b"H":
            score = finite(fields[1], name, number, "score")
            output.hypotheses.append(_Hypothesis(number, sentence, score, fields[2]))
        else:
            _complete(name, number, tag, sentence, fields, output)
    if not output.hypotheses:
        found = "no H line" if number else "an empty file"
        raise FormatError(name, None, found, f"lines {_FORMS[b'H']}")
    _check(name, output, strict)
    return output


def _complete(path: str, line: int, tag: bytes, sentence: int, fields: list[bytes], output: _Output) -> None:
    """Attach a D or P line to the hypothesis before it."""
    last = output.hypotheses[-1] if output.hypotheses else None
    taken = last is None or (last.detokenised if tag == b"D" else last.positions) is not None
    if last is None or last.number != sentence or taken:
        found = f"{tag.decode()}-{sentence} without a hypothesis of its own"
        raise FormatError(path, line, found, f"it after its H-{sentence}")
    if tag == b"D":
        finite(fields[1], path, line, "score")
        last.detokenised = fields[2]
        return
    last.positions = [finite(token, path, line, "score") for token in fields[1].split()]
    if not last.positions:
        raise FormatError(path, line, "no score", _FORMS[b"P"])


def _check(path: str, output: _Output, strict: bool) -> None:
    """Check that all hypotheses have the same lines and that those of a list are contiguous."""
    first = output.hypotheses[0]
    numbers = {h.number for h in output.hypotheses}
    for tag, known in (("S", output.sources), ("T", output.references)):
        for n, (_, line) in known.items():
            if n not in numbers:
                raise FormatError(path, line, f"{tag}-{n} without a hypothesis", f"H-{n} after it")
    for h in output.hypotheses:
        for tag, mine, its in (
            ("D", h.detokenised, first.detokenised),
            ("P", h.positions, first.positions),
            ("T", output.references.get(h.number), output.references.get(first.number)),
        ):
            if (mine is None) != (its is None):
                less, more = (h, first) if mine is None else (first, h)
                found = f"H-{less.number} without a {tag} line"
                raise FormatError(path, less.line, found, f"one, as H-{more.number} has on line {more.line}")
    check_contiguous(
        np.array([h.number for h in output.hypotheses]),
        lambda at: output.hypotheses[at].line,
        lambda at: f"H-{output.hypotheses[at].number}",
        path,
        strict,
        "the hypotheses of a sentence together",
    )
