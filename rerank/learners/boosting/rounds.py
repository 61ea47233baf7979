"""The metric after every round of boosting, from one pass over the rounds."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.core import checkpoints, progress
from rerank.core.types import Floats, Index, Ints
from rerank.data.judge import PreparedMetric, SelectingJudge, value_of
from rerank.data.lists import CandidateLists
from rerank.learners.boosting.examples import Examples
from rerank.models.stumps import Thresholds
from rerank.native.learners._boosting import Trace
from rerank.native.learners._boosting_curve import Choices
from rerank.native.learners._boosting_index import index

_CHUNK, _SECONDS = 1000, 0.3  # rounds, and about how long they take, between two chances of Ctrl-C
_NO_GAIN, _INFINITE = 1, 2  # outcomes of kernels


@dataclass(frozen=True, eq=False)
class Run:
    """The rounds of one fit.

    Attributes
    ----------
    stumps, steps : int32 and float64 (n_rounds)
        The stump of each round, and its step.
    log_loss, errors, weighted_errors : (n_rounds)
        The logarithm of the loss after each round, and the pairs with a margin of 0 or less: how many, and
        the sum of their importance (4.2 of the paper).
    work : float64 (n_rounds)
        Work(n) of equation 24: passes over the differences so far.
    converged : bool
        No indicator lowers the loss any more.
    infinite : int or None
        The stump whose step would have been infinite.
    drift, relative_drift : float
        How far sums were off when all were computed again: relative to the loss, and to themselves.
    """

    stumps: Ints
    steps: Floats
    log_loss: Floats
    errors: Index
    weighted_errors: Floats
    work: Floats
    converged: bool
    infinite: int | None
    drift: float
    relative_drift: float

    def columns(self, examples: Examples) -> dict[str, Any]:
        """Return the columns of the learning curve, each (n_rounds)."""
        with np.errstate(over="ignore"):
            loss = np.exp(self.log_loss) * examples.scale
        new = np.zeros(len(self.stumps), dtype=np.int64)
        new[np.unique(self.stumps, return_index=True)[1]] = 1
        return {
            "round": np.arange(1, len(self.stumps) + 1),
            "loss": loss,
            "errors": self.errors,
            "weighted_errors": self.weighted_errors * examples.scale,
            "features": np.cumsum(new),
            "work": self.work,
        }

    def facts(self, kept: int, curve: dict[str, Any]) -> dict[str, float]:
        """Return what the model file records of the rounds up to ``kept``, with the drift of all."""
        drift = {"drift": self.drift, "relative_drift": self.relative_drift}
        if not kept:
            return drift
        last = {name: curve[name][kept - 1].item() for name in curve if name not in ("round", "train", "dev")}
        return {**last, "savings": savings(self.work, 1, kept), **drift}


def savings(work: Floats, first: int, last: int) -> float:
    """Return Savings(first, last) of equation 26, for Work(n) by round and rounds from 1.

    It is how many times fewer sums Figure 4 computes than Figure 3 in these rounds.
    """
    done = float(work[last - 1]) - (float(work[first - 2]) if first > 1 else 0.0)
    return (1 + last - first) / done if done > 0 else float("inf")


_COLUMNS = ("stump", "step", "loss", "errors", "weighted_errors", "work")


class _Rounds:
    """The rounds so far: the columns of traces, how the last one ended, a stump of infinite step."""

    def __init__(self) -> None:
        self.parts: dict[str, list[Any]] = {name: [getattr(Trace(0), name)] for name in _COLUMNS}
        self.outcome = 0
        self.infinite: int | None = None

    @property
    def n(self) -> int:
        """Return the number of rounds."""
        return sum(map(len, self.parts["stump"]))

    def add(self, trace: Trace, outcome: int) -> None:
        """Add the rounds of a trace."""
        for name, part in self.parts.items():
            part.append(getattr(trace, name)[: trace.n])
        self.outcome = outcome
        self.infinite = int(trace.stump[trace.n]) if outcome == _INFINITE else None

    def column(self, name: str) -> Any:
        """Return a column of all rounds."""
        return np.concatenate(self.parts[name])

    def state(self) -> checkpoints.State:
        """Return the rounds for a checkpoint."""
        columns = {name: self.column(name) for name in _COLUMNS}
        return {"columns": columns, "outcome": self.outcome, "infinite": self.infinite}

    def restore(self, state: checkpoints.State) -> None:
        """Go to what ``state`` returned."""
        n = len(state["columns"]["stump"])
        for name, part in self.parts.items():
            checkpoints.copy_into(np.empty(n, part[0].dtype), state["columns"][name])
            part[:] = [state["columns"][name]]
        self.outcome, self.infinite = int(state["outcome"]), state["infinite"]


def run(loss: Any, rounds: int) -> Run:
    """Return at most so many rounds of a kernel's ``loss``."""
    place = checkpoints.slot()
    done = _Rounds()
    if place is not None and place.state is not None:
        with place.restoring() as state:
            loss.restore(state["loss"])
            done.restore(state)
    with progress.step("training", rounds, "round") as advance:
        advance(done.n)
        chunk = 1
        while done.n < rounds and not done.outcome:
            trace = Trace(min(chunk, rounds - done.n))
            begun = time.perf_counter()
            done.add(trace, loss.rounds(trace))
            rate = trace.n / max(time.perf_counter() - begun, 1e-9)
            chunk = int(min(max(_SECONDS * rate, 1), 2 * chunk, _CHUNK))
            advance(trace.n)
            ended = bool(done.outcome) or done.n == rounds
            if place is not None and (ended or place.due()):
                place.keep({"loss": loss.kept(), **done.state()})
    loss.measure()
    column = done.column
    return Run(
        column("stump"),
        column("step"),
        column("loss"),
        column("errors"),
        column("weighted_errors"),
        np.cumsum(column("work")) / max(loss.differences.n_entries, 1),
        done.outcome == _NO_GAIN,
        done.infinite,
        loss.drift,
        loss.relative_drift,
    )


_EVENTS = 1 << 20  # changes of choices that are held at once


def values_by_round(
    lists: CandidateLists,
    judge: PreparedMetric,
    start: Floats,
    stumps: Thresholds,
    chosen: Ints,
    steps: Floats,
) -> Floats:
    """Return the metric after each round, float64 (n_rounds).

    Only lists in which the round's stump differs between items are looked at. For metrics of single
    candidates the statistics of those whose choice changes are exchanged in the sum; other metrics are
    computed again after each round that touches a list.

    - ``lists``, ``judge``: lists and their metric.
    - ``start``: scores before the first round, float64 (n_items).
    - ``stumps``: all stumps.
    - ``chosen``, ``steps``: the stump of each round, int32 (n_rounds), and its step, float64 (n_rounds).
    """
    used, numbers = np.unique(chosen, return_inverse=True)
    firsts = np.repeat(lists.offsets[:-1], lists.lengths - 1)
    others = np.setdiff1d(np.arange(lists.n_items), lists.offsets[:-1], assume_unique=True)
    some = stumps.subset(used.astype(np.int64))
    differences = index(lists.features.matrix(), some.native, np.stack([firsts, others]))
    choices = Choices(differences, lists.offsets, start)
    rounds = numbers.astype(np.int32)
    if isinstance(judge, SelectingJudge):
        return _selected(judge, choices, rounds, steps)
    return _ranked(judge, choices, rounds, steps)


def _selected(judge: SelectingJudge, choices: Choices, rounds: Ints, steps: Floats) -> Floats:
    """The values of a metric of single candidates.

    Sums are longer than doubles: after a million exchanges they still are those of the chosen items.
    """
    per_item = judge.per_item
    total = per_item[choices.chosen].sum(axis=0, dtype=np.longdouble)
    events: Index = np.empty((3, max(_EVENTS, len(choices.chosen))), dtype=np.int64)
    out = np.empty(len(rounds))
    first = 0
    while first < len(rounds):
        last, n = choices.rounds(rounds, steps, events, first)
        when, before, after = events[:, :n]
        change = per_item[after].astype(np.longdouble) - per_item[before]
        sums = np.concatenate([total[None], total + np.cumsum(change, axis=0)])
        ends = np.searchsorted(when, np.arange(first, last), side="right")
        out[first:last] = judge.score_from_sums(sums[ends].astype(np.float64))
        total = sums[-1]
        first = last
    return out


def _ranked(judge: PreparedMetric, choices: Choices, rounds: Ints, steps: Floats) -> Floats:
    """The values of any metric, from the scores of all items after each round."""
    events = np.empty((3, len(choices.chosen)), dtype=np.int64)
    out = np.empty(len(rounds))
    for r in progress.over(range(len(rounds)), "judging rounds", len(rounds), "round"):
        choices.rounds(rounds[: r + 1], steps, events, r)
        out[r] = value_of(judge, choices.scores)
    return out
