"""The rounds of RankBoost over any distribution over pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from rerank.core import checkpoints, progress
from rerank.core.types import Floats
from rerank.learners.rankboost.rankers import Choice, WeakRankers

Step = Literal["bound", "exact"]
_UNIT = 2.0**-30
_LEAST = 2.0**-26  # a smaller gain does not lower the loss beyond rounding errors
_MOST = 1 - 2.0**-20  # a larger gain would make steps that depend on rounding errors, or are infinite


class Distribution(Protocol):
    """Weights of pairs; see ``ExplicitPairs``."""

    def potentials(self) -> tuple[Floats, float]:
        """Return the potentials of items, and the log of the sum of weights."""

    def split(self, h: Floats) -> tuple[float, float]:
        """Return the share of pairs that a binary h puts right, and of those that it puts wrong."""

    def advance(self, h: Floats, step: float) -> None:
        """Multiply the weights of pairs."""


@dataclass(eq=False)
class Run:
    """The rounds of one fit.

    Attributes
    ----------
    choices, steps
        The weak ranker of each round, and its step.
    log_loss
        The log of the mean loss after each round: of the sum of weights, which began with 1.
    converged
        No weak ranker lowers the loss any more.
    """

    choices: list[Choice] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    log_loss: list[float] = field(default_factory=list)
    converged: bool = False

    def state(self, *, ended: bool) -> checkpoints.State:
        """Return the rounds for a checkpoint, and whether no round follows."""
        columns = {
            name: np.array([getattr(choice, name) for choice in self.choices], dtype=np.int64)
            for name in ("column", "group", "missing")
        }
        gain = np.array([choice.gain for choice in self.choices])
        found = {"gain": gain, "step": np.array(self.steps), "log_loss": np.array(self.log_loss)}
        return {**columns, **found, "converged": self.converged, "ended": ended}


@dataclass(frozen=True)
class Rule:
    """How a round chooses and steps.

    Attributes
    ----------
    step
        bound: log((1 + r) / (1 - r)) / 2, which minimises a bound of the loss for any h in [0, 1]; exact:
        log((W+ + epsilon) / (W- + epsilon)) / 2 for the shares W+ and W- of the pairs that a threshold puts
        right and wrong. Features themselves have bound steps.
    epsilon
        Smoothing of exact steps.
    both
        Steps may be negative.
    learning_rate
        What steps are multiplied by, at most 1.
    """

    step: Step
    epsilon: float
    both: bool
    learning_rate: float = 1.0

    def step_of(self, choice: Choice, pairs: Distribution, h: Floats) -> float:
        """Return the step of a weak ranker with values h (n).

        It is a multiple of 2^-30, so that rounding errors decide nothing.
        """
        if self.step == "bound" or choice.raw:
            r = min(max(choice.gain, -_MOST), _MOST)
            found = 0.5 * np.log((1 + r) / (1 - r))
        else:
            right, wrong = pairs.split(h)
            found = 0.5 * np.log((right + self.epsilon) / (wrong + self.epsilon))
        return float(np.rint(self.learning_rate * found / _UNIT) * _UNIT)


def boost(pairs: Distribution, rankers: WeakRankers, rule: Rule, rounds: int) -> Run:
    """Return at most so many rounds; each changes the distribution.

    Parameters
    ----------
    pairs
        The distribution over pairs.
    rankers
        Weak rankers of the items that the potentials are of.
    rule
        Which weak rankers and steps are taken.
    rounds
        The most rounds.
    """
    place = checkpoints.place()
    run, ended = _resumed(place)
    if ended:
        return run
    potential, start = pairs.potentials()
    for earlier, step in zip(run.choices, run.steps, strict=True):
        pairs.advance(rankers.values(earlier), step)
        potential, _ = pairs.potentials()
    for _ in progress.over(range(len(run.steps), rounds), "training", rounds, "round"):
        choice = rankers.best(potential, rule.both)
        if choice is None or not (abs(choice.gain) if rule.both else choice.gain) > _LEAST:
            run.converged = True
            break
        h = rankers.values(choice)
        step = rule.step_of(choice, pairs, h)
        if step == 0.0:  # nothing would change any more
            run.converged = True
            break
        pairs.advance(h, step)
        run.choices.append(choice)
        run.steps.append(step)
        potential, loss = pairs.potentials()
        run.log_loss.append(loss - start)
        if place is not None and place.due():
            place.keep(run.state(ended=False))
    if place is not None:
        place.keep(run.state(ended=True))
    return run


def _resumed(place: checkpoints.Place | None) -> tuple[Run, bool]:
    """The rounds that a checkpoint has, and whether they are all."""
    if place is None or place.state is None:
        return Run(), False
    with place.restoring() as state:
        rows = zip(*(state[name].tolist() for name in ("column", "group", "missing", "gain")), strict=True)
        choices = [Choice(*row) for row in rows]
        steps, log_loss = state["step"].tolist(), state["log_loss"].tolist()
        if not len(choices) == len(steps) == len(log_loss):
            raise ValueError
        return Run(choices, steps, log_loss, bool(state["converged"])), bool(state["ended"])
