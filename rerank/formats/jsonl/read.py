"""Reading JSON Lines into growing columns; the schema is in rerank/formats/jsonl/format.py."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import numpy as np

from rerank.core.errors import FormatError
from rerank.core.files.streams import shown
from rerank.data.lists import CandidateLists
from rerank.formats.base import ReadOptions
from rerank.formats.common import first_repeated, quoted
from rerank.formats.growing import whole_lines
from rerank.formats.jsonl.items import ItemReader
from rerank.formats.jsonl.keys import CANDIDATES, LISTS, PROMPTS, MisfitError, Roles, described, encoded
from rerank.formats.jsonl.plain import PADDING
from rerank.formats.jsonl.shapes import ListReader
from rerank.native.formats._json import repeats_key

_ONE_LINE = "one whole JSON object per line"
_BLANKS = b" \t\r\n"
_BLANK_LINES = re.compile(rb"[ \t\r\n]*\n")
_PIECE = 1 << 20  # bytes that are taken apart together, at least
_WORTH = 32  # plain lines in a row, as many as make it worth to look for them
_MOST_SINGLE = 1024


def read_jsonl(path: str, options: ReadOptions) -> CandidateLists:
    """Return the lists of a file of either shape; raises FormatError."""
    source = shown(path)
    blocks = _Blocks(source, options)
    try:
        for block in whole_lines(path):
            blocks.add(block)
    except FormatError:
        if blocks.reader is not None:
            blocks.reader.flush()  # a fault of an earlier line goes first
        raise
    if blocks.reader is None:
        found = "an empty file" if blocks.line == 0 else "blank lines only"
        raise FormatError(source, None, found, _ONE_LINE)
    blocks.reader.flush()
    return blocks.reader.finish()


class _Blocks:
    """Adds blocks of lines to a reader: plain lines many at a time, the others one by one.

    Attributes
    ----------
    reader : None before the first line that is not blank.
    line : how many lines have been read.
    """

    def __init__(self, source: str, options: ReadOptions) -> None:
        self.source = source
        self.options = options
        self.reader: ListReader | ItemReader | None = None
        self.line = 0
        self._single = 0  # so many lines are read one by one before plain ones are tried
        self._patience = 1
        self._run = 0  # plain lines since the last other one

    def add(self, block: bytes) -> None:
        """Add whole lines; raises FormatError."""
        plain = _utf8_lines(block)
        at = 0
        while at < len(block):
            if self.reader is not None and not self._single and at < plain:
                stop = block.find(b"\n", min(at + _PIECE, plain - 1)) + 1
                at = self._add_plain(self.reader, block, at, stop)
                if at == stop:
                    continue
            if (blank := _BLANK_LINES.match(block, at)) is not None:  # millions of them cost nothing
                self.line += block.count(b"\n", at, blank.end())
                at = blank.end()
                continue
            end = block.find(b"\n", at)
            self.line += 1
            self._add_line(block[at:end])
            self._single = max(self._single - 1, 0)
            at = end + 1

    def _add_line(self, raw: bytes) -> None:
        try:
            value = _parsed(raw)
            if value is not None:
                self.reader = self.reader or _reader_of(value, self.source, self.options)
                self.reader.add(value, self.line)
                self.reader.learn(value)
        except MisfitError as misfit:
            raise misfit.at(self.source, self.line) from None

    def _add_plain(self, reader: ListReader | ItemReader, block: bytes, at: int, stop: int) -> int:
        """Add the plain lines at the start of ``block[at:stop]`` and return the place after them."""
        reader.flush()
        plain = reader.plain()
        text = np.frombuffer(block, dtype=np.uint8)
        start = 0
        if stop + PADDING > len(block):
            text = np.frombuffer(block[at:stop] + bytes(PADDING), dtype=np.uint8)
            start = at
        odd = plain is None
        while at < stop and plain is not None and not odd:
            end, n, odd, parts = plain.read(text, at - start, stop - start)
            at = end + start
            if n:
                reader.add_plain(plain, parts, n, self.line + 1)
            self.line += n
            self._run += n
        if odd:
            self._patience = 1 if self._run >= _WORTH else min(2 * self._patience, _MOST_SINGLE)
            self._single = self._patience
            self._run = 0
        return at


def _reader_of(first: dict[str, Any], source: str, options: ReadOptions) -> ListReader | ItemReader:
    """Return a reader of the shape that the first line has."""
    candidates = next((key for key in CANDIDATES if isinstance(first.get(key), list)), None)
    wanted = options.list_column
    keys = [key for key in (*LISTS, "id") if key in first] if wanted is None else [wanted]
    if candidates is not None:
        key = "id" if "id" in keys else next(iter(keys), None)
        return ListReader(source, options, candidates, key)
    of = Roles(options).of
    if not keys or not any(
        of.get(key, "spare") != "spare" or isinstance(value, int | float)
        for key, value in first.items()
        if key not in (*LISTS, *PROMPTS, "id", wanted)
    ):
        raise MisfitError(
            "",
            f"keys {', '.join(map(quoted, list(first)[:8])) or '(none)'}",
            "a list per line (with 'candidates'), or a candidate per line with its 'list' (--list-column "
            "names another key) and a text, label, score or feature",
        )
    return ItemReader(source, options, keys[0])


def _utf8_lines(block: bytes) -> int:
    """Return how many bytes the lines before the first one that is not UTF-8 have."""
    if block.isascii():
        return len(block)
    try:
        block.decode()
    except UnicodeDecodeError as error:
        return block.rfind(b"\n", 0, error.start) + 1
    return len(block)


def _no_constant(token: str) -> Any:
    raise MisfitError("", token, "a number (JSON has no NaN or Infinity; null is a missing value)")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        names = [key for key, _ in pairs]
        twice = names[first_repeated(names) or 0]
        raise MisfitError("", f"key {quoted(twice)} twice in one object", "each key once")
    for key, value in pairs:
        encoded(key, "a key")
        if isinstance(value, str):
            encoded(value, key)
    return out


_FAST = msgspec.json.Decoder()
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant)


def _parsed(raw: bytes) -> dict[str, Any] | None:
    """Return the object of a line, None if it is blank; raises MisfitError."""
    value = parsed(raw, _ONE_LINE)
    if type(value) is not dict and (value is not None or raw.strip(_BLANKS)):
        raise MisfitError("", described(value), _ONE_LINE)
    return value


def parsed(raw: bytes, expected: str) -> Any:
    """Return the value of a text, None if it is blank; raises MisfitError, also for a repeated key."""
    try:
        value = _FAST.decode(raw)
        return _strictly_parsed(raw, expected) if repeats_key(raw, value) else value
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _strictly_parsed(raw, expected) if raw.strip(_BLANKS) else None


def _strictly_parsed(raw: bytes, expected: str) -> Any:
    """Return the value of a text, or raise the MisfitError that has the words for its fault."""
    try:
        value = _STRICT.decode(raw.decode())
        if _SURROGATE.search(raw):
            encoded(json.dumps(value, ensure_ascii=False), "a text of an array")
        return value
    except UnicodeDecodeError:
        raise MisfitError("", "bytes that are not UTF-8", expected) from None
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
        raise MisfitError("", f"no JSON ({error.msg}, {place})", expected) from None
    except RecursionError:
        raise MisfitError("", "JSON nested too deeply", expected) from None
    except ValueError:  # Python refuses whole numbers of more than 4300 digits
        raise MisfitError("", "a whole number of too many digits", "a finite number") from None
