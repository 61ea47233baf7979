"""YAML from strangers as plain values: small, without surprises, every fault one line with its number."""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

from rerank.core.errors import FormatError

LONGEST = 1 << 18  # characters; the parser takes some seconds for them
_DEEPEST = 32
_MOST = 20_000  # values, or 64 characters of text, after aliases have been replaced by what they stand for

# The core schema of YAML 1.2: `no`, 2024-01-01 and 1:30 are text, 010 is ten, 1e3 is a number.
_MERGE = "<<"
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_WHOLE = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LONGEST_NUMBER = 400
_FOUND = re.compile("^(but )?found ")  # FormatError has its own
_LARGEST = 2**63


def read_yaml(text: str, path: str) -> Any:
    """Return the value of a YAML document: None, bool, int, float, str, and lists and dicts of these.

    Parameters
    ----------
    text
        The document, read by the core schema of YAML 1.2. Keys become text.
    path
        Its name, for messages.

    Raises
    ------
    FormatError
        If it is not YAML, is too long or nested too deeply, names a key twice or has a tag of its own, or if
        its aliases stand for too much.
    """
    if len(text) > LONGEST:
        raise FormatError(path, None, f"more than {LONGEST} characters", "fewer")
    try:
        _check_events(text, path)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return None if node is None else _value(node, path)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise FormatError(path, line, "a character that YAML does not allow", "printable text") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = _FOUND.sub("", " ".join((error.problem or "text that is not YAML").split()))
        raise FormatError(path, mark.line + 1 if mark else None, problem[:200], "YAML") from None
    except (
        yaml.YAMLError,
        ArithmeticError,
        LookupError,
        ValueError,
    ):  # the scanner converts escapes by itself
        raise FormatError(path, None, "text that is not YAML", "YAML") from None


def _check_events(text: str, path: str) -> None:
    """Raise FormatError at the place that makes the document too deep or too large.

    The parser's events come one by one, without recursion, and before anything is built of them.
    """
    sizes: dict[str, int] = {}  # of what each anchor stands for
    opened: list[tuple[str | None, int]] = []  # anchor, and the total before it
    total = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else None
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise FormatError(path, line, f"tag {tag[:60]!r}", "values without tags")
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                inside = any(event.anchor == anchor for anchor, _ in opened)
                found = (
                    f"alias {str(event.anchor)[:40]!r} {'inside its own value' if inside else 'of nothing'}"
                )
                raise FormatError(path, line, found, "an alias of an earlier value")
            total += sizes[event.anchor]
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, total))
            total += 1
            if len(opened) > _DEEPEST:
                raise FormatError(path, line, f"more than {_DEEPEST} values inside each other", "fewer")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor is not None:
                sizes[anchor] = total - before
        elif isinstance(event, yaml.ScalarEvent):
            size = 1 + len(event.value) // 64
            total += size
            if event.anchor is not None:
                sizes[event.anchor] = size
        if total > _MOST:
            raise FormatError(path, line, f"more than {_MOST} values", "fewer, aliases included")


def _value(node: yaml.Node, path: str) -> Any:
    """The plain value of a node."""
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, path, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        return [_value(inner, path) for inner in node.value]
    return _mapping(node, path)


def _mapping(node: yaml.Node, path: str) -> dict[str, Any]:
    own: dict[str, Any] = {}
    merged: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        value = _value(value_node, path)
        if isinstance(key_node, yaml.ScalarNode) and key_node.value == _MERGE and key_node.style is None:
            for inner in value if isinstance(value, list) else [value]:
                if not isinstance(inner, dict):
                    raise FormatError(path, line, f"{_MERGE} of what has no keys", "keys and values")
                merged = inner | merged
            continue
        if not isinstance(key_node, yaml.ScalarNode):
            raise FormatError(path, line, "a key that is a list or a section", "a name")
        key = str(_scalar(key_node, path, line))
        if key in own:
            raise FormatError(path, line, f"key {key[:60]!r} again", "each key once")
        own[key] = value
    return merged | own


def _scalar(node: yaml.ScalarNode, path: str, line: int) -> Any:
    """The value of a scalar: quoted ones are text, others what the core schema makes of them."""
    text = node.value
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FormatError(path, line, "half of a character", "whole ones") from None
    if node.style is not None:
        return text
    if text in _WORDS:
        return _WORDS[text]
    special = _SPECIAL.fullmatch(text)
    if special:
        return math.nan if special[3] else math.copysign(math.inf, -1 if special[1] == "-" else 1)
    whole = _WHOLE.fullmatch(text)
    if not whole and not _NUMBER.fullmatch(text):
        return text
    if len(text) > _LONGEST_NUMBER:
        raise FormatError(path, line, f"a number of {len(text)} characters", f"at most {_LONGEST_NUMBER}")
    value = int(text, 0 if text[1:2] in ("o", "x") else 10) if whole else float(text)
    if abs(value) >= _LARGEST if whole else math.isinf(value):
        raise FormatError(path, line, f"the number {text[:40]}", "one of 64 bits")
    return value
