"""The rounds of every task of Predtron."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.core.checkpoints import State, copy_into
from rerank.core.errors import FitError
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features, Sparse
from rerank.learners.predtron.settings import PositionsName, PredtronSettings, Variant
from rerank.learners.rounds import Rounds, restore, state_of, visit_orders
from rerank.models.base import Model
from rerank.models.dual import with_width
from rerank.native.learners._link import Link
from rerank.native.learners._weights import Weights
from rerank.similarity.vectors import VectorKernel


@dataclass(frozen=True)
class LossRange:
    """The smallest and the largest loss above 0 that a prediction can have: c and C."""

    least: float
    most: float


def theorem_step(
    losses: LossRange, radius2: float, variant: Variant, dual_norm: float | None = None
) -> float:
    """Return the factor of steps for which the bound is proved.

    - ``losses``: of the data.
    - ``radius2``: R^2: for norm l2 the largest squared Frobenius norm of an X; for norm p the largest squared
      norm of a column (a feature) of an X.
    - ``variant``: steps that are multiplied by losses, or not.
    - ``dual_norm``: log p for norm p, see ``links.dual_norm_of``; None for norm l2.

    Raises FitError if the factor is not a finite number above 0, or ``dual_norm`` is below 2, for which there
    is no bound.
    """
    if dual_norm is not None:
        if dual_norm < 2:
            raise FitError("eta=theorem: with norm=p the bound needs 8 features or more; give eta a number")
        radius2 *= math.e**2 * (dual_norm - 1)
    scale = losses.least if variant == "standard" else 1.0 / losses.most
    step = scale / (4.0 * radius2) if radius2 > 0 else math.inf
    if not 0 < step < math.inf:
        found = "are all 0" if radius2 == 0 else "or losses are out of range; scale the features (--scaling)"
        raise FitError(f"eta=theorem: the features {found}")
    return step


def radius2(features: Features, offsets: Index, items: Index, by_column: bool) -> float:
    """Return the largest squared norm of the features of a list, or of one feature in a list.

    - ``features``: of all items.
    - ``offsets``, ``items``: int64 (n_lists + 1) and (n_items): the rows of each list.
    - ``by_column``: whether each feature of a list has a norm of its own; otherwise it is the Frobenius norm
      of them all, which is at least their operator norm.
    """
    largest = 0.0
    for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        rows = features.take(items[first:last]).compressed()
        with np.errstate(over="ignore", under="ignore"):
            squares: Floats = np.ones(rows.n_values) if rows.data is None else rows.data**2
            if by_column:
                _, column = np.unique(rows.indices, return_inverse=True)
                found = np.bincount(column, squares).max(initial=0.0)
            else:
                found = squares.sum()
        largest = max(largest, float(found))
    return largest


def dual_norm_of(n_features: int) -> float:
    """Return q = log p for p features.

    Raises FitError if p is 2 or less: r would not be above 1. From 8 features on r is at most 2, and the
    bounds of ``steps`` hold.
    """
    if n_features <= 2:
        raise FitError(f"norm=p: found {n_features} features, expected 3 or more; use norm=l2")
    return math.log(n_features)


def linked(theta: Floats, q: float) -> Floats:
    """Return the gradient of half the squared q-norm of the columns' norms of ``theta``, (p) or (k, p).

    With r = q / (q - 1) instead of q it is the inverse: the theta of weights.
    """
    largest = float(np.abs(theta).max(initial=0.0))
    if largest == 0.0:
        return np.zeros_like(theta)
    scaled = theta / largest
    norms = np.abs(scaled) if theta.ndim == 1 else np.sqrt((scaled**2).sum(axis=0))
    with np.errstate(under="ignore"):
        total = float((norms**q).sum())
        safe = np.where(norms > 0, norms, 1.0)
        factor = np.where(norms > 0, safe ** (q - 2.0), 0.0) * total ** (2.0 / q - 1.0)
        out: Floats = largest * (scaled * factor)
    return out


@dataclass(frozen=True, eq=False)
class Positions:
    """f at the places 1, 2, ..., and what the vector of a ranking of so many items is multiplied by.

    Attributes
    ----------
    values
        f, strictly falling, float64 (longest).
    scales
        1 / the norm of the first n values is at n - 1, float64 (longest).
    """

    values: Floats
    scales: Floats

    @classmethod
    def of(cls, name: PositionsName, exponent: float, longest: int) -> Positions:
        """Return f = -i^exponent ("power") or 1/i ("reciprocal") at up to ``longest`` places, one or more.

        Raises FitError if doubles cannot tell two places apart, or the norm overflows.
        """
        places = np.arange(1, longest + 1, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            values = 1.0 / places if name == "reciprocal" else -(places**exponent)
            norms = np.sqrt(np.cumsum(values**2))
            falling = bool(np.all(np.diff(values) < 0))
        if not (falling and np.isfinite(norms).all()):
            found = f"-i^exponent is not finite and falling over {longest} places"
            raise FitError(f"exponent={exponent:g}: {found}")
        return cls(values, 1.0 / norms)


def discounts(longest: int, cutoff: int | None) -> Floats:
    """Return the discounts of nDCG at the places 1, 2, ..., 0 after the cutoff, float64 (longest)."""
    found: Floats = 1.0 / np.log2(np.arange(2, longest + 2, dtype=np.float64))
    if cutoff is not None:
        found[cutoff:] = 0.0
    return found


class KernelItems:
    """Items, and the columns of a kernel with them.

    - ``kernel``: K; see ``with_width``.
    - ``items``: the training items.
    - ``source``: where they came from, for messages.
    """

    def __init__(self, kernel: VectorKernel, items: Sparse, source: str) -> None:
        self.kernel, self.items, self.source = with_width(kernel, items), items, source
        self._known: dict[int, tuple[CandidateLists, Floats]] = {}  # lists are held: no other has their id

    def gram(self) -> Floats:
        """Return the kernel of all pairs of items, float64 (n, n); raise FitError if it overflows."""
        gram = self.kernel.columns(self.items, self.items)
        if not np.isfinite(gram).all():
            raise FitError(f"{self.source}: the kernel overflows; scale the features (--scaling)")
        return gram

    def columns(self, lists: CandidateLists) -> Floats:
        """Return the kernel with the items of ``lists``, float64 (n, n_items); it is computed once."""
        if id(lists) not in self._known:
            self._known[id(lists)] = lists, self.kernel.columns(lists.features, self.items)
        return self._known[id(lists)][1]


class Form(ABC):
    """Form of the weights of a task: epochs of visits to its examples.

    ``n`` is the number of examples, ``weights`` what the kernels move, ``eta`` the factor of its steps.
    """

    learner: PredtronSettings
    source: str
    n: int
    eta: float
    matrix: Any
    weights: Weights
    link: Link | None = None

    @abstractmethod
    def visit(self, visits: Index) -> tuple[int, float, int]:
        """Visit examples; return updates, the sum of losses, and an example whose scores overflow or -1."""

    @abstractmethod
    def score(self, state: Floats, lists: CandidateLists) -> Floats:
        """Return the scores of a state, by which epochs are judged."""

    @abstractmethod
    def model(self, state: Floats) -> Model:
        """Return the model of a state."""

    def reached(self) -> Floats:
        """Return the weights now, or their mean over all visits so far, in a new array."""
        average = self.learner.average == "average"
        values: Floats = self.weights.mean() if average else self.weights.values.copy()
        return values

    def fit(self, watch: Rounds, overflow: str) -> Model:
        """Return the model of the epoch that ``watch`` keeps; an epoch without an update is the last.

        Raises FitError with the advice ``overflow`` if a score or a weight overflows.
        """
        settings = self.learner
        orders = visit_orders(self.n, settings.epochs, settings.shuffle, settings.seed)
        for visits in watch.each(orders, settings.epochs, self, unit="epoch"):
            updates, loss, failed = self.visit(visits)
            if failed >= 0 or not np.isfinite(self.weights.values).all():
                raise FitError(f"{self.source}: scores or weights overflow; {overflow}")
            watch.record(self.reached(), self.score, updates=updates, loss=loss / len(visits))
            if updates == 0:
                break
        state, rounds = watch.kept(self.reached(), converged=watch.settled)
        model = self.model(state)
        model.curve = watch.curve
        model.training.rounds = rounds
        if settings.eta == "theorem":
            model.training.notes["eta"] = self.eta
        return model

    def state(self) -> State:
        """Return what later epochs depend on."""
        link = None if self.link is None else (self.link.theta.copy(), self.link.drifted.copy())
        return {"weights": state_of(self.weights), "link": link}

    def restore(self, state: State) -> None:
        """Go to a state."""
        restore(self.weights, state["weights"])
        if self.link is not None:
            theta, drift = state["link"]
            copy_into(self.link.theta, theta)
            copy_into(self.link.drifted, drift)
