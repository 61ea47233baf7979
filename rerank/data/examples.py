"""Examples: plain X and y, for classification and regression, where candidates form no lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features, as_features
from rerank.data.types import AnyArray, Index
from rerank.errors import DataError


@dataclass(frozen=True, eq=False)
class Examples:
    """Independent examples with a class or a number each.

    features : Dense, Sparse or Mixed, n_examples rows.
    labels : int64 (n_examples), numbers of classes, where there are ``classes``; else float64, finite.
    classes : the names of the classes by number, at least one; None = labels are numbers.
    ids : StringColumn (n_examples).
    source : where the examples came from, for messages.

    The invariants are checked once, here; DataError says what does not hold.
    """

    features: Features
    labels: AnyArray
    classes: tuple[str, ...] | None = None
    ids: StringColumn | None = None
    source: str = "arrays"

    def __post_init__(self) -> None:
        labels, n = self.labels, self.n_examples
        if n == 0:
            raise DataError(f"{self.source}: no examples")
        for name, column in (("labels", labels), ("ids", self.ids)):
            if column is not None and len(column) != n:
                raise DataError(f"{self.source}: {name} has {len(column)} entries, expected {n}")
        wanted = np.float64 if self.classes is None else np.int64
        if labels.dtype != wanted or labels.ndim != 1 or not labels.flags.c_contiguous:
            raise DataError(f"{self.source}: labels must be a contiguous {wanted.__name__} vector")
        if self.classes is None:
            if not np.isfinite(labels).all():
                at = int(np.argmin(np.isfinite(labels)))
                raise DataError(f"{self.source}: the label of example {at} is {labels[at]}")
        elif len(set(self.classes)) != len(self.classes):
            raise DataError(f"{self.source}: two classes have the same name")
        elif labels.min() < 0 or labels.max() >= len(self.classes):
            raise DataError(f"{self.source}: labels must be within 0..{len(self.classes) - 1}")
        self.features.check(nan_allowed=True)

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        classes: Sequence[Any] | None = None,
        ids: Iterable[str | bytes] | None = None,
        source: str = "arrays",
    ) -> Examples:
        """Examples from arrays; X is (n_examples, n_features), an array or a scipy sparse matrix.

        Whole numbers, booleans and strings in y are classes, in sorted order; floats are numbers to
        predict, unless ``classes`` lists values: then those are the classes, in that order, and any
        other value is an error. (Give a test set the classes of its training set.)
        """
        values = np.asarray(y)
        if values.ndim != 1:
            raise DataError(f"{source}: y has shape {values.shape}, expected one dimension")
        column = None if ids is None else StringColumn.from_strings(ids)
        if classes is None and values.dtype.kind not in "biufUSO":
            raise DataError(f"{source}: y must be numbers or names, got {values.dtype}")
        if classes is None and values.dtype.kind == "f":
            numbers = np.ascontiguousarray(values, dtype=np.float64)
            return cls(as_features(X), numbers, ids=column, source=source)
        given = values.tolist()
        try:
            known = sorted(set(given)) if classes is None else np.asarray(classes).tolist()
        except TypeError:
            raise DataError(f"{source}: y mixes values that have no order") from None
        number = {value: k for k, value in enumerate(known)}
        unknown = next((value for value in given if value not in number), None)
        if unknown is not None:
            names = ", ".join(map(_name, known))
            raise DataError(f"{source}: label {unknown!r} is none of the classes {names}")
        labels = np.array([number[value] for value in given], dtype=np.int64)
        return cls(as_features(X), labels, tuple(map(_name, known)), column, source)

    @classmethod
    def from_lists(cls, lists: CandidateLists, *, classes: Sequence[float] | None = None) -> Examples:
        """The judged items of lists as independent examples, in their order.

        Labels stay numbers, unless ``classes`` lists the values that are classes. Raises DataError
        where no item is judged.
        """
        judged = np.zeros(0, dtype=np.int64)
        if lists.labels is not None:
            judged = np.flatnonzero(~np.isnan(lists.labels))
        if lists.labels is None or len(judged) == 0:
            raise DataError(f"{lists.source}: no item is judged")
        made = cls.from_arrays(
            lists.features.take(judged), lists.labels[judged], classes=classes, source=lists.source
        )
        ids = None if lists.item_ids is None else lists.item_ids.take(judged)
        return cls(made.features, made.labels, made.classes, ids, lists.source)

    @property
    def n_examples(self) -> int:
        return self.features.n_items

    @property
    def n_features(self) -> int:
        return self.features.n_features

    @property
    def n_classes(self) -> int:
        """Classes, 0 where labels are numbers."""
        return 0 if self.classes is None else len(self.classes)

    def __len__(self) -> int:
        return self.n_examples

    def __repr__(self) -> str:
        kind = "numbers as labels" if self.classes is None else f"{self.n_classes} classes"
        return f"Examples({self.n_examples} examples, {self.n_features} features, {kind})"

    def take(self, chosen: Index) -> Examples:
        """The examples at ``chosen`` (not negative), in that order."""
        ids = None if self.ids is None else self.ids.take(chosen)
        features = self.features.take(chosen)
        return Examples(features, self.labels[chosen], self.classes, ids, self.source)


def _name(value: Any) -> str:
    """A class's name; that of 1.0 is "1"."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
