"""What is written: lists with the format chosen for them, and checks before long work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rerank.data.lists import CandidateLists
from rerank.errors import ConfigError
from rerank.files import check_target
from rerank.formats.base import save
from rerank.text import count


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


def check_outputs(outputs: Mapping[str, str], inputs: Iterable[str]) -> None:
    """Check outputs before long work.

    Parameters
    ----------
    outputs : path by the option that names it, such as ``{"--out": "model"}``; "-" = standard output.
        The file of ``--curve`` is followed by that of its times.
    inputs : paths of the files that are read.

    Raises
    ------
    ConfigError, RerankError
        If one cannot be written, or would overwrite an input or another output.
    """
    taken = {_place(path): f"{path} is one of the input files" for path in inputs if path != "-"}
    for option, path in outputs.items():
        if "{seed}" not in os.path.dirname(path):
            check_target(path)
        for target in (path, timing_of(path)) if option == "--curve" else (path,):
            if _place(target) in taken:
                raise ConfigError(f"{option}: {taken[_place(target)]}")
        taken[_place(path)] = f"{path} is the output of {option}"


def _place(path: str) -> str:
    return path if path == "-" else os.path.realpath(path)
