"""Base class of transductive methods: the base learner, the abstain rule, and the model that adapts."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

from rerank.core.errors import ConfigError, FitError
from rerank.core.settings import setting, value_text
from rerank.data.lists import CandidateLists, without_labels
from rerank.extensions.transductive.adaptation import abstained, tuned_threshold
from rerank.extensions.transductive.adapter import Adapted, Adapter
from rerank.extensions.transductive.model import TransductiveModel
from rerank.learners.base import FitInputs, Learner, Watched
from rerank.learners.meta_learner import MetaLearner, needs_dev
from rerank.models.base import Model

__all__ = ["Adapted", "Adapter", "Transductive"]


def _no_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"abstain: found {value_text(value)}, expected none, auto or a number from -1 to 1")
    return value


class Transductive(MetaLearner):
    """Base of the methods that learn a ranker for each list, from labelled lists and from its own items.

    The model holds the labelled lists, scaled, and the base learner's model of them: the unadapted one. A
    subclass declares its settings and returns an ``Adapter`` of labelled lists.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, chapter 4.
    """

    watches: ClassVar[bool] = False
    default_scaling: ClassVar[str] = "list-minmax"
    accepts_nan: ClassVar[bool] = True

    abstain: Literal["none", "auto"] | float = setting(
        "none",
        "keep the unadapted ranking of a list if Kendall's tau of the two is below this, from -1 "
        "to 1; auto = selected on the dev lists by the metric",
        parse=_no_truth_value,
    )
    seed: int = setting(1, "random seed, also of the base learner unless it has its own", ge=0)

    def check_values(self) -> None:
        super().check_values()
        if isinstance(self.abstain, float) and not -1 <= self.abstain <= 1:
            raise ConfigError(
                f"abstain: found {self.abstain:g}, expected none, auto or a number from -1 to 1"
            )

    @property
    def chooses_on_dev(self) -> bool:
        return self.abstain == "auto"

    def _why_no_base(self, base: Learner) -> str:
        if base.needs_judge:
            return "it optimises a metric, which a model file does not hold"
        return super()._why_no_base(base) or needs_dev(base)

    @abstractmethod
    def adapter(self, lists: CandidateLists) -> Adapter:
        """Return the method prepared for labelled lists, which are scaled."""

    def _check(self, lists: CandidateLists, inputs: FitInputs) -> None:
        super()._check(lists, inputs)
        if self.abstain == "auto" and inputs.dev is None:
            text = "abstain=auto is chosen on development lists by a metric: give both (--dev, --metric)"
            raise FitError(f"learner {self.name}: {text}")

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        labelled = without_labels(lists, labels=True)
        base = self.base_learner
        unadapted = base.fit(labelled)
        unadapted.training.learner, unadapted.training.settings = base.name, base.get_params()
        model = TransductiveModel(labelled, self, unadapted)
        model.training.data = unadapted.training.data
        if self.abstain != "none":
            self._set_threshold(model, inputs.dev)
        return model

    def _set_threshold(self, model: TransductiveModel, dev: Watched | None) -> None:
        """Set below which tau the model abstains, and record what that does on the dev lists."""
        tuned = self.abstain == "auto"
        threshold = None if tuned else float(self.abstain)
        if dev is not None:
            lists, judge = dev
            found = model.adapt_prepared(lists)
            if threshold is None:
                threshold = tuned_threshold(found, judge)
            model.training.abstain = abstained(found, judge, threshold, tuned=tuned)
        model.threshold = threshold
