"""Base class of models that adapt to the lists that they score."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.models.base import Arrays, Model, multiplied

if TYPE_CHECKING:
    from rerank.extensions.transductive.cache import RankerCache
    from rerank.extensions.transductive.cache_entries import By
    from rerank.models.adaptation import Adaptation

Advance = Callable[[int], None]


class AdaptingModel(Model):
    """Base of models that make rankers for the lists that they score, without the labels of these lists.

    Attributes
    ----------
    factors
        What each column is multiplied by before it is adapted to, float64 (n_features); None = nothing. The
        training lists that the model holds are so multiplied already.
    """

    factors: Floats | None = None
    listwise = adapts = True

    @property
    def jointly(self) -> bool:
        """Return whether the scores of a list depend on the other lists that are scored with it."""
        return False

    @abstractmethod
    def adapt_prepared(
        self, lists: CandidateLists, advance: Advance | None = None, cache: RankerCache | None = None
    ) -> Adaptation:
        """Return the scores of lists with the model's columns, scaled, in the order of their items.

        Base scores are not added. Lists are spread over the workers of ``parallel``. Raises DataError
        if a score is not finite.
        """

    def adapt(
        self,
        lists: CandidateLists,
        *,
        strict: bool = False,
        advance: Advance | None = None,
        cache: RankerCache | None = None,
    ) -> Adaptation:
        """Return the scores of lists, in the order of the caller's rows, and what happened to each list.

        Parameters
        ----------
        lists, strict
            As for ``score``, whose scores these are.
        advance
            Called with the number of lists that have just been done.
        cache
            Rankers of earlier lists, as ``open_cache`` returns them.

        Raises
        ------
        DataError
            As for ``score``.
        """
        ready = self.prepared(lists, strict=strict)
        found = self.adapt_prepared(ready, advance, cache)
        scores = self.with_keep_margin(lists, self._finite(ready, self.with_base(ready, found.scores)))
        unadapted = self.with_keep_margin(lists, self.with_base(ready, found.unadapted))
        return replace(found, scores=lists.input_order(scores), unadapted=lists.input_order(unadapted))

    def score_aligned(self, lists: CandidateLists) -> Floats:
        return self.adapt_prepared(lists).scores

    def multiply_weight(self, column: int, factor: float) -> None:
        factors = np.ones(len(self.feature_names)) if self.factors is None else self.factors
        self.factors = multiplied(factors, column, factor)

    def factor_arrays(self) -> Arrays:
        """Return the array of a model file that holds the factors, if there are some."""
        return {} if self.factors is None else {"factors": self.factors}

    def set_factors(self, factors: Floats | None) -> None:
        """Set the factors of a model file, float64 (n_features) or None; DataError if one is not finite."""
        if factors is not None and not np.isfinite(factors).all():
            raise DataError("a factor that is not finite")
        self.factors = factors

    def with_factors(self, lists: CandidateLists) -> CandidateLists:
        """Return prepared lists with the columns multiplied that the training lists have multiplied."""
        if self.factors is None:
            return lists
        features = lists.features
        for column in np.flatnonzero(self.factors != 1).tolist():
            features = features.multiplied(column, float(self.factors[column]))
        return lists.with_values(features, "multiplying the base score")

    def open_cache(self, folder: str, nearest: int | None = None, by: By = "list-kernel") -> RankerCache:
        """Return this model's cache of rankers; see ``RankerCache``.

        Parameters
        ----------
        folder
            Where the rankers are, or will be.
        nearest
            Rank new lists by the rankers of so many stored lists; None = make their rankers.
        by
            How near lists are: by the list kernel, or by the histograms of their features.

        Raises
        ------
        ConfigError
            If the model makes no ranker of a list alone, or rankers that depend on labels of a list.
        DataError, RerankError
            If the folder cannot be used, holds the rankers of another model, or fewer than ``nearest``.
        """
        return super().open_cache(folder)


class ShownAsUnadapted(AdaptingModel):
    """Base of models that ``rerank show`` prints as the model of lists that are not adapted to."""

    unadapted: Model

    def explain(self) -> list[tuple[str, float]]:
        return self.unadapted.explain()

    def remarks(self) -> dict[str, str]:
        return self.unadapted.remarks()

    def step_shares(self) -> list[tuple[str, float]]:
        return self.unadapted.step_shares()

    def n_weighted(self) -> int:
        return self.unadapted.n_weighted()
