"""Keys of JSON candidates, and checks of their values."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Mapping
from typing import Any

from rerank.core.errors import FormatError
from rerank.data.names import ITEM_NAMES
from rerank.formats.base import ReadOptions
from rerank.formats.common import quoted

# The first key that a file has is taken; the others are ignored.
CANDIDATES = ("candidates", "outputs", "choices", "responses", "completions", "hypotheses", "nbest")
LISTS = ("list", "list_id", "prompt_id", "query_id", "qid", "task_id", "request_id")
ITEM_KEYS: dict[str, tuple[str, ...]] = {
    **ITEM_NAMES,
    "score": ("score",),
    "features": ("features",),
    "logprobs": ("token_logprobs", "logprobs"),
    "tree": ("tree",),
    "trees": ("trees",),
}
ORDER = ("rank", "index")  # the order of the candidates already contains them
REFERENCES = ("references", "reference")
PROMPTS = ("prompt", "question")


class MisfitError(Exception):
    """A value that does not fit the schema.

    ``where`` is its key path, ``item`` the number of its candidate if several were looked at.
    """

    item = 0

    def __init__(self, where: str, found: str, expected: str) -> None:
        super().__init__(where)
        self.where = where
        self.found = found
        self.expected = expected

    def at(self, source: str, line: int | None) -> FormatError:
        """Return the error for a user."""
        place = f" at {self.where}" if self.where else ""
        return FormatError(source, line, self.found + place, self.expected)


def described(value: Any) -> str:
    """Return a JSON value for a message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the string {quoted(value)}"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    text = repr(value) if isinstance(value, float) or abs(value) < 10**30 else "a whole number past 10^30"
    return f"the number {text}"


def number_of(value: Any, where: str, nullable: bool = False) -> float:
    """Return a number, true = 1, false = 0, null = NaN if it is allowed; raises MisfitError."""
    if type(value) is float and value - value == 0.0:  # finite, as nearly all are
        return value
    if value is None and nullable:
        return math.nan
    if not isinstance(value, int | float):
        raise MisfitError(where, described(value), "a number" + (" or null" if nullable else ""))
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise MisfitError(where, "a number too large for float64", "a finite number")
    return number


def numbers_of(values: list[Any], where: str, nullable: bool = False) -> array[float]:
    """Return what ``number_of`` makes of each value."""
    try:
        numbers = array("d", values)
        if math.isfinite(sum(numbers)):
            return numbers
    except (TypeError, OverflowError):
        pass
    return array("d", [number_of(value, where, nullable) for value in values])


def name_of(value: Any, where: str) -> str:
    """Return an id, a string or a whole number; raises MisfitError."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise MisfitError(where, described(value), "an id (a string or a whole number)")


def answer_of(value: Any, where: str) -> bytes:
    """Return a final answer, a number as JSON has it, null = none; raises MisfitError."""
    if value is None:
        return b""
    if isinstance(value, int | float):
        return json.dumps(value).encode()
    return encoded(value, where)


def encoded(value: Any, where: str) -> bytes:
    """Return a string as UTF-8; raises MisfitError."""
    if not isinstance(value, str):
        raise MisfitError(where, described(value), "a string")
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        found = f"a lone surrogate (\\u{ord(value[error.start]):04x})"
        raise MisfitError(where, found, "text that UTF-8 can hold") from None


def strings_of(values: list[Any], where: str) -> list[bytes]:
    """Return what ``encoded`` makes of each value."""
    try:
        return [value.encode() for value in values]
    except AttributeError:
        return [encoded(value, where) for value in values]


def references_of(entry: Mapping[str, Any]) -> list[bytes] | None:
    """Return the references of a list, None if it has none; raises MisfitError."""
    if "references" in entry and "reference" in entry:
        raise MisfitError("reference", "'reference' beside 'references'", "one of them")
    if "reference" in entry:
        return None if entry["reference"] is None else [encoded(entry["reference"], "reference")]
    found = entry.get("references")
    if isinstance(found, str):
        found = [found]
    if found is None or found == []:
        return None
    if not isinstance(found, list):
        raise MisfitError("references", described(found), "an array of strings")
    return [encoded(text, f"references[{i}]") for i, text in enumerate(found)]


def prompt_key(entry: Mapping[str, Any], keys: tuple[str, str]) -> str:
    """Return the key of ``keys`` under which a line has its prompt."""
    return next((key for key in keys if key in entry), keys[0])


class Roles:
    """The role of each key of a candidate; of several keys for one role, the first that the file has.

    ReadOptions may name the keys. ``of`` maps keys to a role, to "spare" if they are ignored, or to "?ROLE"
    if no candidate had a key for the role yet.
    """

    def __init__(self, options: ReadOptions) -> None:
        given = {
            "id": options.id_column,
            **options.text_keys(),
            "label": options.label_column,
            "answer": options.answer_column,
        }
        self.prompts = PROMPTS if options.query_column is None else (options.query_column, "")
        self.of: dict[str, str] = dict.fromkeys(ORDER, "spare")
        for role, keys in ITEM_KEYS.items():
            self.of.update(dict.fromkeys(keys, f"?{role}" if given.get(role) is None else "spare"))
        self.of.update({key: role for role, key in given.items() if key is not None})

    def settle(self, role: str, item: Mapping[str, Any]) -> None:
        """Give ``role`` ("?ROLE") to the first of its keys that ``item`` has."""
        keys = [key for key in ITEM_KEYS[role[1:]] if self.of.get(key) == role]
        chosen = next(key for key in keys if key in item)
        self.of.update(dict.fromkeys(keys, "spare"))
        self.of[chosen] = role[1:]


def logprobs_of(value: Any, where: str) -> dict[str, float] | None:
    """Return the features that log-probabilities become, None if ``value`` is of another kind.

    It may be a number, which is the only feature; numbers of tokens; objects with a "logprob" (or vLLM's
    {token: {"logprob": ...}} of one token); OpenAI's {"token_logprobs": ...} and {"content": ...}. A null
    (the first token of an echoed prompt) is skipped. Raises MisfitError if a number is too large for float64.
    """
    if isinstance(value, int | float):
        return {where: number_of(value, where)}
    if isinstance(value, dict):
        key = next((key for key in ("token_logprobs", "content") if isinstance(value.get(key), list)), None)
        return None if key is None else logprobs_of(value[key], f"{where}.{key}")
    logprobs = _numbers_of_tokens(value, where) if isinstance(value, list) else None
    if logprobs is None:
        return None
    try:
        total = math.fsum(logprobs)
    except OverflowError:
        raise MisfitError(where, "a sum too large for float64", "log-probabilities") from None
    out = {"logprob_sum": total, "n_tokens": float(len(logprobs))}
    if logprobs:
        out["logprob_mean"] = total / len(logprobs)
        out["logprob_min"] = min(logprobs)
    return out


def _numbers_of_tokens(entries: list[Any], where: str) -> list[float] | None:
    """Return a number for each entry that is not null, None if one has no number."""
    if set(map(type, entries)) == {float}:
        return entries  # finite: the parser takes no other floats, except for what numbers_of finds
    out = []
    for place, entry in enumerate(entries):
        if entry is None:
            continue
        if isinstance(entry, dict):
            entry = next(iter(entry.values())) if "logprob" not in entry and len(entry) == 1 else entry
            entry = entry.get("logprob") if isinstance(entry, dict) else None
        if isinstance(entry, bool) or not isinstance(entry, int | float):
            return None
        out.append(number_of(entry, f"{where}[{place}]"))
    return out
