"""Lists spread over workers, which adapt to them one by one; the result is that of one worker."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from rerank.core.workers import parallel
from rerank.core.workers.pool import Note, capture_warnings
from rerank.data.lists import CandidateLists, without_labels
from rerank.transductive.adaptation import Adaptation, joined
from rerank.transductive.adapting import Advance
from rerank.transductive.cache.store import RankerCache

_CHUNKS = 8  # of lists for each worker, so that none waits long for the last one

T = TypeVar("T")


class Adapting(Protocol):
    """What adapts to lists: ``TransductiveModel``."""

    @property
    def uses_test_labels(self) -> bool: ...

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
    """Return the adaptation of a model to all lists, by the workers of ``core.workers.parallel``.

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
    alone = parallel.jobs() == 1 and not parallel.remote()
    # Workers see no more than the method does.
    sent = lists if alone else without_labels(lists, labels=model.uses_test_labels)
    with _each_note_once():
        return joined(list(in_chunks(_adapted_part, (model, sent, cache), lists.n_lists, advance)))


def in_chunks(
    function: Callable[..., T], given: tuple[Any, ...], n: int, advance: Advance | None
) -> Iterator[T]:
    """Yield ``function(*given, first, last, advance)`` of ranges of 0 to ``n``, in their order.

    Without other workers, that is one call. Workers get None for ``advance``, which is called here when a
    range is done.

    Parameters
    ----------
    function
        Defined in a module.
    given
        What all calls share; it is sent to each worker once.
    n
        Of lists.
    advance
        Called with the number of lists that have just been done.
    """
    jobs = parallel.jobs()
    if jobs == 1 and not parallel.remote():
        yield function(*given, 0, n, advance)
        return
    size = max(-(-n // (_CHUNKS * jobs)), 1)
    tasks = [(*given, first, min(first + size, n), None) for first in range(0, n, size)]
    for (*_, first, last, _), part in zip(
        tasks, parallel.in_order(function, tasks, shared=True), strict=True
    ):
        yield part
        if advance is not None:
            advance(last - first)


def _adapted_part(
    model: Adapting,
    lists: CandidateLists,
    cache: RankerCache | None,
    first: int,
    last: int,
    advance: Advance | None,
) -> Adaptation:
    """What a worker does: the adaptation to some lists."""
    return model.adapt_part(lists, first, last, advance, cache)


@contextmanager
def _each_note_once() -> Iterator[None]:
    """Issue each warning of the block once, when the block ends, also by an error."""
    heard: list[Note] = []
    try:
        with capture_warnings() as heard:
            yield
    finally:
        for text, category, file, line in dict.fromkeys(heard):
            warnings.warn_explicit(text, category, file, line)
