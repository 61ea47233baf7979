"""Directions that separate labels: linear discriminants, as features or as rankers by one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rerank.core.errors import ConfigError, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.judge import value_of
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs
from rerank.learners.scatter import Scatter
from rerank.learners.sums.parts import Parts, SummingLearner
from rerank.learners.sums.scatter import ScatterPart
from rerank.models.base import Model
from rerank.models.linear import LinearModel
from rerank.models.training import Fact, FitRecord

_RANK = 1e-10  # of the largest eigenvalue of the sum of all B_ij: below it there is no scatter
_TEMPERATURES = 10.0 ** -np.arange(1.0, 8.0)  # of smoothed maxima, relative to that eigenvalue
_CLOSE = 1e-7  # a gap, relative to it, at which the search is not needed
_PLANES = 50  # most eigenvectors that a sweep turns a vector towards
_SWEEPS = 5
_STEPS = 60  # of angles on either side
_ZOOMS = 6
_GRID = np.arange(-_STEPS, _STEPS + 1) / _STEPS


@dataclass(frozen=True, eq=False)
class Maximum:
    """A unit vector (k) and its criterion; no unit vector has a larger one than ``bound``."""

    vector: Floats
    value: float
    bound: float
    violated: int

    @property
    def gap(self) -> float:
        """Return how far the value can be from the maximum, relative to the bound."""
        return max(0.0, self.bound - self.value) / abs(self.bound) if self.bound else 0.0


class Criterion:
    """The criterion in a subspace of the coordinates of a Scatter.

    - ``scatter``: scatter with the matrices of pairs of labels.
    - ``beta``: what a violation costs.

    Notes
    -----
    A constraint compares means over the lists that have both labels, times the largest number of such lists:
    a label that is absent from many lists is not taken for one that is close to the others. Pairs of labels
    that no list has are in no constraint. If every list has every label, the sums are compared, as printed.
    """

    def __init__(self, scatter: Scatter, beta: float) -> None:
        self.beta = beta
        self._nested = _nested(scatter)
        values, vectors = np.linalg.eigh(scatter.of_pairs.sum(axis=0))
        self.scale = float(values[-1])
        self._basis: Floats = vectors[:, values > _RANK * self.scale]
        self._of_pairs = _projected(scatter.of_pairs, self._basis)

    @property
    def dimension(self) -> int:
        """Return the number of dimensions left in which label means differ."""
        return self._basis.shape[1]

    def maximum(self) -> Maximum:
        """Return the best unit vector found in these dimensions."""
        costs = self._least_bound()
        values, vectors = np.linalg.eigh(self._priced(costs))
        bound = float(values[-1])
        vector, value = vectors[:, -1], self.value(vectors[:, -1])
        if bound - value > _CLOSE * self.scale:
            fisher = np.linalg.eigh(self._of_pairs.sum(axis=0))[1][:, -1]
            directions = vectors.T[::-1][:_PLANES]
            vector = max((self._searched(start, directions) for start in (vector, fisher)), key=self.value)
            value = self.value(vector)
        slack = self._nested @ self.scatters(vector)
        violated = int(np.count_nonzero(slack < -_CLOSE * self.scale))
        return Maximum(self._basis @ vector, value, max(bound, value), violated)

    def leave(self, vector: Floats) -> None:
        """Search from now on among vectors at right angles to one that ``maximum`` returned.

        In the weights of features that is w·Ww' = 0, where Algorithm 5 deflates.
        """
        inside = self._basis.T @ vector
        turn = np.linalg.qr(inside[:, None], mode="complete")[0][:, 1:]
        self._basis = self._basis @ turn
        self._of_pairs = _projected(self._of_pairs, turn)

    def scatters(self, vector: Floats) -> Floats:
        """Return b_ij of each pair of labels, for a unit vector of these dimensions."""
        scatters: Floats = self._of_pairs @ vector @ vector
        return scatters

    def value(self, vector: Floats) -> float:
        """Return the criterion of a unit vector of these dimensions."""
        scatters = self.scatters(vector)
        violations = np.maximum(0.0, -(self._nested @ scatters))
        return float(scatters.sum() - self.beta * violations.sum())

    def _priced(self, costs: Floats) -> Floats:
        """The matrix whose largest eigenvalue is the bound for costs (n_constraints) of violations."""
        return np.tensordot(1.0 + costs @ self._nested, self._of_pairs, axes=1)

    def _least_bound(self) -> Floats:
        """The costs, 0 to beta each, whose bound is least.

        The largest eigenvalue is smoothed to t log sum exp(eigenvalue / t), for smaller and smaller t.
        """
        costs = np.zeros(len(self._nested))
        if not len(costs) or self.beta == 0:
            return costs
        from scipy.optimize import minimize

        best, least = costs, float(np.linalg.eigvalsh(self._priced(costs))[-1])
        for temperature in _TEMPERATURES * self.scale:

            def smoothed(costs: Floats, t: float = temperature) -> tuple[float, Floats]:
                values, vectors = np.linalg.eigh(self._priced(costs))
                shares = np.exp((values - values[-1]) / t)
                total = shares.sum()
                weighted = vectors * (shares / total) @ vectors.T
                slopes = self._nested @ (self._of_pairs * weighted).sum(axis=(1, 2))
                return (values[-1] + t * np.log(total)) / self.scale, slopes / self.scale

            bounds = [(0.0, self.beta)] * len(costs)
            costs = minimize(smoothed, costs, jac=True, method="L-BFGS-B", bounds=bounds).x
            bound = float(np.linalg.eigvalsh(self._priced(costs))[-1])
            if bound < least:
                best, least = costs, bound
        return best

    def _searched(self, vector: Floats, directions: Floats) -> Floats:
        """A maximum near a unit vector: the best of planes through it, then a climb, as long as they help."""
        value = self.value(vector)
        for _ in range(_SWEEPS):
            turned = vector
            for direction in directions:
                turned = self._turned(turned, direction)
            better = max((turned, self._climbed(turned)), key=self.value)
            gain = self.value(better) - value
            if gain > 0:
                vector, value = better, value + gain
            if gain <= _CLOSE * self.scale:
                break
        return vector

    def _turned(self, vector: Floats, direction: Floats) -> Floats:
        """The best unit vector of a plane: on a grid of angles, which is made finer around the best."""
        other = direction - (direction @ vector) * vector
        length = float(np.sqrt(other @ other))
        if length < 1e-6:
            return vector
        other = other / length
        products = np.array([vector, other]) @ self._of_pairs
        first, last = products[:, 0] @ vector, products[:, 1] @ other
        mixed = products[:, 0] @ other
        best, width = 0.0, np.pi / 2
        for _ in range(_ZOOMS):
            angles = best + width * _GRID
            cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
            scatters = cos * cos * first + sin * sin * last + 2.0 * cos * sin * mixed
            violations = np.maximum(0.0, -(scatters @ self._nested.T)).sum(axis=1)
            best = float(angles[int(np.argmax(scatters.sum(axis=1) - self.beta * violations))])
            width *= 2.0 / _STEPS
        turned = np.cos(best) * vector + np.sin(best) * other
        return turned if self.value(turned) > self.value(vector) else vector

    def _climbed(self, start: Floats) -> Floats:
        """A local maximum near a unit vector, by ascent with smoothed violations."""
        from scipy.optimize import minimize

        vector = start
        for temperature in _TEMPERATURES * self.scale / max(self.beta, 1.0):

            def falling(x: Floats, t: float = temperature) -> tuple[float, Floats]:
                length = float(np.sqrt(x @ x))
                unit = x / length
                products = self._of_pairs @ unit
                scatters = products @ unit
                ratio = -(self._nested @ scatters) / t
                soft = t * np.logaddexp(0.0, ratio)
                costs = self.beta / (1.0 + np.exp(-np.clip(ratio, -700.0, 700.0)))
                slope = 2.0 * (1.0 + costs @ self._nested) @ products
                slope -= (slope @ unit) * unit
                value = float(scatters.sum() - self.beta * soft.sum())
                return -value / self.scale, -slope / (length * self.scale)

            found = minimize(falling, vector, jac=True, method="L-BFGS-B").x
            vector = found / np.sqrt(found @ found)
        return vector


def _projected(matrices: Floats, basis: Floats) -> Floats:
    return np.array([basis.T @ matrix @ basis for matrix in matrices])


def _nested(scatter: Scatter) -> Floats:
    """The constraints, float64 (n_constraints, n_pairs): a product with b_ij that should not be negative."""
    factor = scatter.n_lists.max() / scatter.n_lists
    rows = []
    for outer, (i, j) in enumerate(scatter.pairs):
        for inner, (r, z) in enumerate(scatter.pairs):
            if i <= r and z <= j and inner != outer:
                row = np.zeros(len(scatter.pairs))
                row[outer], row[inner] = factor[outer], -factor[inner]
                rows.append(row)
    return np.array(rows).reshape(len(rows), len(scatter.pairs))


BETAS = (0.1, 1.0, 10.0, 50.0, 100.0)
RIDGE = 1e-3
Beta = float | Literal["train"]


class Discriminant(SummingLearner):
    """Base of linear discriminants: scatter within and between labels, summed over lists."""

    default_scaling = "list-minmax"
    accepts_list_weights = True

    ridge: float = setting(
        RIDGE,
        "added to the diagonal of the scatter within labels, relative to a feature's scatter within lists",
        gt=0,
        le=1e6,
    )

    def part(self, lists: CandidateLists, inputs: FitInputs, surveys: Sequence[Any]) -> ScatterPart:
        return ScatterPart(lists, inputs.list_weights, inputs.judge)

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

    def fit_parts(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> Model:
        scatter = Scatter.summed(parts, lists, self.ridge, self.name, pairs=False)
        values, vectors = np.linalg.eigh(scatter.between)
        weights = _turned_up(scatter.whitener @ vectors[:, -1], parts, lists.source)
        model = self._model(lists, inputs, weights)
        model.training.data = scatter.data
        model.training.notes = {"ratio": float(values[-1])}
        return model


@LEARNERS.register("ranklda")
class RankLinearDiscriminant(Discriminant):
    """RankLDA: a discriminant whose scatter between two labels grows with their distance.

    It maximises the sum of wᵀB_ij w over pairs of labels less beta times the sum of what violates
    wᵀB_ij w >= wᵀB_rz w for the pairs (r, z) inside (i, j), under wᵀWw = 1. B_ij is the scatter between the
    means of i and j; see ``rerank help linear``. With beta=train, the betas 0.1, 1, 10, 50 and 100 are
    compared by the metric on the training lists, or without one by the share of pairs in the right order.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. Thesis, 2009, section 5.2.2.
    """

    name = "ranklda"
    summary = "linear discriminant with larger scatter between labels that are further apart"
    source = "Duh 2009, Algorithm 5"

    judges_parts = True

    beta: Beta = setting("train", "cost of a violation; train = the best of 0.1, 1, 10, 50, 100")

    def check_values(self) -> None:
        if self.beta != "train" and not self.beta >= 0:
            raise ConfigError(f"beta: found {self.beta:g}, expected 0 or more, or train")

    def fit_parts(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> Model:
        scatter = Scatter.summed(parts, lists, self.ridge, self.name, pairs=True)
        beta, found, weights = _best(scatter, self.beta, parts, lists.source)
        model = self._model(lists, inputs, weights)
        model.training.data = scatter.data
        facts: dict[str, Fact] = {"beta": beta, "criterion": found.value, "criterion_bound": found.bound}
        model.training.notes = {**facts, "gap": found.gap, "violated": found.violated}
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
    parts = Parts([ScatterPart(lists, None)], lists.n_lists)
    scatter = Scatter.summed(parts, lists, ridge, name, pairs=True)
    if beta == "train":
        beta = _best(scatter, beta, parts, lists.source)[0]
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
    columns = [_turned_up(scatter.whitener @ one, parts, lists.source) for one in whitened.T]
    return np.stack(columns, axis=1) if columns else np.empty((lists.n_features, 0))


def _best(scatter: Scatter, beta: Beta, parts: Parts, source: str) -> tuple[float, Maximum, Floats]:
    """The first vector for a beta, or for the best one on the training lists, the first on ties."""
    best: tuple[float, Maximum, Floats] | None = None
    best_value = -np.inf
    for one in BETAS if beta == "train" else (beta,):
        found = Criterion(scatter, one).maximum()
        weights = _turned_up(scatter.whitener @ found.vector, parts, source)
        if parts.judge is None:
            value = _accuracy(weights, parts, source)
        else:
            sums = np.sum(parts.each(ScatterPart.statistics, weights), axis=0)
            value = parts.judge.better * float(parts.judge.score_from_sums(sums))
        if best is None or value > best_value:
            best, best_value = (one, found, weights), value
    assert best is not None
    return best


def _turned_up(weights: Floats, parts: Parts, source: str) -> Floats:
    """The weights or their negatives: those that put more pairs of the lists in the right order.

    On ties the weight of the largest magnitude is positive, the first on ties.
    """
    share = _accuracy(weights, parts, source)
    if share == 0.5 or np.isnan(share):
        return weights * np.sign(weights[int(np.argmax(np.abs(weights)))])
    return weights if share > 0.5 else -weights


def _accuracy(weights: Floats, parts: Parts, source: str) -> float:
    """The share of pairs of the lists in the right order; scores that overflow are a FitError."""
    right, total = np.sum(parts.each(ScatterPart.order, weights), axis=0)
    if np.isnan(right):
        raise FitError(f"{source}: a score overflows; scale the features (--scaling)")
    return float(right / total) if total else float("nan")
