"""The rounds of boosting: what was chosen, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank import progress
from rerank.data.types import Floats, Index, Ints
from rerank.learners.boosting.examples import Examples
from rerank.native.learners._boosting import Trace

_CHUNK = 1000  # rounds between two chances of Ctrl-C
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
        How far sums were off when all were computed anew: relative to the loss, and to themselves.
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


def run(loss: Any, rounds: int) -> Run:
    """Return at most so many rounds of a kernel's ``loss``."""
    traces = []
    outcome = done = 0
    with progress.step("training", rounds, "round") as advance:
        while done < rounds and not outcome:
            trace = Trace(min(_CHUNK, rounds - done))
            outcome = loss.rounds(trace)
            traces.append(trace)
            done += trace.n
            advance(trace.n)

    loss.measure()

    def column(name: str) -> Any:
        return np.concatenate([getattr(trace, name)[: trace.n] for trace in traces])

    return Run(
        column("stump"),
        column("step"),
        column("loss"),
        column("errors"),
        column("weighted_errors"),
        np.cumsum(column("work")) / max(loss.differences.n_entries, 1),
        outcome == _NO_GAIN,
        int(traces[-1].stump[traces[-1].n]) if outcome == _INFINITE else None,
        loss.drift,
        loss.relative_drift,
    )
