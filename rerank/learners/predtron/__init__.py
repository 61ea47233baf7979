"""Predtron (Jain, Natarajan & Tewari 2015)."""

from __future__ import annotations

from typing import ClassVar

from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs
from rerank.learners.predtron import classes, ranking
from rerank.learners.predtron.settings import PredtronSettings
from rerank.models.base import Model


@LEARNERS.register("predtron")
class Predtron(PredtronSettings):
    """Perceptron for predictions with a loss: rankings of lists, and of examples classes or sets of classes.

    Of lists the loss is 1 - nDCG. Items have scores t = Xw. A ranking s has the unit vector rep(s) with the
    values f(place of item i) / Z, f falling, and the prediction is the ranking with the largest rep(s)·t:
    items by their scores, on ties the one with the smaller label first, so that the order of a file is not
    taken for something learnt. If its loss L is above 0, w moves by -eta X'(rep(s~) - rep(s_y)). s_y is a
    ranking without loss, and s~ the one with the largest L(s) - (rep(s_y) - rep(s))·t, an assignment of items
    to places. With the variant loss-driven s~ is the prediction itself, and the step is multiplied by its
    loss.

    Unjudged items are left out, and so are lists whose judged items all have one gain. Labels of 0 or less
    gain nothing, as in the metrics. List weights multiply the steps of their lists.

    Examples with classes have scores t = Wx + b, a row of W for each class. Their tasks have other
    predictions, unit vectors and losses; updates are the same.

    References
    ----------
    Jain, Natarajan, Tewari: Predtron: a family of online algorithms for general prediction problems. NIPS
    2015.
    """

    name = "predtron"
    summary = "perceptron whose updates follow a loss: of rankings (nDCG), classes, sets of classes"
    source = "Jain, Natarajan & Tewari 2015"
    default_scaling = "zscore"
    iterates = "epochs"
    renamed: ClassVar = {"rounds": "epochs"}
    resumable = True
    accepts_initial = True
    accepts_list_weights = True

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        return (classes.fit if self.reads_classes else ranking.fit)(self, lists, inputs)
