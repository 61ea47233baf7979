"""The model of a transductive method: it adapts to each list that it scores."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np

from rerank.core.errors import ConfigError, DataError, FitError
from rerank.core.types import AnyArray
from rerank.core.workers import parallel
from rerank.core.workers.pool import Note, capture_warnings
from rerank.data.lists import CandidateLists, without_labels
from rerank.data.npy import ArrayForm
from rerank.extensions.transductive.adaptation import joined, tau_b
from rerank.extensions.transductive.adapter import (
    METHOD,
    Adapted,
    Adapter,
    Method,
    packed_method,
    unpacked_method,
)
from rerank.extensions.transductive.adapting import Advance, ShownAsUnadapted
from rerank.extensions.transductive.cache import RankerCache
from rerank.extensions.transductive.cache_entries import By, digest_of_model
from rerank.extensions.transductive.lists import (
    generator,
    in_chunks,
    labelled_arrays,
    labelled_members,
    labelled_of,
    single,
)
from rerank.models.adaptation import Adaptation, ListRow
from rerank.models.base import MODELS, ORACLE, Arrays, Model
from rerank.models.classes import ClassesModel
from rerank.models.embedded_model import PACKED, packed_model, unpacked_model

_OWN = {"method", "unadapted", "factors"}


@MODELS.register("transductive")
class TransductiveModel(ShownAsUnadapted):
    """Scores each list by a ranker made for it alone, from labelled lists and from its unlabelled items.

    The score of an item depends on the other items of its list, never on other lists, their order or the
    number of workers (``parallel.using``). Worker processes use one thread of BLAS. A single job runs
    in this process with as many threads as the environment gives BLAS; sums over many rows may then have
    other last bits than with one thread (OPENBLAS_NUM_THREADS=1 makes them equal).

    Parameters
    ----------
    labelled
        The labelled lists as ``data.features_only.without_labels`` returns them, scaled.
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
        self, labelled: CandidateLists, method: Method, unadapted: Model, threshold: float | None = None
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
        alone = parallel.jobs() == 1 and not parallel.remote()
        # Workers see no more than the method does.
        given = self, ready if alone else without_labels(ready, labels=self.uses_test_labels), cache
        heard: list[Note] = []
        try:
            with capture_warnings() as heard:
                found = joined(list(in_chunks(_adapted_part, given, ready.n_lists, advance)))
        finally:
            for text, category, file, line in dict.fromkeys(heard):  # each note once, of however many lists
                warnings.warn_explicit(text, category, file, line)
        if cache is not None:
            cache.finish()
        self._finite(ready, found.scores)
        return found

    def ranked(self, lists: CandidateLists, i: int, cache: RankerCache | None) -> Adaptation:
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
        return self.adapter.adapt(one, generator(one, self.method.seed))

    def _cause(self, lists: CandidateLists, item: int) -> str:
        if np.isfinite(self.unadapted.score_prepared(lists)[item]):
            return "the ranker that was made for its list gives no number"
        return self.unadapted._cause(lists, item)

    def arrays(self) -> Arrays:
        method, unadapted = packed_method(self.method, self.threshold), packed_model(self.unadapted)
        own: Arrays = {"method": method, "unadapted": unadapted}
        return own | self.factor_arrays() | labelled_arrays(self.labelled)

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
        mark = {ORACLE: "uses the labels of the lists that it ranks"} if self.uses_test_labels else {}
        return mark | facts


def _adapted_part(
    model: TransductiveModel,
    lists: CandidateLists,
    cache: RankerCache | None,
    first: int,
    last: int,
    advance: Advance | None,
) -> Adaptation:
    """Adapt to the lists ``first`` to ``last`` - 1 in a worker, one after the other."""
    found = []
    for i in range(first, last):
        try:
            found.append(model.ranked(lists, i, cache))
        except (DataError, FitError) as error:
            kind = FitError if isinstance(error, FitError) else DataError
            raise kind(f"{lists.source}: list {lists.list_id(i)!r}: {error}") from None
        if advance is not None:
            advance(1)
    return joined(found)
