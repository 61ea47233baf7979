"""Lists spread over workers, which adapt to them one by one; the result is that of one worker."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rerank import parallel
from rerank.data.lists import CandidateLists
from rerank.tasks import Note, hearing
from rerank.transductive.adaptation import Adaptation, joined
from rerank.transductive.adapting import Advance
from rerank.transductive.cache.store import RankerCache
from rerank.transductive.labelled import stripped

_CHUNKS = 8  # of lists for each worker, so that none waits long for the last one


class Adapting(Protocol):
    """What adapts to lists: ``TransductiveModel``."""

    @property
    def cheats(self) -> bool: ...

    def adapt_part(
        self,
        lists: CandidateLists,
        first: int,
        last: int,
        advance: Advance | None = None,
        cache: RankerCache | None = None,
    ) -> Adaptation: ...


def spread(
    model: Adapting, lists: CandidateLists, advance: Advance | None, cache: RankerCache | None
) -> Adaptation:
    """Return the adaptation of a model to all lists, by the workers of ``rerank.parallel``.

    What many lists are warned of is reported once.

    Parameters
    ----------
    model
        What adapts.
    lists
        With the columns of the labelled lists, scaled as they are.
    advance
        Called with the number of lists that have just been done.
    cache
        Rankers of earlier lists.
    """
    with _each_note_once():
        return joined(list(_parts(model, lists, advance, cache)))


def _parts(
    model: Adapting, lists: CandidateLists, advance: Advance | None, cache: RankerCache | None
) -> Iterator[Adaptation]:
    n, jobs = lists.n_lists, parallel.jobs()
    if jobs == 1 and not parallel.remote():
        yield model.adapt_part(lists, 0, n, advance, cache)
        return
    size = max(-(-n // (_CHUNKS * jobs)), 1)
    sent = stripped(lists, labels=model.cheats)  # workers see no more than the method does
    tasks = [(model, sent, first, min(first + size, n), cache) for first in range(0, n, size)]
    for part in parallel.in_order(_adapted_part, tasks, shared=True):
        yield part
        if advance is not None:
            advance(len(part.rows))


def _adapted_part(
    model: Adapting, lists: CandidateLists, first: int, last: int, cache: RankerCache | None
) -> Adaptation:
    """What a worker does: the adaptation to some lists."""
    return model.adapt_part(lists, first, last, None, cache)


@contextmanager
def _each_note_once() -> Iterator[None]:
    """Issue each warning of the block once, when the block ends, also by an error."""
    heard: list[Note] = []
    try:
        with hearing() as heard:
            yield
    finally:
        for text, category, file, line in dict.fromkeys(heard):
            warnings.warn_explicit(text, category, file, line)
