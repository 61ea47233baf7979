"""Tasks in other processes, and workers that may die: what is sent, what comes back, what is tried again.

A call is sent as bytes, function and arguments together, and so is what it gave: the result, or the error
with its traceback. Warnings are part of it; whoever receives them issues them again, see ``Outcome.taken``.

Each worker runs one task at a time, so the task that did not finish is known. Such a task is tried once more
when all others are done, alone, so that it has the memory of all workers. If its worker dies again, it has
failed.
"""

from __future__ import annotations

import threading
import traceback
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar, Token
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct, field

from rerank.core.errors import DataNote, RerankError

# Read by the libraries when they are loaded, so it must be set before.
ONE_THREAD = dict.fromkeys(
    (
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
        *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"),
    ),
    "1",
)


class TaskError(Struct, frozen=True):
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


class Outcome(Struct):
    """The result of a task, and the warnings that it issued."""

    value: Any
    notes: list[Note] = field(default_factory=list)

    def taken(self) -> Any:
        """Issue the task's warnings here and return its result or TaskError."""
        for text, category, file, line in self.notes:
            warnings.warn_explicit(text, category, file, line)
        return self.value


def _dumps(value: Any) -> bytes:
    from multiprocessing.reduction import ForkingPickler  # here, so that the command line starts without it

    return bytes(ForkingPickler.dumps(value))


def _loads(data: Any) -> Any:
    from multiprocessing.reduction import ForkingPickler

    return ForkingPickler.loads(data)


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
        sendable = isinstance(error, Exception)
    except Exception:
        sendable = False
    return TaskError(error if sendable else RerankError(f"{type(error).__name__}: {error}"), text)  # type: ignore[arg-type]


_receive: ContextVar[list[Note] | None] = ContextVar("_receive", default=None)  # of this thread's task
_lock, _tasks, _filters = threading.Lock(), list[Token[Any]](), ExitStack()


@contextmanager
def capture_warnings() -> Iterator[list[Note]]:
    """Collect the warnings that this thread issues in the block, instead of showing them."""
    token = _receive.set(notes := list[Note]())
    with _lock:
        if not _tasks:
            _filters.enter_context(_listening())
        _tasks.append(token)
    try:
        yield notes
    finally:
        _receive.reset(token)
        with _lock:
            _tasks.remove(token)
            if not _tasks:  # filters are again those of the caller, which the notes will meet
                _filters.close()


@contextmanager
def _listening() -> Iterator[None]:
    """Collect warnings of tasks; those of others go where they went.

    ``warnings.catch_warnings`` for each task would not be safe in threads.
    """
    with warnings.catch_warnings():

        def show(message: Any, *where: Any, others: Any = warnings.showwarning) -> None:
            if (notes := _receive.get()) is None:
                others(message, *where)
            else:
                notes.append((message if isinstance(message, str) else message.args[0], *where[:3]))

        warnings.showwarning = show  # type: ignore[assignment]  # file and line, by their short names
        warnings.simplefilter("always", DataNote)
        yield


Retrying = Callable[[int, str], None]  # the task's number, and how its worker ended


Packed = Callable[[Callable[..., Any], tuple[Any, ...]], bytes]


_MOST_STARTS = 3  # workers in a row that may end before they are ready


class Worker(Protocol):
    """A worker, which runs one task at a time.

    Attributes
    ----------
    started : whether it takes tasks.
    task : the number of the task that it runs, None if it waits for one.
    """

    started: bool
    task: int | None

    def send(self, call: bytes) -> None:
        """Give it a call; raise OSError if it has ended."""

    def received(self) -> bytes | None:
        """Return what it sent, None if it has ended."""

    def ended(self) -> str:
        """Return how it ended."""

    def kill(self) -> None:
        """End it, or what it does for this pool."""


W = TypeVar("W", bound=Worker)


class Pool(ABC, Generic[W]):
    """Workers, and the tasks that wait: new ones, and those that are tried again.

    Parameters
    ----------
    function, tasks
        The calls.
    packed
        Makes a call bytes.
    retrying
        Called when a worker ended whose task will be tried again.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        tasks: Sequence[tuple[Any, ...]],
        packed: Packed,
        retrying: Retrying,
    ) -> None:
        self.workers: list[W] = []
        self._function, self._tasks, self._packed, self._retrying = function, tasks, packed, retrying
        self._new, self._again = deque(range(len(tasks))), deque[int]()
        self._tried: set[int] = set()
        self._failed_starts = 0

    @abstractmethod
    def grow(self, wanted: int) -> None:
        """Add workers until there are as many as ``wanted``, or as there may be."""

    @abstractmethod
    def ready(self) -> Sequence[W]:
        """Return workers that have sent something or have ended; wait for some time if there are none."""

    def outcomes(self) -> Generator[tuple[int, Outcome]]:
        """Yield the number and the outcome of each task as it ends.

        Raises RerankError if workers end before they are ready.
        """
        try:
            while self._new or self._again or self._busy():
                self.grow(len(self._new) + len(self._busy()) + bool(self._again))
                self._feed()
                found = [one for worker in self.ready() if (one := self._receive(worker)) is not None]
                self._feed()  # before the caller works on what was found
                yield from found
        finally:
            for worker in self.workers:
                worker.kill()

    def _busy(self) -> list[W]:
        return [worker for worker in self.workers if worker.task is not None]

    def _receive(self, worker: W) -> tuple[int, Outcome] | None:
        """Take what a worker sent; put its task back if it ended."""
        data, task = worker.received(), worker.task
        worker.task = None
        if data is not None:
            worker.started, self._failed_starts = True, 0
            return None if task is None else (task, unpacked(data))
        end = worker.ended()
        self.workers.remove(worker)
        if task is None:
            self._failed_starts += not worker.started
            if self._failed_starts == _MOST_STARTS:
                raise RerankError(f"worker processes end before they are ready ({end})")
            return None
        if task in self._tried:
            text = f"the worker process was killed twice while it ran this task ({end})"
            return task, Outcome(TaskError(RerankError(text), killed=True))
        self._tried.add(task)
        self._again.append(task)
        self._retrying(task, end)
        return None

    def _feed(self) -> None:
        """Give a task to each worker that has none; one that is tried again runs alone."""
        for worker in (one for one in self.workers if one.started and one.task is None):
            waiting = self._new or (self._again if not self._busy() else None)
            if waiting:
                call = self._packed(self._function, self._tasks[waiting[0]])
                with suppress(OSError):  # it has ended, which ready() finds
                    worker.send(call)
                    worker.task = waiting.popleft()
