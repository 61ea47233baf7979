"""Parts of the training lists, and sums over them in their order.

A learner that sums makes something of the lists of each part, and asks all of them the same questions: a loss
and its gradient, for example. The answers are added in the order of the parts, so that results do not depend
on who answered, nor when. Lists in memory are the case of one part. An answer depends on the part and the
question alone: a part that is lost can be made again.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from rerank.core.types import Floats
from rerank.core.workers.parallel import each
from rerank.data.judge import PreparedMetric
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs, Learner
from rerank.models.base import Model

T = TypeVar("T")


class Own:
    """An argument of ``Parts.each`` that each part has its own value of, in the order of the parts."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values

    @staticmethod
    def chosen(arguments: Sequence[Any], k: int) -> tuple[Any, ...]:
        """Return the arguments of part ``k`` of all parts."""
        return tuple(one.values[k] if isinstance(one, Own) else one for one in arguments)


class Parts:
    """The result of a learner for each part, in the order of the lists.

    Parameters
    ----------
    parts : what ``SummingLearner.part`` returned.
    n_lists : lists of all parts, also of those from which nothing is learnt.
    judge : the metric of the parts; only its ``score_from_sums`` is asked for.

    Attributes
    ----------
    here : bool
        Whether the lists of ``SummingLearner.fit_parts`` are those of all parts.
    """

    here = True

    def __init__(self, parts: Sequence[Any], n_lists: int, judge: PreparedMetric | None = None) -> None:
        self.n_lists = n_lists
        self.judge = judge
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts)

    def each(self, function: Callable[..., T], *arguments: Any) -> list[T]:
        """Return ``function(part, *arguments)`` of every part, in order; the jobs are threads."""
        tasks = [(part, *Own.chosen(arguments, k)) for k, part in enumerate(self._parts)]
        return [function(*tasks[0])] if len(tasks) == 1 else each(function, tasks, threads=True)

    def once(self, asked: Sequence[Floats | float], compute: Callable[[], T]) -> T:
        """Return ``compute()``, of all parts for one question; or what a checkpoint has kept of it.

        - ``asked``: what the answer depends on.
        - ``compute``: returns numbers and arrays, or tuples of them.
        """
        return compute()


class PartsOf(Parts):
    """The parts of another learner inside those of a learner; parts that have none are left out.

    Parameters
    ----------
    parts : all parts.
    attribute : of a part, which is that of the other learner, or None.
    """

    def __init__(self, parts: Parts, attribute: str) -> None:
        super().__init__((), parts.n_lists, parts.judge)
        self.here = parts.here
        self._all, self._attribute = parts, attribute
        self._there = parts.each(_has, attribute)

    def __len__(self) -> int:
        return sum(self._there)

    def each(self, function: Callable[..., T], *arguments: Any) -> list[T]:
        """Return ``function(part, *arguments)`` of every part that is left, in order."""
        places = itertools.accumulate(self._there, initial=0)
        own = [
            Own([one.values[k] if there else None for k, there in zip(places, self._there, strict=False)])
            if isinstance(one, Own)
            else one
            for one in arguments
        ]
        found = self._all.each(_of, self._attribute, function, *own)
        return [value for value, there in zip(found, self._there, strict=True) if there]

    def once(self, asked: Sequence[Floats | float], compute: Callable[[], T]) -> T:
        """Return ``compute()``, or what a checkpoint has kept of it."""
        return self._all.once(asked, compute)


def _has(part: Any, attribute: str) -> bool:
    return getattr(part, attribute) is not None


def _of(part: Any, attribute: str, function: Callable[..., Any], *arguments: Any) -> Any:
    inner = getattr(part, attribute)
    return None if inner is None else function(inner, *arguments)


class SummedLoss:
    """The sum over parts of a loss and its gradient.

    Parameters
    ----------
    parts : losses, whose call with w (n_features) returns the loss there and its gradient, a new array.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return the loss at w (n_features), and its gradient."""
        return self._parts.once((w,), lambda: self._summed(w))

    def _summed(self, w: Floats) -> tuple[float, Floats]:
        (loss, gradient), *others = self._parts.each(_at, w)
        for more, slope in others:
            loss += more
            gradient += slope
        return loss, gradient


def _at(loss: Callable[[Floats], tuple[float, Floats]], w: Floats) -> tuple[float, Floats]:
    return loss(w)


class SummingLearner(Learner):
    """Base of learners that can be fitted to parts of the training lists, wherever these are.

    Attributes
    ----------
    judges_parts
        Parts are judged by the metric, if one is given.
    """

    sums: ClassVar[bool] = True
    judges_parts: ClassVar[bool] = False

    def refused(self) -> str | None:
        """Return the setting that needs all lists in memory, None if there is none."""
        for name, value in (("init", "base"), ("keep", "train")):
            if getattr(self, name, None) == value:
                return f"{name}={value}"
        return None

    def survey(self, lists: CandidateLists) -> Any:
        """Return what must be known of all parts before one is made; it is small."""
        return None

    def told(self, surveys: Sequence[Any]) -> Sequence[Any]:
        """Return what each part gets of the surveys of all parts."""
        return surveys

    @abstractmethod
    def part(self, lists: CandidateLists, inputs: FitInputs, surveys: Sequence[Any]) -> Any:
        """Return what the learner keeps of one part.

        Parameters
        ----------
        lists : of the part.
        inputs : the weights of these lists, and the metric prepared for them; of all others nothing.
        surveys : what ``told`` made of the surveys of all parts.

        Raises
        ------
        NothingToLearnError
            If nothing can be learnt from these lists; the other parts may do.
        FitError
            If they are not fit to be learnt from.
        """

    @abstractmethod
    def fit_parts(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> Model:
        """Return the model of all parts.

        Parameters
        ----------
        parts : one at least.
        lists : lists with the features and the source of all parts, in memory all lists themselves. Only what
            ``inputs`` asks for is read of the rest: a metric on the training lists.
        inputs : what else is given; weights of lists are in the parts.
        """

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        part = self.part(lists, inputs, self.told([self.survey(lists)]))
        return self.fit_parts(Parts([part], lists.n_lists, inputs.judge), lists, inputs)
