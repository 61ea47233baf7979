"""k-best batch MIRA (Cherry & Foster 2012)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from msgspec.structs import replace

from rerank.core.errors import DataNote
from rerank.core.settings import setting
from rerank.data.judge import SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs
from rerank.learners.initial import INIT_HELP, Init
from rerank.learners.rounds import KEEP_HELP, Keep, Rounds
from rerank.learners.sums.hopes import Hopes, HopesPart, Visiting
from rerank.learners.sums.parts import Parts, SummingLearner
from rerank.learners.sums.searches import SummedJudge, start_of
from rerank.models.base import Model
from rerank.models.linear import LinearModel


@LEARNERS.register("mira")
class Mira(SummingLearner):
    """k-best batch MIRA: a passive-aggressive step from fear to hope in each list.

    Hope is the candidate with the largest score + worth, fear the one with the largest score - worth. If
    w·(hope - fear) is below the difference of their worths, the weights make the smallest step that
    corrects this, of at most ``c``. The worth is the metric of a background and the candidate together,
    times their length. The background is a decaying sum of the hopes' statistics that begins with ones.
    With value=sentence the worth is the candidate's label. The model is the mean of the weights after all
    visits up to the round that ``keep`` chooses.

    Of a sharded store on a cluster each shard visits its own lists. After every epoch the weights and the
    backgrounds of all shards are averaged (McDonald, Hall & Mann 2010): other shards give another model.

    The weight of a list multiplies its ``c``. A list of weight 0 is not visited, as if it were absent.

    ``c`` limits how far one list moves the weights, so features of very different sizes need a --scaling.

    References
    ----------
    Cherry, Foster: Batch tuning strategies for statistical machine translation. NAACL 2012.
    McDonald, Hall, Mann: Distributed training strategies for the structured perceptron. NAACL 2010.
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
    judges_parts = True

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

    def refused(self) -> str | None:
        return None

    def part(self, lists: CandidateLists, inputs: FitInputs, surveys: Sequence[Any]) -> HopesPart:
        assert isinstance(inputs.judge, SelectingJudge)  # needs_selecting
        how = Visiting(self.value, self.c, self.decay, self.epochs, self.shuffle, self.seed)
        return HopesPart(how, lists, inputs.judge, inputs.list_weights)

    def fit_parts(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> Model:
        start, init = start_of(parts, lists, inputs, self.init)
        watch = Rounds(lists, replace(inputs, judge=SummedJudge(parts)), self.keep)
        hopes = Hopes(parts, start)
        n_visited = sum(parts.each(HopesPart.n_visited))
        for epoch in watch.each(range(self.epochs), self.epochs, hopes, unit="epoch"):
            done, loss = hopes.run(epoch)
            watch.record(hopes.mean, SummedJudge.scores(lists), updates=done, loss=loss / n_visited)
        if not any(row["updates"] for row in watch.curve):
            text = f"{lists.source}: no update was made; the weights are the initial ones (init {init})"
            warnings.warn(text, DataNote, stacklevel=2)
        kept, rounds = watch.kept(hopes.mean, init=init)
        model = LinearModel(lists.names(), kept)
        model.initial = start
        model.curve = watch.curve
        model.training.rounds = rounds
        return model
