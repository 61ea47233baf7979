"""The lines of fairseq-generate's output, checked one by one."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from rerank.errors import FormatError
from rerank.files import read_bytes, shown
from rerank.formats.common import not_a_number, note_regrouped, quoted

_TAGGED = re.compile(rb"([A-Z])-([0-9]{1,18})(?![0-9])")
_NUMBER = re.compile(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_FORMS = {
    b"S": "S-ID<TAB>source",
    b"T": "T-ID<TAB>reference",
    b"H": "H-ID<TAB>score<TAB>hypothesis",
    b"D": "D-ID<TAB>score<TAB>text",
    b"P": "P-ID<TAB>scores",
}
_LEFT_OUT = b"ACEIW"  # alignments, constraints, steps of refinement, their number, seconds


@dataclass(slots=True)
class Hypothesis:
    """An H line, and the D and P lines that follow it; ``line`` counts from 1."""

    line: int
    number: int
    score: float
    text: bytes
    detokenised: bytes | None = None
    positions: list[float] | None = None


@dataclass
class Output:
    """Hypotheses in the order of the file, T lines by number."""

    hypotheses: list[Hypothesis] = field(default_factory=list)
    references: dict[int, bytes] = field(default_factory=dict)


def read_output(path: str, strict: bool) -> Output:
    """All hypotheses and references of a file. Lines that begin with no letter, "-" and number are no
    part of the output and are passed over.

    Raises FormatError at a malformed line, one out of its place, or a list with less than others have.
    """
    name = shown(path)
    data = bytes(read_bytes(path))
    if not data:
        raise FormatError(name, None, "an empty file", f"lines {_FORMS[b'H']}")
    output = Output()
    sources: dict[int, bytes] = {}
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
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
            known = sources if tag == b"S" else output.references
            if known.setdefault(sentence, fields[1]) != fields[1]:
                what = f"another {match[0].decode()}"
                raise FormatError(name, number, what, "one source and one reference a sentence")
        elif tag == b"H":
            output.hypotheses.append(
                Hypothesis(number, sentence, _number(name, number, fields[1]), fields[2])
            )
        else:
            _complete(name, number, tag, sentence, fields, output)
    _check(name, output, strict)
    return output


def _number(path: str, line: int, token: bytes) -> float:
    value = float(token) if _NUMBER.fullmatch(token) else math.nan
    if not math.isfinite(value):
        raise FormatError(path, line, *not_a_number(token, "score"))
    return value


def _complete(path: str, line: int, tag: bytes, sentence: int, fields: list[bytes], output: Output) -> None:
    """Put a D or P line to the hypothesis before it."""
    last = output.hypotheses[-1] if output.hypotheses else None
    taken = last is None or (last.detokenised if tag == b"D" else last.positions) is not None
    if last is None or last.number != sentence or taken:
        found = f"{tag.decode()}-{sentence} without a hypothesis of its own"
        raise FormatError(path, line, found, f"it behind its H-{sentence}")
    if tag == b"D":
        _number(path, line, fields[1])
        last.detokenised = fields[2]
        return
    last.positions = [_number(path, line, token) for token in fields[1].split()]
    if not last.positions:
        raise FormatError(path, line, "no score", _FORMS[b"P"])


def _check(path: str, output: Output, strict: bool) -> None:
    """Every hypothesis has what the first one has, every list its lines together."""
    if not output.hypotheses:
        raise FormatError(path, None, "no H line", f"lines {_FORMS[b'H']}")
    first = output.hypotheses[0]
    seen: set[int] = set()
    apart: dict[int, int] = {}
    last = -1
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
        if h.number != last and h.number in seen:
            apart.setdefault(h.number, h.line)
        seen.add(h.number)
        last = h.number
    if not apart:
        return
    number, line = next(iter(apart.items()))
    if strict:
        raise FormatError(path, line, f"H-{number} again", "the hypotheses of a sentence together")
    note_regrouped(path, len(apart), line)
