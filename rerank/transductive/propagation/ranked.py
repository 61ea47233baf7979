"""Lists ranked by rankers of their own, and the graph that gives lists without a ranker one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rerank.core.types import Floats, Ints, Mask
from rerank.data.lists import CandidateLists
from rerank.similarity.axes import check_comparable
from rerank.similarity.graph import neighbour_graph
from rerank.transductive.propagation.harmonic import Harmonic, harmonic, smoothness_parts
from rerank.transductive.propagation.nodes import Nodes, merge_sets
from rerank.transductive.propagation.settings import PropagationSettings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NOT_REACHED = "not reached: mean ranker"
CANCELLED = "weights of neighbours cancel: mean ranker"


@dataclass(frozen=True, eq=False)
class Ranked:
    """What gives the items of lists their scores.

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
    ) -> Propagation:
        """Return the rankers of ``lists``, given those of some of them.

        Parameters
        ----------
        lists
            Scaled, with all columns.
        labelled
            Which of them have a given ranker, bool (n).
        rankers
            These rankers, float64 (n_labelled, n_features).
        settings
            The kernel and the graph.
        dropped
            The columns that the kernel does not read, rising.
        """
        seen, mutual = seen_by_kernel(lists, dropped), settings.graph == "mutual"
        graph = neighbour_graph(seen, settings.list_kernel, settings.neighbours, mutual=mutual).matrix
        return cls(graph, labelled, harmonic(graph, labelled, rankers))

    def smoothness_with(self, ranker: Floats) -> float:
        """Return the smoothness if each list without a given ranker had this one, (n_features)."""
        chosen = np.where(self.labelled[:, None], self.solution.values, ranker)
        return float(smoothness_parts(self.graph, chosen, self.solution.reached).sum())


def ranked_by_graph(
    nodes: Nodes, lists: CandidateLists, settings: PropagationSettings, dropped: Ints
) -> Ranked:
    """Rank lists by the rankers that the trained ones of ``nodes`` give them in the graph of all lists.

    A list that no trained ranker reaches has the mean of these. So has one whose ranker is 0 but for
    rounding, which would order the items at random.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, algorithm
    13.
    """
    n, labelled = nodes.lists.n_lists, np.append(nodes.trained, np.zeros(lists.n_lists, dtype=bool))
    found = Propagation.of(merge_sets([nodes.lists, lists]), labelled, nodes.rankers, settings, dropped)
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
