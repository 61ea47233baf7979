"""The training pairs of the preference SVM: which items they compare, and what each weighs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from rerank.core import memory
from rerank.core.types import Floats, Index, Ints
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Pairs
from rerank.learners.vectors import inner
from rerank.similarity.tree_sets import TreeSet

_PAIR_BYTES = 64  # of a pair in the columns below, and while they are made


@dataclass(frozen=True, eq=False)
class ItemPairs:
    """Pairs of items, in which equal items of training are one.

    Attributes
    ----------
    firsts : int64 (n)
        The first row in the set of each different item.
    numbers : int64 (n_items)
        The different item of each item of the set, -1 of those that no pair could have.
    better, worse : int32 (n_pairs)
        Of each pair.
    weight : float64 (n_pairs)
        The weight of its loss; the mean over all pairs is 1, also over those that are left out.
    of_list : int64 (n_pairs)
        The list that it is from.
    n_equal : int
        Pairs of equal items that were left out: no weights separate them, so that their loss is constant.
    """

    firsts: Index
    numbers: Index
    better: Ints
    worse: Ints
    weight: Floats
    of_list: Index
    n_equal: int

    @classmethod
    def of(
        cls, lists: CandidateLists, pairs: Pairs, codes: Index, list_weights: Floats, *, balance: bool
    ) -> ItemPairs:
        """Return the pairs of lists.

        Parameters
        ----------
        lists
            The training lists.
        pairs
            Of those whose weight is not 0.
        codes
            int64 (n_items), see ``equal_items``.
        list_weights
            float64 (n_lists).
        balance
            Whether every list counts as much as another.

        Raises
        ------
        RerankError
            If there is no memory for the pairs.
        """
        n_pairs, counts = pairs.n_pairs, pairs.counts
        memory.require(_PAIR_BYTES * n_pairs, f"{n_pairs:,} pairs", "pairs=neighbours may need less")
        _, firsts, codes_of = np.unique(codes[pairs.items], return_index=True, return_inverse=True)
        order = np.argsort(firsts, kind="stable")  # different items in the order of the set
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        numbers = np.full(lists.n_items, -1, dtype=np.int64)
        numbers[pairs.items] = number[codes_of]
        share = list_weights[pairs.lists] / list_weights[pairs.lists].max()  # sums do not overflow
        share = share / counts if balance else share
        share *= n_pairs / inner(share, counts.astype(np.float64))
        better, worse = (numbers[pairs.items[side]].astype(np.int32) for side in pairs.explicit())
        kept = np.flatnonzero(better != worse)
        weight, of_list = np.repeat(share, counts)[kept], np.repeat(pairs.lists, counts)[kept]
        rows, n_equal = pairs.items[firsts[order]], n_pairs - len(kept)
        return cls(rows, numbers, better[kept], worse[kept], weight, of_list, n_equal)


def equal_items(lists: CandidateLists, names: list[str], *, features: bool) -> Index:
    """Return a number for each item, int64 (n_items): equal items have one.

    Parameters
    ----------
    lists
        Some lists.
    names
        The kinds of trees that are compared.
    features
        Whether features are compared.
    """
    forests = [lists.forest(name) for name in names]
    columns = [trees.distinct for trees in TreeSet.of(*forests)] if forests else []
    if features:
        rows = lists.features.compressed()
        data = np.ones(rows.n_values) if rows.data is None else rows.data + 0.0  # -0 is 0
        bounds = rows.indptr.tolist()
        known: dict[bytes, int] = {}
        of_rows = itertools.pairwise(bounds)
        keys = (rows.indices[a:b].tobytes() + data[a:b].tobytes() for a, b in of_rows)
        numbers = (known.setdefault(key, len(known)) for key in keys)
        columns.append(np.fromiter(numbers, np.int64, lists.n_items))
    codes: Index = np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].reshape(-1)
    return codes
