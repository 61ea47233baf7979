"""Base of learners that work in rounds: the learning curve, and which round becomes the model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from rerank.core import checkpoints, progress
from rerank.core.checkpoints import State, copy_into
from rerank.core.types import Floats, Index
from rerank.data.judge import PreparedMetric, value_of
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs
from rerank.models.learning_curve import LearningCurve
from rerank.models.training import RoundsRecord
from rerank.native.learners._weights import Weights


def state_of(weights: Weights) -> State:
    """Return the weights and what their mean needs."""
    names = ("values", "drift", "sums")
    return {name: getattr(weights, name).copy() for name in names} | {"visits": weights.visits}


def restore(weights: Weights, state: State) -> None:
    """Go to what ``state_of`` returned; raises ValueError, TypeError or KeyError if it does not fit."""
    for name in ("values", "drift", "sums"):
        copy_into(getattr(weights, name), state[name])
    weights.visits = state["visits"]


T = TypeVar("T")
Keep = Literal["last", "best", "train"]
KEEP_HELP = "round or epoch to keep: the last, the best on dev (best), the best on the training lists (train)"


class Resumable(Protocol):
    """State of a learner that changes in its rounds."""

    def state(self) -> checkpoints.State:
        """Return all that the next rounds depend on, which they do not change; see core.checkpoints."""
        ...

    def restore(self, state: checkpoints.State) -> None:
        """Go to a state that ``state`` returned; ValueError, TypeError or KeyError if it does not fit."""
        ...


class Rounds:
    """The rounds of a learner so far.

    After each round the learner calls ``record``. The best round by the metric on the dev lists (``keep``
    "best") or on the training lists ("train") is remembered; on ties the first wins.

    Attributes
    ----------
    curve : LearningCurve
        A row for each round: what the learner counted, the metric on the training lists ("train") and on
        the dev lists ("dev"), and their log-loss ("dev_logloss") if items have one score.
    """

    def __init__(self, lists: CandidateLists, inputs: FitInputs, keep: str) -> None:
        self.lists = lists
        self.judge = inputs.judge
        self.dev = inputs.dev
        self.observer = inputs.observer
        self.keep = keep
        self.curve = LearningCurve()
        self._best_round = 0
        self._best_value = -np.inf
        self._best: Any = None
        self._learner: Resumable | None = None
        self._place: checkpoints.Slot | None = None
        self._ended = False  # no round was left in the checkpoint

    def each(
        self,
        rounds: Iterable[T],
        total: int,
        learner: Resumable | None = None,
        what: str = "training",
        unit: str = "round",
    ) -> Iterator[T]:
        """Yield what each round needs; show the progress of the rounds and keep the state after them.

        With a checkpoint the rounds that were done before are not done again: the states of the learner and
        of this object are what they were after them, and there may be no round left.

        - ``rounds``: what each round needs, such as an order of visits.
        - ``total``: the most rounds.
        - ``learner``: what changes in a round beside this object; None = no checkpoints.
        - ``what``: what is being done, for the display of progress.
        - ``unit``: what a round is called there.
        """
        self._place = None if learner is None or self.observer is not None else checkpoints.slot()
        self._learner = learner
        self._ended = self._restored()
        with progress.step(what, total, unit) as advance:
            advance(len(self.curve))
            for one in itertools.islice(rounds, len(self.curve), 0 if self._ended else None):
                yield one
                advance(value=self.latest)
                if self._place is not None and self._place.due():
                    self._place.keep(self._state(ended=False))

    def _state(self, *, ended: bool) -> checkpoints.State:
        assert self._learner is not None
        best = (self._best_round, self._best_value, self._best)
        return {"learner": self._learner.state(), "curve": list(self.curve), "best": best, "ended": ended}

    def _restored(self) -> bool:
        """Go to the state that was kept; return whether no round is left."""
        if self._place is None or self._place.state is None:
            return False
        assert self._learner is not None
        with self._place.restoring() as state:
            self._learner.restore(state["learner"])
            self.curve[:] = [dict(row) for row in state["curve"]]
            self._best_round, self._best_value, self._best = state["best"]
            return bool(state["ended"])

    @property
    def settled(self) -> bool:
        """Return whether the last round made no update."""
        return bool(self.curve) and self.curve[-1].get("updates") == 0

    @property
    def latest(self) -> progress.Value | None:
        """The name and the value of the metric on the dev or else the training lists after the last round."""
        if self.dev is not None:
            return f"dev {self.dev[1].name}", self.curve[-1]["dev"]
        return None if self.judge is None else (f"train {self.judge.name}", self.curve[-1]["train"])

    def record(self, state: Any, score: Callable[[Any, CandidateLists], Floats], **progress: float) -> None:
        """Add a row to the curve.

        - ``state``: the model after this round; the learner must not change it afterwards.
        - ``score``: ``score(state, lists)`` returns the scores as the judges take them, float64 (n_items) or
          for examples with classes (n_items, n_classes).
        - ``progress``: what the learner counted in this round.
        """
        row: dict[str, float] = {"round": len(self.curve) + 1, **progress}
        if self.judge is not None:
            row["train"] = value_of(self.judge, score(state, self.lists))
        if self.dev is not None:
            lists, judge = self.dev
            scores = score(state, lists)
            row["dev"] = value_of(judge, scores)
            if scores.ndim == 1:
                row["dev_logloss"] = log_loss(lists, scores)
        if self.observer is not None:
            seen, see = self.observer
            see(state, score(state, seen))
        by = self._chooser()
        if by is not None:
            value = by[0].better * row[by[1]]
            if self._best is None or value > self._best_value:
                self._best, self._best_value, self._best_round = state, value, len(self.curve) + 1
        self.curve.append(row)

    def _chooser(self) -> tuple[PreparedMetric, str] | None:
        """The judge that chooses a round, and its column of the curve."""
        if self.keep == "train":
            return None if self.judge is None else (self.judge, "train")
        return None if self.dev is None else (self.dev[1], "dev")

    def kept(self, last: Any, **facts: Any) -> tuple[Any, RoundsRecord]:
        """Return the state that becomes the model, and the record of the rounds.

        - ``last``: the state after the last round.
        - ``facts``: further fields of the record, such as ``converged``.
        """
        if self._place is not None and not self._ended:
            self._place.keep(self._state(ended=True))
        rounds = len(self.curve)
        chosen = self.keep != "last"
        kept = self._best_round if chosen else rounds
        dev = None if self.dev is None or not rounds else self.curve[kept - 1]["dev"]
        return self._best if chosen else last, RoundsRecord(run=rounds, kept=kept, dev=dev, **facts)


def visit_orders(n: int, rounds: int, shuffle: bool, seed: int | tuple[int, int]) -> Iterator[Index]:
    """Yield the order in which each round visits ``n`` examples: a random one, or the first to the last."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        yield rng.permutation(n) if shuffle else np.arange(n, dtype=np.int64)


def linear_scores(state: Floats, lists: CandidateLists) -> Floats:
    """Return the scores (n_items) of a state that is the weights (n_features), for ``Rounds.record``."""
    return lists.features.scores(state)


def log_loss(lists: CandidateLists, scores: Floats) -> float:
    """Return the mean over lists of -log P(best), in nats.

    P is the softmax of a list's scores, divided by the root mean square of all scores' deviations from
    the mean of their list. P(best) is the probability of all items tied for the best label. Thus the
    scale of a perceptron's weights does not matter. (Shen & Joshi plot a log-loss in Figures 3 and 4
    without defining it.)

    - ``lists``: lists with labels; those without two different labels are left out.
    - ``scores``: float64 (n_items).

    Returns
    -------
    float
        NaN if no list counts.
    """
    if lists.labels is None:
        return float("nan")
    begin, sizes = lists.offsets[:-1], lists.lengths
    labels = np.where(np.isnan(lists.labels), -np.inf, lists.labels)
    top = np.maximum.reduceat(labels, begin)
    is_best = labels == np.repeat(top, sizes)
    used = np.isfinite(top) & ~np.logical_and.reduceat(is_best, begin)
    if not used.any():
        return float("nan")
    deviation = scores - np.repeat(np.add.reduceat(scores, begin) / sizes, sizes)
    scale = float(np.sqrt(np.mean(deviation**2)))
    z = deviation / scale if scale > 0 else np.zeros_like(deviation)
    z -= np.repeat(np.maximum.reduceat(z, begin), sizes)
    weight = np.exp(z)
    best = np.add.reduceat(np.where(is_best, weight, 0.0), begin)
    # A best item far below the others has weight 0 in floating point: its log is its z.
    best_z = np.maximum.reduceat(np.where(is_best, z, -np.inf), begin)
    log_best = np.where(best > 0, np.log(np.where(best > 0, best, 1.0)), best_z)
    return float(np.mean((np.log(np.add.reduceat(weight, begin)) - log_best)[used]))
