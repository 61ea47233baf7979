"""Lists as transductive methods see them, and labelled lists as arrays of a model file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import AnyArray
from rerank.core.workers import parallel
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Mixed, Sparse
from rerank.data.npy import ArrayForm
from rerank.extensions.transductive.adapting import Advance

_SOURCE = "labelled lists"
_CHUNKS = 8  # of lists for each worker, so that none waits long for the last one
T = TypeVar("T")


def single(lists: CandidateLists, i: int, *, labels: bool) -> CandidateLists:
    """Return list ``i`` alone, as ``data.features_only.without_labels`` returns lists."""
    items = slice(int(lists.offsets[i]), int(lists.offsets[i + 1]))

    def part(values: AnyArray | None) -> AnyArray | None:
        return None if values is None else np.ascontiguousarray(values[items])

    ids = lists.list_ids
    return CandidateLists(
        np.array([0, items.stop - items.start]),
        lists.features.take(items),
        labels=part(lists.labels) if labels else None,
        base_scores=part(lists.base_scores),
        list_ids=StringColumn.from_strings([str(i + 1)]) if ids is None else ids.take(np.array([i])),
        feature_names=lists.feature_names,
        source=lists.source,
    )


def generator(one: CandidateLists, seed: int) -> np.random.Generator:
    """Return the random numbers of a list: by the seed and its features, whatever their layout."""
    rows = one.features.compressed()
    data = np.ones(rows.n_values) if rows.data is None else rows.data
    kept = data != 0  # zeros that are stored count as those that are not
    digest = hashlib.blake2b(digest_size=16)
    of = np.repeat(np.arange(rows.n_items, dtype=np.int64), np.diff(rows.indptr))
    for array in (of[kept], rows.indices[kept], data[kept]):
        digest.update(np.ascontiguousarray(array).data)
    return np.random.default_rng([seed, *np.frombuffer(digest.digest(), dtype="<u4").tolist()])


def labelled_arrays(lists: CandidateLists) -> dict[str, AnyArray]:
    """Return labelled lists as arrays, which ``labelled_members`` describes."""
    assert lists.labels is not None  # Learner._check
    arrays: dict[str, AnyArray] = {"offsets": lists.offsets, "labels": lists.labels}
    if lists.base_scores is not None:
        arrays["base_scores"] = lists.base_scores
    return arrays | feature_arrays(lists.features)


def feature_arrays(features: Features) -> dict[str, AnyArray]:
    """Return features in their layout as arrays, which ``feature_members`` describes."""
    if isinstance(features, Dense):
        return {"features" if features.values.dtype == np.float64 else "features.f4": features.values}
    rows, arrays = features, dict[str, AnyArray]()
    if isinstance(features, Mixed):
        rows, arrays = features.rows, {"mixed": features.values, "places": features.places}
    assert isinstance(rows, Sparse)
    arrays |= {"indptr": rows.indptr, "indices": rows.indices}
    return arrays if rows.data is None else {**arrays, "data": rows.data}  # indicators have none


def labelled_members(n_features: int) -> tuple[dict[str, ArrayForm], dict[str, ArrayForm]]:
    """Return the arrays that all labelled lists of so many features have, and those that some have."""
    some = {"base_scores": ArrayForm("<f8", (None,)), **feature_members(n_features)}
    return {"offsets": ArrayForm("<i8", (None,)), "labels": ArrayForm("<f8", (None,))}, some


def feature_members(n_features: int) -> dict[str, ArrayForm]:
    """Return the arrays that features with so many columns have in some layout."""
    return {
        "features": ArrayForm("<f8", (None, n_features)),
        "features.f4": ArrayForm("<f4", (None, n_features)),
        "mixed": ArrayForm("<f8", (None, None)),
        "places": ArrayForm("<i4", (None,)),
        "indptr": ArrayForm("<i8", (None,)),
        "indices": ArrayForm("<i4", (None,)),
        "data": ArrayForm("<f8", (None,)),
    }


def labelled_of(arrays: Mapping[str, AnyArray], feature_names: list[str]) -> CandidateLists:
    """Return the lists of ``labelled_arrays``; raise DataError if the arrays do not fit each other."""
    return CandidateLists(
        arrays["offsets"],
        features_of(arrays, len(feature_names)),
        labels=arrays["labels"],
        base_scores=arrays.get("base_scores"),
        feature_names=feature_names,
        source=_SOURCE,
    )


def features_of(arrays: Mapping[str, AnyArray], n_features: int) -> Features:
    """Return the features of ``feature_arrays``, unchecked; raise DataError if they are not one layout."""
    names = feature_members(n_features).keys() & arrays.keys()
    if names == {"features"} or names == {"features.f4"}:
        return Dense(arrays[names.pop()])
    if names - {"data", "mixed", "places"} != {"indptr", "indices"} or ("mixed" in names) != (
        "places" in names
    ):
        raise DataError(f"{_SOURCE}: the arrays {', '.join(sorted(names))} are not one layout of features")
    rows = Sparse(arrays["indptr"], arrays["indices"], arrays.get("data"), n_features)
    return Mixed(arrays["mixed"], arrays["places"], rows) if "mixed" in names else rows


def in_chunks(
    function: Callable[..., T], given: tuple[Any, ...], n: int, advance: Advance | None
) -> Iterator[T]:
    """Yield ``function(*given, first, last, advance)`` of ranges of 0 to ``n`` lists, in their order.

    Without other workers, that is one call. Workers get what is ``given`` once, and None for ``advance``,
    which is called here with the number of lists of each range that is done.
    """
    jobs = parallel.jobs()
    if jobs == 1 and not parallel.remote():
        yield function(*given, 0, n, advance)
        return
    size = max(-(-n // (_CHUNKS * jobs)), 1)
    tasks = [(*given, first, min(first + size, n), None) for first in range(0, n, size)]
    for (*_, first, last, _), part in zip(
        tasks, parallel.in_order(function, tasks, shared=True), strict=True
    ):
        yield part
        if advance is not None:
            advance(last - first)
