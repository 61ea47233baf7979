"""PRO: tuning as ranking (Hopkins & May 2011)."""

from __future__ import annotations

import warnings

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataNote, FitError
from rerank.core.settings import setting
from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.data.judge import value_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.learners.base import LEARNERS, FitInputs, Learner, checked_list_weights
from rerank.learners.initial import Init, initial_weights
from rerank.learners.minimise import Minimum
from rerank.models.base import Model
from rerank.models.linear import LinearModel
from rerank.models.training import DataRecord, MinimumRecord
from rerank.native.data import _matrix
from rerank.native.learners import _pro

_Pairs = tuple[
    Index, Index, Floats
]  # better and worse items, and the weights: the list's, each time it is kept
_GAP = 0.05  # of the labels' range: the paper's 0.05 of BLEU from 0 to 1


@LEARNERS.register("pro")
class Pro(Learner):
    """Pairwise ranking of sampled pairs by logistic regression.

    In each list ``samples`` pairs are drawn uniformly with replacement. Of the pairs whose labels differ by
    at least ``threshold``, the ``keep_pairs`` with the largest difference are kept; on ties the first drawn
    win. Then the sum over pairs of log(1 + exp(-w·(x - x'))) + ``l2`` * |w - w0|² is minimised, with each
    feature in units of the root mean square of its differences in the pairs. w0 is ``init``. Texts get
    their labels from references: --label sBLEU.

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

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        assert lists.labels is not None  # needs_labels
        weights = checked_list_weights(inputs.list_weights, lists)
        judged = lists.labels[np.repeat(weights > 0, lists.lengths)]
        judged = judged[~np.isnan(judged)]
        if len(judged) == 0:
            raise FitError(f"{lists.source}: the weight of every judged list is 0")
        threshold = self.threshold
        if threshold is None:
            threshold = _GAP * float(judged.max() - judged.min())
        items, pairs, n_lists, n_kept = self._sample(lists, weights, threshold)
        start, init = initial_weights(lists, inputs, self.init, otherwise="zero")
        found = self._minimise(lists.features.take(items), pairs, start, lists.source)
        model = LinearModel(lists.names(), found.w)
        model.initial = start
        train = None if inputs.judge is None else value_of(inputs.judge, model.score_aligned(lists))
        model.training.rounds = MinimumRecord(
            iterations=found.iterations, loss=found.loss, init=init, threshold=threshold, train=train
        )
        skipped = int(np.count_nonzero(weights)) - n_lists
        model.training.data = DataRecord(pairs=n_kept, lists_without_pair=skipped)
        return model

    def _sample(
        self, lists: CandidateLists, weights: Floats, threshold: float
    ) -> tuple[Index, _Pairs, int, int]:
        """Items in pairs, pairs as places among them, lists with a pair, pairs; FitError if there is none."""
        labels = lists.labels
        assert labels is not None
        need = 64 * self.samples
        memory.require(need, f"{self.samples:,} pairs drawn from a list", "fewer need less (--set samples)")
        rng = np.random.default_rng(self.seed)
        found, n_kept = [], 0
        for i in np.flatnonzero(weights).tolist():
            first, last = int(lists.offsets[i]), int(lists.offsets[i + 1])
            drawn = rng.integers(last - first, size=(2, self.samples))
            better, worse = clearest(labels[first:last], drawn, threshold, self.keep_pairs)
            codes, times = np.unique(better * (last - first) + worse, return_counts=True)
            if len(codes):
                better, worse = np.divmod(codes, last - first)
                found.append((first + better, first + worse, weights[i] * times))
                n_kept += int(times.sum())
        if not found:
            begin = lists.offsets[:-1]
            ranges = np.fmax.reduceat(labels, begin) - np.fmin.reduceat(labels, begin)
            most = np.nanmax(ranges[weights > 0])
            if most == 0:
                raise FitError(f"{lists.source}: no list has two different labels")
            text = f"no drawn pair differs by {threshold:g} in its labels (the most in any list is {most:g})"
            raise FitError(f"{lists.source}: {text}; see threshold and samples")
        better, worse, weight = (np.concatenate(column) for column in zip(*found, strict=True))
        items, places = np.unique(np.concatenate([better, worse]), return_inverse=True)
        better, worse = places.astype(np.int64).reshape(2, -1)
        return items, (better.copy(), worse.copy(), weight), len(found), n_kept

    def _minimise(self, features: Features, pairs: _Pairs, start: Floats, source: str) -> Minimum:
        loss = PairLoss(features, *pairs, start, self.l2)
        if not np.isfinite(loss.scale).all():
            raise FitError(f"{source}: squares of the features overflow; scale them (--scaling)")
        if not loss.varies.any():
            text = "the features do not differ in any pair (or by less than 1e-150: scale them, --scaling)"
            raise FitError(f"{source}: {text}")
        from scipy import optimize  # it takes longer to load than other learners take to fit

        found = optimize.minimize(
            loss,
            np.zeros(len(start)),
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


def clearest(labels: Floats, drawn: Index, threshold: float, most: int) -> tuple[Index, Index]:
    """Return the pairs with the largest difference of labels.

    - ``labels``: float64 (n_items), NaN = unjudged; an unjudged item is in no pair.
    - ``drawn``: pairs of items, int64 (2, n_drawn).
    - ``threshold``: labels must differ, and by at least this.
    - ``most``: how many pairs are returned at most; on ties the first drawn win.

    Returns
    -------
    better, worse : ndarray
        int64 (n_pairs) each.
    """
    gap = labels[drawn[0]] - labels[drawn[1]]
    size = np.abs(gap)
    accepted = np.flatnonzero((size >= threshold) & (size > 0))
    if len(accepted) > most:
        sizes = size[accepted]
        least = np.partition(sizes, len(sizes) - most)[len(sizes) - most]
        sure = accepted[sizes > least]
        accepted = np.concatenate([sure, accepted[sizes == least][: most - len(sure)]])
    up = gap[accepted] > 0
    left, right = drawn[:, accepted]
    return np.where(up, left, right), np.where(up, right, left)


class PairLoss:
    """The mean loss of pairs and its gradient, as functions of u = scale * (w - start).

    The loss is the weighted mean over pairs of log(1 + exp(-w·(x - x'))), plus l2 * |u|² / sum of weights,
    where scale is the weighted root mean square of each feature's differences. Features that do not differ in
    any pair keep their weight.
    """

    def __init__(
        self, features: Features, better: Index, worse: Index, weight: Floats, start: Floats, l2: float
    ) -> None:
        self.features = features
        self.pairs = (better, worse, weight)
        self.start = start
        self.total = float(weight.sum())
        self.l2 = l2 / self.total
        self._slope = np.empty(features.n_items)
        squares = np.zeros(features.n_features)
        matrix = features.matrix()
        _pro.squares(matrix, *self.pairs, _matrix.Difference(matrix), squares)
        self.varies = squares > 0
        self.scale = np.sqrt(np.where(self.varies, squares / self.total, 1.0))

    def weights(self, u: Floats) -> Floats:
        """Return w (n_features) of u."""
        return self.start + u / self.scale

    def __call__(self, u: Floats) -> tuple[float, Floats]:
        """Return the loss at u (n_features) and its gradient."""
        scores = self.features.scores(self.weights(u))
        loss = _pro.pair_loss(scores, *self.pairs, self._slope) / self.total
        gradient = self.features.transposed_product(self._slope) / (self.total * self.scale)
        # For a feature that never differs the sums are only rounding errors.
        gradient = np.where(self.varies, gradient + 2.0 * self.l2 * u, 0.0)
        return loss + self.l2 * float(u @ u), gradient
