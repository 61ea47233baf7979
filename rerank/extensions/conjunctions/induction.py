"""Choice of conjunctions for boosting: candidates, their gains, and the best of them."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from rerank.core import memory
from rerank.core.types import Floats, Index, Ints
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Sparse
from rerank.extensions.conjunctions.features import Conjunctions, Members, rows_of, widened
from rerank.extensions.conjunctions.native._conjunctions import candidate_sums
from rerank.learners.boosting.examples import Examples
from rerank.models.stumps import Thresholds
from rerank.native.learners._boosting_index import hits

_BYTES = 24 + 32  # of a candidate: two sums, lists and the last one; roots and gains
_TIED, _LEAST = 1e-10, 2.220446049250313e-16  # of the root of the loss, and of the loss, as in boosting
_AT_ONCE = 4  # times as many candidates as are added are compared with each other


class Induction(Struct, eq=False):
    """Conjunctions so far, and all that candidates are made from.

    Attributes
    ----------
    lists : CandidateLists
        The training lists.
    stumps : Thresholds
        Of their features; a literal has the number of its stump.
    examples : Examples
        The pairs.
    frequent : int64
        The stumps that are paired with chosen ones, rising; see ``frequent_stumps``.
    min_lists : int
        Lists in which a conjunction must hold of one item of a pair alone.
    rows : Sparse
        Which conjunctions hold of each item, indicators.
    members : list of tuple of int
        The literals of each conjunction.
    """

    lists: CandidateLists
    stumps: Thresholds
    examples: Examples
    frequent: Index
    min_lists: int
    rows: Sparse
    members: list[Members]

    def conjunctions(self) -> Conjunctions:
        """The conjunctions so far."""
        return Conjunctions.of(self.stumps, self.members)

    def add(self, chosen: Ints, weight: Floats, sums: Floats, n: int) -> int:
        """Add at most n conjunctions of a chosen indicator and a frequent one. Return how many.

        A candidate's gain is that of boosting, |sqrt(W+) - sqrt(W-)|. It must be above the gains of both
        parts, by more than 1e-10 of the root of the loss, and lower the loss. The largest gains are added,
        on ties those of the first chosen stump, then of the first frequent one. Of candidates that hold of
        the same items the first is added.

        Parameters
        ----------
        chosen
            Numbers of indicators: stumps, then conjunctions. int32, rising.
        weight
            Of the pairs now, float64 (n_pairs).
        sums
            W+ and W- of stumps and conjunctions, float64 (2, n_indicators).
        n
            The largest number to add.
        """
        n_candidates = len(chosen) * len(self.frequent)
        what = f"{n_candidates:,} conjunctions of {len(chosen):,} chosen and {len(self.frequent):,} frequent"
        memory.require(_BYTES * n_candidates, f"{what} indicators", "a smaller 'frequent' needs less")
        found = np.zeros((2, len(chosen), len(self.frequent)))
        n_lists = np.zeros(found.shape[1:], dtype=np.int32)
        of_chosen, of_frequent = self._rows(chosen)
        candidate_sums(
            *(of_chosen.indptr, of_chosen.indices, of_frequent.indptr, of_frequent.indices),
            *(self.examples.pairs, self.examples.groups, weight, found, n_lists),
        )
        root, gains, known = np.sqrt(weight.sum()), _gains(found), _gains(sums)
        del found
        least = np.maximum(known[chosen][:, None], known[self.frequent][None]) + _TIED * root
        passing = (n_lists >= self.min_lists) & (gains > least) & (gains > np.sqrt(_LEAST) * root)
        places = np.flatnonzero(passing)
        order = np.argsort(-np.round(gains.ravel()[places] / root, 10), kind="stable")
        return self._add_different(chosen, places[order], n)

    def _rows(self, chosen: Ints) -> tuple[Sparse, Sparse]:
        """The chosen and the frequent indicators of each item, by their numbers."""
        n = len(self.stumps)
        own, made = (part.astype(np.int64) for part in (chosen[chosen < n], chosen[chosen >= n] - n))
        used = np.union1d(own, self.frequent)
        rows = rows_of(self.stumps.subset(used), self.lists.features)
        of_made = _only(self.rows, np.arange(len(self.members)), made)
        of_chosen = widened(_only(rows, used, own), of_made)
        return of_chosen.compressed(), _only(rows, used, self.frequent)

    def _add_different(self, chosen: Ints, places: Index, n: int) -> int:
        """Add the first n candidates that differ from all others and from the conjunctions so far."""
        n_stumps, begun = len(self.stumps), len(self.members)
        seen, items = set(self.members), set(_columns(self.rows))
        at_once = _AT_ONCE * n
        for first in range(0, len(places), at_once):
            some: list[Members] = []
            for place in places[first : first + at_once].tolist():
                c, f = divmod(place, len(self.frequent))
                number = int(chosen[c])
                parts = (number,) if number < n_stumps else self.members[number - n_stumps]
                members = tuple(sorted({*parts, int(self.frequent[f])}))
                if members not in seen:
                    seen.add(members)
                    some.append(members)
            rows = Conjunctions.of(self.stumps, some).rows(self.lists.features)
            kept: list[int] = []
            for i, held in enumerate(_columns(rows)):
                if held not in items and len(self.members) + len(kept) < begun + n:
                    items.add(held)
                    kept.append(i)
            new = _only(rows, np.arange(len(some)), np.array(kept, dtype=np.int64))
            self.rows = widened(self.rows, new).compressed()
            self.members += [some[i] for i in kept]
            if len(self.members) == begun + n:
                break
        return len(self.members) - begun


def frequent_stumps(lists: CandidateLists, stumps: Thresholds, examples: Examples, n: int) -> Index:
    """Return the n most frequent indicators, int64, rising; on ties the first ones.

    They are ordered by the number of items of pairs with the indicator or without it, whichever is smaller:
    one that all items have makes no new conjunction.
    """
    items = np.unique(examples.pairs)
    items = items[items >= 0]
    counts = np.empty(len(stumps), dtype=np.int64)
    hits(lists.features.matrix(), stumps.native, items, counts)
    rarer = np.minimum(counts, len(items) - counts)
    order = np.argsort(-rarer, kind="stable")[:n]
    return np.sort(order[rarer[order] > 0]).astype(np.int64)


def _gains(sums: Floats) -> Floats:
    """Boosting's gain of sums (2, ...)."""
    found: Floats = np.abs(np.sqrt(np.maximum(sums[0], 0.0)) - np.sqrt(np.maximum(sums[1], 0.0)))
    return found


def _only(rows: Sparse, numbers: Index, wanted: Index) -> Sparse:
    """The columns of rows, which have these numbers, that are wanted; both rise."""
    places = np.full(len(numbers), -1, dtype=np.int64)
    places[np.searchsorted(numbers, wanted)] = np.arange(len(wanted))
    return rows.select(places, len(wanted))


def _columns(rows: Sparse) -> list[bytes]:
    """The items of each column."""
    return [items.tobytes() for items, _ in rows.by_column() if items is not None]
