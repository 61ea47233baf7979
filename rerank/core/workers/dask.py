"""Tasks on a Dask cluster: the same calls as worker processes get, sent by a scheduler to other machines.

Every worker runs one task of this process at a time, however many threads it has: so it is known which task
a worker died of, the warnings of tasks stay apart, and BLAS has one thread. Tasks are bound to a worker, so
that the scheduler does not repeat one that kills its workers. Workers that ended are found by asking the
scheduler for those that are left.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import re
import time
import uuid
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, chdir, contextmanager, suppress
from typing import Any

from rerank._version import __version__
from rerank.core.errors import ConfigError, DataNote, RerankError, os_error
from rerank.core.files.write import scratch
from rerank.core.workers.array_spill import ArraySpill
from rerank.core.workers.pool import ONE_THREAD, Outcome, Pool, Retrying, run_task

VARIABLE = "RERANK_SCRATCH"

_ADDRESS = re.compile(r"(tcp|tls)://([\w.-]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}")
_PATIENCE = 10.0  # seconds to wait for a scheduler to answer, and for a worker if there is none
_NUMBERS = ("numpy", "scipy")  # of these the last digits of results depend
_LOOK = 1.0  # seconds between two questions for the workers


class Cluster:
    """A connection to a scheduler, with ``n`` workers at the beginning; see ``connected``."""

    def __init__(self, address: str, client: Any, folder: str) -> None:
        from distributed.scheduler import KilledWorker

        self.lost = KilledWorker  # what the scheduler reports if it stops itself
        self.address, self._client = address, client
        self.sender = ArraySpill(folder)
        self._folder, self._here = folder, os.getcwd()
        self._checked: set[str] = set()
        self.n = len(self.workers())

    def workers(self) -> list[str]:
        """Return the addresses of the workers, which have been checked; wait for the first one.

        Raises
        ------
        RerankError
            If there is none, the scheduler is gone, or a worker cannot run tasks of this process.
        """
        end = time.monotonic() + _PATIENCE
        while not (found := self._ask(self._client.nthreads)):
            if time.monotonic() > end:
                raise RerankError(f"{self.address}: the cluster has no worker")
            time.sleep(_LOOK / 5)
        new = [address for address in found if address not in self._checked]
        if new:
            self._check(new)
            idle = sum(found[address] - 1 for address in new)
            if idle and not self._checked:
                text = f"{self.address}: {idle} threads of workers stay idle: each worker runs one task at a"
                warnings.warn(f"{text} time (dask worker --nthreads 1 --nworkers N)", DataNote, stacklevel=2)
            self._checked.update(new)
        return list(found)

    def outcomes(
        self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], retrying: Retrying
    ) -> Generator[tuple[int, Outcome]]:
        """Yield the number and the outcome of each task as it ends; see ``pool.Pool``."""
        pool = _Workers(function, tasks, self.sender.packed, retrying)
        pool.cluster = self
        with self.sender.call():
            yield from pool.outcomes()

    def submitted(self, call: bytes, worker: str) -> Any:
        """Return the future of a call on one worker."""
        key = f"rerank-{uuid.uuid4().hex}"
        return self._client.submit(
            _performed, call, self._here, key=key, workers=[worker], allow_other_workers=False, retries=0
        )

    def _ask(self, question: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        try:
            return question(*arguments, **options)
        except (OSError, TimeoutError) as error:
            raise RerankError(f"{self.address}: the scheduler is gone ({error})") from None

    def _check(self, workers: list[str]) -> None:
        """Raise RerankError if a worker has other versions, or does not see the scratch folder."""
        found = self._ask(self._client.get_versions, packages=list(_NUMBERS))["workers"]
        for worker in workers:
            if worker in found:  # it has not ended since
                _check_versions(f"{worker}: the worker", found[worker]["packages"], _NUMBERS)
        found = self._ask(
            self._client.run, _facts, (self._here, self._folder), workers=workers, on_error="return"
        )
        for worker, facts in found.items():
            if isinstance(facts, OSError):  # it ended since
                continue
            if isinstance(facts, ImportError):
                raise RerankError(f"{worker}: the worker cannot import {facts.name}: {facts}")
            if isinstance(facts, Exception):
                raise RerankError(f"{worker}: {type(facts).__name__}: {facts}")
            version, unseen = facts
            if version != __version__:
                raise RerankError(
                    f"{worker}: the worker has rerank {version}, expected {__version__} as here"
                )
            if unseen:
                advice = "work in a folder that all machines share"
                if unseen == self._folder:
                    unseen, advice = os.path.dirname(unseen), f"{advice}, or name one ({VARIABLE}=FOLDER)"
                raise RerankError(f"{worker}: the worker does not see {unseen}: {advice}")


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """Connect to a scheduler for a block.

    Large values go through a hidden folder in the current directory, or in that which the environment
    variable RERANK_SCRATCH names; it is deleted at the end. Workers must see it under the same path, and the
    current directory, in which tasks run there too.

    Parameters
    ----------
    address : such as tcp://host:8786.

    Raises
    ------
    ConfigError
        If it is no address, or the package ``distributed`` is not installed.
    RerankError
        If the scheduler does not answer, or its workers cannot run tasks of this process.
    """
    if not _ADDRESS.fullmatch(address):
        raise ConfigError(f"cluster: found {address!r}, expected an address such as tcp://host:8786")
    try:
        from distributed import Client
    except ImportError:
        raise ConfigError('--cluster needs the package distributed: pip install "rerank[dask]"') from None
    above = os.path.realpath(os.environ.get(VARIABLE) or os.curdir)
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        with ThreadPoolExecutor(1) as thread:  # a notebook has an event loop of its own
            found = thread.submit(asyncio.run, _asked(address)).result()
        _check_versions(f"{address}: the scheduler", found)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Mismatched versions")  # they are in our own notes
                client = Client(address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, TimeoutError, ValueError, TypeError, ImportError) as error:
            raise RerankError(f"{address}: the scheduler does not answer ({error})") from None
        stack.callback(client.close, timeout=_LOOK)
        try:
            folder = stack.enter_context(scratch(above))
        except OSError as error:
            raise os_error(above, error) from None
        yield Cluster(address, client, folder)


async def _asked(address: str) -> dict[str, str]:
    """The versions of a scheduler, which a client of another release may not understand otherwise."""
    from distributed.core import rpc

    try:
        async with rpc(address, timeout=_PATIENCE) as scheduler:
            found: dict[str, Any] = await asyncio.wait_for(scheduler.versions(), _PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise RerankError(f"{address}: the scheduler does not answer ({error})") from None
    versions: dict[str, str] = found["packages"]
    return versions


def versions_here() -> dict[str, str]:
    """Return the versions of this process that are compared with those of schedulers and workers."""
    from distributed.versions import get_package_info

    found: dict[str, str] = get_package_info(["distributed", *_NUMBERS])
    return found


def _check_versions(who: str, found: Mapping[str, str], noted: Sequence[str] = ()) -> None:
    """Raise RerankError if a scheduler or worker has versions that cannot work with those here.

    Others that differ are reported in a DataNote: those of ``noted`` and of distributed.
    """
    here = versions_here()
    for name, parts in (("python", 2), ("distributed", 1)):
        theirs, ours = (".".join(str(one.get(name)).split(".")[:3]) for one in (found, here))
        if theirs.split(".")[:parts] != ours.split(".")[:parts]:
            label = name.replace("python", "Python")
            raise RerankError(f"{who} has {label} {theirs}, expected {ours} as here")
    for name in ("distributed", *noted):
        if found.get(name) != here[name]:
            text = f"{who} has {name} {found.get(name)}, here is {here[name]}"
            warnings.warn(f"{text}{'; last digits may differ' * (name in _NUMBERS)}", DataNote, stacklevel=4)


@contextmanager
def _quiet() -> Iterator[None]:
    """Print no errors of the client's, which are raised here."""
    logger = logging.getLogger("distributed.client")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


class _Workers(Pool["_Worker"]):
    """Workers of a cluster."""

    cluster: Cluster

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._ended: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        self._looked = -_LOOK

    def grow(self, wanted: int) -> None:
        if self.workers and time.monotonic() < self._looked + _LOOK:
            return
        there = self.cluster.workers()
        self._looked = time.monotonic()
        known = {worker.address for worker in self.workers}
        for worker in self.workers:
            worker.gone = worker.address not in there
            if worker.gone:
                self._ended.put(worker)
        for address in there:
            if address not in known and len(self.workers) < wanted:
                self.workers.append(_Worker(self.cluster, address, self._ended))

    def ready(self) -> list[_Worker]:
        try:
            found = [self._ended.get(timeout=_LOOK)]
        except queue.Empty:
            return []
        while not self._ended.empty():
            found.append(self._ended.get())
        return [worker for worker in dict.fromkeys(found) if worker in self.workers and worker.settled()]


class _Worker:
    """A worker of a cluster."""

    def __init__(self, cluster: Cluster, address: str, ended: queue.SimpleQueue[_Worker]) -> None:
        self.address, self.gone, self.started = address, False, True
        self.task: int | None = None
        self._cluster, self._ended = cluster, ended
        self._future: Any = None

    def settled(self) -> bool:
        """Return whether its task, or it, has ended."""
        return self.gone or (self.task is not None and self._future.done())

    def send(self, call: bytes) -> None:
        self._future = self._cluster.submitted(call, self.address)
        self._future.add_done_callback(lambda _: self._ended.put(self))

    def received(self) -> bytes | None:
        if self.task is None or not self._future.done():
            return None
        try:
            return self._future.result(timeout=_PATIENCE)
        except Exception as error:
            if not isinstance(error, (OSError, TimeoutError, CancelledError, self._cluster.lost)):
                raise RerankError(f"{self.address}: {type(error).__name__}: {error}") from None
            self._cluster.workers()  # an error if it is the scheduler that is gone
            return None
        finally:
            self._future = None

    def ended(self) -> str:
        self.kill()
        return f"{self.address} is gone"

    def kill(self) -> None:
        if self._future is not None:
            with suppress(Exception):  # the scheduler may be gone as well
                self._future.cancel()


def _facts(folders: tuple[str, ...]) -> tuple[str, str]:
    """The version of rerank on a worker, and the first folder that it does not see, "" if it sees all."""
    import threadpoolctl  # noqa: F401  (tasks need it)

    return __version__, next((folder for folder in folders if not os.path.isdir(folder)), "")


def _performed(call: bytes, here: str) -> bytes:
    """Make a call on a worker, in the current directory of the client, with one thread of BLAS and OpenMP."""
    from threadpoolctl import threadpool_limits

    os.environ.update(ONE_THREAD)  # for libraries that are loaded later
    with threadpool_limits(1), chdir(here):
        return run_task(call)
