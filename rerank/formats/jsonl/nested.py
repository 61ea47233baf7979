"""JSON of numbers by query and document, as pytrec_eval, BEIR, ranx and MTEB hold runs and judgements."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rerank.core.errors import FormatError
from rerank.core.files.streams import read_bytes, shown
from rerank.formats.buffers import BOM
from rerank.formats.common import quoted
from rerank.formats.jsonl.keys import MisfitError, described, number_of, numbers_of
from rerank.formats.jsonl.read import parsed

META = "mteb_model_meta"
EXPECTED = "a JSON object {query: {document: number}}, or MTEB's of subsets and splits around it"

_MOST = 8
_DEEPEST = 4  # subset, split, query, document
_MEMBER = re.compile(rb'\s*"(?:[^"\\]|\\.)*"\s*:\s*(.)', re.DOTALL)
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)


@dataclass(frozen=True)
class Nested:
    """Numbers by query and document, and the name of the model that MTEB records for them, "" = none."""

    numbers: dict[str, dict[str, Any]]
    model: str

    def each(self, truths: bool = True) -> Iterator[tuple[str, list[str], array[float]]]:
        """Yield each query with its documents and their numbers; raises MisfitError if one is no number.

        truths : whether true and false are numbers, 1 and 0, as labels are.
        """
        for query, found in self.numbers.items():
            if type(found) is not dict:
                raise MisfitError(query, described(found), EXPECTED)
            values = list(found.values())
            try:
                numbers = numbers_of(values, query)
            except MisfitError:  # again, with the document in the error
                numbers = array("d", [number_of(value, f"{query}.{name}") for name, value in found.items()])
            if not truths and bool in map(type, values):
                name = next(name for name, value in found.items() if type(value) is bool)
                raise MisfitError(f"{query}.{name}", described(found[name]), "a number")
            yield query, list(found), numbers


def read_nested(path: str, subset: str | None = None) -> Nested:
    """Return the numbers in a JSON file; raises FormatError.

    Parameters
    ----------
    path : the file, "-" = standard input.
    subset : which part of a file with several: a subset, a split, or ``subset/split``.
    """
    source = shown(path)
    try:
        value = parsed(bytes(read_bytes(path)).removeprefix(BOM), EXPECTED)
        if type(value) is not dict:
            raise MisfitError("", "an empty file" if value is None else described(value), EXPECTED)
    except MisfitError as misfit:
        raise misfit.at(source, None) from None
    meta = value.pop(META, None)
    name = meta.get("model_name") if type(meta) is dict else None
    return Nested(_part_of(value, subset, source), name if type(name) is str else "")


def _part_of(value: dict[str, Any], subset: str | None, source: str) -> dict[str, Any]:
    """Return the numbers of one part of the file; raises FormatError if another number of parts match."""
    depth = _depth(value)
    if depth < 3:
        if subset is not None:
            raise FormatError(source, None, "no subsets", f"subset {quoted(subset)}")
        return value
    parts = {
        "/".join(names): part for names, part in _parts(value, depth - 2) if type(part) is not dict or part
    }
    wanted = [name for name in parts if subset is None or subset in (name, *name.split("/"))]
    if len(wanted) == 1:
        return parts[wanted[0]]
    names = ", ".join(map(quoted, list(parts)[:_MOST])) + (", ..." if len(parts) > _MOST else "")
    expected = "one (--subset NAME)" if subset is None else f"one that {quoted(subset)} names (--subset)"
    raise FormatError(source, None, f"the subsets {names}", expected)


def _parts(value: dict[str, Any], levels: int) -> Iterator[tuple[list[str], Any]]:
    """Yield what is so many levels further in, with its keys."""
    for name, inner in value.items():
        if levels == 1 or type(inner) is not dict:
            yield [name], inner
        else:
            for names, part in _parts(inner, levels - 1):
                yield [name, *names], part


def _depth(value: Any, most: int = _DEEPEST) -> int:
    """Return how many objects are around the first other value, ``most`` at most; 0 without such a value."""
    if most == 0 or type(value) is not dict:
        return 0
    for inner in value.values():
        depth = _depth(inner, most - 1)
        if depth or type(inner) is not dict:
            return depth + 1
    return 0


def holds_objects_only(head: bytes) -> bool:
    """Return whether every value of the first JSON object of a text, as far as it is there, is an object.

    This tells {query: {document: score}} from a line of JSON Lines, which has some other value.
    """
    at = head.find(b"{") + 1
    found = False
    while (member := _MEMBER.match(head, at)) is not None:
        if member[1] != b"{":
            return False
        found = True
        end = _closing(head, member.start(1))
        comma = re.compile(rb"\s*,").match(head, end)
        if comma is None:
            return True
        at = comma.end()
    return found


def _closing(text: bytes, start: int) -> int:
    """Return where the bracket at ``start`` has been closed, or the end of the text."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] in b"{[") - (token[0] in b"}]")
        if depth == 0:
            return token.end()
    return len(text)
