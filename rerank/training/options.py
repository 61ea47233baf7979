"""Plans: all that happens around a learner's fit, in order, as one value and one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from rerank.core.errors import ConfigError
from rerank.data.alignment import aligned
from rerank.data.base_scale import BaseScale, checked_scale
from rerank.data.judge import Metric
from rerank.data.lists import CandidateLists
from rerank.data.missing import check_policy, fill_of
from rerank.data.scaling import AUTO
from rerank.data.unjudged import Unjudged
from rerank.learners.base import Learner
from rerank.learners.meta_learner import MetaLearner
from rerank.metrics.base import parse
from rerank.metrics.selecting import SelectingMetric
from rerank.models.base import Model
from rerank.training.fitting import Margin, fit_prepared, note_choice_on_dev
from rerank.training.prepare import Setup, check_scaling, of_all_columns, prepare, scaling_for
from rerank.training.side_inputs import NO_SIDE_INPUTS, SideInputs
from rerank.training.unjudged import check_unjudged, label_of_unjudged

if TYPE_CHECKING:
    from rerank.models.weights import NamedWeights
    from rerank.training.base_tuning import BaseTuning, TuneOn
    from rerank.training.seeds import Runs
    from rerank.training.select import ChooseOn, Choosing

_WITH_CLASSES = ("metric", "choose", "grid", "folds", "seeds")  # what learners of classes can be given


@dataclass(frozen=True, eq=False)
class Plan:
    """What happens around a learner's fit.

    Settings are chosen from a grid; features are scaled and the base score is multiplied; the learner is
    fitted, with several seeds; the base score's weight is tuned, and then the keep margin.

    Attributes
    ----------
    metric : what is optimised and watched.
    scaling : a name of ``rerank list scalings``; the model keeps it. auto = the learner's default.
    base_scale : what the base score is multiplied by, after scaling, while the learner sees it; "auto" = as
        much variance within lists as all other features together.
    initial : weights of the raw features to start from.
    keep_margin : lead over the first-best that takes its place, "auto" = tuned on the dev lists.
    tune_base : tune the base score's weight after training on "dev" or on out-of-fold scores ("folds").
    choose : choose settings, and the number of rounds, on "dev" or on out-of-fold scores ("folds").
    grid : the values of each setting to choose from.
    folds : parts of the training lists for out-of-fold scores; None = 5.
    seeds : how many runs with consecutive seeds there are.
    missing : what happens to missing values, a name of data.missing.POLICIES; the model keeps it. None = they
        stay as they are, and learners that cannot use them refuse them.
    unjudged : what learners take the unjudged items of judged lists for: "skip" leaves them out, "negative"
        counts them as not relevant (see ``data.unjudged.level_of_unjudged``), "error" refuses them.
    """

    metric: str | Metric | None = None
    scaling: str = AUTO
    base_scale: BaseScale = 1.0
    initial: NamedWeights | None = None
    keep_margin: Margin = None
    tune_base: TuneOn = "none"
    choose: ChooseOn = "none"
    grid: Mapping[str, Any] = field(default_factory=dict)
    folds: int | None = None
    seeds: int = 1
    missing: str | None = None
    unjudged: Unjudged = "skip"

    def check(self, learner: Learner) -> Setup:
        """Return how lists are prepared; raise ConfigError at what can be refused before lists are read."""
        plain = Plan(scaling=self.scaling, missing=self.missing)
        given = [one.name for one in fields(self) if getattr(self, one.name) != getattr(plain, one.name)]
        given += ["grid: base_scale"] * ("base_scale" in self.grid)
        refuse_with_classes(learner, [name for name in given if name not in _WITH_CLASSES])
        self.tuning()
        if self.missing is not None:
            check_policy(self.missing)
        check_unjudged(self.unjudged, learner)
        metric = parse(self.metric) if isinstance(self.metric, str) else self.metric
        if metric is not None and learner.reads_classes:
            from rerank.training.class_metrics import check_metric

            check_metric(metric, learner)
        setup = Setup(metric, self.scaling, checked_scale(self.base_scale), self.initial, self.missing)
        self.choosing().check(learner, setup)
        return setup

    @property
    def several(self) -> bool:
        """Whether there is more than one fit."""
        return self.seeds > 1 or self.choose != "none" or self.tune_base == "folds"

    def choosing(self) -> Choosing:
        """Return what settings are chosen from."""
        from rerank.training.select import Choosing

        return Choosing(self.choose, self.grid)

    def tuning(self) -> BaseTuning:
        """Return what the base score's weight is tuned on; ConfigError if folds have no effect."""
        from rerank.training.base_tuning import FOLDS, BaseTuning

        folds = self.folds
        if folds is not None and "folds" not in (self.tune_base, self.choose):
            raise ConfigError(f"folds={folds} has no effect without tune_base=folds or choose=folds")
        return BaseTuning(self.tune_base, FOLDS if folds is None else folds)


def check_metric_used(
    plan: Plan, learner: Learner, lists: CandidateLists, dev: CandidateLists | None
) -> None:
    """Raise ConfigError for a metric that training would neither use nor report."""
    if plan.metric is None or dev is not None or learner.uses_metric or plan.several:
        return
    metric = parse(plan.metric) if isinstance(plan.metric, str) else plan.metric
    has_gains = lists.first_best is not None and not isinstance(learner, MetaLearner)
    if not (has_gains and isinstance(metric, SelectingMetric)):
        text = f"metric {metric.name}: not used by learner {learner.name}"
        raise ConfigError(f"{text}; rerank eval --metric {metric.name} reports it")


def refuse_with_classes(learner: Learner, given: Sequence[str]) -> None:
    """Raise ConfigError if a learner of classes is given any of these, which work on scores of lists."""
    if learner.reads_classes and given:
        raise ConfigError(f"{given[0]}: not used by learner {learner.name} for tasks with classes")


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, and with several seeds all runs."""

    model: Model
    runs: Runs | None = None


def fit_by(
    plan: Plan,
    learner: Learner,
    lists: CandidateLists,
    dev: CandidateLists | None = None,
    extras: SideInputs = NO_SIDE_INPUTS,
    *,
    owned: bool = False,
) -> Fitted:
    """Fit a learner by a plan.

    Parameters
    ----------
    plan, learner : what is done.
    lists, dev : training and development lists.
    extras : what else the learner gets.
    owned : whether nothing reads the features of ``lists`` and ``dev`` afterwards, so that one fit may scale
        them in place.

    Raises
    ------
    RerankError
        ConfigError, DataError or FitError.
    """
    learner.check_unlabelled(extras.unlabelled is not None)
    refuse_with_classes(learner, ["list_weights"] * (extras.list_weights is not None))
    setup, tuning = plan.check(learner), plan.tuning()
    setup = replace(setup, unjudged=label_of_unjudged(plan.unjudged, learner, lists))
    if learner.reads_classes and setup.metric is not None:
        from rerank.training.class_metrics import watched_classes

        setup = replace(setup, metric=watched_classes(setup.metric, learner, lists, dev))
    chosen = None
    if plan.choose != "none":
        from rerank.training.select import choose

        if dev is not None:
            dev = aligned(
                dev,
                lists.names(),
                "the training lists",
                selection=lists.selection,
                fill=fill_of(plan.missing),
            )
        if plan.initial is not None:
            setup = replace(setup, initial=of_all_columns(plan.initial, lists))
        extras = extras.aligned(lists, fill_of(plan.missing))
        chosen = choose(plan.choosing(), learner, setup, lists, dev, tuning, extras)
        learner, setup = chosen.learner, chosen.setup
        if plan.seeds == 1:
            tuning = replace(tuning, known=chosen.change)
    scaling = scaling_for(learner, setup.scaling, lists)
    check_scaling(learner, scaling, lists)
    prepared = prepare(
        lists,
        dev,
        setup.metric,
        scaling,
        setup.initial,
        setup.base_scale,
        extras,
        setup.missing,
        setup.unjudged,
        owned and not plan.several,
    )
    runs = None
    if plan.seeds > 1:
        from rerank.training.seeds import fit_seeds

        runs = fit_seeds(prepared, learner, plan.seeds, plan.keep_margin, tuning)
    model = fit_prepared(prepared, learner, plan.keep_margin, tuning) if runs is None else runs.model
    if chosen is not None:
        for one in (model,) if runs is None else runs.models.values():
            one.training.choice = chosen.record
            if plan.choose == "dev":
                note_choice_on_dev(one.training)
    return Fitted(model, runs)
