"""Predtron for the order of lists: one weight for each feature, or one coefficient for each training item."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats, Index, Ints
from rerank.data.blocks import list_rows
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.learners.base import FitInputs, checked_list_weights, exponential_gains
from rerank.learners.initial import check_start, initial_weights
from rerank.learners.predtron.settings import GainName, PredtronSettings
from rerank.learners.predtron.steps import (
    Form,
    KernelItems,
    LossRange,
    Positions,
    discounts,
    dual_norm_of,
    linked,
    radius2,
    theorem_step,
)
from rerank.learners.rounds import Rounds, linear_scores
from rerank.models.base import Model
from rerank.models.dual import DualModel, add_columns
from rerank.models.linear import LinearModel
from rerank.models.training import DataRecord, RoundsRecord
from rerank.native.data._matrix import Sum
from rerank.native.learners import _predtron
from rerank.native.learners._link import Link
from rerank.native.learners._weights import Weights
from rerank.similarity.vectors import VectorKernel


@dataclass(frozen=True, eq=False)
class GradedLists:
    """The judged items of lists that have two different gains.

    Attributes
    ----------
    lists : int64 (n_lists)
        These lists.
    offsets, items : int64 (n_lists + 1) and (n_items)
        The rows of each list, by rising gain, equal gains in input order.
    gains : float64 (n_items)
        Divided by the largest one of the list.
    n_skipped : int
        How many lists there are besides.
    """

    lists: Index
    offsets: Index
    items: Index
    gains: Floats
    n_skipped: int

    @property
    def n_lists(self) -> int:
        """The number of lists."""
        return len(self.lists)

    @cached_property
    def lengths(self) -> Index:
        """The number of items of each list, int64 (n_lists)."""
        return np.diff(self.offsets)

    def ideal(self, discounts: Floats) -> Floats:
        """Return the largest discounted sum of gains of each list, float64 (n_lists)."""
        places = np.repeat(self.offsets[1:], self.lengths) - 1 - np.arange(len(self.items))
        found: Floats = np.add.reduceat(self.gains * discounts[places], self.offsets[:-1])
        return found

    def places(self, fixed: bool) -> Ints:
        """Return the place of each item among items by falling gain, int32 (n_items), from 0.

        Items of one gain share the first place that they have together, or, if ``fixed``, have those places
        in input order.
        """
        first = np.zeros(len(self.items), dtype=bool)
        first[1:] = self.gains[1:] != self.gains[:-1]
        first[self.offsets[:-1]] = True
        starts = np.flatnonzero(first)
        sizes = np.diff(np.append(starts, len(first)))
        places = np.repeat(self.offsets[1:], self.lengths) - np.repeat(starts + sizes, sizes)
        if fixed:
            places += np.arange(len(first)) - np.repeat(starts, sizes)
        return places.astype(np.int32)

    def losses(self, discounts: Floats, depth: int) -> LossRange:
        """Return the smallest and the largest loss above 0 of any ranking of any list.

        - ``discounts``: by place, 0 from place ``depth`` on, float64 (longest).
        - ``depth``: how many places count.
        """
        least, most = np.inf, 0.0
        for first, last in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            found = _loss_range(self.gains[first:last][::-1], discounts, depth)
            least, most = min(least, found.least), max(most, found.most)
        return LossRange(least, most)


def _loss_range(gains: Floats, discounts: Floats, depth: int) -> LossRange:
    """The losses of one list, whose gains fall.

    Exchanges of neighbours in the wrong order lead from any ranking to one without loss, and none of them
    adds to it: the last one that changes it left the smallest loss.
    """
    n = min(depth, len(gains))
    ideal = float((gains[:n] * discounts[:n]).sum())
    most = float(((gains[:n] - gains[::-1][:n]) * discounts[:n]).sum())
    falls = gains[: n - 1] - gains[1:n]
    steps = (falls * (discounts[: n - 1] - discounts[1:n]))[falls > 0]
    least = float(steps.min(initial=np.inf))
    lower = gains[n:][gains[n:] < gains[n - 1]]
    if len(lower):  # the item at the last place that counts is exchanged for one after it
        least = min(least, float((gains[n - 1] - lower[0]) * discounts[n - 1]))
    return LossRange(least / ideal, most / ideal)


def graded_lists(lists: CandidateLists, gain: GainName) -> GradedLists:
    """Return the judged items of the lists that have two different gains.

    - ``lists``: lists with labels. Unjudged items are left out.
    - ``gain``: 2^label - 1 (exponential), or the label; labels of 0 or less gain nothing.

    Raises FitError if there is no such list, or a gain overflows.
    """
    assert lists.labels is not None, "Learner.fit refuses lists without labels"
    judged = np.flatnonzero(~np.isnan(lists.labels))
    gains = np.maximum(lists.labels[judged], 0.0)
    if gain == "exponential":
        gains = exponential_gains(gains, lists.source, "gain=linear")
    of_list = lists.list_index[judged]
    order = np.lexsort((gains, of_list))
    items, gains, of_list = judged[order], gains[order], of_list[order]
    present, starts, sizes = np.unique(of_list, return_index=True, return_counts=True)
    largest = gains[starts + sizes - 1]
    used = largest > gains[starts]
    if not used.any():
        raise FitError(f"{lists.source}: no list has two different gains (labels of 0 or less gain nothing)")
    kept = np.repeat(used, sizes)
    return GradedLists(
        lists=present[used],
        offsets=offsets_of(sizes[used]),
        items=items[kept],
        gains=(gains / np.repeat(np.where(used, largest, 1.0), sizes))[kept],
        n_skipped=lists.n_lists - int(used.sum()),
    )


def fit(learner: PredtronSettings, lists: CandidateLists, inputs: FitInputs) -> Model:
    """Return the model of a learner whose task is ranking; see ``Learner.fit``."""
    graded = graded_lists(lists, learner.gain)
    weight = checked_list_weights(inputs.list_weights, lists)[graded.lists]
    if not weight.any():
        raise FitError(f"{lists.source}: every list with two different gains has weight 0")
    watch = Rounds(lists, inputs, learner.keep)
    kernel = learner.vector_kernel
    form: _Primal | _Dual
    if kernel is None:
        start, init = initial_weights(lists, inputs, learner.init, otherwise="zero")
        if init != "zero":
            check_start(lists, start)
        form = _Primal(learner, lists, graded, weight, start)
    else:
        init = "zero"
        if inputs.initial is not None:
            raise FitError(f"learner predtron: kernel={kernel.name} has no weights of features to start from")
        form = _Dual(learner, lists, graded, weight, kernel)
    model = form.fit(watch, "scale the features (--scaling), or lower eta")
    if init != "zero":
        model.initial = start
        assert isinstance(model.training.rounds, RoundsRecord)
        model.training.rounds = model.training.rounds.with_fields(init=init)
    model.training.data = DataRecord(judged=len(graded.items), lists_without_pair=graded.n_skipped)
    return model


class _Ranker(Form):
    """Base of both forms: their step, and the epochs of the kernel."""

    total: Sum | None = None

    def __init__(self, learner: PredtronSettings, source: str, graded: GradedLists) -> None:
        self.learner, self.source, self.graded = learner, source, graded
        self.n = graded.n_lists

    def prepare(self, rows: Index, weight: Floats, radius: float | None, q: float | None = None) -> None:
        """Make the lists of the kernel; ``weight`` is of lists, ``rows`` of their items in the matrix.

        ``radius`` is R^2 of ``theorem_step`` if eta is "theorem", and ``q`` log p for norm p.
        """
        learner, graded = self.learner, self.graded
        longest = int(graded.lengths.max())
        depth = longest if learner.cutoff is None else min(learner.cutoff, longest)
        falling = discounts(longest, depth)
        positions = Positions.of(learner.positions, learner.exponent, longest)
        if learner.eta == "theorem":
            assert radius is not None
            self.eta = theorem_step(graded.losses(falling, depth), radius, learner.variant, q)
        else:
            self.eta = learner.eta
        fixed = learner.ties == "index"
        self.lists = _predtron.GainLists(
            graded.offsets,
            rows,
            graded.gains,
            graded.places(fixed),
            self.eta * weight,
            np.array([falling, positions.values]),
            np.column_stack([1.0 / graded.ideal(falling), positions.scales[graded.lengths - 1]]),
            depth,
            fixed,
            learner.variant == "loss-driven",
        )

    def visit(self, visits: Index) -> tuple[int, float, int]:
        given = (self.matrix, self.lists, visits, self.weights, self.total, self.link)
        done: tuple[int, float, int] = _predtron.ranking_pass(*given)
        return done


class _Primal(_Ranker):
    """Weights of features."""

    def __init__(
        self,
        learner: PredtronSettings,
        lists: CandidateLists,
        graded: GradedLists,
        weight: Floats,
        start: Floats,
    ) -> None:
        super().__init__(learner, lists.source, graded)
        features, n = lists.features, lists.n_features
        self.names = lists.names()
        q = dual_norm_of(n) if learner.norm == "p" else None
        radius = None
        if learner.eta == "theorem":
            radius = radius2(features, graded.offsets, graded.items, by_column=q is not None)
        self.matrix, rows, most = list_rows(features, graded, learner.epochs)
        self.prepare(rows, weight, radius, q)
        self.weights = Weights(start.copy(), most)
        self.total = Sum(self.matrix, graded.offsets, rows)
        if q is not None:
            self.link = Link(linked(start, q / (q - 1)), q)

    score = staticmethod(linear_scores)

    def model(self, state: Floats) -> Model:
        """Return the model of weights."""
        return LinearModel(self.names, state)


class _Dual(_Ranker):
    """Coefficients of the judged items of the lists."""

    def __init__(
        self,
        learner: PredtronSettings,
        lists: CandidateLists,
        graded: GradedLists,
        weight: Floats,
        kernel: VectorKernel,
    ) -> None:
        super().__init__(learner, lists.source, graded)
        self.names = lists.names()
        self.training = KernelItems(kernel, lists.features.take(graded.items).compressed(), lists.source)
        gram = self.training.gram()
        radius = float(np.add.reduceat(gram.diagonal(), graded.offsets[:-1]).max())
        self.matrix = Dense(gram).matrix()
        self.prepare(np.arange(len(graded.items), dtype=np.int64), weight, radius)
        self.weights = Weights(len(graded.items))

    def score(self, state: Floats, lists: CandidateLists) -> Floats:
        """Return the scores of coefficients, float64 (n_items)."""
        out = np.zeros((lists.n_items, 1))
        add_columns(self.training.columns(lists), state[:, None], out)
        return out[:, 0]

    def model(self, state: Floats) -> Model:
        """Return the model of coefficients."""
        support = np.flatnonzero(state)
        return DualModel(self.names, self.training.items.take(support), state[support], self.training.kernel)
