"""k-best batch MIRA (Cherry & Foster 2012)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from rerank.core.checkpoints import State, copy_into
from rerank.core.errors import DataNote, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats, Index
from rerank.data.blocks import number_by_list
from rerank.data.judge import SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs, Learner, checked_list_weights
from rerank.learners.initial import INIT_HELP, Init, initial_weights
from rerank.learners.rounds import KEEP_HELP, Keep, Rounds, linear_scores, restore, state_of, visit_orders
from rerank.models.base import Model
from rerank.models.linear import LinearModel
from rerank.native.data._matrix import Difference
from rerank.native.learners import _mira
from rerank.native.learners._weights import Weights

_LARGEST = 1e150
_VALUES = -1  # the kernel's code for worths that are given


@LEARNERS.register("mira")
class Mira(Learner):
    """k-best batch MIRA: a passive-aggressive step from fear to hope in each list.

    Hope is the candidate with the largest score + worth, fear the one with the largest score - worth. If
    w·(hope - fear) is below the difference of their worths, the weights make the smallest step that
    corrects this, of at most ``c``. The worth is the metric of a background and the candidate together,
    times their length. The background is a decaying sum of the hopes' statistics that begins with ones.
    With value=sentence the worth is the candidate's label. The model is the mean of the weights after all
    visits up to the round that ``keep`` chooses.

    The weight of a list multiplies its ``c``. A list of weight 0 is not visited, as if it were absent.

    ``c`` limits how far one list moves the weights, so features of very different sizes need a --scaling.

    References
    ----------
    Cherry, Foster: Batch tuning strategies for statistical machine translation. NAACL 2012.
    """

    name = "mira"
    summary = "k-best batch MIRA: margins between hope and fear in the metric's units"
    source = "Cherry & Foster 2012"
    needs_labels = False
    needs_judge = True
    needs_selecting = True
    iterates = "epochs"
    renamed: ClassVar = {"rounds": "epochs"}
    resumable = True
    accepts_initial = True
    accepts_list_weights = True

    value: Literal["background", "sentence"] = setting(
        "background",
        "worth of a candidate: the metric of the background and the candidate, or its label (sentence)",
    )
    c: float = setting(0.01, "maximum step size; 0.01 suits raw decoder features, zscore about 1", gt=0)
    decay: float = setting(0.999, "factor of the background after each list", ge=0, le=1)
    epochs: int = setting(60, "number of epochs", ge=1)
    init: Init = setting("auto", INIT_HELP)
    keep: Keep = setting("train", KEEP_HELP)
    shuffle: bool = setting(True, "shuffle the lists before each epoch")
    seed: int = setting(1, "random seed of the order", ge=0)

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        judge = inputs.judge
        assert isinstance(judge, SelectingJudge)  # needs_selecting
        if lists.features.n_values == 0:
            raise FitError(f"{lists.source}: all features are 0")
        if lists.features.largest() > _LARGEST:
            raise FitError(f"{lists.source}: squares of the features overflow; scale them (--scaling)")
        worth = _label_worth(lists) if self.value == "sentence" else _background_worth(lists, judge)
        start, init = initial_weights(lists, inputs, self.init)
        weights = checked_list_weights(inputs.list_weights, lists)
        visited = np.flatnonzero(weights)
        if len(visited) == 0:
            raise FitError(f"{lists.source}: the weight of every list is 0")
        state = _State(self, lists, worth, self.c * weights, start.copy())
        watch = Rounds(lists, inputs, self.keep)
        orders = visit_orders(len(visited), self.epochs, self.shuffle, self.seed)
        for order in watch.each(orders, self.epochs, state, unit="epoch"):
            done, loss = state.run(visited[order])
            watch.record(state.mean(), linear_scores, updates=done, loss=loss / len(visited))
        if not any(row["updates"] for row in watch.curve):
            text = f"{lists.source}: no update was made; the weights are the initial ones (init {init})"
            warnings.warn(text, DataNote, stacklevel=2)
        kept, rounds = watch.kept(state.mean(), init=init)
        model = LinearModel(lists.names(), kept)
        model.initial = start
        model.curve = watch.curve
        model.training.rounds = rounds
        return model


@dataclass(frozen=True)
class _Worth:
    """The worths of candidates for the kernel: statistics (n_items, k) and the form of their sums."""

    stats: Floats
    kind: int
    parameters: tuple[float, float]
    factor: float


def _background_worth(lists: CandidateLists, judge: SelectingJudge) -> _Worth:
    """The metric itself; one of 0 to 100 is divided by 100."""
    form = judge.sum_form
    if form is None:
        raise FitError(f"mira: no background for {judge.name}; use --label sBLEU --set value=sentence")
    stats = np.ascontiguousarray(judge.per_item, dtype=np.float64)
    if not _differ(lists, stats):
        raise FitError(f"{lists.source}: {judge.name} is the same for all candidates of each list")
    full = form.parameters[0] if form.kind == "ratio" else 100.0
    return _Worth(stats, form.number, form.parameters, judge.better / full)


def _label_worth(lists: CandidateLists) -> _Worth:
    """The labels, in their own units."""
    if lists.labels is None:
        raise FitError(f"{lists.source}: value=sentence needs labels (--label sBLEU)")
    stats = np.ascontiguousarray(lists.labels[:, None])
    if not _differ(lists, stats):
        raise FitError(f"{lists.source}: no list has two different labels")
    return _Worth(stats, _VALUES, (0.0, 0.0), 1.0)


def _differ(lists: CandidateLists, stats: Floats) -> bool:
    """Return whether any list has candidates of different statistics; NaN is ignored."""
    begin = lists.offsets[:-1]
    return bool(np.any(np.fmax.reduceat(stats, begin) > np.fmin.reduceat(stats, begin)))


class _State:
    """The state of training: weights with their mean, the background, scratch."""

    def __init__(
        self, learner: Mira, lists: CandidateLists, worth: _Worth, caps: Floats, weights: Floats
    ) -> None:
        self.caps = caps
        self.matrix = lists.features.matrix()
        rows = np.arange(lists.n_items, dtype=np.int64)
        most = number_by_list(self.matrix, lists.features, lists.offsets, rows, learner.epochs)
        self.weights = Weights(weights, most)
        self.step = Difference(self.matrix)
        self.worths = _mira.Worths(
            lists.offsets, worth.stats, worth.kind, *worth.parameters, worth.factor, learner.decay
        )

    def run(self, visits: Index) -> tuple[int, float]:
        """Visit lists; return the number of updates and the sum of their losses."""
        done: tuple[int, float] = _mira.mira_round(
            self.matrix, self.worths, visits, self.caps, self.weights, self.step
        )
        return done

    def state(self) -> State:
        """Return what later rounds depend on."""
        return {"weights": state_of(self.weights), "background": self.worths.sums_before.copy()}

    def restore(self, state: State) -> None:
        """Go to a state."""
        restore(self.weights, state["weights"])
        copy_into(self.worths.sums_before, state["background"])

    def mean(self) -> Floats:
        """Return the mean of the weights after each visit so far."""
        mean: Floats = self.weights.mean()
        return mean
