"""The weights that a tuner starts from: given ones, those of the first stage, or equal ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from rerank.core.errors import FitError
from rerank.core.system import added
from rerank.core.types import Floats, NDArray
from rerank.data.base_scores import base_column
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs
from rerank.learners.sums.parts import Parts

Init = Literal["auto", "given", "base", "even", "zero"]
INIT_HELP = (
    "initial weights: given (with --init), base (they reproduce the first stage's scores), "
    "even (1 / number of features) or zero; auto = given, else base if it fits, else even"
)

# Scores printed with few digits are still linear in the features when they are fitted this well.
_FITS = 1e-3
_MOST_FEATURES = 200  # more, and LAPACK's bits would depend on the number of threads
# Directions of the features that are this much weaker than the strongest count as zero.
_RANK = 1e-12
_BLOCK = 65_536


def initial_weights(
    lists: CandidateLists,
    inputs: FitInputs,
    init: Init,
    otherwise: Init = "auto",
    base: Callable[[], Floats | str] | None = None,
) -> tuple[Floats, str]:
    """Return the weights to start from, and what they are: given, base, even or zero.

    - ``lists``: training lists.
    - ``inputs``: of the learner; ``inputs.initial`` are the given weights.
    - ``init``: the learner's setting.
    - ``otherwise``: what auto stands for if no weights were given; auto = base if it fits, else even.
    - ``base``: returns what ``base_weights`` does, None = that of ``lists``.

    Raises FitError if ``init`` asks for weights that do not exist: none were given, there are no first-stage
    scores, or these are not a weighted sum of the features. Also if weights were given that it would not use.

    Returns
    -------
    weights : ndarray
        float64 (n_features), a new array.
    kind : str
        given, base, even or zero.
    """
    if inputs.initial is not None:
        if init not in ("auto", "given"):
            raise FitError(f"init={init}: initial weights are given too (--init FILE): leave one out")
        return inputs.initial.copy(), "given"
    if init == "auto":
        init = otherwise
    if init == "given":
        raise FitError("init=given: no initial weights; give a model or weights file (--init FILE)")
    if init in ("auto", "base"):
        found = base_weights(lists) if base is None else base()
        if isinstance(found, str):
            if init == "base":
                raise FitError(f"{lists.source}: init=base: {found}")
        else:
            return found, "base"
    if init == "zero":
        return np.zeros(lists.n_features), "zero"
    return np.full(lists.n_features, 1.0 / max(lists.n_features, 1)), "even"


def check_start(lists: CandidateLists, start: Floats) -> None:
    """Raise FitError if a score under the initial weights (n_features) is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = lists.features.scores(start)
    if not np.isfinite(scores).all():
        raise overflowing(lists.source)


def overflowing(source: str) -> FitError:
    """Return the error of initial weights under which a score is not finite."""
    return FitError(f"{source}: scores under the initial weights overflow; are they too large?")


def base_weights(lists: CandidateLists) -> Floats | str:
    """Return weights whose scores differ from the first stage's by one constant per list.

    With more than 200 features one of them must be the base score, see data.base_scores.base_column; it
    alone gets a weight. Fewer weights are the smallest solution of least squares within lists, accepted if
    the residual's root mean square is at most a thousandth of that of the scores. Sums do not use BLAS. The
    last bits depend on the number of threads only where LAPACK uses several for so few features, as some
    builds do on some processors; the command line sets one.

    Returns
    -------
    ndarray or str
        float64 (n_features), or the reason why there are none.
    """
    part = BasePart(lists)
    if lists.n_features > _MOST_FEATURES:
        return part.lacks() or _weight_of_column(lists)
    return summed_base_weights(Parts([part], lists.n_lists))


class _BaseFacts(NamedTuple):
    """Sums of the squares of features (n_features) and scores, items, and what lists lack, None = nothing."""

    lacks: str | None
    squares: Floats
    of_scores: float
    n: int


class BasePart:
    """The first-stage scores and the features of one part, without their means of lists."""

    def __init__(self, lists: CandidateLists) -> None:
        self._lists, self._divided = lists, False

    @cached_property
    def _y(self) -> Floats:
        assert self._lists.base_scores is not None
        return _within(self._lists.base_scores[:, None], self._lists)[:, 0]

    @cached_property
    def _within_lists(self) -> Floats:
        return _within(self._lists.features.to_dense(), self._lists)

    def _scaled(self, scale: Floats) -> Floats:
        if not self._divided:
            self._within_lists /= scale
            self._divided = True
        return self._within_lists

    def lacks(self) -> str | None:
        """Return why there can be no weights."""
        lists = self._lists
        if lists.base_scores is None:
            return "the lists have no first-stage scores"
        if lists.n_features == 0:
            return "the lists have no features"
        return "some items have no first-stage score" if np.isnan(lists.base_scores).any() else None

    def facts(self) -> _BaseFacts:
        """Return the sums that the scale needs."""
        why, n = self.lacks(), self._lists.n_items
        if why is not None or self._lists.n_features > _MOST_FEATURES:
            return _BaseFacts(why, np.zeros(self._lists.n_features), 0.0, n)
        return _BaseFacts(None, _sum_of_squares(self._within_lists), float((self._y**2).sum()), n)

    def gram(self, scale: Floats) -> Floats:
        """Return X'X (n_features, n_features) of features divided by ``scale`` (n_features)."""
        return _gram(self._scaled(scale))

    def residual(self, scale: Floats, solution: Floats) -> tuple[Floats, float]:
        """Return the product of the features and what a solution leaves of the scores, and its square."""
        X = self._scaled(scale)
        left = self._y - np.einsum("ij,j->i", X, solution)
        return np.einsum("ij,i->j", X, left), float((left**2).sum())


def summed_base_weights(parts: Parts) -> Floats | str:
    """Return ``base_weights`` of the lists of all parts, which are ``BasePart``.

    Raises FitError if there are more than 200 features.
    """
    lacks, squares, of_scores, n = zip(*parts.each(BasePart.facts), strict=True)
    if any(lacks):
        return next(why for why in lacks if why)
    if len(squares[0]) > _MOST_FEATURES:
        found = f"{len(squares[0])} features are too many to find the first stage's weights in shards"
        raise FitError(f"{found} (at most {_MOST_FEATURES}); give weights (--init FILE), or set init")
    if not added(of_scores) > 0:
        return "the first stage's scores are all equal within their lists"
    scale = np.sqrt(sum(squares) / sum(n))
    scale[scale == 0] = 1.0
    values, vectors = np.linalg.eigh(sum(parts.each(BasePart.gram, scale)))
    kept = values > _RANK * max(values[-1], 0.0)
    solution = np.zeros(len(scale))
    for _ in range(2):  # the second step recovers the digits that squaring the features has cost
        product = sum(found for found, _ in parts.each(BasePart.residual, scale, solution))
        rotated = np.einsum("ij,i->j", vectors, product)
        solution = solution + np.einsum("ij,j->i", vectors[:, kept], rotated[kept] / values[kept])
    left = added(found for _, found in parts.each(BasePart.residual, scale, solution))
    if not np.sqrt(left / sum(n)) <= _FITS * np.sqrt(added(of_scores) / sum(n)):
        return "the first stage's scores are not a weighted sum of the features"
    weights: Floats = solution / scale
    return weights


def _weight_of_column(lists: CandidateLists) -> Floats | str:
    """Weights of the one feature that is the base score, or the reason why there are none."""
    found = base_column(lists)
    if found is None:
        most = f"{lists.n_features} features are too many to solve for (at most {_MOST_FEATURES})"
        return f"none of the features is the first stage's score, and {most}"
    weights = np.zeros(lists.n_features)
    with np.errstate(over="ignore"):
        weights[found.index] = 1.0 / np.float64(found.factor)
    return weights if np.isfinite(weights).all() else "its feature is too small to be weighted"


def _gram(X: Floats) -> Floats:
    """XᵀX (n_features, n_features) of X (n_items, n_features)."""
    out = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, len(X), _BLOCK):
        block = np.ascontiguousarray(X[start : start + _BLOCK].T)
        for j, row in enumerate(block):
            out[j] += np.einsum("ki,i->k", block, row)
    return out


def _sum_of_squares(X: Floats) -> Floats:
    """The sum of the squares of each column, with the bits of the sum over all rows.

    numpy adds row after row, so that blocks change no bit. A single column is taken whole: it adds pairwise.
    """
    total = np.zeros((0, X.shape[1]))
    block = _BLOCK if X.shape[1] > 1 else len(X)
    for start in range(0, len(X), block):
        squares = X[start : start + block] ** 2
        total = np.add.reduce(np.concatenate([total, squares]), axis=0)[None]
    return total[0]


def _within(values: NDArray[np.floating], lists: CandidateLists) -> Floats:
    """Values (n_items, k) minus their means in each list, in one new array."""
    out = np.empty(values.shape)
    offsets, lengths, first = lists.offsets, lists.lengths, 0
    while first < lists.n_lists:
        stop = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _BLOCK, side="right")) - 1)
        start, end = offsets[first], offsets[stop]
        columns = values[start:end].astype(np.float64, copy=False)
        means = np.add.reduceat(columns, offsets[first:stop] - start) / lengths[first:stop, None]
        np.subtract(columns, np.repeat(means, lengths[first:stop], axis=0), out=out[start:end])
        first = stop
    return out
