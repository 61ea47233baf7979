"""CandidateLists: what every reader makes, every learner and every metric takes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rerank.data.columns.forests import Forest
from rerank.data.columns.offsets import offsets_of, places_of
from rerank.data.columns.ragged import Ragged
from rerank.data.columns.strings import StringColumn
from rerank.data.invariants import check_columns
from rerank.data.matrix import Features, as_features
from rerank.data.types import Floats, Index, Mask
from rerank.errors import DataError


@dataclass(frozen=True, eq=False)
class CandidateLists:
    """Lists of candidates with their features and, for some, judgements.

    Items of list i are the rows ``offsets[i]:offsets[i + 1]`` of every column of items.

    offsets : int64 (n_lists + 1), strictly rising: no list is empty.
    features : Dense, Sparse or Mixed, n_items rows.
    labels : float64 (n_items), larger is better, NaN = unjudged; None = nothing is judged.
    base_scores : float64 (n_items), scores that the first stage gave: numbers, never an order.
    first_best : float64 (n_items), its order (largest first, ties by position) is the first stage's
        own ranking; None where the input has none.
    list_ids, item_ids : StringColumn (n_lists), (n_items).
    rows : int64 (n_items), the line of each item among the input's item lines, from 0. None = as read.
    feature_names : names by column; None = "1", "2", ...
    texts : StringColumn (n_items), the candidates' strings.
    references : one StringColumn (n_lists) for each reference.
    trees, gold : Forest (n_items), the candidates' parses, and (n_lists), the right ones.
    counts : metric name to float64 (n_items, k), statistics that a metric sums.
    unretrieved : Ragged (n_lists), labels > 0 of relevant items that are known but stand in no list, as
        those that a TREC run missed; measures of retrieval count them as never found.
    source : where the set came from, for messages.

    The invariants are checked once, here (DataError says what does not hold); kernels check nothing.
    """

    offsets: Index
    features: Features
    labels: Floats | None = None
    base_scores: Floats | None = None
    first_best: Floats | None = None
    list_ids: StringColumn | None = None
    item_ids: StringColumn | None = None
    rows: Index | None = None
    feature_names: Sequence[str] | None = None
    texts: StringColumn | None = None
    references: tuple[StringColumn, ...] = ()
    trees: Forest | None = None
    gold: Forest | None = None
    counts: Mapping[str, Floats] = field(default_factory=dict)
    unretrieved: Ragged | None = None
    source: str = "arrays"
    has_missing: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        check_columns(self)
        object.__setattr__(self, "has_missing", self.features.check(nan_allowed=True))

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any = None,
        *,
        group: Any = None,
        qid: Any = None,
        feature_names: Sequence[str] | None = None,
        item_ids: Sequence[str] | None = None,
        source: str = "arrays",
    ) -> CandidateLists:
        """Lists from arrays, as other Python tools hold them.

        X is (n_items, n_features), an array or a scipy sparse matrix; y is (n_items), NaN = unjudged.
        Either ``group``, the lengths of consecutive lists, or ``qid``, a list id for each item
        (lists in order of first appearance, items that stand apart are brought together and ``rows``
        remembers where they were). With neither, everything is one list.
        """
        features = as_features(X)
        n_items = features.n_items
        if n_items == 0:
            raise DataError(f"{source}: no items")
        labels = None if y is None else _vector(y, "y", n_items)
        if group is not None and qid is not None:
            raise DataError("give group or qid, not both")
        rows: Index | None = None
        list_ids: StringColumn | None = None
        if qid is not None:
            given = np.asarray(qid)
            if given.shape != (n_items,):
                raise DataError(f"{source}: qid has shape {given.shape}, expected ({n_items},)")
            ids = [i if isinstance(i, bytes) else str(i) for i in given.tolist()]
            numbers: dict[str | bytes, int] = {}
            codes = np.fromiter((numbers.setdefault(i, len(numbers)) for i in ids), np.int64, n_items)
            offsets = offsets_of(np.bincount(codes))
            list_ids = StringColumn.from_strings(numbers)
            if np.any(np.diff(codes) < 0):
                rows = np.argsort(codes, kind="stable").astype(np.int64)
        elif group is not None:
            lengths = np.asarray(group)
            if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or lengths.sum() != n_items:
                raise DataError(f"{source}: group must be whole numbers that sum to {n_items}")
            offsets = offsets_of(lengths)
        else:
            offsets = np.array([0, n_items], dtype=np.int64)
        ids_column = None if item_ids is None else StringColumn.from_strings(item_ids)
        if ids_column is not None and len(ids_column) != n_items:
            raise DataError(f"{source}: item_ids has {len(ids_column)} entries, expected {n_items}")
        if rows is not None:
            features = features.take(rows)
            labels = None if labels is None else labels[rows]
            ids_column = None if ids_column is None else ids_column.take(rows)
        return cls(
            offsets,
            features,
            labels=labels,
            list_ids=list_ids,
            item_ids=ids_column,
            rows=rows,
            feature_names=None if feature_names is None else list(feature_names),
            source=source,
        )

    @property
    def n_lists(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_items(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_features(self) -> int:
        return self.features.n_features

    def __len__(self) -> int:
        return self.n_lists

    def __repr__(self) -> str:
        size = (
            f"{self.n_lists} lists, {self.n_items} items, {self.n_features} {self.features.layout} features"
        )
        return f"CandidateLists({size})"

    @property
    def lengths(self) -> Index:
        """Items of each list, int64 (n_lists)."""
        return np.diff(self.offsets)

    @property
    def list_index(self) -> Index:
        """The list of each item, int64 (n_items)."""
        return np.repeat(np.arange(self.n_lists, dtype=np.int64), self.lengths)

    def names(self) -> list[str]:
        """Feature names by column, "1", "2", ... where the set has none."""
        if self.feature_names is not None:
            return list(self.feature_names)
        return _numbered(self.n_features)

    def column_of(self, name: str) -> int:
        """The column of a feature by its name; raises DataError with the names that are near."""
        names = self.names()
        if name not in names:
            from rerank.registry import did_you_mean

            raise DataError(f"{self.source}: no feature {name!r}; {did_you_mean(name, names)}")
        return names.index(name)

    def list_id(self, i: int) -> str:
        """The id of list ``i``, its number from 1 where the set has no ids."""
        return self.list_ids[i] if self.list_ids is not None else str(i + 1)

    def judged_lists(self) -> Mask:
        """Whether a list has any judged item, bool (n_lists)."""
        if self.labels is None:
            return np.zeros(self.n_lists, dtype=bool)
        return np.logical_or.reduceat(~np.isnan(self.labels), self.offsets[:-1])

    def input_order(self, values: Floats) -> Floats:
        """Values of items (n_items, ...) put in the order of the input's lines."""
        if self.rows is None:
            return values
        out = np.empty_like(values)
        out[self.rows] = values
        return out

    def from_input_order(self, values: Floats) -> Floats:
        """Values in the order of the input's lines (n_items, ...) put in the order of the items."""
        return values if self.rows is None else values[self.rows]

    def with_first_best(self, how: str) -> CandidateLists:
        """The same lists with the first stage's order: "input", or the name of a feature (larger first)."""
        if how == "input":
            first_best = -(np.arange(self.n_items) if self.rows is None else self.rows).astype(np.float64)
        else:
            first_best = self.features.column(self.column_of(how))
        return replace(self, first_best=first_best)

    def with_columns(self, names: Sequence[str]) -> CandidateLists:
        """The same lists with the feature columns ``names``, in that order: absent ones are 0, others go.

        Columns are matched as ``places_in`` says.
        """
        places = self.places_in(names)
        if len(places) == len(names) and np.array_equal(places, np.arange(len(names))):
            return self
        return self.with_features(self.features.select(places, len(names)), list(names))

    def places_in(self, names: Sequence[str]) -> Index:
        """The place of each feature column among ``names``, -1 where it has none: int64 (n_features).

        By name, but by position where either side has no names of its own.
        """
        mine = self.names()
        if mine == _numbered(len(mine)) or list(names) == _numbered(len(names)):
            places = np.arange(len(mine), dtype=np.int64)
            places[len(names) :] = -1
            return places
        place = {name: j for j, name in enumerate(names)}
        return np.array([place.get(name, -1) for name in mine], dtype=np.int64)

    def with_added(self, columns: Mapping[str, Floats]) -> CandidateLists:
        """The same lists with further features, name to values (n_items); DataError at a known name."""
        names = self.names()
        for name, values in columns.items():
            if name in names:
                raise DataError(f"{self.source}: there is a feature {name!r} already")
            if values.shape != (self.n_items,):
                raise DataError(f"feature {name!r} has shape {values.shape}, expected ({self.n_items},)")
        features = self.features.with_columns(np.column_stack(list(columns.values())))
        return self.with_features(features, [*names, *columns])

    def with_features(self, features: Features, feature_names: Sequence[str] | None) -> CandidateLists:
        """The same lists with other features, one row an item."""
        return replace(self, features=features, feature_names=feature_names)

    def subset(self, chosen: npt.ArrayLike) -> CandidateLists:
        """The lists at ``chosen`` (indices or a mask over lists), in that order; ``rows`` start anew."""
        which = np.asarray(chosen)
        if which.dtype == bool and which.shape == (self.n_lists,):
            which = np.flatnonzero(which)
        if which.size == 0:
            raise DataError(f"{self.source}: a subset of no lists")
        if which.ndim != 1 or which.dtype.kind not in "iu" or which.min() < 0 or which.max() >= self.n_lists:
            raise DataError(
                f"{self.source}: a subset is chosen by a mask over the lists or by numbers "
                f"within 0..{self.n_lists - 1}"
            )
        which = which.astype(np.int64)
        items, offsets = places_of(self.offsets, which)
        return self._taking(items, offsets, self._rows_of(items), which)

    def kept(self, which: Mask) -> CandidateLists:
        """The same lists with the items of the mask (n_items) alone; DataError where a list loses all.

        ``rows`` count the lines that are kept.
        """
        items = np.flatnonzero(which)
        sizes = np.add.reduceat(which, self.offsets[:-1], dtype=np.int64)
        return self._taking(items, offsets_of(sizes), self._rows_of(items), np.arange(self.n_lists))

    def reordered(self, items: Index) -> CandidateLists:
        """The same lists with their items (n_items, a permutation within each list) in a new order."""
        if not np.array_equal(np.sort(items), np.arange(self.n_items)) or not np.array_equal(
            self.list_index[items], self.list_index
        ):
            raise DataError(f"{self.source}: a new order must keep each item in its list")
        return self._taking(items, self.offsets, None, np.arange(self.n_lists))

    def _rows_of(self, items: Index) -> Index | None:
        """The lines of some items, counted anew from 0."""
        if self.rows is None:
            return None
        rows = np.empty(len(items), dtype=np.int64)
        rows[np.argsort(self.rows[items], kind="stable")] = np.arange(len(items))
        return rows

    def _taking(self, items: Index, offsets: Index, rows: Index | None, which: Index) -> CandidateLists:
        """The columns of items taken at ``items``, those of lists at ``which``."""

        def of_items(column: Any) -> Any:
            return None if column is None else column[items]

        return CandidateLists(
            offsets,
            self.features.take(items),
            labels=of_items(self.labels),
            base_scores=of_items(self.base_scores),
            first_best=of_items(self.first_best),
            list_ids=None if self.list_ids is None else self.list_ids.take(which),
            item_ids=None if self.item_ids is None else self.item_ids.take(items),
            rows=rows,
            feature_names=self.feature_names,
            texts=None if self.texts is None else self.texts.take(items),
            references=tuple(column.take(which) for column in self.references),
            trees=None if self.trees is None else self.trees.take(items),
            gold=None if self.gold is None else self.gold.take(which),
            counts={name: column[items] for name, column in self.counts.items()},
            unretrieved=None if self.unretrieved is None else self.unretrieved.take(which),
            source=self.source,
        )

    def fingerprint(self) -> str:
        """A hash of lists, features and labels: a model says by it what it was trained on."""
        digest = hashlib.blake2b(digest_size=16)
        for array in (self.offsets, self.labels, *self.features.arrays().values()):
            digest.update(b"none" if array is None else np.ascontiguousarray(array).data)
        digest.update("\0".join(self.names()).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()


def _numbered(n: int) -> list[str]:
    """Names of columns that have none: "1", "2", ..."""
    return [str(j + 1) for j in range(n)]


def _vector(values: Any, name: str, length: int) -> Floats:
    try:
        vector = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must be numbers: {error}") from None
    if vector.shape != (length,):
        raise DataError(f"{name} has shape {vector.shape}, expected ({length},)")
    return vector
