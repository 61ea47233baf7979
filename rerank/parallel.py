"""Independent tasks on several workers; results never depend on the number of workers.

Threads are for work that releases the interpreter's lock (the kernels), processes for the rest. A function
for processes must be defined in a module; its arguments should be small: paths and ranges, not arrays.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from rerank.errors import ConfigError, RerankError

T = TypeVar("T")

_jobs: ContextVar[int] = ContextVar("jobs", default=1)


@contextmanager
def using(jobs: int | None) -> Iterator[None]:
    """Set the number of workers of ``each`` within the block: 0 = one per core, None = unchanged.

    Raises ConfigError if the number is negative.
    """
    if jobs is None:
        yield
        return
    if jobs < 0:
        raise ConfigError(f"jobs: found {jobs}, expected 0 (one per core) or more")
    before = _jobs.set(jobs or cores())
    try:
        yield
    finally:
        _jobs.reset(before)


def jobs() -> int:
    """Return the number of workers of ``each`` here."""
    return _jobs.get()


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def each(function: Callable[..., T], tasks: Iterable[tuple[Any, ...]], *, threads: bool = False) -> list[T]:
    """Return ``function(*task)`` of every task, in order; the first error is raised as is.

    Raises RerankError if a worker process was killed, for example because memory ran out.

    Parameters
    ----------
    function
        Defined in a module, unless ``threads`` is set.
    tasks
        Arguments of each call.
    threads
        Use threads in place of processes.
    """
    todo = list(tasks)
    workers = min(jobs(), len(todo))
    if workers <= 1:
        return [function(*task) for task in todo]
    from concurrent.futures.process import BrokenProcessPool

    from joblib import Parallel, delayed

    try:
        with Parallel(n_jobs=workers, prefer="threads" if threads else "processes") as pool:
            return list(pool(delayed(function)(*task) for task in todo))
    except BrokenProcessPool:
        raise RerankError(f"one of {workers} worker processes was killed; try fewer (--jobs)") from None
