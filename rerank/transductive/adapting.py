"""What models have in common that adapt to the lists that they score."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from rerank.data.lists import CandidateLists
from rerank.data.types import Floats
from rerank.errors import ConfigError
from rerank.models.base import Model
from rerank.transductive.adaptation import Adaptation
from rerank.transductive.cache.descriptors import By
from rerank.transductive.cache.store import RankerCache

CHEATING = "CHEATING"  # the mark of what reads the labels of the lists to be ranked

Advance = Callable[[int], None]


class AdaptingModel(Model):
    """Base of models that make rankers for the lists that they score, without the labels of these lists."""

    @property
    @abstractmethod
    def cheats(self) -> bool:
        """Whether it uses the labels of the lists that it ranks: a control, marked CHEATING everywhere."""

    @abstractmethod
    def adapt_prepared(
        self, lists: CandidateLists, advance: Advance | None = None, cache: RankerCache | None = None
    ) -> Adaptation:
        """Return the scores of lists with the model's columns, scaled, in the order of their items.

        Base scores are not added. Lists are spread over the workers of ``rerank.parallel``. Raises DataError
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
        return Adaptation(lists.input_order(scores), lists.input_order(unadapted), found.rows, found.facts)

    def score_aligned(self, lists: CandidateLists) -> Floats:
        return self.adapt_prepared(lists).scores

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
        raise ConfigError(
            f"--cache: not used by a model of kind {self.kind}, which makes no ranker of a list"
        )
