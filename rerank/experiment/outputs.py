"""What is written: lists with the format chosen for them, checks before long work, several at once."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rerank.core.errors import ConfigError
from rerank.core.files.atomic_output import together
from rerank.core.files.streams import check_target, os_error
from rerank.core.text import count
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.data.store import check_place
from rerank.experiment.sources import Data, inputs_of
from rerank.formats.base import FORMATS, format_for, save


@dataclass(frozen=True, eq=False)
class Written:
    """Lists, the path they were written to and the name of the format."""

    lists: CandidateLists
    path: str
    format: str

    def size(self) -> str:
        """Return the numbers of lists and items in words."""
        return f"{count(self.lists.n_lists, 'list')}, {count(self.lists.n_items, 'item')}"


def written(lists: CandidateLists, path: str, format: str) -> Written:
    """Write ``lists`` to ``path`` in a format; return what was written."""
    save(lists, path, format)
    return Written(lists, path, format)


def timing_of(curve: str) -> str:
    """Return the file for the times of a run, next to that of its learning curve."""
    folder, name = os.path.split(curve)
    return os.path.join(folder, f"timing.{name}")


@contextmanager
def all_or_none() -> Iterator[None]:
    """Place everything that the block writes when it ends, and nothing if it raises.

    Raises RerankError if an output cannot be placed.
    """
    try:
        with together():
            yield
    except OSError as error:
        if error.filename is None:  # about standard output
            raise
        raise os_error(str(error.filename), error) from None


def checked_format(out: str, to: str | None, data: Data, reading: Reading | None, *more: str) -> str:
    """Check the output of a verb that writes lists before anything is read; return its format.

    Parameters
    ----------
    out : the file to write, "-" = standard output.
    to : name of the format to write; None = by the suffix of ``out``.
    data, reading : the file of lists, or CandidateLists, and how it is read.
    more : further files that are read.

    Raises
    ------
    ConfigError, RerankError
        If the format is unknown, or as for ``check_outputs``.
    """
    format = to or format_for(out)
    FORMATS.get(format)
    check_outputs({"--out": out}, inputs_of(data, reading, *more), store=format == "store")
    return format


def check_outputs(
    outputs: Mapping[str, str | Sequence[str]], inputs: Iterable[str], *, store: bool = False
) -> None:
    """Check outputs before long work: an output never is an input, nor another output.

    Parameters
    ----------
    outputs : path or paths by the option that names them, such as ``{"--out": "model"}``; "-" = standard
        output. The file of ``--curve`` is followed by that of its times.
    inputs : paths of the files and stores that are read; "-" = standard input.
    store : whether stores are written, not files.

    Raises
    ------
    ConfigError, RerankError
        If one cannot be written, or is the same file as an input or as another output, by whatever name
        (link or hard link), lies in a store that is read, or is a folder that contains an input.
    """
    taken: dict[object, str] = {}
    read: list[Path] = []
    for path in inputs:
        taken |= dict.fromkeys(_identities(path, 0), f"{path} is one of the input files")
        read += [] if path == "-" else [Path(os.path.realpath(path))]
    for option, paths in outputs.items():
        for path in [paths] if isinstance(paths, str) else paths:
            for one in (path, timing_of(path)) if option == "--curve" and path != "-" else (path,):
                _check_place(one, store)
                _check_other(option, one, taken, read)
                taken |= dict.fromkeys(_identities(one, 1), f"{one} is the output of {option}")


def _check_place(path: str, store: bool) -> None:
    if store and path != "-":
        check_place(path)
    check_target(path, folder=store)


def _check_other(option: str, path: str, taken: Mapping[object, str], read: Iterable[Path]) -> None:
    """Raise ConfigError if an output has a place that is taken, or is within or around an input."""
    for identity in _identities(path, 1):
        if identity in taken:
            raise ConfigError(f"{option}: {taken[identity]}; write to another place")
    if path == "-":
        return
    place = Path(os.path.realpath(path))
    for other in read:
        if place in other.parents:
            raise ConfigError(f"{option}: {path} contains the input {other}; write to another place")
        if other in place.parents and other.is_dir():
            raise ConfigError(f"{option}: {path} is within the input {other}; write to another place")


def _identities(path: str, stream: int) -> list[object]:
    """What tells whether two names are one file: the real path, and the device and number of the file.

    Devices and pipes have none, "-" that of the file to which the stream is redirected.
    """
    try:
        status = os.fstat(stream) if path == "-" else os.stat(path)
    except OSError:
        return [] if path == "-" else [os.path.realpath(path)]
    file = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    found: list[object] = [(status.st_dev, status.st_ino), os.path.realpath(path)] if file else []
    return [*found[:1], *(["-"] if stream else [])] if path == "-" else found
