"""Score regularisation: a base learner whose scores are smoothed over a graph of the list's own items."""

from __future__ import annotations

import itertools
import math
from typing import Literal

import numpy as np

from rerank.core.errors import FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.columns.offsets import places_of
from rerank.data.folds import folds
from rerank.data.judge import PreparedMetric, label_judge, value_of
from rerank.data.lists import CandidateLists
from rerank.data.overlap import copy_groups
from rerank.data.pairs import PairRelation, make_pairs
from rerank.extensions.transductive.regularisation.affinity import (
    affinities,
    check_affinity,
    compares_features,
    neighbour_weights,
    regularised,
    require_memory,
    resolved_affinity,
)
from rerank.extensions.transductive.regularisation.model import RegularisedModel, Smoothing
from rerank.learners.base import LEARNERS, FitInputs, Learner
from rerank.learners.meta_learner import Base, MetaLearner
from rerank.models.base import Model

ALPHAS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)
NEIGHBOURS = (3, 5, 10, 20, None)


@LEARNERS.register("score-regularisation", "score-regularization")
class ScoreRegularisation(MetaLearner):
    """A base learner whose scores are smoothed, so that similar items of a list get similar scores.

    Each item of a list is joined to its nearest ones. With the normalised affinities S of these edges, the
    standardised scores z of the base become the solution of (I - alpha S) z* = (1 - alpha) z. No label of the
    list is used, and no other list.

    ``auto`` chooses alpha from 0, .1, .25, .5, .75 and .9, and the neighbours from 3, 5, 10, 20 and all, by
    the metric: on the development lists, or without them on out-of-fold scores of the training lists. With
    alpha = 0 the scores are those of the base. On ties the smallest alpha, then the fewest neighbours win.
    Without dev lists and two training lists with different labels nothing can be chosen, and alpha is 0.
    Without a metric label@1 chooses.

    References
    ----------
    Diaz: Regularizing ad hoc retrieval scores. CIKM 2005.
    """

    name = "score-regularisation"
    summary = "a base learner whose scores are smoothed over similar items of a list"
    source = "Diaz 2005"
    accepts_trees = True
    default_scaling = "zscore"

    base: Base = setting(
        "ranksvm", "learner of the scores: a name, or its name and settings; base.C is one of them"
    )
    affinity: str = setting(
        "auto",
        "similarity of items: texts (tf-idf cosine), features (Gaussian of the median width), a kernel on "
        "items such as ptk(passage), or auto: texts if there are some, else features, else trees",
    )
    alpha: Literal["auto"] | float = setting(
        "auto", "amount of smoothing, from 0 (none) to below 1; auto = selected by the metric", ge=0, lt=1
    )
    neighbours: Literal["auto", "all"] | int = setting(
        "auto", "nearest items that each item is joined to; auto = selected by the metric", ge=1
    )
    folds: int = setting(
        5,
        "number of cross-validation folds for auto without development lists, at most one for each list",
        ge=2,
    )
    seed: int = setting(1, "random seed of the folds, also of the base learner unless it has its own", ge=0)

    def check_values(self) -> None:
        super().check_values()
        check_affinity(self.affinity)

    @property
    def _tunes(self) -> bool:
        """Return whether alpha or the neighbours are chosen; with alpha = 0 neighbours do not matter."""
        return self.alpha == "auto" or (self.neighbours == "auto" and self.alpha != 0)

    @property
    def wants_judge(self) -> bool:
        return self._tunes or self.base_learner.wants_judge

    @property
    def uses_metric(self) -> bool:
        return self._tunes or self.base_learner.uses_metric

    @property
    def takes_base_scale(self) -> bool:
        return self.base_learner.takes_base_scale

    @property
    def chooses_on_dev(self) -> bool:
        return self._tunes or self.base_learner.chooses_on_dev

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        affinity = resolved_affinity(self.affinity, lists)
        unadapted = self.base_learner.fit(lists, judge=inputs.judge, dev=inputs.dev)
        unadapted.training.learner = self.base_learner.name
        unadapted.training.settings = self.base_learner.get_params()
        reads = bool(unadapted.feature_names) or compares_features(affinity)
        names = lists.names() if reads else []
        every = self._choices(affinity)
        if len(every) == 1:
            model = RegularisedModel(names, unadapted, every[0])
        else:
            model = self._chosen(lists, inputs, unadapted, names, every)
        model.training.data = unadapted.training.data
        return model

    def _choices(self, affinity: str) -> list[Smoothing]:
        """Every smoothing to choose from, those that win ties first; alpha = 0 needs no neighbours."""
        alphas = ALPHAS if isinstance(self.alpha, str) else (self.alpha,)
        near: tuple[int | None, ...] = NEIGHBOURS
        if not isinstance(self.neighbours, str):
            near = (self.neighbours,)
        elif self.neighbours == "all":
            near = (None,)
        some = [Smoothing(affinity=affinity, alpha=0.0, neighbours=near[0])] if 0 in alphas else []
        pairs = itertools.product(filter(None, alphas), near)
        return some + [Smoothing(affinity=affinity, alpha=a, neighbours=k) for a, k in pairs]

    def _chosen(
        self,
        lists: CandidateLists,
        inputs: FitInputs,
        unadapted: Model,
        names: list[str],
        every: list[Smoothing],
    ) -> RegularisedModel:
        """The model with the best choice; the record says what it was chosen by."""
        if inputs.dev is not None:
            (some, judge), where = inputs.dev, "dev"
            scores = unadapted.score_prepared(some)
        else:
            some, judge = lists, inputs.judge or label_judge(lists)
            scores, where = self._out_of_fold(lists, unadapted)
        if not where:
            every, where = every[:1], "nothing, as fewer than two lists have different labels"
        values = values_of(every, some, scores, judge)
        if np.isnan(values).all():
            raise FitError(f"learner {self.name}: {judge.name} has no value on {some.source}")
        best = int(np.nanargmax(judge.better * values))
        model = RegularisedModel(names, unadapted, every[best])
        model.training.notes = {
            "alpha": every[best].alpha,
            "neighbours": every[best].neighbours or "all",
            "choices": len(every),
            "chosen_on": where,
            "metric": judge.name,
            "value": float(values[best]),
            "unadapted": value_of(judge, scores),
        }
        return model

    def _out_of_fold(self, lists: CandidateLists, unadapted: Model) -> tuple[Floats, str]:
        """Scores of the training lists by models of other folds, and what they are ("" without two folds).

        Copies of a list stay together; there are no more folds than different lists. Lists without two
        different labels teach nothing about the order of items: they are scored by the unadapted model.
        """
        base = self.base_learner
        if base.wants_judge or base.chooses_on_dev:
            raise FitError(
                f"learner {self.name}: base {base.name} needs a metric or development lists itself, so that "
                "auto needs development lists (--dev, --metric)"
            )
        scores = unadapted.score_prepared(lists)
        mixed = make_pairs(lists, PairRelation("all")).lists
        groups = np.array(copy_groups(lists))[mixed].tolist()
        k = min(self.folds, len(set(groups)))
        if k < 2:
            return scores, ""
        for part in folds(len(mixed), k, self.seed, key=groups if len(set(groups)) < len(mixed) else None):
            test = mixed[part.test]
            model = base.fit(lists.subset(np.setdiff1d(np.arange(lists.n_lists), test)))
            scores[places_of(lists.offsets, test)[0]] = model.score_prepared(lists.subset(test))
        return scores, f"out-of-fold scores of {k} folds"

    def _why_no_base(self, base: Learner) -> str:
        why = super()._why_no_base(base)
        return why or ("it needs the lists to be ranked" if base.needs_unlabelled else "")


def values_of(
    choices: list[Smoothing], lists: CandidateLists, scores: Floats, judge: PreparedMetric
) -> Floats:
    """Return the metric of each way to smooth scores, float64 (n_choices).

    Parameters
    ----------
    choices
        With the same affinity.
    lists
        As the base learner sees them.
    scores : float64 (n_items)
        Of the base.
    judge
        Prepared for the lists.
    """
    require_memory(lists.lengths)
    out = np.tile(scores, (len(choices), 1))
    of_list = affinities(choices[0].affinity, lists)
    near = list(dict.fromkeys(one.neighbours for one in choices))
    for i in range(lists.n_lists):
        items = slice(int(lists.offsets[i]), int(lists.offsets[i + 1]))
        if items.stop - items.start == 1:
            continue
        found = of_list(i)
        graphs = {k: neighbour_weights(found, k) for k in near}
        for row, one in zip(out, choices, strict=True):
            row[items] = regularised(scores[items], graphs[one.neighbours], one.alpha)
    return np.array([value_of(judge, row) if np.isfinite(row).all() else math.nan for row in out])
