"""Base of every learner: settings by keyword, and ``fit(lists)``, which returns a model."""

from __future__ import annotations

import importlib.util
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from msgspec import Struct

from rerank.core import memory
from rerank.core.errors import ConfigError, DataNote, FitError
from rerank.core.registry import Registry
from rerank.core.settings import Settings
from rerank.core.types import Floats
from rerank.data.columns.class_sets import HOW_READ
from rerank.data.judge import PreparedMetric, SelectingJudge
from rerank.data.lists import CandidateLists, without_labels
from rerank.data.matrix import Dense
from rerank.data.missing import FILLS, first_missing
from rerank.data.pairs import Margin, PairRelation, Pairs, make_pairs
from rerank.models.base import Model

_LARGEST = 31.0  # LightGBM's own limit: a label above it counts a billion times as much as one of 1


def exponential_gains(labels: Floats, source: str, instead: str) -> Floats:
    """Return 2^label - 1 of judged items (n), 0 if the label is below 0.

    Warns if labels are so large that only the largest ones count.

    Parameters
    ----------
    labels : float64 (n)
        The labels.
    source : str
        The lists, for messages.
    instead : str
        The setting that takes labels as they are, for messages.

    Raises
    ------
    FitError
        If a gain overflows.
    """
    with np.errstate(over="ignore"):
        gains: Floats = np.exp2(np.maximum(labels, 0.0)) - 1.0
    largest = labels.max(initial=0.0)
    if not np.isfinite(gains).all():
        raise FitError(f"{source}: label {largest:g} is too large for the gain 2^label - 1; use {instead}")
    if largest > _LARGEST:
        text = f"of labels up to {largest:g} only the largest count; {instead} takes them as they are"
        warnings.warn(f"{source}: by gains of 2^label - 1, {text}", DataNote, stacklevel=4)
    return gains


class NothingToLearnError(FitError):
    """Lists that a learner can learn nothing from; further lists may have what they lack."""


Watched = tuple[CandidateLists, PreparedMetric]
# Lists, and what gets the state of a learner after each round and its scores of them (n_items).
Observer = tuple[CandidateLists, Callable[[Any, Floats], None]]

_COLUMN_BYTES = 120  # of a feature's name and its weight in the vectors of a learner


class FitInputs(Struct, frozen=True):
    """The inputs of a learner besides its training lists; see ``Learner.fit``."""

    judge: PreparedMetric | None = None
    dev: Watched | None = None
    list_weights: Floats | None = None
    pair_weights: Floats | None = None
    initial: Floats | None = None
    observer: Observer | None = None
    unlabelled: CandidateLists | None = None


class Learner(Settings):
    """Base of all learners.

    A subclass declares its settings as fields, describes itself in the class variables below and
    implements ``_fit``. It fills ``model.training.rounds`` and ``model.training.data`` with records of
    rerank.models.training.

    Attributes
    ----------
    name, summary, source
        The name in the registry, one line for ``rerank list learners``, and the paper.
    needs_features
        It refuses lists without features.
    accepts_trees
        It learns from trees too: lists without features are enough if they have trees.
    needs_labels
        It learns from labels, or if ``reads_classes`` from classes.
    needs_judge
        It optimises a metric.
    needs_selecting
        That must be a metric of single candidates, such as BLEU or label@1. Implies ``needs_judge``.
    watches
        It reports the metric of its model on the training lists, or of the rounds.
    iterates
        Name of the setting that limits its iterations, "rounds" or "epochs" (passes over the data). Such
        learners have the setting ``keep`` too, and leave a learning curve. Empty = no iterations to choose.
    observable
        With ``iterates``: it calls the observer after each of them, so that their number can be chosen by it.
    resumable
        It keeps states in a checkpoint (rerank.core.checkpoints) and continues from them to the same model.
    default_scaling
        The scaling of dense features if none is chosen, a name of data.scaling.SCALINGS.
    scale_invariant
        The units of features do not matter to it: it only compares a feature with itself, or puts all
        features on one scale.
    accepts_nan
        Features may be NaN.
    accepts_list_weights, accepts_pair_weights
        It can weight lists or pairs.
    accepts_unlabelled, needs_unlabelled
        It can learn from lists without labels, those that are to be ranked, or cannot do without them. The
        second implies the first.
    accepts_initial
        It can start from given weights.
    sums
        It can be fitted to parts of the training lists, wherever they are, see ``rerank.learners.sums``.
    extra
        The optional package that it needs, which is also the name of this package's extra.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str] = ""
    needs_features: ClassVar[bool] = True
    accepts_trees: ClassVar[bool] = False
    needs_labels: ClassVar[bool] = True
    needs_judge: ClassVar[bool] = False
    needs_selecting: ClassVar[bool] = False
    watches: ClassVar[bool] = True
    iterates: ClassVar[Literal["", "rounds", "epochs"]] = ""
    observable: ClassVar[bool] = True
    resumable: ClassVar[bool] = False
    default_scaling: ClassVar[str] = "none"
    scale_invariant: ClassVar[bool] = False
    accepts_nan: ClassVar[bool] = False
    accepts_list_weights: ClassVar[bool] = False
    accepts_pair_weights: ClassVar[bool] = False
    accepts_unlabelled: ClassVar[bool] = False
    needs_unlabelled: ClassVar[bool] = False
    accepts_initial: ClassVar[bool] = False
    sums: ClassVar[bool] = False
    extra: ClassVar[str] = ""

    def fit(
        self,
        lists: CandidateLists,
        *,
        judge: PreparedMetric | None = None,
        dev: Watched | None = None,
        list_weights: Floats | None = None,
        pair_weights: Floats | None = None,
        initial: Floats | None = None,
        observer: Observer | None = None,
        unlabelled: CandidateLists | None = None,
    ) -> Model:
        """Return a model of ``lists``.

        Parameters
        ----------
        lists
            Training lists.
        judge
            The metric, prepared for ``lists``. With ``reads_classes`` it takes ``ClassesModel.candidates``.
        dev
            Development lists with the columns of ``lists``, and the metric prepared for them.
        list_weights, pair_weights
            Importance weights, float64 (n_lists) and (n_pairs).
        initial
            Weights of a linear model to start from, float64 (n_features).
        observer
            Lists with the columns of ``lists``, and a function that gets the state after each round and its
            scores of them. Learners without rounds do not call it.
        unlabelled
            The lists to be ranked, with the columns of ``lists``. The learner sees their features, base
            scores and ids alone.

        Raises
        ------
        FitError
            If the learner cannot be fitted to this data or does not accept one of the inputs.
        """
        n = lists.n_features
        memory.require(
            _COLUMN_BYTES * n, f"the names and weights of {n:,} features", "fewer features need less"
        )
        bare = None if unlabelled is None else without_labels(unlabelled, labels=False)
        inputs = FitInputs(judge, dev, list_weights, pair_weights, initial, observer, bare)
        self._check(lists, inputs)
        model = self._fit(lists, inputs)
        if model.initial is None:
            model.initial = initial
        return model

    @classmethod
    def check_unlabelled(cls, given: bool) -> None:
        """Raise FitError if lists without labels are needed, or given to no use."""
        if given and not (cls.accepts_unlabelled or cls.needs_unlabelled):
            raise FitError(f"learner {cls.name} accepts no unlabelled lists (--unlabelled, unlabelled=)")
        if cls.needs_unlabelled and not given:
            needed = "the lists to be ranked, unlabelled; give them (--unlabelled FILE, unlabelled=)"
            raise FitError(f"learner {cls.name} needs {needed}")

    @property
    def wants_judge(self) -> bool:
        """Return whether these settings optimise a metric, also for a learner inside of it."""
        return self.needs_judge

    @property
    def uses_metric(self) -> bool:
        """Return whether these settings use or report a metric without development lists."""
        return self.watches or self.wants_judge

    @property
    def takes_base_scale(self) -> bool:
        """Return whether the base score can be scaled for the learner, and its weight afterwards."""
        return not self.scale_invariant

    @property
    def reads_classes(self) -> bool:
        """Return whether these settings learn from examples with classes (data.classes), not from labels."""
        return False

    @property
    def uses_test_labels(self) -> bool:
        """Return whether these settings use the labels of the lists to be ranked: a control, not a method."""
        return False

    @property
    def ranks_classes(self) -> bool:
        """Return whether these settings, which read classes, predict rankings of them, otherwise sets."""
        return False

    def setting_names(self, grid: Mapping[str, Any]) -> list[str]:
        """Return the settings that a grid can have; ``grid`` are the values of those that it has."""
        return list(type(self).settings)

    @property
    def given_names(self) -> set[str]:
        """The settings that were given, of those that a grid can vary."""
        return set(self.settings_given)

    def copy_with(self, settings: Mapping[str, Any], where: str) -> Self:
        """Return the learner with other values of some settings; errors begin with ``where``.

        Raises
        ------
        ConfigError
            If the settings do not fit together.
        """
        given = {name: getattr(self, name) for name in self.settings_given}
        return type(self).checked(given | dict(settings), where)

    @property
    def draws(self) -> bool:
        """Return whether the model depends on the seed: whether these settings draw random numbers."""
        return "seed" in self.settings and bool(getattr(self, "shuffle", True))

    @property
    def chooses_on_dev(self) -> bool:
        """Return whether these settings choose a model by its value on the dev lists."""
        return getattr(self, "keep", "last") == "best"

    @classmethod
    def scaling_of(cls, lists: CandidateLists) -> str:
        """Return the scaling of ``lists`` if none is chosen: that of the class if they are dense, else none.

        Sparse features are indicators and counts, for which 0 and 1 mean something; divided by its
        deviation, the rarest one would weigh most.
        """
        return cls.default_scaling if isinstance(lists.features, Dense) else "none"

    def _check(self, lists: CandidateLists, inputs: FitInputs) -> None:
        """Raises FitError if the flags of the class exclude these inputs."""
        judge, dev = inputs.judge, inputs.dev
        if self.extra and importlib.util.find_spec(self.extra) is None:
            install = f"pip install 'rerank[{self.extra}]'"
            raise FitError(f"learner {self.name} needs the extra rerank[{self.extra}]: {install}")
        for what, weights, accepted in (
            ("list weights", inputs.list_weights, self.accepts_list_weights),
            ("pair weights", inputs.pair_weights, self.accepts_pair_weights),
            ("initial weights", inputs.initial, self.accepts_initial),
        ):
            if weights is not None and not accepted:
                raise FitError(f"learner {self.name} accepts no {what}")
        self.check_unlabelled(inputs.unlabelled is not None)
        trees = self.accepts_trees
        if self.needs_features and lists.n_features == 0 and not (trees and lists.tree_names()):
            learns = "features or trees" if trees else "features"
            raise FitError(f"{lists.source}: no features; learner {self.name} learns from {learns}")
        self._check_judgements(lists)
        if self.needs_judge:
            self.check_judge(judge)
        for some in (lists, inputs.unlabelled):
            if some is not None and some.has_missing and not self.accepts_nan:
                found = f"{some.source}: {first_missing(some)}; learner {self.name} accepts none"
                raise FitError(f"{found}: {FILLS}")
        for other in (None if dev is None else dev[0], inputs.unlabelled):
            if other is not None and other.n_features != lists.n_features:
                counts = f"{other.n_features} features, but {lists.source} has {lists.n_features}"
                raise FitError(f"{other.source}: {counts}")
        keep = getattr(self, "keep", "last") if self.iterates else "last"
        if keep == "best" and dev is None:
            raise FitError(f"learner {self.name}: keep=best needs a development set and a metric")
        if keep == "train" and judge is None:
            raise FitError(f"learner {self.name}: keep=train needs a metric; give one (--metric, metric=)")

    def check_judge(self, judge: PreparedMetric | None) -> None:
        """Raise FitError without a metric that these settings can optimise."""
        kind = "a metric of single candidates (BLEU, WER, label@1)" if self.needs_selecting else "a metric"
        if judge is None:
            raise FitError(f"learner {self.name} needs {kind}; give one (--metric, metric=)")
        if self.needs_selecting and not isinstance(judge, SelectingJudge):
            raise FitError(f"learner {self.name} needs {kind}; {judge.name} judges rankings")

    def _check_judgements(self, lists: CandidateLists) -> None:
        """Raises FitError without the classes or labels that these settings learn from."""
        if self.reads_classes:
            if lists.classes is None:
                raise FitError(f"{lists.source}: no classes; learner {self.name} learns from them {HOW_READ}")
        elif self.needs_labels and not lists.judged_lists().any():
            hint = " (--label sBLEU makes them from the references)" if lists.references else ""
            if not hint and lists.feature_names is not None:
                hint = " (--label-column names their column in a table)"
            if lists.classes is not None:
                hint = ", not from classes (--classes)"
            raise FitError(f"{lists.source}: no judged item; learner {self.name} learns from labels{hint}")

    @abstractmethod
    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        """Return the model; ``_check`` has accepted the inputs."""


def checked_list_weights(weights: Floats | None, lists: CandidateLists) -> Floats:
    """Return the weights of lists, float64 (n_lists), 1 if none are given.

    Raises FitError if they are not finite numbers of 0 or more, one for each list.
    """
    if weights is None:
        return np.ones(lists.n_lists)
    if weights.shape != (lists.n_lists,) or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise FitError(f"list weights must be {lists.n_lists} finite numbers that are not negative")
    return weights


def weighted_pairs(
    lists: CandidateLists,
    weights: Floats | None,
    relation: PairRelation,
    margin: Margin | None = None,
    what: str = "two different labels",
) -> tuple[Pairs, Floats]:
    """Return the pairs of lists, and the weight of each list that has one; see ``make_pairs``.

    Raises NothingToLearnError if no list has a pair, which ``what`` names, or each of them has weight 0.
    """
    pairs = make_pairs(lists, relation, margin)
    if pairs.n_lists == 0:
        raise NothingToLearnError(f"{lists.source}: no list has {what}")
    found = checked_list_weights(weights, lists)[pairs.lists]
    if not found.any():
        raise NothingToLearnError(f"{lists.source}: every list with {what} has weight 0")
    return pairs, found


def top_costs(lists: CandidateLists, margin: Margin, tau: float, learner: str) -> Floats | None:
    """Return tau * g of the best item of a list and each of lower rank, float64 (n_items), else 0; None = 0.

    Raises ConfigError if g is not even, but multiplied by a ``tau`` of 0, and FitError if it overflows.
    """
    if not tau:
        if margin.margin != "even":
            raise ConfigError(f"{learner}: margin={margin.margin} is multiplied by tau, which is 0: set tau")
        return None
    pairs = make_pairs(lists, PairRelation(), margin)
    if not 2.0 * tau * float(np.abs(pairs.h).max(initial=0.0)) < np.inf:
        raise FitError(f"{lists.source}: margins overflow")
    best = np.repeat(pairs.h[pairs.offsets[:-1]], np.diff(pairs.offsets))
    costs = np.zeros(lists.n_items)
    costs[pairs.items] = tau * (pairs.rank > 1) * (best - pairs.h + pairs.c)
    return costs


LEARNERS: Registry[type[Learner]] = Registry(
    "learner", "rerank.learners", "rerank.extensions", base=lambda: Learner
)
