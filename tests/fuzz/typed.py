"""JSON and YAML with a value of another type in one place: a number where a list is expected, and so on."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import yaml

VALUES: list[Any] = [None, True, False, -1, 0, 1, 2**31, 2**63, 10**400, 1.5, 1e308, "", "x", "inf", "\ud800"]
VALUES += [[], {}, [7], [[7]], [None], {"a": 1}, {"a": {"b": []}}]
Place = tuple[Any, ...]


def places(value: Any, above: Place = ()) -> Iterator[Place]:
    """Yield the path of every value within a value of JSON, and of itself."""
    yield above
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield from places(value[key], (*above, key))


def edited(value: Any, place: Place, new: Any, kind: str = "replace") -> Any:
    """Return a value with another one at a place; ``kind`` may be "delete", or "rename" for a key."""
    if not place:
        return new
    out = copy.deepcopy(value)
    holder = out
    for key in place[:-1]:
        holder = holder[key]
    if kind == "replace":
        holder[place[-1]] = new
    else:
        old = holder.pop(place[-1])
        if kind == "rename" and isinstance(holder, dict):
            holder[f"{place[-1]}x"] = old
    return out


def documents(data: bytes) -> list[tuple[bytes, Any, bytes]]:
    """Return the values of a text of JSON, JSON Lines or YAML, each with the text before and after it."""
    try:
        return [(b"", json.loads(data), b"")]
    except (ValueError, RecursionError):
        pass
    lines = data.split(b"\n")
    try:
        values = [json.loads(line) if line.strip() else None for line in lines]
    except (ValueError, RecursionError):
        values = []
    if values and data.lstrip().startswith(b"{"):
        starts = [b"\n".join([*lines[:i], b""]) for i in range(len(lines))]
        ends = [b"\n".join([b"", *lines[i + 1 :]]) for i in range(len(lines))]
        return [(starts[i], value, ends[i]) for i, value in enumerate(values) if value is not None]
    try:
        value = yaml.safe_load(data) if b"data:" in data else None
    except (yaml.YAMLError, ValueError):
        value = None
    return [(b"", value, b"")] if isinstance(value, dict) else []


def edits(data: bytes) -> Iterator[bytes]:
    """Yield a text with each value replaced by one of every type, left out, or under another name."""
    for before, value, after in documents(data):
        for place in places(value):
            for new in VALUES:
                yield before + json.dumps(edited(value, place, new)).encode() + after
            for kind in ("delete", "rename") if place else ():
                yield before + json.dumps(edited(value, place, None, kind)).encode() + after
