"""The display of long work on a terminal: one line at once, and a bar for each step of over two seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from rerank.core.errors import one_line
from rerank.core.progress import Step, Tracker

_FIRST = 0.2  # seconds after which the first line appears
_NEXT = 0.5  # seconds of a later step without a bar, before its line replaces another
_BAR = 2.0  # seconds of a step before it has a bar
_WIDTH = 24
_NAME = 44  # characters of a step's name


class Screen(Tracker):
    """Shows steps on a terminal whenever ``tick`` is called, until ``close``; nothing of it stays there.

    Parameters
    ----------
    stream
        The terminal.
    clock
        Returns seconds.
    """

    def __init__(self, stream: IO[str], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._stream = stream
        self._clock = clock
        self._begun: float | None = None
        self._lock = threading.RLock()
        self._live: Any = None
        self._line = ""
        self._closed = False

    def begin(self, step: Step) -> None:
        """Add a step; it is shown once it has taken long enough."""
        step.begun = self._clock()
        with self._lock:
            if self._begun is None:
                self._begun = step.begun
            super().begin(step)

    def end(self, step: Step) -> None:
        """Remove a step and those within it that were left without an end."""
        with self._lock:
            super().end(step)
            if self._live is not None and not self.steps:
                self.clear()

    def clear(self) -> None:
        """Remove what is shown, so that something else can be printed; the next look shows it again."""
        with self._lock, suppress(OSError, ValueError):
            live, self._live = self._live, None
            if live is not None:
                live.stop()

    def close(self) -> None:
        """Remove what is shown, for good."""
        self._closed = True
        self.clear()

    def tick(self) -> None:
        """Show the steps as they are now."""
        with self._lock:
            if self._closed or not self.steps:
                return
            now = self._clock()
            last = self.steps[-1]
            long = [s for s in self.steps if now - s.begun >= _BAR and (s.unit or s is last)]
            if long:
                self._show(_bars(long, now))
                return
            begun = last.begun if self._line else self._begun
            assert begun is not None  # set with the first step
            if now - begun >= (_NEXT if self._line else _FIRST):
                self._line = f"rerank: {one_line(last.what)}"
            if self._line:
                from rich.text import Text

                self._show(Text(self._line, no_wrap=True, overflow="ellipsis"))

    def _show(self, what: Any) -> None:
        if self._live is not None:
            self._live.update(what, refresh=True)
            return
        from rich.console import Console
        from rich.live import Live

        console = Console(file=self._stream, highlight=False)
        options = {"redirect_stdout": False, "redirect_stderr": False}
        self._live = Live(what, console=console, auto_refresh=False, transient=True, **options)  # type: ignore[arg-type]
        self._live.start(refresh=True)


def _bars(steps: list[Step], now: float) -> Any:
    """A table with a row for each step: its name, a bar, what is counted, the time left and the value."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1), pad_edge=False)
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=_NAME)
    for _ in range(4):
        table.add_column(no_wrap=True, overflow="ellipsis")
    for step in steps:
        done = step.done if step.total is None else min(step.done, step.total)
        bar = ProgressBar(
            total=step.total, completed=done, width=_WIDTH, pulse=step.total is None, animation_time=now
        )
        cells = (counted(done, step.total, step.unit), left(step, now), running(step))
        table.add_row(Text(one_line(step.what)), bar, *map(Text, cells))
    return table


def counted(done: float, total: float | None, unit: str) -> str:
    """Return how much of a step is done: "3/10 rounds", "1.5/20 MB", or "" if nothing is counted."""
    if not unit:
        return ""
    if unit == "byte":
        size = total or done
        scale, name = (1e9, "GB") if size >= 1e9 else (1e6, "MB") if size >= 1e6 else (1e3, "kB")
        of = "" if total is None else f"/{total / scale:.1f}"
        return f"{done / scale:.1f}{of} {name}"
    name = unit if total == 1 else f"{unit}s"
    of = "" if total is None else f"/{total:,.0f}"
    return f"{done:,.0f}{of} {name}"


def left(step: Step, now: float) -> str:
    """Return the time that is left if the rest takes as long as what is done, "" if that is unknown."""
    if step.total is None or step.done <= 0:
        return ""
    seconds = (now - step.begun) * max(step.total - step.done, 0.0) / step.done
    return f"{_clock(seconds)} left" if seconds < 360_000 else "days left"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def running(step: Step) -> str:
    """Return the running value of a step, "" if it has none."""
    return "" if step.value is None else f"{step.value[0]} {step.value[1]:.4f}"


def line(steps: list[Step]) -> str:
    """Return how far work has come in one line, "" if nothing is being done."""
    now, parts = time.monotonic(), []
    for step in steps:
        facts = filter(None, (counted(step.done, step.total, step.unit), left(step, now), running(step)))
        if step.unit or step is steps[-1]:
            parts.append(": ".join(filter(None, (step.what, ", ".join(facts)))))
    return f"after {_clock(now - steps[0].begun)}: {'; '.join(parts)}" if steps else ""
