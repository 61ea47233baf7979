"""Worker processes of this machine: each runs one task at a time, with one thread of BLAS and OpenMP.

A worker is a new interpreter that imports what a task names. It inherits nothing but the search path, so it
works from a notebook, and a script needs no guard. What limits BLAS and OpenMP to one thread is its
environment: libraries read it when they are loaded, also those that a task loads late, such as scipy's own
BLAS, which threadpoolctl would miss.

A worker listens to its pipe while it works. When the pipe closes it ends, however its parent ended. Ctrl-C
reaches the parent only, which kills its workers.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from rerank.core.system import inherited, started
from rerank.core.workers.pool import ONE_THREAD, Outcome, Packed, Pool, Retrying, packed, run_task

_LOOK = 1.0  # seconds after which a worker is looked for whose pipe another process keeps open
_START = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from rerank.core.workers.processes import serve; serve(int(sys.argv[1]))"
)


def completed(
    function: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    n: int,
    retrying: Retrying,
    packing: Packed = packed,
) -> Generator[tuple[int, Outcome]]:
    """Return an iterator of the number and the outcome of each task as it ends, with ``n`` workers at most.

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
    packing
        Makes a call bytes.

    Raises
    ------
    RerankError
        If workers end before they are ready.
    """
    pool = _Processes(function, tasks, packing, retrying)
    pool.most = n
    return pool.outcomes()


class _Processes(Pool["_Worker"]):
    """Processes of this machine, ``most`` at once."""

    most: int

    def grow(self, wanted: int) -> None:
        while len(self.workers) < min(self.most, wanted):
            self.workers.append(_Worker())

    def ready(self) -> list[_Worker]:
        by = {worker.connection: worker for worker in self.workers}
        sent = [by[connection] for connection in wait(list(by), _LOOK)]  # type: ignore[index]
        return sent or [worker for worker in self.workers if worker.process.poll() is not None]


class _Worker:
    """A worker process; it has started once it has imported what it needs."""

    def __init__(self) -> None:
        self.connection, theirs = Pipe()
        with theirs:
            self.process = started(_START, theirs, {**os.environ, **ONE_THREAD})
        self.started = False
        self.task: int | None = None

    def send(self, call: bytes) -> None:
        self.connection.send_bytes(call)

    def received(self) -> bytes | None:
        try:
            if self.connection.poll() or self.process.poll() is None:
                return self.connection.recv_bytes()
        except (EOFError, OSError):
            pass
        return None

    def ended(self) -> str:
        with suppress(subprocess.TimeoutExpired):  # its pipe is closed before the process is gone
            self.process.wait(_LOOK)
        self.kill()
        code = self.process.returncode
        if code >= 0:
            return f"exit code {code}"
        name = signal.Signals(-code).name
        return f"{name}, perhaps because memory ran out" if name == "SIGKILL" else name

    def kill(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.wait()


def serve(descriptor: int) -> None:
    """Run the tasks that come through a pipe until it closes; what a worker process does."""
    connection = inherited(descriptor)
    calls: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, calls), daemon=True).start()
    answer = b""  # ready
    while True:
        try:
            connection.send_bytes(answer)
        except OSError:
            os._exit(1)
        answer = run_task(calls.get())


def _receive(connection: Connection, calls: queue.SimpleQueue[bytes]) -> None:
    """Put calls into the queue; end this process, even while it works, once the pipe is closed."""
    while True:
        try:
            calls.put(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(1)
