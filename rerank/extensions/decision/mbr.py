"""Minimum Bayes risk around any learner: the temperature of its posterior is chosen on lists that are new."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from rerank.core.errors import ConfigError, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.judge import PreparedMetric, label_judge
from rerank.data.lists import CandidateLists
from rerank.extensions.decision.ensemble import Ensemble
from rerank.extensions.decision.expressions import AUTO, MATRIX, automatic, utility_of
from rerank.extensions.decision.gain import kept_tables, tuned
from rerank.extensions.decision.held_out import fitted, held_out_scores
from rerank.extensions.decision.model import Decision, MbrModel, decision_of
from rerank.extensions.decision.utilities import Pairing
from rerank.learners.base import LEARNERS, FitInputs, Learner
from rerank.learners.meta_learner import Base, MetaLearner, needs_dev
from rerank.models.base import Model
from rerank.training.out_of_fold import folds_of


@LEARNERS.register("mbr", "minimum-bayes-risk")
class Mbr(MetaLearner):
    """The item with the largest expected utility under the posterior of a base learner's scores.

    The temperature of the posterior is chosen by the metric, or without one by the mean label of the choices:
    on the development lists, or on out-of-fold scores of the training lists. To let the scores decide alone
    is among the choices.

    References
    ----------
    Kumar & Byrne: Minimum Bayes-risk decoding for statistical machine translation. HLT-NAACL 2004.
    """

    name = "mbr"
    summary = "minimum Bayes risk: the largest expected utility under the posterior of a base learner"
    source = "Kumar & Byrne 2004"
    watches: ClassVar[bool] = False
    default_scaling: ClassVar[str] = "zscore"

    base: Base = setting(
        "loglinear", "learner of the scores: a name, or its name and settings; ensemble is possible"
    )
    utility: str = setting(
        AUTO,
        "utility of a candidate if another one is right: a metric, ngram1 .. ngram4, votes, kernel:EXPR or "
        "feature:NAME; auto = by the columns of the lists",
    )
    temperature: Literal["auto", "inf"] | float = setting(
        "auto", "of the posterior, the softmax of scores / temperature; inf = equal probabilities", ge=0
    )
    tune: Literal["auto", "dev", "folds"] = setting(
        "auto",
        "temperature auto is chosen on the dev lists, or on folds; auto = on dev lists if there are any",
    )
    inner_folds: int = setting(5, "folds of the training lists that temperature auto is chosen on", ge=2)
    seed: int = setting(1, "random seed of the folds, also of the base learner unless it has its own", ge=0)

    def check_values(self) -> None:
        super().check_values()
        if self.utility.startswith(f"{MATRIX}:"):
            text = "a matrix belongs to the lists of one file: use it with predict --decide mbr"
            raise ConfigError(f"learner {self.name}: utility {self.utility}: {text}")
        if self.utility != AUTO:
            utility_of(self.utility)
        unused = [name for name in ("tune", "inner_folds") if name in self.settings_given]
        if unused and self.temperature != "auto":
            raise ConfigError(
                f"learner {self.name}: {unused[0]} is not used with temperature {self.temperature}"
            )

    def _why_no_base(self, base: Learner) -> str:
        if base.needs_unlabelled or base.uses_test_labels:
            return "it adapts to the lists that it ranks"
        return super()._why_no_base(base) or needs_dev(base)

    @property
    def wants_judge(self) -> bool:
        return self.temperature == "auto" or self.base_learner.wants_judge

    @property
    def takes_base_scale(self) -> bool:
        return self.base_learner.takes_base_scale

    @property
    def chooses_on_dev(self) -> bool:
        return self.temperature == "auto" and self.tune != "folds"

    def scaling_of(self, lists: CandidateLists) -> str:  # type: ignore[override]  # it depends on the base
        """Return the scaling that the base learner would have."""
        return self.base_learner.scaling_of(lists)

    def _check(self, lists: CandidateLists, inputs: FitInputs) -> None:
        super()._check(lists, inputs)
        if self.tune == "dev" and inputs.dev is None:
            raise FitError(f"learner {self.name}: tune=dev needs development lists and a metric: give both")

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        base = self.base_learner
        utility = automatic(lists) if self.utility == AUTO else self.utility
        if self.temperature != "auto":
            model = fitted(base, lists, inputs)
            flat = self.temperature in ("inf", np.inf)
            temperature = None if flat else float(self.temperature)
            return self._made(model, Decision(utility=utility, temperature=temperature, flat=flat))
        scores: Floats
        judge: PreparedMetric
        if inputs.dev is not None and self.tune != "folds":
            model = fitted(base, lists, inputs)
            (some, judge), on = inputs.dev, "the dev lists"
            scores = model.score_prepared(some)
        else:
            some, on = lists, f"{self.inner_folds} folds of the training lists"
            judge = label_judge(lists) if inputs.judge is None else inputs.judge
            chosen = folds_of(lists, self.inner_folds, self.seed)
            if isinstance(base, Ensemble):
                model, scores = base.with_held_out(lists, inputs, chosen)
            else:
                model = fitted(base, lists, inputs)
                scores = held_out_scores(base, model, lists, inputs, chosen)
        if not np.isfinite(scores).all():
            raise FitError(f"{lists.source}: learner {base.name}: scores that are not finite")
        found = tuned(some, scores, kept_tables(Pairing.within(some), utility_of(utility)), judge)
        return self._made(model, decision_of(utility, found, on, judge.name))

    def _made(self, base: Model, decision: Decision) -> MbrModel:
        model = MbrModel(base, decision)
        model.training.data, model.training.rounds = base.training.data, base.training.rounds
        return model
