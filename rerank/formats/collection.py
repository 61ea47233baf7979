"""Collections of texts and queries: files that give ids their texts, joined to lists by these ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.files.read import shown
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.reading import ReadOptions
from rerank.data.text_reading import joined
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
        lists = replace(lists, prompts=_joined(lists, lists.list_ids, options.queries, "list")[0])
    if options.collection is not None:
        _refuse(lists, "texts", "texts", "--collection")
        keys = options.texts_of(collection=True)
        columns = _joined(lists, lists.item_ids, options.collection, "item", keys)
        if len(keys) > 1:
            return replace(lists, **joined(dict(zip(keys, columns, strict=True)), lists.source))
        lists = replace(lists, texts=columns[0])
    return lists


def _refuse(lists: CandidateLists, column: str, what: str, flag: str) -> None:
    if getattr(lists, column) is not None:
        raise ConfigError(f"{flag}: {lists.source} has {what} of its own; leave the option out")


def _joined(
    lists: CandidateLists, ids: StringColumn | None, path: str, what: str, keys: Sequence[str] = ()
) -> list[StringColumn]:
    """The texts of each id, a column for each of ``keys``; DataError if an id has none."""
    if ids is None:
        raise ConfigError(f"{shown(path)}: {lists.source} has no ids of {what}s, by which texts are joined")
    names = [ids.bytes_at(i) for i in range(len(ids))]
    known: dict[bytes, tuple[bytes, ...] | None] = dict.fromkeys(names)
    for line, name, texts in texts_of(path, keys):
        if name not in known:
            continue
        if known[name] is not None:
            raise FormatError(shown(path), line, f"id {quoted(name)} again", "each id once")
        known[name] = texts
    absent = [name for name, texts in known.items() if texts is None]
    if absent:
        found = f"no text of {what} {quoted(absent[0])}" + f" and {len(absent) - 1} more" * (len(absent) > 1)
        raise DataError(f"{shown(path)}: {found}, expected one for each {what} of {lists.source}")
    rows = [known[name] or () for name in names]
    return [StringColumn.from_strings(row[k] for row in rows) for k in range(max(1, len(keys)))]


def texts_of(path: str, keys: Sequence[str] = ()) -> Iterator[tuple[int, bytes, tuple[bytes, ...]]]:
    """Yield line number, id and texts of each line of a file.

    A line is an id, a tab and a text, or JSON: an object with an id (a key of IDS) and a text for each of
    ``keys``. Without ``keys`` it is one text (a key of TEXTS), before which a "title" is put. Raises
    FormatError at a line of another form.
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
            yield line, *_of_json(content, path, line, keys)
            continue
        if keys:
            raise FormatError(
                shown(path), line, quoted(content), f"JSON Lines with {' and '.join(keys)} (--text)"
            )
        name, tab, text = content.partition(b"\t")
        if not tab or not name:
            raise FormatError(shown(path), line, quoted(content), "an id, a tab and a text, or JSON Lines")
        yield line, name, (text,)


def _of_json(content: bytes, path: str, line: int, fields: Sequence[str]) -> tuple[bytes, tuple[bytes, ...]]:
    """The id and the texts of an object."""
    try:
        entry: Any = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        entry = None
    if not isinstance(entry, dict):
        raise FormatError(shown(path), line, quoted(content), "a JSON object with an id and a text")
    found = []
    wanted: list[tuple[str, tuple[str, ...]]] = [("id", IDS)]
    wanted += [("text", (name,)) for name in fields] or [("text", TEXTS)]
    for what, keys in wanted:
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
    if not fields and isinstance(title, str) and title:
        found[1] = f"{title} {found[1]}"
    return found[0].encode("utf-8", "surrogatepass"), tuple(
        text.encode("utf-8", "replace") for text in found[1:]
    )
