"""The model of a transductive method: it adapts to each list that it scores."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np

from rerank.core.errors import ConfigError, DataError, FitError
from rerank.core.types import AnyArray
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.models.base import MODELS, ORACLE, Arrays, Model
from rerank.models.classes import ClassesModel
from rerank.models.embedded_model import PACKED, packed_model, unpacked_model
from rerank.transductive.adaptation import Adaptation, ListRow, joined, tau_b
from rerank.transductive.adapter import Adapted, Adapter
from rerank.transductive.adapting import AdaptingModel, Advance
from rerank.transductive.cache.descriptors import By
from rerank.transductive.cache.entries import digest_of_model
from rerank.transductive.cache.store import RankerCache
from rerank.transductive.labelled import (
    generator,
    labelled_arrays,
    labelled_members,
    labelled_of,
    single,
)
from rerank.transductive.method import METHOD, Method, packed_method, unpacked_method
from rerank.transductive.spreading import spread

_OWN = {"method", "unadapted", "factors"}


@MODELS.register("transductive")
class TransductiveModel(AdaptingModel):
    """Scores each list by a ranker made for it alone, from labelled lists and from its unlabelled items.

    The score of an item depends on the other items of its list, never on other lists, their order or the
    number of workers (``parallel.using``). Worker processes use one thread of BLAS. A single job runs
    in this process with as many threads as the environment gives BLAS; sums over many rows may then have
    other last bits than with one thread (OPENBLAS_NUM_THREADS=1 makes them equal).

    Parameters
    ----------
    labelled
        The labelled lists as ``data.bare.without_labels`` returns them, scaled.
    method
        What makes rankers, with its settings.
    unadapted
        The base learner's model of the labelled lists.
    threshold
        Below this tau-b of both rankings the unadapted one is kept; None = never.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, chapter 4.
    """

    kind = "transductive"

    def __init__(
        self,
        labelled: CandidateLists,
        method: Method,
        unadapted: Model,
        threshold: float | None = None,
    ) -> None:
        super().__init__(labelled.names())
        if len(unadapted.feature_names) != labelled.n_features:
            found = f"{len(unadapted.feature_names)} features of the unadapted model"
            raise DataError(f"{found} for {labelled.n_features} of the labelled lists")
        self.labelled, self.method, self.unadapted, self.threshold = labelled, method, unadapted, threshold
        self.absent = unadapted.absent
        self._adapter: Adapter | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what goes to other processes: an adapter is made there."""
        return self.__dict__ | {"_adapter": None}

    @property
    def uses_test_labels(self) -> bool:
        return self.method.uses_test_labels

    @property
    def adapter(self) -> Adapter:
        """The method prepared for the labelled lists, made when it is first used."""
        if self._adapter is None:
            self._adapter = self.method.adapter(self.labelled)
        return self._adapter

    def ranker(self, lists: CandidateLists, i: int) -> Adapted:
        """Return the ranker that the method makes for list ``i``, also if the model would abstain from it.

        The ranker scores lists as ``prepared`` returns them.
        """
        return self._adapted(
            single(self.with_factors(self.prepared(lists)), i, labels=self.method.uses_test_labels)
        )

    def open_cache(self, folder: str, nearest: int | None = None, by: By = "list-kernel") -> RankerCache:
        if self.uses_test_labels:
            found = "a model whose rankers depend on the labels of a list"
            raise ConfigError(f"--cache: found {found} ({ORACLE}), expected one that uses no test labels")
        settings = {name: value for name, value in self.method.get_params().items() if name != "abstain"}
        text = json.dumps([self.method.name, settings], sort_keys=True)
        digest = digest_of_model(self, text)
        return RankerCache.open(folder, digest, len(self.feature_names), nearest, by)

    def adapt_prepared(
        self, lists: CandidateLists, advance: Advance | None = None, cache: RankerCache | None = None
    ) -> Adaptation:
        ready = self.with_factors(lists)
        found = spread(self, ready, advance, cache)
        if cache is not None:
            cache.finish()
        self._finite(ready, found.scores)
        return found

    def adapt_part(
        self,
        lists: CandidateLists,
        first: int,
        last: int,
        advance: Advance | None = None,
        cache: RankerCache | None = None,
    ) -> Adaptation:
        """Return the adaptation to lists ``first`` to ``last`` - 1, one after the other, in this process.

        The lists are as for ``adapt_prepared``, with columns multiplied. Raises DataError or FitError with
        the list that cannot be adapted to.
        """
        found = []
        for i in range(first, last):
            try:
                found.append(self._ranked(lists, i, cache))
            except (DataError, FitError) as error:
                kind = FitError if isinstance(error, FitError) else DataError
                raise kind(f"{lists.source}: list {lists.list_id(i)!r}: {error}") from None
            if advance is not None:
                advance(1)
        return joined(found)

    def _ranked(self, lists: CandidateLists, i: int, cache: RankerCache | None) -> Adaptation:
        """The adaptation to list ``i``."""
        started = time.perf_counter()
        one = single(lists, i, labels=self.method.uses_test_labels)
        before = self.unadapted.score_prepared(one)
        found = self._adapted(one) if cache is None else cache.adapted(one, partial(self._adapted, one))
        scores, tau, reason = before, 1.0, found.reason or "no ranker"
        own = found.scored(one)
        if own is not None:
            tau = tau_b(own, before)
            if self.threshold is not None and tau < self.threshold:
                reason = f"tau below {self.threshold:.6g}"
            else:
                scores, reason = own, ""
        seconds = time.perf_counter() - started
        name, size = lists.list_id(i), one.n_items
        row = ListRow(name, size, not reason, reason, tau, seconds, found.diagnostics, found.origin)
        return Adaptation(scores, before, (row,))

    def _adapted(self, one: CandidateLists) -> Adapted:
        """The ranker of a single list."""
        return self.adapter.adapt(one, generator(one, self.method.seed))

    def _cause(self, lists: CandidateLists, item: int) -> str:
        if np.isfinite(self.unadapted.score_prepared(lists)[item]):
            return "the ranker that was made for its list gives no number"
        return self.unadapted._cause(lists, item)

    def arrays(self) -> Arrays:
        own = {
            "method": packed_method(self.method, self.threshold),
            "unadapted": packed_model(self.unadapted),
        }
        if self.factors is not None:
            own["factors"] = self.factors  # type: ignore[assignment]
        return {**own, **labelled_arrays(self.labelled)}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"method": METHOD, "unadapted": PACKED, **labelled_members(n_features)[0]}

    @classmethod
    def optional_members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"factors": ArrayForm("<f8", (n_features,)), **labelled_members(n_features)[1]}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        method, threshold = unpacked_method(arrays["method"])
        of_lists = {name: array for name, array in arrays.items() if name not in _OWN}
        unadapted = unpacked_model(arrays["unadapted"], "unadapted")
        if isinstance(unadapted, TransductiveModel | ClassesModel):
            raise DataError(f"a model of kind {unadapted.kind} as the unadapted one")
        model = cls(labelled_of(of_lists, feature_names), method, unadapted, threshold)
        model.set_factors(arrays.get("factors"))
        return model

    def described(self) -> dict[str, Any]:
        lists, training = self.labelled, self.unadapted.training
        sizes = {"lists": lists.n_lists, "items": lists.n_items, "features": lists.features.describe()}
        facts = {
            "labelled": sizes,
            "unadapted": {"learner": training.learner, **training.settings},
            **({} if self.threshold is None else {"abstains": {"below tau": self.threshold}}),
            "weights of": "the unadapted model",
        }
        return (
            {ORACLE: "uses the labels of the lists that it ranks", **facts}
            if self.uses_test_labels
            else facts
        )

    def explain(self) -> list[tuple[str, float]]:
        """Return the weights of the unadapted model."""
        return self.unadapted.explain()

    def remarks(self) -> dict[str, str]:
        """Return the remarks of the unadapted model."""
        return self.unadapted.remarks()

    def step_shares(self) -> list[tuple[str, float]]:
        """Return the shares of the unadapted model."""
        return self.unadapted.step_shares()

    def n_weighted(self) -> int:
        """Return how many features have a weight in the unadapted model."""
        return self.unadapted.n_weighted()
