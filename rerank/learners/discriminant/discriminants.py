"""Directions that separate labels: linear discriminants, as features or as rankers by one of them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import field_validator

from rerank.core.errors import FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.judge import value_of
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Concordance
from rerank.learners.base import LEARNERS, FitInputs, Learner, checked_list_weights
from rerank.learners.discriminant.criterion import Criterion, Maximum
from rerank.learners.discriminant.scatter import Scatter
from rerank.models.base import Model
from rerank.models.linear import LinearModel
from rerank.models.training import Fact, FitRecord

BETAS = (0.1, 1.0, 10.0, 50.0, 100.0)
RIDGE = 1e-3
Beta = float | Literal["train"]


class Discriminant(Learner):
    """Base of linear discriminants: scatter within and between labels, summed over lists."""

    default_scaling = "list-minmax"
    accepts_list_weights = True

    ridge: float = setting(
        RIDGE,
        "added to the diagonal of the scatter within labels, relative to a feature's scatter within lists",
        gt=0,
        le=1e6,
    )

    def _model(self, lists: CandidateLists, inputs: FitInputs, weights: Floats) -> Model:
        """The model of weights, with the metric on the training lists."""
        model = LinearModel(lists.names(), weights)
        judge = inputs.judge
        if judge is not None:
            value = value_of(judge, lists.features.scores(weights))
            model.training.rounds = FitRecord(train=None if np.isnan(value) else value)
        return model


@LEARNERS.register("lda")
class LinearDiscriminant(Discriminant):
    """Fisher's discriminant of the labels: the w with the largest wᵀBw / wᵀWw, which is blind to their order.

    In each list W is the scatter of items around the mean of their label, B that of these means around the
    list's mean, each label counting the same; both are summed over lists. The sign of w is the one with which
    more pairs of the training lists are in the right order. Unjudged items are left out.

    References
    ----------
    Fisher: The use of multiple measurements in taxonomic problems. Annals of Eugenics 7, 1936.
    Duh: Learning to rank with partially-labeled data. Thesis, 2009, equation 5.1.
    """

    name = "lda"
    summary = "Fisher's linear discriminant of the labels within lists"
    source = "Fisher 1936; Duh 2009, 5.2.1"

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        scatter = Scatter.of(lists, self.ridge, inputs.list_weights, self.name, pairs=False)
        values, vectors = np.linalg.eigh(scatter.between)
        weights = _turned_up(scatter.whitener @ vectors[:, -1], lists, inputs.list_weights)
        model = self._model(lists, inputs, weights)
        model.training.data = scatter.data
        model.training.notes = {"ratio": float(values[-1])}
        return model


@LEARNERS.register("ranklda")
class RankLinearDiscriminant(Discriminant):
    """RankLDA: a discriminant whose scatter between two labels grows with their distance.

    It maximises the sum of wᵀB_ij w over pairs of labels less beta times the sum of what violates
    wᵀB_ij w >= wᵀB_rz w for the pairs (r, z) inside (i, j), under wᵀWw = 1. B_ij is the scatter between the
    means of i and j; see ``rerank help learners``. With beta=train, the betas 0.1, 1, 10, 50 and 100 are
    compared by the metric on the training lists, or without one by the share of pairs in the right order.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. Thesis, 2009, section 5.2.2.
    """

    name = "ranklda"
    summary = "linear discriminant with larger scatter between labels that are further apart"
    source = "Duh 2009, Algorithm 5"

    beta: Beta = setting("train", "what a violation costs; train = the best of 0.1, 1, 10, 50, 100")

    @field_validator("beta")
    @classmethod
    def _is_cost(cls, beta: Beta) -> Beta:
        if beta != "train" and not beta >= 0:
            raise ValueError(f"beta: found {beta:g}, expected 0 or more, or train")
        return beta

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        scatter = Scatter.of(lists, self.ridge, inputs.list_weights, self.name, pairs=True)
        beta, found, weights = _best(scatter, self.beta, lists, inputs)
        model = self._model(lists, inputs, weights)
        model.training.data = scatter.data
        model.training.notes = _facts(beta, found)
        return model


def discriminant_vectors(
    lists: CandidateLists, n: int, *, beta: Beta | None = "train", ridge: float = RIDGE
) -> Floats:
    """Return the weights of the first discriminants of labelled lists, each as a column.

    Parameters
    ----------
    lists
        Lists with labels.
    n
        How many.
    beta
        As for ``ranklda``, by the share of pairs that the first vector puts right; None for those of ``lda``.
    ridge
        As for the learners.

    Returns
    -------
    float64 (n_features, n)
        For two columns w and w', wᵀWw' is 0. The sign of each is the one with which more pairs are in the
        right order.

    Raises
    ------
    FitError
        If the lists do not have so many discriminants, or as for the learners.
    """
    name = "lda" if beta is None else "ranklda"
    scatter = Scatter.of(lists, ridge, None, name, pairs=True)
    if beta == "train":
        beta = _best(scatter, beta, lists, FitInputs())[0]
    criterion = Criterion(scatter, 0.0 if beta is None else beta)
    if n > criterion.dimension:
        found = f"the label means span {criterion.dimension} dimensions"
        raise FitError(f"{lists.source}: {found}, so there are no {n} discriminants")
    if beta is None:
        whitened = np.linalg.eigh(scatter.between)[1][:, ::-1][:, :n]
    else:
        whitened = np.empty((len(scatter.between), n))
        for k in range(n):
            whitened[:, k] = criterion.maximum().vector
            criterion.leave(whitened[:, k])
    columns = [_turned_up(scatter.whitener @ one, lists, None) for one in whitened.T]
    return np.stack(columns, axis=1) if columns else np.empty((lists.n_features, 0))


def _best(
    scatter: Scatter, beta: Beta, lists: CandidateLists, inputs: FitInputs
) -> tuple[float, Maximum, Floats]:
    """The first vector for a beta, or for the best one on the training lists, the first on ties."""
    judge = inputs.judge
    best: tuple[float, Maximum, Floats] | None = None
    best_value = -np.inf
    for one in BETAS if beta == "train" else (beta,):
        found = Criterion(scatter, one).maximum()
        weights = _turned_up(scatter.whitener @ found.vector, lists, inputs.list_weights)
        scores = lists.features.scores(weights)
        if judge is None:
            value = _accuracy(scores, lists, inputs.list_weights)
        else:
            value = judge.better * value_of(judge, scores, inputs.list_weights)
        if best is None or value > best_value:
            best, best_value = (one, found, weights), value
    assert best is not None
    return best


def _facts(beta: float, found: Maximum) -> dict[str, Fact]:
    """What the model's record has of the search."""
    facts: dict[str, Fact] = {"beta": beta, "criterion": found.value, "criterion_bound": found.bound}
    return {**facts, "gap": found.gap, "violated": found.violated}


def _turned_up(weights: Floats, lists: CandidateLists, list_weights: Floats | None) -> Floats:
    """The weights or their negatives: those that put more pairs of the lists in the right order.

    On ties the weight of the largest magnitude is positive, the first on ties.
    """
    share = _accuracy(lists.features.scores(weights), lists, list_weights)
    if share == 0.5 or np.isnan(share):
        return weights * np.sign(weights[int(np.argmax(np.abs(weights)))])
    return weights if share > 0.5 else -weights


def _accuracy(scores: Floats, lists: CandidateLists, list_weights: Floats | None) -> float:
    """The share of pairs of the lists in the right order; scores that overflow are a FitError."""
    assert lists.labels is not None, "Scatter.of refuses lists without labels"
    if not np.isfinite(scores).all():
        raise FitError(f"{lists.source}: a score overflows; scale the features (--scaling)")
    weights = checked_list_weights(list_weights, lists)
    return Concordance(lists.labels, lists.offsets).accuracy(scores, weights)
