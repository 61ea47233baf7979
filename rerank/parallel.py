"""Independent tasks over several workers; the answers never depend on how many there are.

Threads are for work that releases the interpreter's lock (our kernels), processes for the rest. A function
for processes is one of a module, its arguments small: paths and ranges rather than arrays.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from rerank.errors import ConfigError

T = TypeVar("T")

_jobs: ContextVar[int] = ContextVar("jobs", default=1)


@contextmanager
def using(jobs: int | None) -> Iterator[None]:
    """Within the block ``each`` runs on so many workers: 0 = one a core, None = as before.

    Raises ConfigError at a negative number.
    """
    if jobs is None:
        yield
        return
    if jobs < 0:
        raise ConfigError(f"jobs: found {jobs}, expected 0 (one a core) or more")
    before = _jobs.set(jobs or cores())
    try:
        yield
    finally:
        _jobs.reset(before)


def jobs() -> int:
    """Workers that ``each`` runs on here."""
    return _jobs.get()


def cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def each(function: Callable[..., T], tasks: Iterable[tuple[Any, ...]], *, threads: bool = False) -> list[T]:
    """``function(*task)`` of every task, in the order of the tasks; the first error comes back as it is."""
    todo = list(tasks)
    workers = min(jobs(), len(todo))
    if workers <= 1:
        return [function(*task) for task in todo]
    from joblib import Parallel, delayed

    with Parallel(n_jobs=workers, prefer="threads" if threads else "processes") as pool:
        return list(pool(delayed(function)(*task) for task in todo))
