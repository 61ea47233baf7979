"""Which format a file is written in."""

from __future__ import annotations

from rerank.data.lists import CandidateLists
from rerank.errors import ConfigError
from rerank.files import plain_suffix
from rerank.formats.base import FORMATS


def save(lists: CandidateLists, path: str, format: str | None = None) -> None:
    """Write ``lists`` to ``path`` in the format named, or that of the path's suffix; see ``format_for``."""
    FORMATS.get(format or format_for(path))().write(lists, path)


def format_for(path: str) -> str:
    """Return the format in which a path is written, by its suffix; ``.store`` and a final / mean a store.

    Raises ConfigError if no format has the suffix.
    """
    if path.endswith("/"):
        return "store"
    suffix = plain_suffix(path)
    for name in FORMATS.names():
        if suffix and suffix in (*FORMATS.get(name).suffixes, f".{name}"):
            return name
    known = ", ".join(name for name in FORMATS.names() if FORMATS.get(name).holds)
    raise ConfigError(f"{path}: its suffix is not that of a format; choose one with --to (known: {known})")
