"""Independent tasks on several workers; results never depend on the number of workers.

Threads are for work that releases the interpreter's lock (the kernels), processes for the rest, and for
tasks that must not end the run with them. A function for processes must be defined in a module; its arguments
should be small: paths and ranges, not arrays. Warnings that a task issues in another process are issued again
in this one, where results are taken.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from rerank.errors import ConfigError, DataNote, RerankError
from rerank.tasks import Outcome, TaskError

__all__ = ["TaskError", "as_completed", "cores", "each", "jobs", "using"]

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

    Raises RerankError if a worker process was killed twice at the same task, for example because memory ran
    out.

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
    if threads:
        return _in_threads(function, todo, workers)
    done: dict[int, Outcome] = {}
    results: list[T] = []
    with closing(_outcomes(function, todo, workers, _note_retry)) as outcomes:
        for number, outcome in outcomes:
            done[number] = outcome
            while len(results) in done:
                results.append(_raised(done.pop(len(results)).taken()))
    return results


def as_completed(
    function: Callable[..., T],
    tasks: Iterable[tuple[Any, ...]],
    *,
    on_retry: Callable[[int, str], None] | None = None,
) -> Generator[tuple[int, T | TaskError]]:
    """Yield the number of each task, from 0, and its result or TaskError, as tasks end.

    Tasks run in worker processes, also if there is one worker: what they do to their process, or what kills
    it, does not reach this one, and BLAS has one thread for any number of workers. If a worker is killed, its
    task is tried once more, alone, after all others. Workers end with the iterator (leave it early by
    ``contextlib.closing``), and with this process.

    Parameters
    ----------
    function
        Defined in a module.
    tasks
        Arguments of each call.
    on_retry
        Called with the number of a task whose worker was killed and how that ended, before it is tried again;
        None = a DataNote.

    Raises
    ------
    RerankError
        If worker processes cannot start.
    """
    todo = list(tasks)
    outcomes = _outcomes(function, todo, jobs(), on_retry or _note_retry)
    return ((number, outcome.taken()) for number, outcome in outcomes)


def _outcomes(
    function: Callable[..., Any],
    todo: Sequence[tuple[Any, ...]],
    workers: int,
    retrying: Callable[[int, str], None],
) -> Generator[tuple[int, Outcome]]:
    """The outcomes of tasks in other processes as they end."""
    from rerank.workers import completed  # here, so that the command line starts without it

    return completed(function, todo, workers, retrying)


def _note_retry(number: int, end: str) -> None:
    text = f"a worker process was killed ({end}) while it ran task {number + 1}, which is tried once more"
    warnings.warn(text, DataNote, stacklevel=5)


def _raised(value: T | TaskError) -> T:
    """The result of a task; its error is raised."""
    if not isinstance(value, TaskError):
        return value
    if value.killed:
        raise RerankError(f"{value.error}; fewer workers need less memory (--jobs)")
    if value.traceback and not isinstance(value.error, RerankError):
        value.error.add_note(value.traceback)
    raise value.error


def _in_threads(function: Callable[..., T], todo: Sequence[tuple[Any, ...]], workers: int) -> list[T]:
    """Results in order, from threads that end with this process; of several errors, the first in order."""
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}
    numbers = iter(range(len(todo)))  # next() of it is one step of the interpreter

    def work() -> None:
        while not errors and (number := next(numbers, None)) is not None:
            try:
                results[number] = function(*todo[number])
            except BaseException as error:
                errors[number] = error

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException as error:  # Ctrl-C: threads stop after their task
        errors[-1] = error
        raise
    if errors:
        raise errors[min(errors)]
    return [results[number] for number in range(len(todo))]
