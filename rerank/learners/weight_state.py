"""The states of weights that kernels move, for checkpoints."""

from __future__ import annotations

from rerank.core.checkpoints import State, copy_into
from rerank.native.learners._weights import Weights


def state_of(weights: Weights) -> State:
    """Return the weights and what their mean needs."""
    return {"values": weights.values.copy(), "drift": weights.drift.copy(), "visits": weights.visits}


def restore(weights: Weights, state: State) -> None:
    """Go to what ``state_of`` returned; raises ValueError, TypeError or KeyError if it does not fit."""
    copy_into(weights.values, state["values"])
    copy_into(weights.drift, state["drift"])
    weights.visits = state["visits"]
