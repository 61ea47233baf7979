"""Keys that one command line gives once, whichever of their spellings and options it uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rerank.core.errors import ConfigError
from rerank.core.settings import Settings

# Keys that mean the same.
_SPELLINGS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("learner", "metric"): ("select", "metric"),
    ("learner", "keep"): ("select", "keep"),
    ("learner", "seed"): ("seed",),
    ("learner", "init"): ("data", "init"),
}
# Settings of learners that have settings of their own: base=NAME or base.KEY=VALUE.
WITH_SETTINGS = ("base",)
_OF_GIVEN = ("given", "auto")  # values of learner.init that use the file of data.init


class Once:
    """The keys that were given so far, each with the words that gave it."""

    def __init__(self) -> None:
        self._ways: dict[tuple[str, ...], str] = {}

    def give(self, parts: Sequence[str], value: Any, way: str) -> None:
        """Note that ``way`` gives a key; ConfigError if the key, or a section that has it, was given before.

        Parameters
        ----------
        parts : the sections and the name of the key.
        value : its value.
        way : an option, or ``--set KEY=VALUE``.
        """
        key = _key(parts, value)
        for other, earlier in self._ways.items():
            n = min(len(key), len(other))
            if key[:n] == other[:n]:
                name = ".".join(key if len(key) >= len(other) else other)
                raise ConfigError(f"{way}: the key is given twice, also by {earlier} ({name})")
        self._ways[key] = way


def drop_spellings(values: Mapping[str, Any], parts: Sequence[str], value: Any) -> None:
    """Delete the other spellings of a key from ``values``, over which it is put."""
    key = _key(parts, value)
    for spelling in (spelling for pair in _SPELLINGS.items() if key in pair for spelling in pair):
        section: Any = values
        for part in spelling[:-1]:
            section = section.get(part) if isinstance(section, dict) else None
        if isinstance(section, dict):
            section.pop(spelling[-1], None)


def _key(parts: Sequence[str], value: Any) -> tuple[str, ...]:
    """The key in the spelling that is compared."""
    key = tuple(parts)
    if key == ("learner", "init") and value in _OF_GIVEN:
        return key
    if key[0] == "learner" and key[-1] in WITH_SETTINGS and isinstance(value, str):
        return (*key, "name")
    return _SPELLINGS.get(key, key)


def option_of(owner: type[Settings], key: str) -> str:
    """Return the option that gives a dotted key of ``owner``, as it is typed."""
    section, _, name = key.partition(".")
    if section == "grid":
        return f"--grid {name}"
    field = owner.settings.get(section)
    inner = None if field is None else field.kind
    if name and isinstance(inner, type) and issubclass(inner, Settings):
        return option_of(inner, name)
    return f"--{section}" if field is None or name else field.flags[0]
