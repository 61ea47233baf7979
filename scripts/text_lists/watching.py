"""What is seen of a learner round by round: log-loss on the lists it learns from, a metric on others."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rerank import CandidateLists
from rerank.core.types import Floats
from rerank.data.judge import PreparedMetric
from rerank.learners.rounds import log_loss


@dataclass
class LogLoss:
    """A judge that records the log-loss of lists after each round."""

    lists: CandidateLists
    name: str = "log-loss"
    signature: str = "log-loss"
    better: int = -1

    def per_list(self, scores: Floats) -> Floats:
        """One row: the loss is a mean over lists that share one scale."""
        return np.array([[log_loss(self.lists, scores)]])

    def score_from_sums(self, sums: Floats) -> Floats | float:
        loss: Floats = sums[..., 0]
        return loss


@dataclass
class Recorded:
    """A judge that remembers the statistics of each round (n_lists, k)."""

    judge: PreparedMetric
    rounds: list[Floats] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.judge.name

    @property
    def signature(self) -> str:
        return self.judge.signature

    @property
    def better(self) -> int:
        return self.judge.better

    def per_list(self, scores: Floats) -> Floats:
        self.rounds.append(self.judge.per_list(scores))
        return self.rounds[-1]

    def score_from_sums(self, sums: Floats) -> Floats | float:
        return self.judge.score_from_sums(sums)


@dataclass(frozen=True)
class Curve:
    """What one setting did by round: losses and values (rounds), values of resamples (samples, rounds)."""

    pairs: int
    rows: list[dict[str, float]]
    loss: Floats
    value: Floats
    resampled: Floats
    better: int

    def correlations(self) -> Floats:
        """Of falling log-loss and improving metric over the rounds: the test set's, then each resample's."""
        values = self.better * np.vstack([self.value, self.resampled])
        x = self.loss.mean() - self.loss
        y = values - values.mean(axis=1, keepdims=True)
        norms = np.sqrt((x**2).sum() * (y**2).sum(axis=1))
        r: Floats = np.divide(y @ x, norms, out=np.full(len(y), np.nan), where=norms > 0)
        return r

    def together(self) -> float:
        """The share of the rounds in which the log-loss fell that did not worsen the metric."""
        fell = np.diff(self.loss) < 0
        return float(np.mean(self.better * np.diff(self.value)[fell] >= 0)) if fell.any() else float("nan")
