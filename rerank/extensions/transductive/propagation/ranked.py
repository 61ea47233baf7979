"""Lists ranked by rankers of their own, and the graph that gives lists without a ranker one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Floats, Ints, Mask
from rerank.data.columns.offsets import offsets_of
from rerank.data.joining import stacked
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.propagation.harmonic import Harmonic, harmonic, smoothness_parts
from rerank.extensions.transductive.propagation.settings import PropagationSettings
from rerank.similarity.base import Kernel, check_comparable
from rerank.similarity.graph import neighbour_graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NOT_REACHED = "not reached: mean ranker"
CANCELLED = "weights of neighbours cancel: mean ranker"
UNLABELLED = "unlabelled"
_ROUNDING = 1e-9  # of the largest weight: what a sum of rankers that cancel may be, more than a solution errs


@dataclass(frozen=True, eq=False)
class Ranked:
    """Scores of the items of lists, and how each list got them.

    Attributes
    ----------
    scores : float64 (n_items)
    reasons
        Why a list is not ranked by a ranker of its own; "" if it is.
    diagnostics
        Figures of each list, the same names for all.
    facts
        Figures of all lists together.
    """

    scores: Floats
    reasons: list[str]
    diagnostics: list[dict[str, float]]
    facts: Mapping[str, float] = field(default_factory=dict)


def own_scores(lists: CandidateLists, weights: Floats) -> Floats:
    """Return the scores of each list by its own weights (n_lists, n_features), float64 (n_items)."""
    bounds = zip(lists.offsets[:-1].tolist(), lists.offsets[1:].tolist(), strict=True)
    scores = [
        lists.features.take(slice(first, last)).scores(own)
        for (first, last), own in zip(bounds, weights, strict=True)
    ]
    return np.concatenate(scores)


def seen_by_kernel(lists: CandidateLists, dropped: Ints) -> CandidateLists:
    """Return lists without the ``dropped`` columns; DataError if kernels cannot compare what remains."""
    names = lists.names()
    kept = np.delete(np.arange(len(names)), dropped)
    places = np.full(len(names), -1, dtype=np.int64)
    places[kept] = np.arange(len(kept))
    seen = lists.with_columns_at(places, [names[j] for j in kept])
    check_comparable(seen)
    return seen


@dataclass(frozen=True, eq=False)
class Propagation:
    """The rankers of all lists of a graph, some of which are given.

    Attributes
    ----------
    graph
        The similarities of lists that are neighbours, (n, n).
    labelled
        Which lists have a given ranker, bool (n).
    solution
        The rankers of all lists that a given one reaches, (n, n_features).
    """

    graph: csr_array
    labelled: Mask
    solution: Harmonic

    @classmethod
    def of(
        cls,
        lists: CandidateLists,
        labelled: Mask,
        rankers: Floats,
        settings: PropagationSettings,
        dropped: Ints,
        kernel: Kernel | None = None,
    ) -> Propagation:
        """Return the rankers of ``lists``, given ``rankers`` (n_labelled, n_features) of some of them.

        The kernel, by default that of the settings, does not read the columns ``dropped``, which rise.
        """
        seen, mutual = seen_by_kernel(lists, dropped), settings.graph == "mutual"
        kernel = kernel or settings.list_kernel
        graph = neighbour_graph(seen, kernel, settings.neighbours, mutual=mutual).matrix
        return cls(graph, labelled, harmonic(graph, labelled, rankers))

    def smoothness_with(self, ranker: Floats) -> float:
        """Return the smoothness if each list without a given ranker had this one, (n_features)."""
        chosen = np.where(self.labelled[:, None], self.solution.values, ranker)
        return float(smoothness_parts(self.graph, chosen, self.solution.reached).sum())


def ranked_by_graph(
    nodes: Nodes,
    lists: CandidateLists,
    settings: PropagationSettings,
    dropped: Ints,
    kernel: Kernel | None = None,
) -> Ranked:
    """Rank lists by the rankers that the trained ones of ``nodes`` give them in the graph of all lists.

    A list that no trained ranker reaches has the mean of these. So has one whose ranker is 0 up to
    rounding, which would order the items at random.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, algorithm
    13.
    """
    n, labelled = nodes.lists.n_lists, np.append(nodes.trained, np.zeros(lists.n_lists, dtype=bool))
    both = merge_sets([nodes.lists, lists])
    found = Propagation.of(both, labelled, nodes.rankers, settings, dropped, kernel)
    solution, graph = found.solution, found.graph
    reached = solution.reached[n:]
    weights = np.where(reached[:, None], solution.values[n:], nodes.mean)
    norms = np.where(reached, np.sqrt(np.einsum("ij,ij->i", weights, weights)), np.nan)
    cancelled = reached & nodes.cancelled(weights)
    weights[cancelled] = nodes.mean
    figures = {
        "degree": solution.degree[n:],
        "labelled_share": solution.labelled_share[n:],
        "nearest": graph[n:].max(axis=1).toarray().reshape(-1),
        "norm": norms,
        "smoothness_part": np.where(reached, solution.parts[n:], np.nan),
    }
    return Ranked(
        own_scores(lists, weights),
        np.where(cancelled, CANCELLED, np.where(reached, "", NOT_REACHED)).tolist(),
        rows_of(figures),
        {
            "reached": int(reached.sum()),
            "edges": graph.nnz // 2,
            "smoothness": solution.smoothness,
            "smoothness by the mean ranker": found.smoothness_with(nodes.mean),
        },
    )


def rows_of(figures: Mapping[str, Floats]) -> list[dict[str, float]]:
    """Return the figures of each list from those of all lists by name."""
    columns = [column.tolist() for column in figures.values()]
    return [dict(zip(figures, row, strict=True)) for row in zip(*columns, strict=True)]


@dataclass(frozen=True, eq=False)
class Nodes:
    """Training lists and their rankers; unlabelled lists may be among them.

    Attributes
    ----------
    lists
        Their features, scaled, without labels.
    weights : float64 (n_lists, n_features)
        Rankers; NaN for a list without one.
    reasons
        Why a list trained no ranker, "" if it did. If it did not, its ranker is that of its neighbours, or
        NaN.
    """

    lists: CandidateLists
    weights: Floats
    reasons: tuple[str, ...]

    def __post_init__(self) -> None:
        shape = self.lists.n_lists, self.lists.n_features
        if self.weights.shape != shape or len(self.reasons) != shape[0]:
            found = f"rankers of shape {self.weights.shape} and {len(self.reasons)} reasons"
            raise DataError(f"{found} for {shape[0]} lists of {shape[1]} features")
        if not shape[1] or self.lists.has_missing:
            raise DataError("lists without features, or with missing (NaN) ones")
        if not np.isfinite(self.weights[self.known]).all():
            raise DataError("a ranker with a weight that is not finite")
        if not self.trained.any() or not self.known[self.trained].all():
            raise DataError("a list without the ranker that it trained, or no list that trained one")

    def with_unlabelled(self, lists: CandidateLists | None) -> Nodes:
        """Return these nodes and those of further lists, which have no rankers; see ``FitInputs``."""
        if lists is None:
            return self
        none = np.full((lists.n_lists, lists.n_features), np.nan)
        reasons = self.reasons + (UNLABELLED,) * lists.n_lists
        return Nodes(merge_sets([self.lists, lists]), np.concatenate([self.weights, none]), reasons)

    @cached_property
    def trained(self) -> Mask:
        """Return the mask of lists that trained a ranker, bool (n_lists)."""
        return np.array([not reason for reason in self.reasons], dtype=bool)

    @cached_property
    def known(self) -> Mask:
        """Return the mask of lists that have a ranker, their own or one of a neighbour, bool (n_lists)."""
        return np.asarray(~np.isnan(self.weights).all(axis=1))

    @property
    def rankers(self) -> Floats:
        """The rankers that were trained, float64 (n_trained, n_features)."""
        return self.weights[self.trained]

    @cached_property
    def mean(self) -> Floats:
        """The mean of the trained rankers, float64 (n_features); 0 if they cancel up to rounding."""
        rankers = self.rankers
        mean: Floats = (rankers / len(rankers)).sum(axis=0)  # without overflow
        return np.zeros_like(mean) if self.cancelled(mean[None])[0] else mean

    def cancelled(self, weights: Floats) -> Mask:
        """Return which sums of rankers, float64 (n, n_features), are 0 up to rounding: bool (n)."""
        largest = float(np.abs(self.weights[self.known]).max(initial=0.0))
        return np.asarray(np.abs(weights).max(axis=1, initial=0.0) <= _ROUNDING * largest)


def merge_sets(parts: Sequence[CandidateLists]) -> CandidateLists:
    """Return the features of all lists of sets with the same columns, as one set of the last one's source."""
    offsets = offsets_of(np.concatenate([part.lengths for part in parts]))
    features = stacked([part.features for part in parts])
    return CandidateLists(offsets, features, feature_names=parts[0].feature_names, source=parts[-1].source)
