"""Tasks that ask questions: those of all tasks are answered together, one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any, Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")
T = TypeVar("T")


class _EndedError(BaseException):
    """Another task has failed."""


class InStep(Generic[Q, A]):
    """Runs tasks, each on a thread that waits for answers most of the time.

    Questions are answered when every task that still runs has asked one. So what is asked at once does not
    depend on how fast the tasks are.

    Parameters
    ----------
    answer : returns the answers to questions, given with the numbers of their tasks, which rise. It is called
        on the thread of ``each``.
    """

    def __init__(self, answer: Callable[[list[tuple[int, Q]]], Sequence[A]]) -> None:
        self._answer = answer
        self._own = threading.local()
        self._changed = threading.Condition()
        self._asked: dict[int, Q] = {}
        self._found: dict[int, A] = {}
        self._running: set[int] = set()
        self._failed = False

    def ask(self, question: Q) -> A:
        """Return the answer to a question of the task on this thread, at once outside of ``each``."""
        number = getattr(self._own, "number", None)
        if number is None:
            return self._answer([(0, question)])[0]
        with self._changed:
            self._asked[number] = question
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._failed or number in self._found)
            if self._failed:
                raise _EndedError
            return self._found.pop(number)

    def each(self, function: Callable[..., T], tasks: Sequence[tuple[Any, ...]]) -> list[T]:
        """Return ``function(*task)`` of every task, in order; of several errors the first is raised."""
        results: dict[int, T] = {}
        errors: dict[int, BaseException] = {}

        def run(number: int) -> None:
            self._own.number = number
            try:
                results[number] = function(*tasks[number])
            except BaseException as error:
                errors[number] = error
            with self._changed:
                self._running.discard(number)
                self._changed.notify_all()

        self._failed, self._running = False, set(range(len(tasks)))
        threads = [
            threading.Thread(target=Context().run, args=(run, k), daemon=True) for k in range(len(tasks))
        ]
        for thread in threads:
            thread.start()
        try:
            with self._changed:
                while self._wait():
                    if errors:
                        raise errors[min(errors)]
                    numbers = sorted(self._asked)
                    found = self._answer([(k, self._asked[k]) for k in numbers])
                    self._asked.clear()
                    self._found.update(zip(numbers, found, strict=True))
                    self._changed.notify_all()
        finally:
            with self._changed:
                self._failed = True
                self._asked.clear()
                self._changed.notify_all()
            for thread in threads:
                thread.join()
            self._found.clear()
        if errors:
            raise errors[min(errors)]
        return [results[k] for k in range(len(tasks))]

    def _wait(self) -> bool:
        """Wait until all tasks that run have asked; return whether there is one."""
        self._changed.wait_for(lambda: len(self._asked) == len(self._running))
        return bool(self._running)
