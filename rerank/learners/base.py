"""The learner's contract: settings by keyword, ``fit(lists)`` gives a model."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from rerank.data.judge import Judge, SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.data.types import Floats
from rerank.errors import FitError
from rerank.models.base import Model
from rerank.registry import Registry
from rerank.settings import Settings

Watched = tuple[CandidateLists, Judge]


@dataclass(frozen=True)
class FitInputs:
    """What may reach a learner beside its lists; see ``Learner.fit``."""

    judge: Judge | None = None
    dev: Watched | None = None
    list_weights: Floats | None = None
    pair_weights: Floats | None = None
    initial: Floats | None = None


class Learner(Settings):
    """Base of all learners.

    A subclass declares its settings as fields and implements ``_fit``. Flags say what it can take:
    ``needs_judge`` (it optimises a metric), ``needs_selecting`` (one of single chosen candidates, such as
    BLEU or label@1), ``in_rounds`` (it has rounds, a learning curve and ``keep``), ``accepts_nan``,
    ``accepts_list_weights``, ``accepts_pair_weights``, ``accepts_initial`` (weights to start from).
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str] = ""
    needs_labels: ClassVar[bool] = True
    needs_judge: ClassVar[bool] = False
    needs_selecting: ClassVar[bool] = False
    in_rounds: ClassVar[bool] = False
    accepts_nan: ClassVar[bool] = False
    accepts_list_weights: ClassVar[bool] = False
    accepts_pair_weights: ClassVar[bool] = False
    accepts_initial: ClassVar[bool] = False

    def fit(
        self,
        lists: CandidateLists,
        *,
        judge: Judge | None = None,
        dev: Watched | None = None,
        list_weights: Floats | None = None,
        pair_weights: Floats | None = None,
        initial: Floats | None = None,
    ) -> Model:
        """A model of ``lists``.

        ``judge`` is the metric prepared for ``lists``; ``dev`` is a development set, its columns
        those of ``lists``, with its judge. ``list_weights`` (n_lists) and ``pair_weights`` are
        importance weights, ``initial`` (n_features) the weights of a linear model to start from. Raises
        FitError where the data does not allow it.
        """
        self._check(lists, judge, dev)
        for name, weights, taken in (
            ("list weights", list_weights, self.accepts_list_weights),
            ("pair weights", pair_weights, self.accepts_pair_weights),
            ("initial weights", initial, self.accepts_initial),
        ):
            if weights is not None and not taken:
                raise FitError(f"learner {self.name} takes no {name}")
        model = self._fit(lists, FitInputs(judge, dev, list_weights, pair_weights, initial))
        if model.initial is None:
            model.initial = initial
        return model

    def _check(self, lists: CandidateLists, judge: Judge | None, dev: Watched | None) -> None:
        if self.needs_labels and not lists.judged_lists().any():
            hint = " (--label sBLEU makes them from the references)" if lists.references else ""
            raise FitError(f"{lists.source}: no judged item; learner {self.name} learns from labels{hint}")
        if self.needs_judge and judge is None:
            raise FitError(f"learner {self.name} chooses by a metric; give one (--metric, metric=)")
        if self.needs_selecting and not isinstance(judge, SelectingJudge):
            raise FitError(
                f"learner {self.name} needs a metric of single candidates (BLEU, WER, label@1), "
                + ("got none" if judge is None else f"{judge.name} judges rankings")
            )
        if lists.has_missing and not self.accepts_nan:
            raise FitError(f"{lists.source}: missing (NaN) features; learner {self.name} takes none")
        if dev is not None and dev[0].n_features != lists.n_features:
            raise FitError(
                f"{dev[0].source}: {dev[0].n_features} features, but {lists.source} has {lists.n_features}"
            )
        if self.in_rounds and getattr(self, "keep", "last") == "best" and dev is None:
            raise FitError(f"learner {self.name}: keep=best needs a development set and a metric")

    @abstractmethod
    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        """The model; what the flags refuse has been refused."""


LEARNERS: Registry[type[Learner]] = Registry("learner", "rerank.learners")
