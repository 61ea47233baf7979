"""The states of weights that kernels move, for checkpoints."""

from __future__ import annotations

from rerank.checkpoints import State, refill
from rerank.native.learners._weights import Weights


def state_of(weights: Weights) -> State:
    """Return the weights and what their mean needs."""
    return {"values": weights.values.copy(), "drift": weights.drift.copy(), "visits": weights.visits}


def restore(weights: Weights, state: State) -> None:
    """Go to what ``state_of`` returned; raises ValueError, TypeError or KeyError if it does not fit."""
    refill(weights.values, state["values"])
    refill(weights.drift, state["drift"])
    weights.visits = state["visits"]
