"""Commands in child processes that are broken off at a given call; for kills.py."""

import errno
import importlib
import mmap
import os
import pkgutil
import resource
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, NoReturn

import rerank
from rerank import cli
from rerank.core.files import write as outputs
from rerank.core.workers import parallel

COUNTER = mmap.mmap(-1, 8)  # of the calls of a child, which shares it
DELETIONS = {"os.remove", "os.rmdir"}
AUDITED = {*DELETIONS, "os.rename", "os.mkdir", "os.link", "os.chmod"}

Hit = Callable[[], object]


class Child(NamedTuple):
    """A running child: its number, and the pipe from its standard error."""

    pid: int
    errors: int


class Run(NamedTuple):
    """How a child ended: its exit code, negative = by a signal; its standard error; the calls counted."""

    code: int
    err: str
    calls: int


def import_everything() -> None:
    """Import every module, which children then have: they are forked."""
    for module in pkgutil.walk_packages(rerank.__path__, "rerank."):
        if module.name != "rerank.__main__":
            importlib.import_module(module.name)


def command(text: str, hit_at: int = 0, hit: Hit | None = None, before: Hit | None = None) -> Run:
    """Run a command in a child, and ``hit`` at its ``hit_at``-th call that changes files."""
    return ended(start(text, hit_at, hit, before))


def start(text: str, hit_at: int = 0, hit: Hit | None = None, before: Hit | None = None) -> Child:
    """Start a command in a child."""
    reading, writing = os.pipe()
    COUNTER[:] = bytes(8)
    pid = os.fork()
    if not pid:
        child(text, writing, hit_at, hit, before)
    os.close(writing)
    return Child(pid, reading)


def ended(started: Child) -> Run:
    """Wait for a child and return how it ended."""
    with os.fdopen(started.errors, "rb") as errors:
        err = errors.read().decode()
    _, status = os.waitpid(started.pid, 0)
    return Run(os.waitstatus_to_exitcode(status), err, int.from_bytes(COUNTER[:], "little"))


def child(text: str, errors: int, hit_at: int, hit: Hit | None, before: Hit | None) -> NoReturn:
    """Run the command line in this process, with the call to be hit."""
    code = 99
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(errors, 2)
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115  (pytest has one of its own)
        parallel.as_completed = here  # type: ignore[assignment]  # so that the calls of workers are counted, too
        watch(hit_at, hit)
        if before is not None:
            before()
        sys.argv = ["rerank", *shlex.split(text)]
        cli.main()
    except SystemExit as end:
        code = int(end.code or 0)
    except KeyboardInterrupt:  # it came after main had ended
        code = 130
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.stderr.flush()
        os._exit(code)


def here(
    function: Callable[..., object], tasks: Sequence[tuple[object, ...]]
) -> Iterator[tuple[int, object]]:
    """Run tasks one after the other in this process, as ``parallel.as_completed`` does in others."""
    return ((number, function(*task)) for number, task in enumerate(tasks))


def watch(hit_at: int, hit: Hit | None) -> None:
    """Count the calls that change files, and call ``hit`` before the one at ``hit_at``."""
    count = 0

    def called(event: str) -> None:
        nonlocal count
        count += 1
        COUNTER[:] = count.to_bytes(8, "little")
        # A full disk does not keep files from being deleted.
        if count == hit_at and hit is not None and not (hit is fail and event in DELETIONS):
            hit()

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event in AUDITED or (event == "open" and isinstance(arguments[2], int) and arguments[2] & 0o3):
            called(event)

    def counted(function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            called("")
            return function(*arguments)

        return call

    # Nothing is forced to the disk here: the machine stays up.
    os.fsync, outputs.exchanged = counted(lambda _: None), counted(outputs.exchanged)  # type: ignore[assignment]
    sys.addaudithook(audit)


def fail() -> NoReturn:
    """Fail as on a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def no_exchange() -> None:
    """Make this process one on a system that cannot exchange two names."""
    outputs.exchanged = lambda a, b: False


def small_files(size: int) -> Hit:
    """Let no file of the process grow beyond ``size`` bytes."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    return limit


HITS: dict[str, Hit] = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "Ctrl-C": lambda: os.kill(os.getpid(), signal.SIGINT),
    "full disk": fail,
}
