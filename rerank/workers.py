"""Worker processes of this machine: each runs one task at a time, with one thread of BLAS and OpenMP.

A worker is a new interpreter that imports what a task names. It inherits nothing but the search path, so it
works from a notebook, and a script needs no guard. What limits BLAS and OpenMP to one thread is its
environment: libraries read it when they are loaded, also those that a task loads late, such as scipy's own
BLAS, which threadpoolctl would miss.

A worker that ends while it runs a task is replaced. As it ran nothing else, that task is the one that did
not finish; it is tried once more when all others are done, alone, so that it has the memory of all workers.
A worker listens to its pipe while it works. When the pipe closes it ends, however its parent ended. Ctrl-C
reaches the parent only, which kills its workers.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from rerank.errors import RerankError
from rerank.tasks import ONE_THREAD, Outcome, TaskError, packed, performed, unpacked

Retrying = Callable[[int, str], None]  # the task's number, and how its worker ended

_MOST_STARTS = 3  # workers in a row that may end before they are ready
_LOOK = 1.0  # seconds after which a worker is looked for whose pipe another process keeps open
_START = "import sys; sys.path[:] = sys.argv[2:]; from rerank.workers import serve; serve(int(sys.argv[1]))"


def completed(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], n: int, retrying: Retrying
) -> Generator[tuple[int, Outcome]]:
    """Yield the number and the outcome of each task as it ends, from ``n`` workers at most.

    Parameters
    ----------
    function
        Defined in a module.
    tasks
        The arguments of each call.
    n
        The number of workers.
    retrying
        Called when a worker ended whose task will be tried again.

    Raises
    ------
    RerankError
        If workers end before they are ready.
    """
    pool = _Pool(function, tasks, n, retrying)
    try:
        yield from pool.outcomes()
    finally:
        pool.kill()


class _Pool:
    """Workers, and the tasks that wait: new ones, and those that are tried again."""

    def __init__(
        self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], n: int, retrying: Retrying
    ) -> None:
        self._function, self._tasks, self._most, self._retrying = function, tasks, n, retrying
        self._new, self._again = deque(range(len(tasks))), deque[int]()
        self._tried: set[int] = set()
        self._workers: list[_Worker] = []
        self._failed_starts = 0

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """Yield what tasks gave, as they end."""
        while left := len(self._new) + len(self._again) + len(self._busy()):
            while len(self._workers) < min(self._most, left):
                self._workers.append(_Worker())
            found = [one for worker in self._ready() if (one := self._heard(worker)) is not None]
            self._feed()  # before the caller works on what was found
            yield from found

    def kill(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.kill()

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.task is not None]

    def _ready(self) -> list[_Worker]:
        """The workers that have sent something or have ended."""
        by = {worker.connection: worker for worker in self._workers}
        sent = [by[connection] for connection in wait(list(by), _LOOK)]  # type: ignore[index]
        return sent or [worker for worker in self._workers if worker.process.poll() is not None]

    def _heard(self, worker: _Worker) -> tuple[int, Outcome] | None:
        """Take what a worker sent; put its task back if it ended."""
        data, task = worker.received(), worker.task
        worker.task = None
        if data is not None:
            worker.started, self._failed_starts = True, 0
            return None if task is None else (task, unpacked(data))
        end = worker.ended()
        self._workers.remove(worker)
        if task is None:
            self._failed_starts += not worker.started
            if self._failed_starts == _MOST_STARTS:
                raise RerankError(f"worker processes end before they are ready ({end})")
            return None
        if task in self._tried:
            return task, killed_twice(end)
        self._tried.add(task)
        self._again.append(task)
        self._retrying(task, end)
        return None

    def _feed(self) -> None:
        """Give a task to each worker that has none; one that is tried again runs alone."""
        for worker in self._workers:
            if not worker.started or worker.task is not None:
                continue
            waiting = self._new or (self._again if not self._busy() else None)
            if waiting:
                call = packed(self._function, self._tasks[waiting[0]])
                with suppress(OSError):  # it has ended, which _ready finds
                    worker.connection.send_bytes(call)
                    worker.task = waiting.popleft()


def killed_twice(end: str) -> Outcome:
    """Return the outcome of a task whose worker ended twice, the second time while it ran alone."""
    text = f"the worker process was killed twice while it ran this task ({end})"
    return Outcome(TaskError(RerankError(text), killed=True))


class _Worker:
    """A worker process, and the number of the task that it runs.

    Attributes
    ----------
    started : whether it has imported what it needs.
    task : None if it waits for one.
    """

    def __init__(self) -> None:
        self.connection, theirs = Pipe()
        with theirs, _without_interrupts():
            self.process = subprocess.Popen(
                [sys.executable, "-u", "-c", _START, str(theirs.fileno()), *sys.path],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={**os.environ, **ONE_THREAD},
            )
        self.started = False
        self.task: int | None = None

    def received(self) -> bytes | None:
        """Return what it sent, None if it ended."""
        try:
            if self.connection.poll() or self.process.poll() is None:
                return self.connection.recv_bytes()
        except (EOFError, OSError):
            pass
        return None

    def ended(self) -> str:
        """Return how it ended; its pipe is closed, and the process is gone or about to be."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_LOOK)
        self.kill()
        code = self.process.returncode
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name

    def kill(self) -> None:
        """End it."""
        self.connection.close()
        self.process.kill()
        self.process.wait()


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block SIGINT in this thread; processes that it starts never receive it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def serve(descriptor: int) -> None:
    """Run the tasks that come through a pipe until it closes; what a worker process does."""
    os.set_inheritable(descriptor, False)
    connection = Connection(descriptor)
    calls: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, calls), daemon=True).start()
    answer = b""  # ready
    while True:
        try:
            connection.send_bytes(answer)
        except OSError:
            os._exit(1)
        answer = performed(calls.get())


def _receive(connection: Connection, calls: queue.SimpleQueue[bytes]) -> None:
    """Put calls into the queue; end this process, even while it works, once the pipe is closed."""
    while True:
        try:
            calls.put(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(1)
