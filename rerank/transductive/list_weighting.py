"""List-level importance weighting: training lists count more the more they look like those to be ranked."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs, Learner
from rerank.learners.meta_learner import MetaLearner
from rerank.learners.rankboost.rankboost import RankBoost
from rerank.models.base import Model
from rerank.models.training import Fact
from rerank.transductive.weighting.lists import ListWeighting, WeighedLists
from rerank.transductive.weighting.pairs import costs_of

_SHOWN = ("likelihood", "q25", "median", "q75", "effective", "zeros", "equal_items", "equal_items_unlabelled")


@LEARNERS.register("list-iw", "list-importance-weighting")
class ListImportanceWeighting(ListWeighting, MetaLearner):
    """The base learner on training lists that are weighted by how much they look like the lists to be ranked.

    KLIEP with a kernel on lists gives each training list one weight for the whole set of unlabelled lists
    (``rerank.transductive.weighting.lists``). Bases take them as list weights. RankBoost takes them as costs
    of AdaCost, which are equal for all pairs of a list (``costs_of``; all pairs are held in memory), or with
    ``use=initial`` as the initial distribution over pairs. The model is the base learner's own. It is one for
    the unlabelled lists: predicting others prints a note.

    In out-of-fold fits the lists that a fold leaves out take the place of the unlabelled lists. If settings
    are chosen on development lists, the weights remain those of the unlabelled lists.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009. Section
    8.4, Algorithms 11 and 12.
    """

    name = "list-iw"
    summary = "a base learner on lists weighted by how much they look like those to be ranked"
    source = "Duh 2009"
    default_scaling = "zscore"
    needs_unlabelled = True

    use: Literal["cost", "initial"] = setting(
        "cost",
        "base=rankboost: costs of pairs in the rounds (AdaCost), or the initial distribution over pairs",
    )
    seed: int = setting(
        1, "seed of the centres and parts, also of the base learner unless it has its own", ge=0
    )

    def check_values(self) -> None:
        super().check_values()
        base = self.base_learner
        if "use" in self.settings_given and self.use != "cost" and not isinstance(base, RankBoost):
            raise ConfigError(f"use is for base=rankboost: learner {base.name} takes the weights of lists")

    def _why_no_base(self, base: Learner) -> str:
        why = super()._why_no_base(base)
        return why or ("" if base.accepts_list_weights else "it accepts no list weights")

    @property
    def wants_judge(self) -> bool:
        return self.base_learner.wants_judge

    @property
    def uses_metric(self) -> bool:
        return self.base_learner.uses_metric

    @property
    def takes_base_scale(self) -> bool:
        return self.base_learner.takes_base_scale

    @property
    def chooses_on_dev(self) -> bool:
        return self.base_learner.chooses_on_dev

    def _check_judgements(self, lists: CandidateLists) -> None:
        self.base_learner._check_judgements(lists)

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        assert inputs.unlabelled is not None  # needs_unlabelled
        base = self.base_learner
        found = self.weigh_lists(lists, inputs.unlabelled, self.seed)
        if isinstance(base, RankBoost) and self.use == "cost":
            model = _with_costs(base, lists, found.weights, replace(inputs, unlabelled=None))
        else:
            model = base.fit(
                lists,
                judge=inputs.judge,
                dev=inputs.dev,
                list_weights=found.weights,
                observer=inputs.observer,
            )
        model.training.notes = model.training.notes | self._notes(found)
        return model

    def _notes(self, found: WeighedLists) -> dict[str, Fact]:
        """What the training record has of the weights."""
        kernel = self.kernel_on_lists
        own = ", ".join(f"{name} {value:g}" for name, value in kernel.get_params().items())
        facts: dict[str, Fact] = {"kernel": f"{kernel.name} ({own})" if own else kernel.name}
        if self.basis == "gaussian":
            facts["width"] = found.figures["width"]
        return facts | {f"weights_{name}": found.figures[name] for name in _SHOWN}


def _with_costs(base: RankBoost, lists: CandidateLists, weights: Floats, inputs: FitInputs) -> Model:
    """RankBoost's model of lists whose weights (n_lists) are costs, equal for all pairs of a list.

    How a pair's weight changes depends on whether it is put right, so that the weights of pairs are no
    products of numbers of their items: all pairs are held.
    """
    presorted = base.presorted(lists, inputs)
    pairs = presorted.pairs
    memory.require(32 * pairs.n_pairs, f"costs of {pairs.n_pairs:,} pairs", "use=initial stores none")
    of_pairs = weights[np.repeat(pairs.lists, pairs.counts)]
    if not of_pairs.any():
        raise FitError(f"{lists.source}: the weight of every list with a pair is 0")
    return base.fit_presorted(presorted, costs=costs_of(of_pairs), inputs=inputs)
