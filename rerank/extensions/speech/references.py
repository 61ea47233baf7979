"""References by utterance: Kaldi's ``text``, NIST's trn, and manifests of NeMo."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from rerank.core.errors import ConfigError, FormatError
from rerank.core.files.read import read_head, shown
from rerank.core.text import count
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.builders import filled_lines
from rerank.formats.common import note, quoted
from rerank.formats.texts import attach_references, read_lines

_TRN = re.compile(rb"(?P<text>.*?)[ \t]*\((?P<name>[^()\s]+)\)[ \t\r]*", re.DOTALL)
_NUMBER = re.compile(r"[0-9]{1,18}")
FORMS = "'UTTERANCE words' (Kaldi's text), 'words (UTTERANCE)' (trn) or a manifest with audio_filepath"


def with_references(lists: CandidateLists, paths: Sequence[str]) -> CandidateLists:
    """Return the lists with a column of references from each file, by the ids of the utterances.

    A file has lines of Kaldi's ``text`` (an id and words), of NIST's trn (words and an id in brackets), or
    JSON with ``text`` and ``audio_filepath``, whose id is the file's name without its last suffix. Only if
    the ids of the lists are whole numbers, and not those of the file, are its lines references in order.
    References of utterances without a list are counted in a DataNote.

    Raises
    ------
    ConfigError
        If the lists have references of their own.
    FormatError
        If an utterance has no line, or two.
    """
    if not paths:
        return lists
    if lists.references:
        raise ConfigError(f"{lists.source}: holds its own references, so refs={paths[0]!r} cannot be given")
    names = list(lists.list_ids or ())
    numbered = all(map(_NUMBER.fullmatch, names))
    columns: list[StringColumn] = []
    for path in paths:
        found = _entries(path)
        if numbered and not {entry.name for entry in found} >= set(names):
            given = None if found[0].plain else [StringColumn.from_strings(entry.text for entry in found)]
            columns += attach_references(lists, [path], given).references
        else:
            columns.append(_column(lists, names, path, found))
    return replace(lists, references=tuple(columns), counts={})


def _column(lists: CandidateLists, names: list[str], path: str, entries: list[_Entry]) -> StringColumn:
    """The references of the lists; raises FormatError if one is absent, or there are two."""
    found: dict[str, _Entry] = {}
    for entry in entries:
        first = found.setdefault(entry.name, entry)
        if first is not entry:
            what = f"utterance {quoted(entry.name)} again (line {first.line})"
            raise FormatError(shown(path), entry.line, what, "each utterance once")
    lacking = [name for name in names if name not in found]
    if lacking:
        n = count(len(lacking), "utterance")
        what = f"no reference of {n} of {lists.source}, the first is {quoted(lacking[0])}"
        raise FormatError(shown(path), None, what, f"a line of each: {FORMS}")
    unused = len(found) - len(names)
    if unused:
        note(
            f"{shown(path)}: {unused} of {len(found)} references have no list in {lists.source}: their words "
            "do not count, although the recogniser may have missed all of them"
        )
    return StringColumn.from_strings(found[name].text for name in names)


class _Entry(NamedTuple):
    """A reference, its utterance and its line; ``plain`` if the utterance is just the first word."""

    name: str
    text: bytes
    line: int
    plain: bool


def _entries(path: str) -> list[_Entry]:
    """The references of a file; raises FormatError."""
    lines = list(filled_lines(path))
    if not lines:
        raise FormatError(shown(path), None, "an empty file", f"lines such as {FORMS}")
    if lines[0][1].lstrip().startswith(b"{"):
        return [_of_manifest(path, number, line) for number, line in lines]
    matches = [_TRN.fullmatch(line) for _, line in lines]
    if all(matches):
        pairs = zip(lines, matches, strict=True)
        return [
            _Entry(match["name"].decode("utf-8", "replace"), match["text"].strip(), number, False)
            for (number, _), match in pairs
            if match is not None
        ]
    parts = [(number, *line.replace(b"\t", b" ").strip().partition(b" ")) for number, line in lines]
    return [_Entry(name.decode("utf-8", "replace"), text.strip(), n, True) for n, name, _, text in parts]


def in_order(path: str) -> tuple[list[str] | None, StringColumn]:
    """Return the ids and the references of a manifest; of a file of plain lines, None and its lines."""
    entries = _entries(path) if read_head(path).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else None
    if entries is None:
        return None, read_lines(path)
    return [entry.name for entry in entries], StringColumn.from_strings(entry.text for entry in entries)


def _of_manifest(path: str, number: int, line: bytes) -> _Entry:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise FormatError(shown(path), number, quoted(line), "a JSON object per line") from None
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        raise FormatError(shown(path), number, quoted(line), "a JSON object with a text 'text'")
    audio = row.get("audio_filepath")
    if not isinstance(audio, str):
        raise FormatError(shown(path), number, quoted(line), "a JSON object with a path 'audio_filepath'")
    return _Entry(utterance_of(audio), encoded_text(row["text"]), number, False)


def utterance_of(audio: str) -> str:
    """Return the id of an utterance by its audio file: the file's name without its last suffix."""
    return os.path.splitext(os.path.basename(audio))[0]


def encoded_text(text: str) -> bytes:
    """Return a text as UTF-8, "?" for lone surrogates, which JSON can spell."""
    return text.encode("utf-8", "replace")
