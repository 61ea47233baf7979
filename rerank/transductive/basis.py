"""The base learner on labelled lists, fitted many times with further columns or weights of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Concordance, PairRelation, Pairs, make_pairs
from rerank.learners.base import Learner
from rerank.learners.rankboost.rankboost import RankBoost, check_columns
from rerank.models.base import Model


class Basis:
    """A learner and labelled lists, prepared for many fits.

    RankBoost's pairs and the weak rankers of the lists' own features are made once; a fit makes those of
    the further columns. Any other learner is fitted to lists with the further columns.

    Parameters
    ----------
    learner
        The base learner.
    lists
        Lists with labels.

    Attributes
    ----------
    presorted : Presorted or None
        What RankBoost's fits share; None for other learners.

    Raises
    ------
    FitError
        If RankBoost cannot be fitted to the lists, or needs more inputs.
    """

    def __init__(self, learner: Learner, lists: CandidateLists) -> None:
        self.learner, self.lists = learner, lists
        self.presorted = learner.presorted(lists) if isinstance(learner, RankBoost) else None

    def fit(
        self,
        columns: Floats | None = None,
        names: Sequence[str] = (),
        *,
        pair_weights: Floats | None = None,
        costs: Floats | None = None,
    ) -> Model:
        """Return the model that ``learner.fit`` returns of the lists with further columns, to the bit.

        Parameters
        ----------
        columns : float64 (n_items, n), optional
            Further features of the items of the lists, rounded to the type of the lists' features.
        names
            Their names (n), which the lists do not have.
        pair_weights : float64 (n_pairs), optional
            RankBoost: the initial weights of ``pairs`` in the order of ``Pairs.explicit``.
        costs : float64 (2, n_pairs), optional
            AdaCost: what multiplies the change of the weight of a pair in a round that puts it right, and in
            one that puts it wrong. See ``ExplicitPairs`` for the choice of weak rankers and steps.

        Raises
        ------
        DataError
            If the columns do not fit the lists.
        FitError
            If the learner cannot be fitted, or does not accept one of the inputs.
        """
        if columns is None:
            columns = np.empty((self.lists.n_items, 0))
        if isinstance(self.learner, RankBoost) and self.presorted is not None:
            found = self.presorted.with_columns(columns, names)
            return self.learner.fit_presorted(found, pair_weights=pair_weights, costs=costs)
        if costs is not None:
            raise FitError(f"learner {self.learner.name} accepts no costs of pairs; rankboost does")
        check_columns(self.lists, columns, names)
        lists = self.lists
        if len(names):
            lists = lists.with_added(dict(zip(names, columns.T, strict=True)))
        return self.learner.fit(lists, pair_weights=pair_weights)

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs of the lists: those that RankBoost learns from, for other learners all."""
        if self.presorted is not None:
            return self.presorted.pairs
        return make_pairs(self.lists, PairRelation("all"))

    def accuracy(self, scores: Floats) -> float:
        """Return the share of the lists' pairs of different labels that scores put right, a tie one half.

        Parameters
        ----------
        scores : float64 (n_items)

        Returns
        -------
        float
            NaN if no list has a pair.
        """
        return self._concordance.accuracy(scores)

    @cached_property
    def _concordance(self) -> Concordance:
        assert self.lists.labels is not None
        return Concordance(self.lists.labels, self.lists.offsets)
