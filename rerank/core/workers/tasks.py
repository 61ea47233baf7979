"""One task in another process: what is sent there, what comes back, and the warnings it gave.

A call is sent as bytes, function and arguments together, and so is what it gave: the result, or the error
with its traceback. Warnings are part of it; whoever receives them issues them again, see ``Outcome.taken``.
"""

from __future__ import annotations

import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rerank.core.errors import DataNote, RerankError

# Read by the libraries when they are loaded, so it must be set before.
ONE_THREAD = dict.fromkeys(
    (
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
        *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"),
    ),
    "1",
)


def _dumps(value: Any) -> bytes:
    from multiprocessing.reduction import ForkingPickler  # here, so that the command line starts without it

    return bytes(ForkingPickler.dumps(value))


def _loads(data: Any) -> Any:
    from multiprocessing.reduction import ForkingPickler

    return ForkingPickler.loads(data)


@dataclass(frozen=True)
class TaskError:
    """A task that failed: its error, and the traceback as text.

    Attributes
    ----------
    error : Exception
        What the task raised. A RerankError if the worker process was killed twice, or if the task's own error
        cannot be sent between processes.
    traceback : str
        Of the worker; "" if it was killed.
    killed : bool
        Whether the worker process ended while it ran the task.
    """

    error: Exception
    traceback: str = ""
    killed: bool = False


Note = tuple[str, type[Warning], str, int]  # text, class, file and line


@dataclass
class Outcome:
    """What a task gave, and the warnings that it issued."""

    value: Any
    notes: list[Note] = field(default_factory=list)

    def taken(self) -> Any:
        """Issue the task's warnings here and return its result or TaskError."""
        for text, category, file, line in self.notes:
            warnings.warn_explicit(text, category, file, line)
        return self.value


def packed(function: Callable[..., Any], task: tuple[Any, ...]) -> bytes:
    """Return a call as bytes; errors are those of pickling."""
    return _dumps((function, task))


def unpacked(data: bytes) -> Outcome:
    """Return the outcome that ``run_task`` sent; a result that cannot be read here is a TaskError."""
    try:
        return Outcome(*_loads(data))
    except Exception as error:
        return Outcome(_failure(error))


def run_task(call: bytes) -> bytes:
    """Make a call and return its outcome as bytes; nothing is raised."""
    with capture_warnings() as notes:
        try:
            function, task = _loads(call)
            value = function(*task)
        except BaseException as error:
            value = _failure(error)
    try:
        return _dumps((value, notes))
    except Exception as error:
        return _dumps((_failure(error), []))


def _failure(error: BaseException) -> TaskError:
    """An error with its traceback; another one in its place if it would not survive the journey."""
    text = "".join(traceback.format_exception(error))
    try:
        _loads(_dumps(error))
    except Exception:
        sendable = False
    else:
        sendable = isinstance(error, Exception)
    return TaskError(error if sendable else RerankError(f"{type(error).__name__}: {error}"), text)  # type: ignore[arg-type]


class _Heard(threading.local):
    """The warnings of the task that runs in this thread; None = none runs here."""

    notes: list[Note] | None = None


_receive = _Heard()
_listening: list[Callable[..., Any]] = []


@contextmanager
def capture_warnings() -> Iterator[list[Note]]:
    """Collect the warnings that this thread issues in the block, instead of showing them."""
    _listen()
    before, notes = _receive.notes, list[Note]()
    _receive.notes = notes
    try:
        yield notes
    finally:
        _receive.notes = before


def _listen() -> None:
    """Collect warnings of tasks from now on; those of others go where they went.

    ``warnings.catch_warnings`` would do for one task, but it is not safe in threads.
    """
    if warnings.showwarning in _listening:
        return
    others = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], file: str, line: int, *rest: Any) -> None:
        if _receive.notes is None:
            others(message, category, file, line, *rest)
        else:
            _receive.notes.append((str(message), category, file, line))

    _listening.append(show)
    warnings.showwarning = show  # type: ignore[assignment]  # file and line, by their short names
    warnings.simplefilter("always", DataNote)
