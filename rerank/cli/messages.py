"""Output on standard error: messages, notes once and with short names, and the progress of work."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import IO, TYPE_CHECKING

from rerank.core import progress
from rerank.core.errors import ConfigError, DataNote, one_line, os_error

if TYPE_CHECKING:
    from rerank.cli.progress import Screen

_SHORT = 40  # characters of a path that is not cut
_OF_A_KIND = 3  # notes that are printed
_MINUTE = 60.0  # seconds between two lines of progress
_PAUSE = 0.1  # and between two looks at the bars
_TIME = "%Y-%m-%d %H:%M:%S"
_PATH = re.compile(r"(?<![\w/.~-])[\w.~+@-]*/[^\s:;,'\"()]+")
_NUMBER = re.compile(r"\d[\d.,e+-]*")

QUIET: ContextVar[bool] = ContextVar("quiet", default=False)  # whether only errors are printed
_screen: ContextVar[Screen | None] = ContextVar("screen", default=None)
_log: ContextVar[IO[str] | None] = ContextVar("log", default=None)


def start_log(path: str, command: str) -> None:
    """Append what is printed on standard error to a file from now on, with the time.

    Raises ConfigError if the file is something else than such a log, and RerankError if it cannot be written.
    """
    try:
        log = open(path, "a+", encoding="utf-8", errors="backslashreplace", newline="\n")  # noqa: SIM115
    except OSError as error:
        raise os_error(path, error) from None
    log.seek(0)
    first = log.read(20)
    if first and not re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", first):
        log.close()
        raise ConfigError(f"--log: {path} holds something else than messages of rerank")
    _log.set(log)
    say(command, shown=False)


def end_log(code: int) -> None:
    """Close the log."""
    say(f"exit code {code}", shown=False)
    log = _log.get()
    _log.set(None)
    if log is not None:
        log.close()


def say(text: str, *, shown: bool = True) -> None:
    """Print one line on standard error, if it is ``shown``, and in the log; it is dropped if that fails."""
    log, screen = _log.get(), _screen.get()
    if log is not None:
        print(time.strftime(_TIME), one_line(text), file=log, flush=True)
    if not shown:
        return
    if screen is not None:
        screen.clear()
    try:
        print(f"rerank: {one_line(text)}", file=sys.stderr, flush=True)
    except OSError:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (what is buffered would fail again at exit)


def inform(text: str) -> None:
    """Print one line about what was done, unless only errors are wanted."""
    say(text, shown=not QUIET.get())


@contextmanager
def showing(how: str | None = None) -> Iterator[progress.Tracker]:
    """Print notes within the block, and the progress of work; then --quiet ends.

    Progress is shown by bars on a terminal, else, or if ``how`` is "lines", by a line every minute, which the
    log has too; "none" shows nothing. Yields what knows how far the work has come.
    """
    notes, ended, screen = _Notes(), threading.Event(), None
    tracker = progress.Tracker()
    if how in (None, "auto") and on_terminal():
        from rerank.cli.progress import Screen

        tracker = screen = Screen(sys.stderr)
    before = _screen.set(screen)
    lines = how != "none" and screen is None and not QUIET.get()
    threading.Thread(target=copy_context().run, args=(_follow, tracker, ended, lines), daemon=True).start()
    try:
        with warnings.catch_warnings(), progress.shown_on(tracker):
            warnings.simplefilter("always", DataNote)
            warnings.showwarning = notes.show  # type: ignore[assignment]  # file and line have other names
            yield tracker
            notes.end()
    finally:
        ended.set()
        if screen is not None:
            screen.close()
        _screen.reset(before)
        QUIET.set(False)


def _follow(tracker: progress.Tracker, ended: threading.Event, shown: bool) -> None:
    """Show how far the work has come: bars ten times a second, or a line every minute."""
    screen, said = _screen.get(), time.monotonic()
    while not ended.wait(_MINUTE if screen is None else _PAUSE):
        from rerank.cli.progress import line

        if screen is not None:
            with suppress(OSError, ValueError):  # the terminal is gone
                screen.tick()
        if time.monotonic() - said >= _MINUTE and (text := line(tracker.steps[:])):
            said = time.monotonic()
            say(text, shown=shown)


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
    return redraws and not QUIET.get() and sys.stderr.isatty()


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
        """Print a warning, instead of ``warnings.showwarning``."""
        if not issubclass(category, DataNote):
            say(f"{category.__name__}: {' '.join(str(message).split())} ({file}:{line})")
            return
        text = self._names.shortened(str(message))
        if text in self._said:
            return
        self._said.add(text)
        name, colon, rest = text.partition(": ")
        kind = _NUMBER.sub("#", rest if colon and " " not in name else text)  # of any file and numbers
        self._kinds[kind] += 1
        self._examples.setdefault(kind, text)
        if self._kinds[kind] <= _OF_A_KIND:
            inform(f"note: {text}")

    def end(self) -> None:
        """Print how many notes were left out."""
        for kind, n in self._kinds.items():
            if n > _OF_A_KIND:
                inform(f"note: and {n - _OF_A_KIND} more like '{self._examples[kind]}'")


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
        """Return a message with short names instead of long paths."""
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
