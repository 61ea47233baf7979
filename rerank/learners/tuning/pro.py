"""PRO: tuning as ranking (Hopkins & May 2011)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from rerank.core.errors import DataNote, FitError
from rerank.core.settings import setting
from rerank.core.text import count
from rerank.data.judge import value_of
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs, checked_list_weights
from rerank.learners.initial import Init, initial_weights
from rerank.learners.minimise import Minimum
from rerank.learners.sums.parts import Own, Parts, SummingLearner
from rerank.learners.sums.samples import SampledPart, SampleLoss
from rerank.models.base import Model
from rerank.models.linear import LinearModel
from rerank.models.training import DataRecord, MinimumRecord

_GAP = 0.05  # of the labels' range: the paper's 0.05 of BLEU from 0 to 1


@LEARNERS.register("pro")
class Pro(SummingLearner):
    """Pairwise ranking of sampled pairs by logistic regression.

    In each list ``samples`` pairs are drawn uniformly with replacement. Of the pairs whose labels differ by
    at least ``threshold``, the ``keep_pairs`` with the largest difference are kept; on ties the first drawn
    win. Then the sum over pairs of log(1 + exp(-w·(x - x'))) + ``l2`` * |w - w0|² is minimised, with each
    feature in units of the root mean square of its differences in the pairs. w0 is ``init``. Texts get
    their labels from references: --label sBLEU.

    Of a sharded store on a cluster each shard draws by a seed of its own: other shards give other pairs.

    The weight of a list multiplies the losses of its pairs. From a list of weight 0 none is drawn, as if it
    were absent.

    References
    ----------
    Hopkins, May: Tuning as ranking. EMNLP 2011.
    """

    name = "pro"
    summary = "pairwise ranked optimisation: logistic regression on sampled pairs with clear differences"
    source = "Hopkins & May 2011"
    scale_invariant = True
    accepts_initial = True
    accepts_list_weights = True

    samples: int = setting(5000, "pairs drawn from each list (Gamma in the paper)", ge=1)
    keep_pairs: int = setting(50, "pairs kept from each list (Xi in the paper)", ge=1)
    threshold: float | None = setting(
        None,
        "minimum difference of labels; 5 points of sBLEU in the paper; none = 0.05 of the labels' range",
        ge=0,
    )
    l2: float = setting(0.25, "regularisation strength", ge=0)
    init: Init = setting(
        "auto",
        "w0, which the penalty prefers: given (with --init), base (they reproduce the first stage's scores), "
        "even (1 / number of features) or zero; auto = given, else zero",
    )
    iterations: int = setting(500, "maximum number of L-BFGS steps", ge=1)
    seed: int = setting(1, "random seed of the sampled pairs", ge=0)

    def part(self, lists: CandidateLists, inputs: FitInputs, surveys: Sequence[Any]) -> SampledPart:
        weights = checked_list_weights(inputs.list_weights, lists)
        return SampledPart(lists, weights, (self.seed, self.samples, self.keep_pairs))

    def fit_parts(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> Model:
        least, largest = np.array(parts.each(SampledPart.range)).T
        threshold = self.threshold
        if threshold is None:
            threshold = _GAP * float(largest.max() - least.min())
        how = threshold, Own(range(len(parts)))
        n_lists, n_kept, most, counted = np.array(parts.each(SampledPart.counts, *how)).T
        if not n_lists.any():
            if most.max() == 0:
                raise FitError(f"{lists.source}: no list has two different labels")
            text = f"no drawn pair differs by {threshold:g} in its labels"
            text = f"{text} (the most in any list is {most.max():g})"
            raise FitError(f"{lists.source}: {text}; see threshold and samples")
        start, init = initial_weights(lists, inputs, self.init, otherwise="zero")
        found = self.minimum(SampleLoss(parts, how, start, self.l2), lists.source)
        model = LinearModel(lists.names(), found.w)
        model.initial = start
        train = None if inputs.judge is None else value_of(inputs.judge, model.score_aligned(lists))
        model.training.rounds = MinimumRecord(
            iterations=found.iterations, loss=found.loss, init=init, threshold=threshold, train=train
        )
        n = int(counted.sum()) if parts.here else parts.n_lists
        skipped = n - int(n_lists.sum())
        model.training.data = DataRecord(pairs=int(n_kept.sum()), lists_without_pair=skipped)
        return model

    def minimum(self, loss: SampleLoss, source: str) -> Minimum:
        """Return the minimum; raises FitError if the loss overflows, or no feature differs in a pair."""
        if not np.isfinite(loss.scale).all():
            raise FitError(f"{source}: squares of the features overflow; scale them (--scaling)")
        if not loss.varies.any():
            text = "the features do not differ in any pair (or by less than 1e-150: scale them, --scaling)"
            raise FitError(f"{source}: {text}")
        from scipy import optimize  # it takes longer to load than other learners take to fit

        found = optimize.minimize(
            loss,
            np.zeros(len(loss.start)),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.iterations, "maxfun": 20 * self.iterations, "ftol": 1e-13, "gtol": 1e-8},
        )
        weights = loss.weights(found.x)
        if not (np.isfinite(found.fun) and np.isfinite(weights).all()):
            raise FitError(f"{source}: the loss overflows; are the initial weights too large?")
        if found.nit >= self.iterations:
            text = f"{source}: pro stopped after {count(self.iterations, 'iteration')}, before the minimum"
            warnings.warn(text, DataNote, stacklevel=2)
        if not weights.any():
            text = f"{source}: pro learnt nothing, all weights are 0: the pairs contradict each other"
            warnings.warn(text, DataNote, stacklevel=2)
        value, steps = float(found.fun), int(found.nit)
        return Minimum(weights, value, value, np.nan, steps, steps < self.iterations)
