"""The learner of ranker propagation: a ranker for each training list, and one for all."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats, Ints
from rerank.data.judge import label_judge
from rerank.data.lists import CandidateLists, without_labels
from rerank.learners.base import LEARNERS, FitInputs
from rerank.learners.ranksvm import RankSVM
from rerank.models.base import Model
from rerank.models.linear import LinearModel
from rerank.transductive.propagation.model import PropagationModel
from rerank.transductive.propagation.nearest_rankers import with_propagated
from rerank.transductive.propagation.nodes import Nodes
from rerank.transductive.propagation.rankers import linear_weights, list_rankers, normalised
from rerank.transductive.propagation.settings import PropagationSettings


@LEARNERS.register("propagate", "ranker-propagation")
class Propagate(PropagationSettings):
    """A linear ranker for each training list, propagated to the lists to be ranked.

    Lists are nodes of a graph, which has edges between neighbours by a kernel on lists. The rankers of lists
    without labels minimise the sum over edges of K_ij |w_i - w_j|^2, with the rankers of training lists
    given: each is the mean of its neighbours' rankers, weighted by similarity. A training list without two
    different labels trains no ranker, and is a node as the lists to be ranked are. A list that no trained
    ranker reaches is ranked by the mean of them.

    The scores of a list depend on the other lists that are scored with it: give predict all lists at once.
    With form=inductive they do not: a list is ranked by the merged rankings of the rankers of its nearest
    training lists. Unlabelled lists (--unlabelled) then join these, with rankers that are propagated to them.

    A base learner that optimises a metric gets the mean label of the chosen items of a list for its ranker,
    as metrics of a corpus are not defined for one list. The ranker of all lists gets the metric that is
    given.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, sections
    8.5 and 9.3.4.
    """

    name = "propagate"
    summary = "a ranker for each training list, carried over to lists that are like it"
    source = "Duh 2009"
    default_scaling: ClassVar[str] = "zscore"
    accepts_unlabelled: ClassVar[bool] = True

    @property
    def uses_metric(self) -> bool:
        return self.base_learner.needs_judge or getattr(self.base_learner, "keep", "last") == "train"

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        labelled = without_labels(lists, labels=True)
        of_all = self._of_all(labelled, inputs)
        dropped = self._dropped(labelled)
        found = list_rankers(self.base_learner, labelled, self.normalise)
        if not found.trained.any():
            reasons = ", ".join(dict.fromkeys(found.reasons))
            raise FitError(f"{lists.source}: no list trains a ranker ({reasons})")
        nodes = Nodes(without_labels(lists, labels=False), found.weights, found.reasons)
        if self.control == "none" and self.form == "inductive":
            nodes = with_propagated(nodes.with_unlabelled(inputs.unlabelled), self, dropped)
        model = PropagationModel(nodes, self, of_all, dropped)
        model.training.data = of_all.training.data
        return model

    def _check(self, lists: CandidateLists, inputs: FitInputs) -> None:
        super()._check(lists, inputs)
        if inputs.unlabelled is not None and (self.control != "none" or self.form != "inductive"):
            found = f"form={self.form}" if self.control == "none" else f"control={self.control}"
            text = (
                "unlabelled lists are for form=inductive; the transductive form uses all lists that it ranks"
            )
            raise FitError(f"learner {self.name}: found {found}, but {text}")

    def _of_all(self, labelled: CandidateLists, inputs: FitInputs) -> LinearModel:
        """The base learner's model of all lists, normalised."""
        base = self.base_learner
        judge = inputs.judge
        if judge is None and (base.needs_judge or getattr(base, "keep", "last") == "train"):
            judge = label_judge(labelled)
        found = base.fit(labelled, judge=judge)
        weights = normalised(linear_weights(base, found), self.normalise)
        model = LinearModel(found.feature_names, weights)
        model.training = found.training
        model.training.learner, model.training.settings = base.name, base.get_params()
        return model

    def _dropped(self, labelled: CandidateLists) -> Ints:
        """The features that the kernel does not read: those with small weights in a ranking SVM."""
        if not self.drop_below:
            return np.empty(0, dtype=np.int32)
        found = RankSVM().fit(labelled)
        assert isinstance(found, LinearModel)
        sizes: Floats = np.abs(found.weights)
        if (sizes < self.drop_below).all():
            raise FitError(
                f"{labelled.source}: drop_below={self.drop_below:g} leaves no feature to the kernel: the "
                f"largest weight is {sizes.max():g}"
            )
        return np.flatnonzero(sizes < self.drop_below).astype(np.int32)
