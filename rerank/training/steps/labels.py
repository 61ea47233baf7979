"""Labels of the training lists: quantised ones, and what unjudged items of judged lists get.

Development lists and out-of-fold scores keep their own labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from rerank.core.errors import ConfigError, DataError
from rerank.core.text import count
from rerank.core.types import Floats, Mask
from rerank.data.judge import Metric
from rerank.data.lists import CandidateLists
from rerank.learners.base import Learner
from rerank.models.training import Training, UnjudgedRecord
from rerank.training.data import TrainingData
from rerank.training.steps import STEPS, Stage, Step

if TYPE_CHECKING:
    from rerank.data.labels import Quantiser


Unjudged = Literal["skip", "negative", "error"]
_COUNT_THEM = "--unjudged negative (unjudged='negative') counts them as not relevant"


def unjudged_items(lists: CandidateLists) -> Mask:
    """Return which items are unjudged although their list has a judged item, bool (n_items)."""
    if lists.labels is None:
        return np.zeros(lists.n_items, dtype=bool)
    return np.isnan(lists.labels) & np.repeat(lists.judged_lists(), lists.lengths)


def level_of_unjudged(lists: CandidateLists) -> float:
    """Return the largest judged label that is 0 or below; 0 if all are above.

    That is the label of judged items that are not relevant: 0 as in TREC's judgements, also if junk has -1
    or -2 there, and -1 if labels are -1 and 1.
    """
    assert lists.labels is not None
    return (
        float(np.max(lists.labels, initial=-np.inf, where=lists.labels <= 0)) if has_negative(lists) else 0.0
    )


def has_negative(lists: CandidateLists) -> bool:
    """Return whether an item is judged as not relevant, with a label of 0 or below."""
    return lists.labels is not None and bool(np.any(lists.labels <= 0))


def has_order(lists: CandidateLists) -> bool:
    """Return whether a list has two different labels."""
    if lists.labels is None:
        return False
    starts = lists.offsets[:-1]
    return bool(np.any(np.fmax.reduceat(lists.labels, starts) > np.fmin.reduceat(lists.labels, starts)))


def with_level(lists: CandidateLists, level: float) -> CandidateLists:
    """Return the same lists with the label ``level`` for the unjudged items of judged lists."""
    if lists.labels is None:
        return lists
    return lists.replace_labels(np.where(unjudged_items(lists), level, lists.labels))


class _OfLabels:
    """Base of what changes labels alone."""

    def unfold(self, weights: Floats, names: list[str], source: str) -> Floats:
        """Return the weights: features stay as they are."""
        return weights


class Level(_OfLabels, Struct, frozen=True):
    """The label that unjudged items of judged lists get."""

    label: float

    def apply(self, lists: CandidateLists, *, overwrite: bool = False, warn: bool = False) -> CandidateLists:
        """Return lists with that label; lists without labels stay as they are."""
        return with_level(lists, self.label)


@STEPS.register("unjudged")
class LabelUnjudged(Step, frozen=True):
    """Leave unjudged items out ("skip"), learn from them as "negative", or refuse them ("error").

    ``label`` is what they get, which ``resolve`` finds; metrics see no label. None = they are left out.
    """

    unjudged: Unjudged = "skip"
    label: float | None = None

    name: ClassVar[str] = "unjudged"
    stage: ClassVar[Stage] = "view"
    place: ClassVar[int] = 10
    settings: ClassVar[tuple[str, ...]] = ("unjudged",)
    section: ClassVar[str] = "data"

    @property
    def active(self) -> bool:
        return self.label is not None

    def check(self, learner: Learner, metric: Metric | None) -> None:
        if self.unjudged != "skip" and not learner.needs_labels:
            found = f"not used by learner {learner.name}, which learns from no labels"
            raise ConfigError(f"unjudged={self.unjudged}: {found}")

    def resolve(self, learner: Learner, lists: CandidateLists) -> Self:
        """Return the step with the label; items matter only to learners that learn from labels.

        Raises
        ------
        DataError
            If there is an unjudged item and they are an error; or if they are left out and nothing could be
            learnt, because what is judged is relevant and no list has two different labels.
        """
        if learner.reads_classes or not learner.needs_labels:
            return self
        chosen = unjudged_items(lists)
        if not chosen.any():
            return self
        if self.unjudged == "negative":
            return replace(self, label=level_of_unjudged(lists))
        n = count(int(np.count_nonzero(chosen)), "unjudged item")
        if self.unjudged == "error":
            found = f"{n} in judged lists, the first is {lists.place_of(int(np.argmax(chosen)))}"
            raise DataError(f"{lists.source}: {found}; {_COUNT_THEM}, --unjudged skip leaves them out")
        if not has_negative(lists) and not has_order(lists):
            found = f"no list has two different labels, so nothing is learnt without the {n} of judged lists"
            raise DataError(f"{lists.source}: {found}; {_COUNT_THEM}")
        return self

    def fit(self, lists: CandidateLists, raw: CandidateLists) -> Level:
        assert self.label is not None  # it is active
        return Level(self.label)

    def record(self, training: Training, data: TrainingData, learner: Learner) -> None:
        lists = data.source
        chosen = unjudged_items(lists)
        if not learner.needs_labels or learner.reads_classes or not chosen.any():
            return
        training.unjudged = UnjudgedRecord(
            items=int(np.count_nonzero(chosen)),
            lists=int(np.count_nonzero(np.logical_or.reduceat(chosen, lists.offsets[:-1]))),
            label=self.label,
            positives_only=not has_negative(lists),
        )


class QuantisedLabels(_OfLabels, Struct, frozen=True):
    """A scheme that quantises labels: best, above=T, model=FILE, top=P%, kmeans=K or list-kmeans=K."""

    quantiser: Quantiser

    def apply(self, lists: CandidateLists, *, overwrite: bool = False, warn: bool = False) -> CandidateLists:
        """Return the lists with quantised labels; RerankError if there are none, or no such model."""
        from rerank.models.predict import with_quantised

        return with_quantised(lists, self.quantiser)


@STEPS.register("quantise")
class QuantiseLabels(Step, frozen=True):
    """Quantise the labels of all training lists, before features are selected or folds are drawn."""

    quantise: str | None = None

    name: ClassVar[str] = "quantise"
    stage: ClassVar[Stage] = "data"
    place: ClassVar[int] = 10
    settings: ClassVar[tuple[str, ...]] = ("quantise",)
    section: ClassVar[str] = "data"

    def check(self, learner: Learner, metric: Metric | None) -> None:
        if self.active:
            self._quantiser()

    def fit(self, lists: CandidateLists, raw: CandidateLists) -> QuantisedLabels:
        return QuantisedLabels(self._quantiser())

    def record(self, training: Training, data: TrainingData, learner: Learner) -> None:
        if self.active:
            training.data = training.data.with_fields(quantise=str(self._quantiser()))

    def _quantiser(self) -> Quantiser:
        from rerank.data.labels import parse_quantiser

        assert self.quantise is not None  # it is active
        return parse_quantiser(self.quantise)
