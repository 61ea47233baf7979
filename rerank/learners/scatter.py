"""Scatter of items around the means of their labels, and between these means, summed over lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists
from rerank.learners.sums.parts import Parts
from rerank.learners.sums.scatter import ScatterFacts, ScatterForm, ScatterPart, ScatterSums
from rerank.models.training import DataRecord

MAX_FEATURES = 4096  # of which matrices of all pairs are made
MAX_LABELS = 10
_NOISE = 1e-12  # a feature that varies less within lists, relative to its magnitude, is constant


@dataclass(frozen=True, eq=False)
class Scatter:
    """The scatter matrices of lists (Duh 2009, section 5.2), in coordinates in which W is the identity.

    In each list mu_i is the mean of the items labelled i. W is the sum over lists and labels of
    (x - mu_i)(x - mu_i)ᵀ. B_ij is the sum over lists that have both labels of
    (mu_i - mu)(mu_i - mu)ᵀ + (mu_j - mu)(mu_j - mu)ᵀ with the mean mu of the items of both: equation 5.1 as
    printed, in which means are not weighted by their numbers of items. B is the same of all labels of a list.

    Attributes
    ----------
    whitener : float64 (n_features, k)
        A vector a of length 1 in these coordinates has the weights whitener @ a, for which w·Ww is 1.
    between : float64 (k, k)
        B.
    pairs : list of (int, int)
        The pairs i < j of labels that some list of notable weight has, numbered from the smallest label up.
    of_pairs : float64 (n_pairs, k, k)
        B_ij of each.
    n_lists : float64 (n_pairs)
        The summed weights of the lists that have both labels.
    data : DataRecord
        What is recorded of the items.
    """

    whitener: Floats
    between: Floats
    pairs: list[tuple[int, int]]
    of_pairs: Floats
    n_lists: Floats
    data: DataRecord

    @classmethod
    def of(
        cls, lists: CandidateLists, ridge: float, list_weights: Floats | None, name: str, *, pairs: bool
    ) -> Scatter:
        """Return the scatter of the judged items of lists; see ``summed``.

        ``list_weights``: float64 (n_lists), None = 1.
        """
        parts = Parts([ScatterPart(lists, list_weights)], lists.n_lists)
        return cls.summed(parts, lists, ridge, name, pairs=pairs)

    @classmethod
    def summed(cls, parts: Parts, lists: CandidateLists, ridge: float, name: str, *, pairs: bool) -> Scatter:
        """Return the scatter of the judged items of all parts.

        - ``parts``: ``ScatterPart``.
        - ``lists``: lists with the features of all parts.
        - ``ridge``: what is added to the diagonal of W, relative to the scatter of each feature within lists.
        - ``name``: the learner's, for errors.
        - ``pairs``: whether B_ij are needed; without them ``of_pairs`` is empty.

        Raises FitError if there are too many features or different labels, or no list has two labels between
        which a feature varies.
        """
        facts = parts.each(ScatterPart.facts)
        form = ScatterForm(*_checked(lists, facts, name))
        largest = np.max(parts.each(ScatterPart.largest, form), axis=0)
        form = form._replace(exponent=np.frexp(largest)[1].astype(np.int64))
        total = parts.once((largest,), lambda: _added(parts.each(ScatterPart.total, form)))
        least = _NOISE * _NOISE * np.sum([one.weight for one in facts])
        form = form._replace(scale=np.where(total > least, np.sqrt(total), 0.0))
        kept, scale = np.flatnonzero(form.scale), form.scale
        sums = ScatterSums(len(kept), len(form.labels), pairs)

        def merged() -> tuple[Floats, ...]:
            for more in parts.each(ScatterPart.sums, form, kept, pairs):
                sums.merge(more)
            return sums.within, sums.between, sums.of_pairs, sums.n_lists

        sums.within, sums.between, sums.of_pairs, sums.n_lists = parts.once((largest, scale), merged)
        if not sums.between.any():
            found = "no feature varies between the labels of a list"
            raise FitError(f"{lists.source}: {found}; learner {name} needs one")
        values, vectors = np.linalg.eigh(sums.within)
        whitener = vectors / np.sqrt(np.maximum(values, 0.0) + ridge)  # M with Mᵀ(W + ridge)M = 1
        out = np.zeros((lists.n_features, len(kept)))
        with np.errstate(over="ignore"):
            unscaled = np.ldexp(whitener / scale[kept, None], -form.exponent[kept, None])
        out[form.columns[kept]] = unscaled
        if not np.isfinite(out).all():
            raise FitError(f"{lists.source}: a weight overflows; scale the features (--scaling)")
        used = np.flatnonzero(sums.n_lists > _NOISE * sums.n_lists.max(initial=0.0))
        return cls(
            out,
            _turned(sums.between, whitener),
            [sums.pairs[p] for p in used],
            np.array([_turned(sums.of_pairs[p], whitener) for p in used]),
            sums.n_lists[used],
            DataRecord(judged=sum(one.judged for one in facts), grades=len(form.labels)),
        )


def _added(vectors: list[Floats]) -> Floats:
    total = vectors[0]
    for more in vectors[1:]:
        total = total + more
    return total


def _checked(lists: CandidateLists, facts: list[ScatterFacts], name: str) -> tuple[Index, Floats]:
    """Return the columns that occur in items, and their different labels; raises FitError, see ``summed``."""
    columns = np.unique(np.concatenate([one.columns for one in facts]))
    labels = np.unique(np.concatenate([one.labels for one in facts]))
    if any(one.missing for one in facts):
        fault = f"missing (NaN) features; learner {name} accepts none"
    elif len(columns) > MAX_FEATURES:
        fault = f"{len(columns):,} features, learner {name} takes {MAX_FEATURES:,} at most (--features)"
    elif not any(one.differ for one in facts):
        fault = f"no list has two different labels; learner {name} needs one"
    elif len(labels) > MAX_LABELS:
        found = f"{len(labels):,} different labels, learner {name} takes {MAX_LABELS} at most"
        fault = f"{found}; quantise them (--quantise list-kmeans=3)"
    else:
        return columns, labels
    raise FitError(f"{lists.source}: {fault}")


def _turned(matrix: Floats, whitener: Floats) -> Floats:
    turned: Floats = whitener.T @ matrix @ whitener
    return 0.5 * (turned + turned.T)
