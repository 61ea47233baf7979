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
from typing import TYPE_CHECKING, Any, TypeVar

from rerank.core import checkpoints, progress
from rerank.core.errors import ConfigError, DataNote, RerankError
from rerank.core.workers.pool import Outcome, TaskError

if TYPE_CHECKING:
    from rerank.core.workers.dask import Cluster

__all__ = ["TaskError", "as_completed", "cores", "each", "in_order", "jobs", "remote", "using", "workers"]

T = TypeVar("T")

_jobs: ContextVar[int] = ContextVar("jobs", default=1)
_cluster: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


@contextmanager
def using(jobs: int | None, cluster: str | None = None) -> Iterator[None]:
    """Set the workers of ``each`` and ``as_completed`` within the block.

    Parameters
    ----------
    jobs
        Their number: 0 = one per core, None = unchanged.
    cluster
        The address of a Dask scheduler, such as tcp://host:8786, whose workers are used, one task at a time
        each; see ``rerank.core.workers.dask``. None = unchanged.

    Raises
    ------
    ConfigError
        If the number is negative, or both are given.
    RerankError
        If the scheduler does not answer, or its workers cannot run tasks of this process.
    """
    if jobs is not None and jobs < 0:
        raise ConfigError(f"jobs: found {jobs}, expected 0 (one per core) or more")
    if cluster is None:
        before = _jobs.set(_jobs.get() if jobs is None else jobs or cores())
        try:
            yield
        finally:
            _jobs.reset(before)
        return
    if jobs is not None:
        raise ConfigError(f"jobs={jobs}: cannot be combined with a cluster")
    from rerank.core.workers.dask import connected

    with connected(cluster) as there:
        inside = _cluster.set(there)
        try:
            yield
        finally:
            _cluster.reset(inside)


def jobs() -> int:
    """Return the number of workers of ``each`` here, those of a cluster if one is used."""
    return _jobs.get() if (there := _cluster.get()) is None else there.n


def remote() -> bool:
    """Return whether a cluster is used, whose workers share no memory with this process."""
    return _cluster.get() is not None


def workers() -> list[str]:
    """Return the addresses of the cluster's workers, in the order in which they get tasks; none without."""
    there = _cluster.get()
    return [] if there is None else there.workers()


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def each(
    function: Callable[..., T],
    tasks: Iterable[tuple[Any, ...]],
    *,
    threads: bool = False,
    anywhere: bool = False,
    step: tuple[str, str] | None = None,
) -> list[T]:
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
        Use threads instead of processes.
    anywhere
        With a cluster, use its workers: the function is defined in a module, or a method, and returns all
        that it finds. Otherwise a cluster is not used.
    step
        Label and unit of the progress bar; None hides it.
    """
    todo = list(tasks)
    if step is None:
        return _all(function, todo, threads, anywhere, progress.nothing)
    with progress.step(step[0], len(todo), step[1]) as advance:
        return _all(function, todo, threads, anywhere, advance)


def _all(
    function: Callable[..., T],
    todo: list[tuple[Any, ...]],
    threads: bool,
    anywhere: bool,
    advance: progress.Advance,
) -> list[T]:
    """Return the results for ``each``; ``advance`` is called after each task."""
    workers = min(_jobs.get(), len(todo))
    elsewhere = anywhere and remote()
    if threads and workers > 1 and not elsewhere:
        return _in_threads(function, todo, workers, advance)
    found = []
    for value in in_order(function, todo) if elsewhere or workers > 1 else _one_by_one(function, todo):
        found.append(value)
        advance()
    return found


def _one_by_one(function: Callable[..., T], todo: Sequence[tuple[Any, ...]]) -> Iterator[T]:
    """Yield the results of tasks in this thread."""
    for task, section in zip(todo, checkpoints.scopes(len(todo)), strict=True):
        with checkpoints.within(section):
            value = function(*task)
        yield value


def in_order(
    function: Callable[..., T], tasks: Iterable[tuple[Any, ...]], *, shared: bool = False
) -> Generator[T]:
    """Yield what ``each`` returns, from processes or a cluster, as soon as all tasks before have ended.

    With ``shared``, large arguments, also arrays, reach workers through files: each is written once, however
    many tasks have it, and a worker has the same object in all tasks. A cluster's workers always do so.
    """
    done: dict[int, Outcome] = {}
    at = 0
    with closing(_outcomes(function, list(tasks), _note_retry, shared)) as outcomes:
        for number, outcome in outcomes:
            done[number] = outcome
            while at in done:
                yield _raised(done.pop(at).taken())
                at += 1


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
    outcomes = _outcomes(function, list(tasks), on_retry or _note_retry)
    return ((number, outcome.taken()) for number, outcome in outcomes)


def _outcomes(
    function: Callable[..., Any],
    todo: Sequence[tuple[Any, ...]],
    retrying: Callable[[int, str], None],
    shared: bool = False,
) -> Generator[tuple[int, Outcome]]:
    """The outcomes of tasks in other processes as they end."""
    if (there := _cluster.get()) is not None:
        return there.outcomes(function, todo, retrying)
    from rerank.core.workers.processes import completed  # here, so that the command line starts without it

    return _by_files(function, todo, retrying) if shared else completed(function, todo, _jobs.get(), retrying)


def _by_files(
    function: Callable[..., Any], todo: Sequence[tuple[Any, ...]], retrying: Callable[[int, str], None]
) -> Generator[tuple[int, Outcome]]:
    """The outcomes of tasks whose large arguments are files of a temporary folder."""
    import tempfile

    from rerank.core.workers.array_spill import ArraySpill
    from rerank.core.workers.processes import completed

    with tempfile.TemporaryDirectory(prefix="rerank-") as folder:
        sender = ArraySpill(folder)
        with sender.call(), closing(completed(function, todo, _jobs.get(), retrying, sender.packed)) as found:
            yield from found


def _note_retry(number: int, end: str) -> None:
    text = f"a worker process was killed ({end}) while it ran task {number + 1}, which is tried once more"
    warnings.warn(text, DataNote, stacklevel=5)


def _raised(value: T | TaskError) -> T:
    """The result of a task; its error is raised."""
    if not isinstance(value, TaskError):
        return value
    if value.traceback and not isinstance(value.error, RerankError):
        value.error.add_note(value.traceback)
    raise value.error


def _in_threads(
    function: Callable[..., T], todo: Sequence[tuple[Any, ...]], workers: int, advance: progress.Advance
) -> list[T]:
    """Results in order, from threads that end with this process; of several errors, the first in order."""
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}
    numbers = iter(range(len(todo)))  # next() of it is one step of the interpreter
    sections = checkpoints.scopes(len(todo))

    def work() -> None:
        while not errors and (number := next(numbers, None)) is not None:
            try:
                with checkpoints.within(sections[number]):
                    results[number] = function(*todo[number])
                advance()
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
