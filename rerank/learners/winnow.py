"""Large-margin Winnow for ranking: the perceptron's pairs and margins, with multiplicative updates."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal

import numpy as np

from rerank.core.errors import DataNote
from rerank.core.settings import setting
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs
from rerank.learners.perceptron import Perceptron
from rerank.models.base import Model

_MOST = 36.0  # e^36 is 2^52: beside a weight of this size, one of 1 is below the rounding of a score


@LEARNERS.register("winnow")
class Winnow(Perceptron):
    """Balanced Winnow with a margin, over any relation between ranks.

    The weights are w = w+ - w-, with w+ = w- = 1 at the start. A pair of items is violated if w·(x - x') <=
    g * tau. Where the perceptron then adds u_f to the weight of feature f, Winnow multiplies w+_f by
    exp(learning_rate * u_f) and divides w-_f by it. Pairs, margins, algorithms, rivals and averages are those
    of the perceptron. Features may be negative: w- stands for the weight of -x.

    Given initial weights w begin with w+ - w- = w and w+ * w- = 1.

    How many mistakes it makes depends on the largest difference of a feature and only on the logarithm of
    the number of features, where the perceptron's bound has the norm of all differences: it suits many
    features of which few matter. Features have to be bounded. A learning_rate so small that
    learning_rate * (the sum of a weight's updates) stays far below 1 gives the perceptron's weights times
    2 * learning_rate.

    References
    ----------
    Littlestone: Learning quickly when irrelevant attributes abound. Machine Learning 2, 1988.
    Zhang: Large margin Winnow methods for text categorization. KDD-2000 Workshop on Text Mining.
    Shen, Joshi: Ranking and reranking with perceptron. Machine Learning 60, 2005 (pairs, uneven margins).
    """

    name = "winnow"
    summary = "large-margin Winnow: the perceptron's pairs and margins with multiplicative updates"
    source = "Zhang 2000"
    default_scaling = "minmax"
    renamed: ClassVar[dict[str, str]] = {}
    overflow_help = "lower learning_rate, or scale the features (--scaling)"

    learning_rate: float = setting(
        0.01, "w+ is multiplied by exp(learning_rate * the perceptron's update), w- divided by it", gt=0
    )
    tau_scale: Literal["absolute", "norm"] = setting(
        "absolute",
        "norm: tau is multiplied by 2 * learning_rate times the mean of |x - x'|^2 over all pairs and, if "
        "updates are not multiplied by g, divided by the mean of g",
    )

    @property
    def rate(self) -> float:
        """The learning rate."""
        return self.learning_rate

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        model: Any = super()._fit(lists, inputs)
        weights = model.weights if self.average != "voted" else model.vectors
        exponent = float(np.arcsinh(0.5 * np.abs(weights).max(initial=0.0)))
        model.training.notes["largest_exponent"] = exponent
        if exponent > _MOST:
            text = (
                f"{lists.source}: weights of winnow grew to e^{exponent:.0f}; beside them those near 1 do not"
            )
            warnings.warn(f"{text} count: {self.overflow_help}", DataNote, stacklevel=2)
        found: Model = model
        return found
