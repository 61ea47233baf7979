"""Regression and classification of single items: ridge regression of labels, logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from rerank.core.errors import FitError
from rerank.core.settings import setting
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs
from rerank.learners.penalised import Convex, Penalised
from rerank.learners.sums.classes import ClassItems, ClassLoss
from rerank.learners.sums.judged import ItemFacts, JudgedItems
from rerank.learners.sums.parts import Parts
from rerank.learners.sums.squares import SquareLoss, Squares
from rerank.models.training import DataRecord


@LEARNERS.register("ridge")
class Ridge(Penalised):
    """Least squares of the labels: the sum over judged items of (label - w·x - b)², plus penalty * |w|².

    The intercept b is not penalised. There is one for all items, or with intercept=list one for each list:
    then features and labels count as deviations from their means in the list, and only differences within
    lists are learnt from. Scores are w·x without the intercept, which changes no ranking; ``rerank show``
    prints it in the notes. List weights multiply the squares of their lists. Unjudged items are left out.

    References
    ----------
    Hoerl, Kennard: Ridge regression. Technometrics 12, 1970.
    Cossock, Zhang: Subset ranking using regression. COLT 2006.
    """

    name = "ridge"
    summary = "least squares of the labels with a penalty, item by item"
    source = "Hoerl & Kennard 1970; Cossock & Zhang 2006"

    intercept: Literal["one", "list"] = setting(
        "one", "a constant for all items, or one for each list: only differences within lists count"
    )

    def part(self, lists: CandidateLists, inputs: FitInputs, surveys: Sequence[Any]) -> Squares:
        return Squares(JudgedItems.of(lists, inputs.list_weights), by_list=self.intercept == "list")

    def _problem(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> Convex:
        facts = parts.each(Squares.facts)
        known = ItemFacts.summed(facts)
        by_list = self.intercept == "list"
        if not (known.differ if by_list else known.least < known.largest):
            found = (
                "no list has two different labels"
                if by_list
                else f"every judged item has the label {known.least:g}"
            )
            raise FitError(f"{lists.source}: {found}; learner ridge has nothing to learn from")
        largest = max(abs(known.least), abs(known.largest))
        unit = float(2.0 ** np.floor(np.log2(largest)))
        squares = SquareLoss(parts, [one.weight for one in facts], unit, by_list)
        return Convex(
            loss=squares,
            weight=known.weight,
            data=DataRecord(judged=known.n),
            unit=unit,
            intercept=None if by_list else squares,
        )


@LEARNERS.register("logistic")
class Logistic(Penalised):
    """Classification of items: P(relevant) = 1 / (1 + exp(-w·x - b)).

    The sum over judged items of -log P(what they are) plus penalty * |w|² is minimised. An item is relevant
    if its label is ``relevant`` or larger; smaller differences of labels do not count. The intercept b is not
    penalised. Scores are w·x without it, which changes no ranking; ``rerank show`` prints it in the notes.
    List weights multiply the losses of their lists. Unjudged items are left out.

    References
    ----------
    Gey: Inferring probability of relevance using the method of logistic regression. SIGIR 1994.
    """

    name = "logistic"
    summary = "logistic regression of relevance with a penalty, item by item"
    source = "Gey 1994"

    relevant: float = setting(1.0, "items with this label or a larger one are relevant")

    def part(self, lists: CandidateLists, inputs: FitInputs, surveys: Sequence[Any]) -> ClassItems:
        items = JudgedItems.of(lists, inputs.list_weights)
        return ClassItems(items, (items.labels >= self.relevant).astype(np.float64))

    def _problem(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> Convex:
        facts = parts.each(ClassItems.facts)
        n, right = sum(one.n for one in facts), sum(one.n_right for one in facts)
        if right in (0, n):
            found = f"{'every' if right else 'no'} judged item has a label of {self.relevant:g} or more"
            raise FitError(f"{lists.source}: {found} (relevant): there are no two classes")
        loss = ClassLoss(parts, facts)
        return Convex(loss=loss, weight=loss.weight, data=DataRecord(judged=n), intercept=loss)
