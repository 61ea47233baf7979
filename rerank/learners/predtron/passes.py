"""The rounds of every task of Predtron."""

from __future__ import annotations

from typing import Any, Protocol

from rerank.data.lists import CandidateLists
from rerank.data.types import Floats, Index
from rerank.learners.rounds import Rounds, visit_orders
from rerank.models.training import RoundsRecord


class RoundSettings(Protocol):
    """The settings of a learner that its rounds depend on."""

    @property
    def rounds(self) -> int: ...
    @property
    def average(self) -> str: ...
    @property
    def shuffle(self) -> bool: ...
    @property
    def seed(self) -> int: ...


class Passes(Protocol):
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

    def state(self, average: bool) -> Any:
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
    updates, state = -1.0, passes.state(False)
    orders = visit_orders(passes.n, settings.rounds, settings.shuffle, settings.seed)
    for visits in watch.each(orders, settings.rounds):
        counts = passes.run(visits)
        updates, state = counts["updates"], passes.state(settings.average == "average")
        watch.record(state, passes.score, **counts)
        if updates == 0:
            break
    return watch.kept(state, converged=updates == 0)
