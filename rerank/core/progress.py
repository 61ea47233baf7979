"""Progress of work, for a display that the command line installs.

Long work opens a step and reports what is done of it::

    with progress.step("reading x", size, "byte") as advance:
        for block in blocks:
            advance(len(block))

Without a display a step costs about a microsecond. Steps of other threads than the one that installed the
display are not shown: several tasks at once are one step, which counts them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")
Value = tuple[str, float]  # a name and a number, such as ("dev AP", 0.43)
Advance = Callable[..., None]


class Step:
    """One piece of work.

    Attributes
    ----------
    what
        What is being done, such as "reading train.txt".
    total
        How much there is to do; None = unknown.
    unit
        What is counted, in the singular; "byte" is shown as a size. "" = nothing to count.
    done
        How much is done.
    value
        A running value, such as the metric on the dev lists.
    """

    __slots__ = ("begun", "done", "total", "unit", "value", "what")

    def __init__(self, what: str, total: float | None = None, unit: str = "") -> None:
        self.what = what
        self.total = total
        self.unit = unit
        self.done = 0.0
        self.value: Value | None = None
        self.begun = time.monotonic()

    def __call__(self, done: float = 1, value: Value | None = None) -> None:
        """Report that so much more is done, and the running value."""
        self.done += done
        if value is not None:
            self.value = value


class Display(Protocol):
    """Display of the steps of work."""

    def begin(self, step: Step) -> None:
        """Add a step within those that are being done."""
        ...

    def end(self, step: Step) -> None:
        """Remove a step."""
        ...

    def placed(self, path: str) -> None:
        """Note that an output was placed."""
        ...


class Tracker:
    """Knows the steps that are being done, shows nothing.

    Attributes
    ----------
    steps
        The outermost first.
    ended
        Steps that have ended since the last one began: after an interruption those that it ended.
    wrote
        Outputs that were placed.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.ended: list[Step] = []
        self.wrote: list[str] = []

    def begin(self, step: Step) -> None:
        """Add a step."""
        self.steps.append(step)
        self.ended.clear()

    def end(self, step: Step) -> None:
        """Remove a step and those within it that were left without an end."""
        if step in self.steps:
            del self.steps[self.steps.index(step) :]
        self.ended.append(step)

    def placed(self, path: str) -> None:
        """Note that an output was placed."""
        self.wrote.append(path)

    def reached(self) -> str:
        """Return how far the innermost step came that counts and is not done, such as "round 3 of 10"."""
        for step in (*self.ended, *reversed(self.steps)):
            if step.unit not in ("", "byte") and step.total is not None and 0 < step.done < step.total:
                return f"{step.unit} {step.done:,.0f} of {step.total:,.0f}"
        return ""


_display: ContextVar[Display | None] = ContextVar("display", default=None)


@contextmanager
def shown_on(display: Display) -> Iterator[None]:
    """Show the steps of this thread on a display within the block."""
    before = _display.set(display)
    try:
        yield
    finally:
        _display.reset(before)


@contextmanager
def step(what: str, total: float | None = None, unit: str = "") -> Iterator[Advance]:
    """Open a step; see ``Step`` for the parameters and for what is yielded."""
    display = _display.get()
    if display is None:
        yield nothing
        return
    found = Step(what, total, unit)
    display.begin(found)
    try:
        yield found
    finally:
        display.end(found)


def placed(path: str) -> None:
    """Report that an output was placed."""
    display = _display.get()
    if display is not None:
        display.placed(path)


def over(tasks: Iterable[T], what: str, total: int | None, unit: str) -> Iterator[T]:
    """Yield each of ``total`` tasks (None = unknown), which is done when the next one is asked for."""
    with step(what, total, unit) as advance:
        for task in tasks:
            yield task
            advance()


def nothing(done: float = 1, value: Value | None = None) -> None:
    """Do nothing: there is no display."""
