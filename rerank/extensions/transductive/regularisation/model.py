"""The model of score regularisation: another model, whose scores it smooths over a graph of each list."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.records import Record, fact
from rerank.core.types import AnyArray, Floats
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.extensions.transductive.adaptation import tau_b
from rerank.extensions.transductive.adapter import METHOD, packed_json, unpacked_json
from rerank.extensions.transductive.adapting import AdaptingModel, Advance, ShownAsUnadapted
from rerank.extensions.transductive.regularisation.affinity import (
    AUTO,
    affinities,
    check_affinity,
    neighbour_weights,
    regularised,
    require_memory,
)
from rerank.models.adaptation import Adaptation, ListRow
from rerank.models.base import MODELS, Arrays, Model
from rerank.models.embedded_model import PACKED, packed_model, unpacked_model

if TYPE_CHECKING:
    from rerank.extensions.transductive.cache import RankerCache


class Smoothing(Record):
    """Smoothing of scores.

    Attributes
    ----------
    affinity
        A resolved affinity.
    alpha
        From 0, where scores remain as they are, to below 1.
    neighbours
        How many nearest items each item is joined to; None = all.
    """

    affinity: str = fact(max_length=100_000)
    alpha: float = fact(ge=0, lt=1)
    neighbours: int | None = fact(None, ge=1)

    @property
    def text(self) -> str:
        """The choice in words."""
        near = "all items joined" if self.neighbours is None else f"{self.neighbours} neighbours"
        return f"alpha {self.alpha:g}, {near} by {self.affinity}"


@MODELS.register("regularised")
class RegularisedModel(ShownAsUnadapted):
    """Scores of another model, smoothed so that similar items of a list have similar scores.

    The scores of a list depend on its items alone.

    Parameters
    ----------
    feature_names
        The model's columns; none if neither the other model nor the affinity reads features.
    unadapted
        The model whose scores are smoothed.
    smoothing
        How.

    References
    ----------
    Diaz: Regularizing ad hoc retrieval scores. CIKM 2005.
    """

    kind = "regularised"

    def __init__(self, feature_names: list[str], unadapted: Model, smoothing: Smoothing) -> None:
        super().__init__(feature_names)
        if len(unadapted.feature_names) not in (0, len(feature_names)):
            found = f"{len(unadapted.feature_names)} features of the unadapted model"
            raise DataError(f"{found} for {len(feature_names)} of the regularised one")
        self.unadapted, self.smoothing = unadapted, smoothing
        self.absent = unadapted.absent

    def adapt_prepared(
        self, lists: CandidateLists, advance: Advance | None = None, cache: RankerCache | None = None
    ) -> Adaptation:
        assert cache is None  # open_cache refuses
        ready = self.with_factors(lists)
        if self.feature_names:  # the same columns under the same names, for kernels of features
            ready = ready.with_features(ready.features, self.feature_names)
        before = self._finite(ready, self.unadapted.score_prepared(ready))
        require_memory(ready.lengths)
        of_list = affinities(self.smoothing.affinity, ready) if self.smoothing.alpha else None
        scores, rows = before.copy(), []
        for i in range(ready.n_lists):
            started = time.perf_counter()
            items = slice(int(ready.offsets[i]), int(ready.offsets[i + 1]))
            reason, figures = self._why_not(before[items]), dict[str, float]()
            if of_list is not None and not reason:
                weights = neighbour_weights(of_list(i), self.smoothing.neighbours)
                isolated = np.count_nonzero(~weights.any(axis=1))
                figures = {"edges": np.count_nonzero(weights) / 2, "isolated": float(isolated)}
                if isolated < len(weights):
                    scores[items] = regularised(before[items], weights, self.smoothing.alpha)
                else:
                    reason = "no two similar items"
            tau, seconds = tau_b(scores[items], before[items]), time.perf_counter() - started
            size = items.stop - items.start
            rows.append(ListRow(lists.list_id(i), size, not reason, reason, tau, seconds, figures))
            if advance is not None:
                advance(1)
        return Adaptation(self._finite(ready, scores), before, tuple(rows))

    def _why_not(self, scores: Floats) -> str:
        """Return why nothing changes in a list with these scores (n); "" if something may."""
        if self.smoothing.alpha == 0:
            return "alpha is 0"
        if len(scores) == 1:
            return "one item"
        return "equal scores" if (scores == scores[0]).all() else ""

    def _cause(self, lists: CandidateLists, item: int) -> str:
        return self.unadapted._cause(lists, item)

    def arrays(self) -> Arrays:
        own = {"method": packed_json(self.smoothing.as_json()), "unadapted": packed_model(self.unadapted)}
        return own | self.factor_arrays()

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"method": METHOD, "unadapted": PACKED}

    @classmethod
    def optional_members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"factors": ArrayForm("<f8", (n_features,))}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        smoothing = unpacked_json(arrays["method"], Smoothing)
        try:
            check_affinity(smoothing.affinity)
        except ConfigError as error:
            raise DataError(str(error)) from None
        if smoothing.affinity == AUTO:
            raise DataError("affinity: found auto, expected what it stands for")
        unadapted = unpacked_model(arrays["unadapted"], "unadapted")
        if isinstance(unadapted, AdaptingModel):
            raise DataError(f"a model of kind {unadapted.kind} as the unadapted one")
        model = cls(feature_names, unadapted, smoothing)
        model.set_factors(arrays.get("factors"))
        return model

    def described(self) -> dict[str, Any]:
        training = self.unadapted.training
        return {
            "unadapted": {"learner": training.learner, **training.settings},
            "smoothing": self.smoothing.text,
            "weights of": "the unadapted model",
        }

    def training_lines(self) -> list[str]:
        notes = self.training.notes
        line = f"smoothed with {self.smoothing.text}"
        if "choices" in notes:
            line += f" (of {notes['choices']} choices, chosen on {notes['chosen_on']}): {notes['metric']} "
            line += f"{notes['value']:.4f}, unadapted {notes['unadapted']:.4f}"
        return [line, *super().training_lines()]
