"""The work of a worker: it reads its shards once, keeps what the learner made of them, and answers questions.

A shard is read again if its worker was lost, or was given others in the meantime. An answer depends on the
shard and the question alone, so it is the same. Before every answer the files of the shard are looked at: one
that changes while it is trained on is an error that names it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from rerank.core.errors import FormatError, os_error
from rerank.data.lists import CandidateLists
from rerank.data.selection import selected
from rerank.data.shards.manifest import Manifest
from rerank.data.shards.read import shard_lists
from rerank.data.store_reader import MANIFEST
from rerank.learners.base import FitInputs, NothingToLearnError
from rerank.learners.sums.parts import Own, SummingLearner
from rerank.metrics.base import parse
from rerank.models.pipeline import Chain


class Work(Struct, frozen=True, eq=False):
    """The shards that are trained on, and the settings; workers get it with every question.

    Attributes
    ----------
    key : of everything else; a worker keeps parts of one key.
    path, manifest : of the sharded store.
    features : the columns that are selected.
    chain : fitted steps that are applied to every shard.
    learner : what makes parts of lists; None = questions are about the lists.
    surveys : what the learner's parts get of all shards.
    metric : that the learner optimises.
    """

    key: str
    path: str
    manifest: Manifest
    features: tuple[str, ...] = ()
    chain: Chain = Chain()
    learner: SummingLearner | None = None
    surveys: tuple[Any, ...] = ()
    metric: str | None = None

    def place(self, k: int) -> str:
        """Return the folder of shard ``k``."""
        return os.path.join(self.path, self.manifest.shards[k].name)

    def lists(self, k: int, *, whole: bool = False) -> CandidateLists:
        """Return the lists of shard ``k`` as learners see them; ``whole`` checks every byte.

        The errors of ``shard_lists`` name it.
        """
        try:
            lists = shard_lists(self.path, self.manifest, k, whole=whole)
        except OSError as error:
            raise os_error(self.place(k), error) from None
        return self.chain.apply(selected(lists, self.features))

    def part(self, k: int) -> Any:
        """Return what the learner makes of shard ``k``, or the error if there is nothing to learn from.

        Then every byte is checked: shards of equal sizes may have been exchanged.
        """
        if self.learner is None:
            return self.lists(k)
        lists = self.lists(k, whole=True)
        judge = None if self.metric is None else parse(self.metric).prepare(lists)
        try:
            return self.learner.part(lists, FitInputs(judge=judge), self.surveys)
        except NothingToLearnError as error:
            return error


Stamp = tuple[tuple[str, int, int], ...]


class _Shelf:
    """The parts that this process keeps, all of one work."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # jobs are threads
        self._parts: dict[int, tuple[Any, Stamp]] = {}
        self._key = ""

    def part(self, work: Work, k: int, own: frozenset[int]) -> Any:
        """Return the part of a shard, made unless it is kept; release those that are not ``own``."""
        stamp = _stamp(work, k)
        if work.learner is None:  # the lists themselves, which are asked for once
            return work.part(k)
        with self._lock:
            if self._key != work.key:
                self._parts.clear()
                self._key = work.key
            for other in self._parts.keys() - own:
                del self._parts[other]
            found = self._parts.get(k)
        if found is None:
            found = work.part(k), stamp
            with self._lock:
                self._parts[k] = found
        if found[1] != stamp:
            expected = "the shard as it was when training began"
            raise FormatError(work.place(k), None, "files that changed", expected)
        return found[0]

    def clear(self) -> None:
        """Release all parts."""
        with self._lock:
            self._parts.clear()


@cache
def _shelf() -> _Shelf:
    return _Shelf()


def answers(
    work: Work,
    shards: Sequence[int],
    own: Sequence[int],
    numbers: Sequence[int],
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> list[Any]:
    """Return ``function(part, *arguments)`` of some shards, in their order.

    Parameters
    ----------
    work : what the parts are.
    shards : the numbers of the shards that are asked.
    own : those that this process keeps from now on.
    numbers : of the parts, for arguments that each has its own value of.
    function, arguments : the question.

    Raises
    ------
    FormatError
        If a shard is missing, not as the manifest has it, or changed since it was read.
    """
    return [
        function(_shelf().part(work, k, frozenset(own)), *Own.chosen(arguments, number))
        for k, number in zip(shards, numbers, strict=True)
    ]


def forget() -> None:
    """Release all parts of this process."""
    _shelf().clear()


def _stamp(work: Work, k: int) -> Stamp:
    """The names, sizes and times of change of a shard's files."""
    try:
        with os.scandir(work.place(k)) as files:
            facts = [(entry.name, entry.stat()) for entry in files]
    except OSError:
        expected = f"shard {k + 1} of {len(work.manifest.shards)} as {MANIFEST} has it"
        raise FormatError(work.place(k), None, "no store", expected) from None
    return tuple(sorted((name, fact.st_size, fact.st_mtime_ns) for name, fact in facts))
