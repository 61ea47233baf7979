"""Parts of the training lists, and sums over them in their order.

A learner that sums makes something of the lists of each part, and asks all of them the same questions: a loss
and its gradient, for example. The answers are added in the order of the parts, so that results do not depend
on who answered, nor when. Lists in memory are the case of one part. An answer depends on the part and the
question alone: a part that is lost can be made again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from rerank.core.types import Floats
from rerank.core.workers.parallel import each
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs, Learner
from rerank.models.base import Model

A = ParamSpec("A")
T = TypeVar("T")


class Parts:
    """The result of a learner for each part, in the order of the lists.

    Parameters
    ----------
    parts : what ``SummingLearner.part`` returned.
    n_lists : lists of all parts, also of those from which nothing is learnt.
    """

    def __init__(self, parts: Sequence[Any], n_lists: int) -> None:
        self.n_lists = n_lists
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts)

    def each(
        self, function: Callable[Concatenate[Any, A], T], *arguments: A.args, **more: A.kwargs
    ) -> list[T]:
        """Return ``function(part, *arguments)`` of every part, in order; the jobs are threads."""
        if len(self._parts) == 1:
            return [function(self._parts[0], *arguments, **more)]
        return each(function, [(part, *arguments) for part in self._parts], threads=True)


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
        (loss, gradient), *others = self._parts.each(_at, w)
        for more, slope in others:
            loss += more
            gradient += slope
        return loss, gradient


def _at(loss: Callable[[Floats], tuple[float, Floats]], w: Floats) -> tuple[float, Floats]:
    return loss(w)


class SummingLearner(Learner):
    """Base of learners that can be fitted to parts of the training lists, wherever these are."""

    sums: ClassVar[bool] = True

    def survey(self, lists: CandidateLists) -> Any:
        """Return what must be known of all parts before one is made; it is small."""
        return None

    @abstractmethod
    def part(self, lists: CandidateLists, list_weights: Floats | None, surveys: Sequence[Any]) -> Any:
        """Return what the learner keeps of one part.

        Parameters
        ----------
        lists : of the part.
        list_weights : float64 (n_lists), None = 1.
        surveys : of all parts.

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
        part = self.part(lists, inputs.list_weights, [self.survey(lists)])
        return self.fit_parts(Parts([part], lists.n_lists), lists, inputs)
