"""Models of all training lists with scores that they give to lists like new ones: out-of-fold scores.

Models of different parts have scores of different sizes (the average weights of a perceptron grow with its
updates). The scores of a fold are therefore multiplied by the ratio of two deviations: of the final model's
scores of the training lists, and of the fold's model's scores of its own. So a temperature that is chosen on
out-of-fold scores is one for the final model.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from rerank.core.errors import FitError
from rerank.core.types import Floats
from rerank.core.workers import parallel
from rerank.data.columns.offsets import places_of
from rerank.data.folds import Fold
from rerank.data.lists import CandidateLists
from rerank.extensions.decision.gain import deviation
from rerank.learners.base import FitInputs, Learner
from rerank.metrics.base import parse
from rerank.models.base import Model


def fitted(learner: Learner, lists: CandidateLists, inputs: FitInputs) -> Model:
    """Return a learner's model of lists, with the metric if the learner optimises it."""
    judge = inputs.judge if learner.wants_judge else None
    model = learner.fit(lists, judge=judge)
    model.training.learner, model.training.settings = learner.name, learner.get_params()
    return model


def held_out_scores(
    learner: Learner, model: Model, lists: CandidateLists, inputs: FitInputs, folds: list[Fold]
) -> Floats:
    """Return out-of-fold scores of all training lists in the units of ``model``, float64 (n_items).

    Parameters
    ----------
    learner : Learner
    model : Model
        Its model of all lists.
    lists, inputs
        As ``Learner._fit`` gets them.
    folds : list of Fold
    """
    unit = deviation(lists, model.score_prepared(lists))

    def scores_of(fold: Fold) -> Floats:
        own = lists.subset(fold.train)
        judge = inputs.judge
        if judge is not None and learner.wants_judge:
            judge = parse(judge.name).prepare(own)
        try:
            found = fitted(learner, own, replace(inputs, judge=judge))
        except FitError as error:
            raise FitError(f"a fold of the training lists: {error}") from None
        divisor = deviation(own, found.score_prepared(own))
        scores = found.score_prepared(lists.subset(fold.test))
        return scores * (unit / divisor) if divisor > 0 else scores

    step = ("training on folds", "fit")
    parts = parallel.each(scores_of, [(fold,) for fold in folds], threads=True, step=step)
    out = np.empty(lists.n_items)
    for fold, scores in zip(folds, parts, strict=True):
        items, _ = places_of(lists.offsets, fold.test)
        out[items] = scores
    return out
