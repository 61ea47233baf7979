"""The weight vectors of a voted perceptron, collected during training."""

from __future__ import annotations

import numpy as np

from rerank.core import memory
from rerank.core.checkpoints import State, copy_into
from rerank.core.errors import FitError
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.models.voted import VotedModel, Votes

Snapshot = tuple[int, float]

MAX_BYTES = 1 << 30


class Ballots:
    """Every weight vector after an update, and the number of visits that it survived.

    The vectors are stored dense. More than 1 GiB of them is a FitError that suggests averaging. Weights
    ``start`` (n_features) at the beginning vote too, unless they are 0.
    """

    def __init__(self, start: Floats) -> None:
        self.n_features = len(start)
        self.vectors: list[Floats] = [start.copy()] if start.any() else []
        self.survived: list[float] = [0.0] * len(self.vectors)
        self._counted: dict[int, tuple[Votes, int]] = {}

    def visit(self, weights: Floats, updated: bool) -> None:
        """Record a visit that left ``weights`` (n_features): a new vector, or one more visit survived."""
        if updated:
            row = self.n_features * 8
            size = (len(self.vectors) + 1) * row
            if (
                size // memory.SMALL > (size - row) // memory.SMALL
            ):  # the next piece, and its copy in the model
                memory.require(
                    memory.SMALL + 2 * row, "more voted weights", "average=average needs one vector"
                )
            if size > MAX_BYTES:
                raise FitError(
                    f"voted weights: {len(self.vectors)} vectors of {self.n_features} features fill 1 GiB; "
                    "use average=average, which approximates them (Collins 2002)"
                )
            self.vectors.append(weights.copy())
            self.survived.append(1.0)
        elif self.vectors:
            self.survived[-1] += 1.0

    def snapshot(self) -> Snapshot:
        """Return the current state as a value that later visits do not change."""
        return len(self.vectors), self.survived[-1] if self.survived else 0.0

    def score(self, snapshot: Snapshot, lists: CandidateLists) -> Floats:
        """Return the scores (n_items) of a snapshot, not older than the last one scored here."""
        n, last = snapshot
        votes, counted = self._counted.get(id(lists), (Votes(lists), 0))
        for t in range(counted, n - 1):  # their counts are final
            votes.add(self.vectors[t], self.survived[t])
        self._counted[id(lists)] = votes, max(counted, n - 1)
        if n == 0:
            return votes.scores()
        now = votes.copy()
        now.add(self.vectors[n - 1], last)
        return now.scores()

    def state(self) -> State:
        """Return all vectors and their visits, for a checkpoint."""
        vectors = np.array(self.vectors, dtype=np.float64).reshape(-1, self.n_features)
        return {"vectors": vectors, "survived": np.array(self.survived)}

    def restore(self, state: State) -> None:
        """Go to what ``state`` returned."""
        vectors, survived = state["vectors"], state["survived"]
        copy_into(np.empty((len(survived), self.n_features)), vectors)
        self.vectors, self.survived = list(vectors), survived.tolist()
        self._counted.clear()

    def model(self, feature_names: list[str], snapshot: Snapshot) -> VotedModel:
        """Return the model of a snapshot."""
        n, last = snapshot
        vectors = np.array(self.vectors[:n]).reshape(n, self.n_features)
        survived = np.array(self.survived[:n])
        if n:
            survived[-1] = last
        return VotedModel(feature_names, vectors, survived)
