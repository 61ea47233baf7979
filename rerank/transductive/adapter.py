"""What a transductive method makes: an adapter of labelled lists, which makes a ranker for each list."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.models.base import Model


@dataclass(frozen=True, eq=False)
class Adapted:
    """The ranker made for one list.

    Attributes
    ----------
    model
        It scores lists with the columns of the labelled lists. None = the unadapted model ranks this list.
    reason
        Why there is none, such as "one item".
    diagnostics
        Figures of the method by name, the same names for every list; NaN = unknown for this one.
    scores
        float64 (n_items): the scores of the list itself by other lists' rankers, in place of a ranker.
    origin
        With a cache of rankers: made, reused, or whose rankers are used.
    """

    model: Model | None
    reason: str = ""
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    scores: Floats | None = None
    origin: str = ""

    def scored(self, one: CandidateLists) -> Floats | None:
        """Return the scores of the list, float64 (n_items); None if the unadapted model ranks it."""
        if self.scores is not None or self.model is None:
            return self.scores
        return self.model.score_prepared(one)


class Adapter(ABC):
    """A method prepared for labelled lists: it holds what all lists to be ranked share."""

    @abstractmethod
    def adapt(self, one: CandidateLists, rng: np.random.Generator) -> Adapted:
        """Return the ranker of one list.

        Parameters
        ----------
        one
            A single list with the columns of the labelled lists, scaled as they are. It has no labels,
            unless the method uses test labels.
        rng
            Seeded by the method's seed and the features of the list: neither the order nor the company of
            lists changes what is drawn.
        """
