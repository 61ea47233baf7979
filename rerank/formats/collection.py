"""Collections of texts and queries: files that give ids their texts, joined to lists by these ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec

from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.files.read import shown
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.reading import ReadOptions
from rerank.formats.builders import filled_lines
from rerank.formats.common import quoted

IDS = ("id", "_id", "docid", "doc_id", "docno", "qid", "query_id", "pid")
TEXTS = ("text", "contents", "body", "passage", "question", "query")


def with_texts(lists: CandidateLists, options: ReadOptions) -> CandidateLists:
    """Return the lists with the questions and texts of the files that ``options`` name.

    Raises
    ------
    FormatError
        If a file has another form, or gives an id two texts.
    DataError
        If a list or an item has no text there.
    ConfigError
        If the lists have no ids, or questions or texts already.
    """
    if options.query_column is not None and lists.prompts is None:
        expected = f"expected a text under {options.query_column!r} (--query-column) for every list"
        raise DataError(f"{lists.source}: found no questions, {expected}")
    if options.queries is not None:
        _refuse(lists, "prompts", "questions", "--queries")
        found = _joined(lists, lists.list_ids, options.queries, "list")
        lists = replace(lists, prompts=found)
    if options.collection is not None:
        _refuse(lists, "texts", "texts", "--collection")
        found = _joined(lists, lists.item_ids, options.collection, "item")
        lists = replace(lists, texts=found)
    return lists


def _refuse(lists: CandidateLists, column: str, what: str, flag: str) -> None:
    if getattr(lists, column) is not None:
        raise ConfigError(f"{flag}: {lists.source} has {what} of its own; leave the option out")


def _joined(lists: CandidateLists, ids: StringColumn | None, path: str, what: str) -> StringColumn:
    """The text of each id; DataError if one has none."""
    if ids is None:
        raise ConfigError(f"{shown(path)}: {lists.source} has no ids of {what}s, by which texts are joined")
    names = [ids.bytes_at(i) for i in range(len(ids))]
    known: dict[bytes, bytes | None] = dict.fromkeys(names)
    for line, name, text in texts_of(path):
        if name not in known:
            continue
        if known[name] is not None:
            raise FormatError(shown(path), line, f"id {quoted(name)} again", "each id once")
        known[name] = text
    absent = [name for name, text in known.items() if text is None]
    if absent:
        found = f"no text of {what} {quoted(absent[0])}" + f" and {len(absent) - 1} more" * (len(absent) > 1)
        raise DataError(f"{shown(path)}: {found}, expected one for each {what} of {lists.source}")
    return StringColumn.from_strings(known[name] or b"" for name in names)


def texts_of(path: str) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield line number, id and text of each line of a file.

    A line is an id, a tab and a text, or JSON: an object with an id (a key of IDS) and a text (a key of
    TEXTS), before which a "title" is put. Raises FormatError at a line of another form.
    """
    is_json: bool | None = None
    for line, raw in filled_lines(path):
        content = raw.removesuffix(b"\r")
        if not content.strip():
            continue
        if is_json is None:
            content = content.removeprefix(b"\xef\xbb\xbf")
            is_json = content.lstrip().startswith(b"{")
        if is_json:
            yield (line, *_of_json(content, path, line))
            continue
        name, tab, text = content.partition(b"\t")
        if not tab or not name:
            raise FormatError(shown(path), line, quoted(content), "an id, a tab and a text, or JSON Lines")
        yield line, name, text


def _of_json(content: bytes, path: str, line: int) -> tuple[bytes, bytes]:
    """The id and the text of an object."""
    try:
        entry: Any = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        entry = None
    if not isinstance(entry, dict):
        raise FormatError(shown(path), line, quoted(content), "a JSON object with an id and a text")
    found = []
    for what, keys in (("id", IDS), ("text", TEXTS)):
        key = next((key for key in keys if key in entry), None)
        value = None if key is None else entry[key]
        if what == "id" and type(value) is int:
            value = str(value)
        if not isinstance(value, str):
            have = "null" if value is None else quoted(str(value))
            found_there = f"no {what}" if key is None else f"{have} at {key}"
            raise FormatError(shown(path), line, found_there, f"a string under {', '.join(keys)}")
        found.append(value)
    title = entry.get("title")
    if isinstance(title, str) and title:
        found[1] = f"{title} {found[1]}"
    return found[0].encode("utf-8", "surrogatepass"), found[1].encode("utf-8", "replace")
