"""Tasks over workers that may die: each runs one at a time, so the task that did not finish is known.

Such a task is tried once more when all others are done, alone, so that it has the memory of all workers. If
its worker dies again, it has failed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Any, Generic, Protocol, TypeVar

from rerank.core.errors import RerankError
from rerank.core.workers.tasks import Outcome, TaskError, unpacked

Retrying = Callable[[int, str], None]  # the task's number, and how its worker ended
Packed = Callable[[Callable[..., Any], tuple[Any, ...]], bytes]

_MOST_STARTS = 3  # workers in a row that may end before they are ready


class Worker(Protocol):
    """What runs one task at a time.

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
        for worker in self.workers:
            if not worker.started or worker.task is not None:
                continue
            waiting = self._new or (self._again if not self._busy() else None)
            if waiting:
                call = self._packed(self._function, self._tasks[waiting[0]])
                with suppress(OSError):  # it has ended, which ready() finds
                    worker.send(call)
                    worker.task = waiting.popleft()
