"""The weights of a moses.ini, named as the features of Moses' N-best lists are.

``LM0= 0.5`` in the section [weight] is the weight of feature LM0, ``TranslationModel0= 0.2 0.3`` those of
TranslationModel0_0 and TranslationModel0_1. Files from before 2013 have sections such as [weight-l] with a
number per line instead; their features are lm, or lm_0, lm_1, ...
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import DataError, FormatError
from rerank.core.files.read import read_bytes, shown
from rerank.core.files.write import write_lines
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.formats.common import first_repeated, note, quoted
from rerank.formats.weights import WEIGHTS, WeightOptions, WeightsFormat, weight_of

# The sections of old files, and the names of their features in N-best lists.
_OLD = {
    "weight-d": "d",
    "weight-l": "lm",
    "weight-t": "tm",
    "weight-w": "w",
    "weight-i": "I",
    "weight-generation": "g",
}
_SECTION = re.compile(rb"\s*\[\s*([^\]\s]+)\s*\]\s*$")
_RECOGNISED = re.compile(
    rb"^\s*\[(weight|weight-[a-z]+|feature|ttable-file|input-factors)\]\s*$", re.MULTILINE
)
_NUMBERED = re.compile(r"(.+)_([0-9]{1,9})")


@dataclass
class _Entry:
    """The weights of one name; ``lines`` are the lines of the file that contain them, from 0."""

    name: str
    weights: list[float]
    lines: list[int]
    old: bool

    def features(self) -> list[str]:
        """Return the features' names."""
        n = len(self.weights)
        return [self.name] if n == 1 else [f"{self.name}_{k}" for k in range(n)]


@WEIGHTS.register("moses-ini")
class MosesIni(WeightsFormat):
    """Reader and writer of the weights in a moses.ini."""

    name = "moses-ini"
    summary = "the [weight] section of a moses.ini"
    honours = frozenset({"ini"})

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return bool(_RECOGNISED.search(head))

    def read(self, path: str, options: WeightOptions) -> tuple[list[str], Floats]:
        entries = _entries(_lines(path), shown(path))
        if not entries:
            raise FormatError(shown(path), None, "no weights", "a section [weight] with lines 'LM0= 0.5'")
        names = [name for entry in entries for name in entry.features()]
        return names, np.array([w for entry in entries for w in entry.weights])

    def write(self, path: str, names: Sequence[str], weights: Floats, options: WeightOptions) -> None:
        """Write a section [weight] alone, or the file ``options.ini`` with these weights in it.

        Weights of that file without a new value stay. New ones that have no place in it are added at the end
        of its [weight]. Both are reported.
        """
        given = dict(zip(names, weights.tolist(), strict=True))
        if options.ini is None:
            write_lines(path, ["[weight]", *_new_lines(given, path)])
            return
        lines, source = _lines(options.ini), shown(options.ini)
        entries = _entries(lines, source)
        text = [line.decode("utf-8", "surrogateescape") for line in lines]
        for entry in entries:
            _replace(entry, given, text, source)
        if given:
            _append(given, lines, text, path, source)
        try:
            again = _entries([line.encode("utf-8", "surrogateescape") for line in text], path)
        except FormatError as error:
            raise DataError(f"{source}: cannot hold these weights too ({error.found})") from None
        kept = {name: w for entry in again for name, w in zip(entry.features(), entry.weights, strict=True)}
        lost = [name for name, w in zip(names, weights.tolist(), strict=True) if kept.get(name) != w]
        if lost:
            raise DataError(f"{source}: cannot hold the weight of {lost[0]!r} so that it reads back")
        write_lines(path, text)


def _lines(path: str) -> list[bytes]:
    lines = bytes(read_bytes(path)).split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def _sections(lines: Sequence[bytes]) -> Iterator[tuple[int, str, bytes]]:
    """Lines that are neither blank nor comments: number from 0, section, content."""
    section = ""
    for i, line in enumerate(lines):
        found = _SECTION.match(line)
        if found:
            section = found[1].decode("utf-8", "surrogateescape")
        elif line.strip() and not line.lstrip().startswith(b"#"):
            yield i, section, line.strip()


def _entries(lines: Sequence[bytes], source: str) -> list[_Entry]:
    """The weights by name, in the order of the file."""
    entries: dict[str, _Entry] = {}
    for i, section, line in _sections(lines):
        if section == "weight":
            name, sign, values = line.partition(b"=")
            text = name.strip().decode("utf-8", "surrogateescape")
            if not sign or not text or not values.strip():
                raise FormatError(source, i + 1, quoted(line), "a name, '=' and its weights")
            if text in entries:
                raise FormatError(source, i + 1, f"weights of {text!r} again", "each name once")
            numbers = [weight_of(token, source, i + 1) for token in values.split()]
            entries[text] = _Entry(text, numbers, [i], old=False)
        elif section in _OLD:
            entry = entries.setdefault(_OLD[section], _Entry(_OLD[section], [], [], old=True))
            if not entry.old:
                raise FormatError(source, i + 1, f"weights of {entry.name!r} again", "each name once")
            entry.weights.append(weight_of(line, source, i + 1))
            entry.lines.append(i)
    found = [(name, entry.lines[0]) for entry in entries.values() for name in entry.features()]
    twice = first_repeated(name for name, _ in found)
    if twice is not None:
        feature, at = found[twice]
        raise FormatError(source, at + 1, f"a second weight {feature!r}", "weights of different names")
    return list(entries.values())


def _replace(entry: _Entry, given: dict[str, float], text: list[str], source: str) -> None:
    """Put new weights on an entry's lines and take them out of ``given``."""
    names = entry.features()
    known = [name for name in names if name in given]
    if not known:
        note(f"{source}: the model has no {entry.name}; its weight stays")
        return
    extra = f"{entry.name}_{len(names)}"
    if len(known) < len(names) or (len(names) > 1 and extra in given):
        raise DataError(
            f"{source}: {entry.name} has {count(len(names), 'weight')}, the model "
            + (f"has no {next(n for n in names if n not in given)!r}" if extra not in given else "has more")
        )
    values = [repr(given.pop(name)) for name in names]
    if entry.old:
        for line, value in zip(entry.lines, values, strict=True):
            text[line] = value
    else:
        text[entry.lines[0]] = f"{entry.name}= {' '.join(values)}"


def _append(given: dict[str, float], lines: Sequence[bytes], text: list[str], path: str, source: str) -> None:
    """Add weights that have no place yet after the last line of [weight], or in one at the end."""
    within = [i for i, section, _ in _sections(lines) if section == "weight"]
    note(f"{source}: no place for {', '.join(given)}; added to [weight]")
    new = _new_lines(given, path)
    if within:
        text[within[-1] + 1 : within[-1] + 1] = new
    else:
        text += ["", "[weight]", *new]


def _new_lines(given: dict[str, float], path: str) -> list[str]:
    """A line for each name: Name_0, Name_1, ... that follow each other are one name's weights."""
    groups: dict[str, list[str]] = {}
    for name in given:
        found = _NUMBERED.fullmatch(name)
        base = found[1] if found else name
        if found and int(found[2]) == len(groups.get(base, ())) and base not in given:
            groups.setdefault(base, []).append(name)
        else:
            groups[name] = [name]
    lines = []
    for base, members in groups.items():
        label = base if len(members) > 1 else members[0]
        if re.search(r"[\s=\[\]#]", label):
            raise DataError(f"{path}: the feature name {label!r} does not fit in a moses.ini")
        lines.append(f"{label}= {' '.join(repr(given[name]) for name in members)}")
    return lines
