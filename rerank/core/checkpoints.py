"""Saved state of long work, so that it can continue after an interruption.

Each loop that can go on asks for a slot, ``checkpoint = slot()``, which is None unless states are kept. It
starts from ``checkpoint.state`` if there is one, and calls ``checkpoint.keep(state)`` after a round. Slots
are numbered in the order in which they are asked for; each of several tasks at once has numbers of its own.
So the loops of a second run get the states of the same loops of the first, whatever ran at the same time.

A state is a dict of JSON values (also numbers that are not finite), tuples and numpy arrays.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from rerank.core.errors import FormatError

State = dict[str, Any]

_EVERY = 30.0  # seconds between two writes
_LEAST = 0.5  # seconds between two states of one loop


class CheckpointStore:
    """The states of all loops, written from time to time.

    Parameters
    ----------
    path
        The file, for messages.
    states
        What an interrupted run kept, by slot.
    write
        Writes the states.
    every, least
        Seconds between two writes, and between two states that a loop keeps.
    clock
        Returns seconds.
    """

    def __init__(
        self,
        path: str,
        states: dict[str, State],
        write: Callable[[dict[str, State]], None],
        *,
        every: float = _EVERY,
        least: float = _LEAST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = path
        self.states = states
        self.least = least
        self.clock = clock
        self._write = write
        self._every = every
        self._written = clock()
        self._changed = False
        self._lock = threading.Lock()

    def keep(self, slot: str, state: State) -> None:
        """Take the state of a slot, and write all if it is time."""
        with self._lock:
            self.states[slot] = state
            self._changed = True
            if self.clock() - self._written >= self._every:
                self._now()

    def flush(self) -> None:
        """Write the states unless they are written."""
        with self._lock:
            if self._changed:
                self._now()

    def _now(self) -> None:
        self._write(self.states)
        self._written, self._changed = self.clock(), False


class Slot:
    """Place in a checkpoint for the state of one loop."""

    def __init__(self, store: CheckpointStore, name: str) -> None:
        self._store = store
        self._name = name
        self._kept = -math.inf

    @property
    def state(self) -> State | None:
        """Return the stored state, None at first."""
        return self._store.states.get(self._name)

    def due(self) -> bool:
        """Return whether a state would be taken now: states are copies, which take time."""
        return self._store.clock() - self._kept >= self._store.least

    def keep(self, state: State) -> None:
        """Take a state, whose arrays nobody changes afterwards."""
        self._store.keep(self._name, state)
        self._kept = self._store.clock()

    @contextmanager
    def restoring(self) -> Iterator[State]:
        """Yield the state to start from; what goes wrong in the block is a fault of the file."""
        assert self.state is not None
        try:
            yield self.state
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
            found = "a state that does not fit this training"
            raise FormatError(self._store.path, None, found, "one of the same training") from None


class Scope:
    """Numbers the slots of one task."""

    def __init__(self, store: CheckpointStore, name: str = "") -> None:
        self._store = store
        self._name = name
        self._n = 0

    def next(self) -> str:
        """Return the name of the next slot."""
        self._n += 1
        return f"{self._name}{self._n}"

    def slot(self) -> Slot:
        """Return the next slot."""
        return Slot(self._store, self.next())

    def tasks(self, n: int) -> list[Scope]:
        """Return a scope for each of n tasks."""
        name = self.next()
        return [Scope(self._store, f"{name}.{i + 1}/") for i in range(n)]


_scope: ContextVar[Scope | None] = ContextVar("scope", default=None)


@contextmanager
def within(scope: Scope | None) -> Iterator[None]:
    """Take slots from a scope within the block; None = no states are kept."""
    before = _scope.set(scope)
    try:
        yield
    finally:
        _scope.reset(before)


def keeping(store: CheckpointStore) -> Any:
    """Return a context in which loops keep their states."""
    return within(Scope(store))


def slot() -> Slot | None:
    """Return the slot of a loop, None if no states are kept."""
    scope = _scope.get()
    return None if scope is None else scope.slot()


def scopes(n: int) -> list[Scope] | list[None]:
    """Return what ``within`` is given for each of n tasks."""
    scope = _scope.get()
    return [None] * n if scope is None else scope.tasks(n)


def copy_into(target: np.ndarray[Any, Any], values: Any) -> None:
    """Copy ``values`` into an array of the same shape and type; raises ValueError if they differ in that."""
    if not isinstance(values, np.ndarray) or values.shape != target.shape or values.dtype != target.dtype:
        raise ValueError
    target[...] = values
