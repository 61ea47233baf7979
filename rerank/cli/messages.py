"""What is printed on standard error: messages, notes once and with short names, and the progress of work."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from rerank.core import progress
from rerank.core.errors import DataNote, one_line

if TYPE_CHECKING:
    from rerank.cli.progress import Screen

_SHORT = 40  # characters of a path that is not cut
_OF_A_KIND = 3  # notes that are printed
_PATH = re.compile(r"(?<![\w/.~-])[\w.~+@-]*/[^\s:;,'\"()]+")
_NUMBER = re.compile(r"\d[\d.,e+-]*")

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)
_screen: ContextVar[Screen | None] = ContextVar("screen", default=None)


def set_quiet(value: bool) -> bool:
    """Set whether only errors are printed, if ``value`` is true; the callback of ``--quiet``."""
    _quiet.set(value)
    return value


def say(text: str) -> None:
    """Print one line on standard error; it is dropped if nothing can be written there."""
    screen = _screen.get()
    if screen is not None:
        screen.clear()
    try:
        print(f"rerank: {one_line(text)}", file=sys.stderr, flush=True)
    except OSError:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (what is buffered would fail again at exit)


def inform(text: str) -> None:
    """Print one line about what was done, unless only errors are wanted."""
    if not _quiet.get():
        say(text)


@contextmanager
def showing() -> Iterator[progress.Tracker]:
    """Print notes within the block, and on a terminal the progress of work; then --quiet ends.

    Yields what knows how far the work has come.
    """
    notes = _Notes()
    try:
        with warnings.catch_warnings(), _progress() as tracker:
            warnings.simplefilter("always", DataNote)
            warnings.showwarning = notes.show  # type: ignore[assignment]  # file and line have other names
            yield tracker
            notes.end()
    finally:
        _quiet.set(False)


@contextmanager
def _progress() -> Iterator[progress.Tracker]:
    """Follow the steps of the block, and show them on a terminal."""
    if not on_terminal():
        tracker = progress.Tracker()
        with progress.shown_on(tracker):
            yield tracker
        return
    from rerank.cli.progress import Screen

    screen = Screen(sys.stderr)
    before = _screen.set(screen)
    try:
        with progress.shown_on(screen):
            yield screen
    finally:
        screen.close()
        _screen.reset(before)


def interruption(tracker: progress.Tracker, kept: str) -> str:
    """Return what a verb says at Ctrl-C: how far it was, and what there is of its outputs.

    ``kept`` is what the work itself says of that, "" if it says nothing.
    """
    reached = tracker.reached()
    names = [os.path.basename(path) for path in tracker.wrote]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    outputs = f"{', '.join(names[:3])}{more} written" if names else "nothing written"
    return f"interrupted{f' after {reached}' if reached else ''}; {kept or outputs}"


def on_terminal() -> bool:
    """Return whether progress is shown: on a terminal that can redraw lines, and without --quiet."""
    redraws = os.environ.get("TERM", "") not in ("", "dumb") and not os.environ.get("CI")
    return redraws and not _quiet.get() and sys.stderr.isatty()


class _Notes:
    """Prints notes: each text once, of each kind a few, with the names of files cut where they are long."""

    def __init__(self) -> None:
        self._names = _Names()
        self._said: set[str] = set()
        self._kinds: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    def show(
        self, message: Warning | str, category: type[Warning], file: str, line: int, *_: object, **__: object
    ) -> None:
        """Print a warning, in place of ``warnings.showwarning``."""
        if not issubclass(category, DataNote):
            say(f"{category.__name__}: {message} ({file}:{line})")
            return
        text = self._names.shortened(str(message))
        if text in self._said or _quiet.get():
            return
        self._said.add(text)
        kind = _kind(text)
        self._kinds[kind] += 1
        self._examples.setdefault(kind, text)
        if self._kinds[kind] <= _OF_A_KIND:
            say(f"note: {text}")

    def end(self) -> None:
        """Print how many notes were left out."""
        for kind, n in self._kinds.items():
            if n > _OF_A_KIND:
                say(f"note: and {n - _OF_A_KIND} more like '{self._examples[kind]}'")


def _kind(text: str) -> str:
    """What notes have in common that differ in the file and in numbers only."""
    name, colon, rest = text.partition(": ")
    return _NUMBER.sub("#", rest if colon and " " not in name else text)


class _Names:
    """The short names of files in messages: a long path is its last part, or as many as tell it from others.

    The paths of the command line are known before they occur in a message.
    """

    def __init__(self) -> None:
        self._paths: dict[str, None] = {}
        for argument in sys.argv[1:]:
            for word in re.split("[=,]", argument):
                if len(word) > _SHORT and "/" in word:
                    self._paths[word.rstrip("/")] = None

    def shortened(self, text: str) -> str:
        """Return a message with short names in place of long paths."""
        for path in [path for path in self._paths if " " in path]:
            text = text.replace(path, self._name(path))
        return _PATH.sub(lambda match: self._name(match[0]) if len(match[0]) > _SHORT else match[0], text)

    def _name(self, path: str) -> str:
        parts = path.rstrip("/").split("/")
        others = [other.split("/") for other in self._paths if other != path.rstrip("/")]
        self._paths[path.rstrip("/")] = None
        n = 1
        while n < len(parts) and any(other[-n:] == parts[-n:] for other in others):
            n += 1
        return "/".join(parts[-n:])
