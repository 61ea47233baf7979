"""Conjunctions as features: which literals each one has, and where all of them hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rerank.core import memory
from rerank.core.types import Index, Ints
from rerank.data.columns.offsets import offsets_of
from rerank.data.matrix import Dense, Features, Mixed, Sparse
from rerank.extensions.conjunctions.native._conjunctions import conjunction_rows, join_rows, literal_rows
from rerank.models.stumps import Thresholds

Members = tuple[int, ...]  # the literals of a conjunction, rising


@dataclass(frozen=True, eq=False)
class Conjunctions:
    """Conjunctions of literals.

    A literal is a feature with a threshold t. It holds of an item whose value is t or more if t > 0, and of
    one whose value is below t if t <= 0: so none holds of an item of zeros.

    Attributes
    ----------
    literals : Thresholds
        What literals are numbered by.
    bounds : int64 (n + 1)
        Conjunction i has the literals ``members[bounds[i]:bounds[i + 1]]``, two at least, rising.
    members : int32
    """

    literals: Thresholds
    bounds: Index
    members: Ints

    @classmethod
    def of(cls, literals: Thresholds, members: Sequence[Members]) -> Conjunctions:
        """Return the conjunctions of these members, with the literals that they have."""
        sizes = np.array([len(one) for one in members], dtype=np.int64)
        joined = np.array([literal for one in members for literal in one], dtype=np.int64)
        used, places = np.unique(joined, return_inverse=True)
        return cls(literals.subset(used), offsets_of(sizes), places.astype(np.int32))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def rows(self, features: Features) -> Sparse:
        """Return which hold of each item, indicators (n_items, n)."""
        of_items = rows_of(self.literals, features)
        indptr, indices = conjunction_rows(
            of_items.indptr, of_items.indices, len(self.literals), self.bounds, self.members
        )
        return Sparse(indptr, indices, None, len(self))

    def names(self, feature_names: Sequence[str]) -> list[str]:
        """Return a name of each, such as ``rule >= 1 & length >= 4.5``."""
        pairs = zip(self.literals.feature.tolist(), self.literals.at.tolist(), strict=True)
        texts = [f"{feature_names[j]} {'>=' if t > 0 else '<'} {t:.6g}" for j, t in pairs]
        members, bounds = self.members.tolist(), self.bounds.tolist()
        return [" & ".join(texts[k] for k in members[first:last]) for first, last in pairwise(bounds)]


def rows_of(literals: Thresholds, features: Features) -> Sparse:
    """Return which literals hold of each item, indicators (n_items, n_literals)."""
    indptr, indices = literal_rows(features.matrix(), literals.native)
    return Sparse(indptr, indices, None, len(literals))


def widened(features: Features, rows: Sparse) -> Features:
    """Return features with indicators of the same items after the last column.

    Dense features become mixed ones. Raises RerankError if there is no memory for the copy.
    """
    d, n = features.n_features, features.n_features + rows.n_features
    moved = Sparse(rows.indptr, rows.indices + np.int32(d), None, n)
    if isinstance(features, Dense):
        memory.require(8 * features.n_values, f"a copy of {features.n_values:,} values")
        return Mixed(features.values.astype(np.float64), np.arange(d, dtype=np.int32), moved)
    if isinstance(features, Mixed):
        return Mixed(features.values, features.places, _joined(features.rows, moved))
    return _joined(features.compressed(), moved)


def _joined(first: Sparse, second: Sparse) -> Sparse:
    """The rows of ``first``, each followed by that of ``second``, whose columns are larger."""
    n_values = first.n_values + second.n_values
    each = 4 if first.data is None else 12  # bytes of an index and a value
    memory.require(each * n_values, f"a copy of {n_values:,} sparse values")
    indices = np.empty(n_values, dtype=np.int32)
    data = None if first.data is None else np.empty(n_values)
    join_rows(first.indptr, first.indices, first.data, second.indptr, second.indices, indices, data)
    return Sparse(first.indptr + second.indptr, indices, data, second.n_features)
