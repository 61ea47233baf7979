"""The rounds of every task of Predtron."""

from __future__ import annotations

from typing import Any, Protocol

from rerank.core.checkpoints import State, copy_into
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists
from rerank.learners.rounds import Resumable, Rounds, visit_orders
from rerank.learners.weight_state import restore, state_of
from rerank.models.training import RoundsRecord
from rerank.native.learners._link import Link
from rerank.native.learners._weights import Weights


class RoundSettings(Protocol):
    """The settings of a learner that its rounds depend on."""

    @property
    def epochs(self) -> int: ...
    @property
    def average(self) -> str: ...
    @property
    def shuffle(self) -> bool: ...
    @property
    def seed(self) -> int: ...


class Passes(Resumable, Protocol):
    """What a task does in its passes.

    Attributes
    ----------
    n
        How many examples there are to visit.
    """

    @property
    def n(self) -> int: ...

    def run(self, visits: Index) -> dict[str, float]:
        """Visit examples; return what the learning curve shows, including ``updates``."""
        ...

    def reached(self, average: bool) -> Any:
        """Return the weights now, or their mean over all visits so far, which later visits do not change."""
        ...

    def score(self, state: Any, lists: CandidateLists) -> Floats:
        """Return the scores of a state, by which rounds are judged."""
        ...


def run_rounds(settings: RoundSettings, passes: Passes, watch: Rounds) -> tuple[Any, RoundsRecord]:
    """Return the state that becomes the model, and the record of the rounds.

    Parameters
    ----------
    settings
        Of the learner.
    passes
        Of the task; it is visited until a pass makes no update.
    watch
        Gets a row for each pass.
    """
    orders = visit_orders(passes.n, settings.epochs, settings.shuffle, settings.seed)
    average = settings.average == "average"
    for visits in watch.each(orders, settings.epochs, passes, unit="epoch"):
        counts = passes.run(visits)
        watch.record(passes.reached(average), passes.score, **counts)
        if counts["updates"] == 0:
            break
    return watch.kept(passes.reached(average), converged=watch.settled)


def moved_state(weights: Weights, link: Link | None) -> State:
    """Return the state of weights and of their link function."""
    sums = None if link is None else (link.theta.copy(), link.drifted.copy())
    return {"weights": state_of(weights), "link": sums}


def restore_moved(weights: Weights, link: Link | None, state: State) -> None:
    """Go to what ``moved_state`` returned."""
    restore(weights, state["weights"])
    if link is not None:
        theta, drift = state["link"]
        copy_into(link.theta, theta)
        copy_into(link.drifted, drift)
