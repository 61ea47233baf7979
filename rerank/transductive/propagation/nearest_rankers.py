"""The inductive form: each list is ranked by the rankers of the training lists that are most like it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rerank.core.types import Floats, Index, Ints
from rerank.data.lists import CandidateLists, without_labels
from rerank.similarity.graph import nearest_in
from rerank.transductive.adapting import Advance
from rerank.transductive.propagation.consensus import Rule, merged
from rerank.transductive.propagation.nodes import Nodes
from rerank.transductive.propagation.ranked import (
    NOT_REACHED,
    Propagation,
    Ranked,
    rows_of,
    seen_by_kernel,
)
from rerank.transductive.propagation.settings import PropagationSettings
from rerank.transductive.spreading import in_chunks


def with_propagated(nodes: Nodes, settings: PropagationSettings, dropped: Ints) -> Nodes:
    """Return nodes in which those without a ranker have that of their neighbours, if one reaches them."""
    if nodes.trained.all():
        return nodes
    found = Propagation.of(nodes.lists, nodes.trained, nodes.rankers, settings, dropped).solution
    weights = found.values.copy()
    weights[nodes.cancelled(np.nan_to_num(weights)) & ~nodes.trained] = np.nan
    return replace(nodes, weights=weights)


def ranked_by_nearest(
    nodes: Nodes,
    lists: CandidateLists,
    settings: PropagationSettings,
    dropped: Ints,
    advance: Advance | None = None,
) -> Ranked:
    """Rank each list by the merged rankings of the rankers of its nearest nodes, weighted by similarity.

    A list without a similar node has the mean of the trained rankers. Other lists do not matter.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, section
    9.3.4.
    """
    near = nodes.lists.subset(nodes.known)
    k = near.n_lists if settings.neighbours == "all" else min(settings.neighbours, near.n_lists)
    seen, others = (seen_by_kernel(some, dropped) for some in (near, lists))
    places, values = nearest_in(seen, others, settings.list_kernel, k)
    committee = _Committee(nodes.weights[nodes.known], nodes.mean, places, values, settings.merge)
    given = committee, without_labels(lists, labels=False)
    found = [one for part in in_chunks(_ranked, given, lists.n_lists, advance) for one in part]
    reached = (places >= 0).any(axis=1)
    figures = {
        "neighbours": (places >= 0).sum(axis=1).astype(np.float64),
        "degree": values.sum(axis=1),
        "nearest": values.max(axis=1, initial=0.0),
    }
    if settings.merge == "kemeny":
        figures["exact"] = np.array([exact for _, exact in found], dtype=np.float64)
    return Ranked(
        np.concatenate([scores for scores, _ in found]),
        np.where(reached, "", NOT_REACHED).tolist(),
        rows_of(figures),
        {"reached": int(reached.sum())},
    )


@dataclass(frozen=True, eq=False)
class _Committee:
    """The rankers that rank each list, and how their rankings are merged.

    ``places`` (n_lists, k) are numbers of ``rankers`` (n, n_features), -1 for none, ``values`` their
    similarities; ``mean`` is the ranker of a list that has none.
    """

    rankers: Floats
    mean: Floats
    places: Index
    values: Floats
    rule: Rule

    def ranked(self, lists: CandidateLists, i: int) -> tuple[Floats, bool]:
        """Return the scores of list ``i`` (n_items), and whether they are those that the rule asks for."""
        items = lists.features.take(slice(int(lists.offsets[i]), int(lists.offsets[i + 1])))
        chosen = self.places[i] >= 0
        if not chosen.any():
            return items.scores(self.mean), True
        scores = np.stack([items.scores(self.rankers[place]) for place in self.places[i, chosen]])
        found = merged(scores, self.rule, self.values[i, chosen])
        return found.scores, found.exact


def _ranked(
    committee: _Committee, lists: CandidateLists, first: int, last: int, advance: Advance | None
) -> list[tuple[Floats, bool]]:
    """What a worker does: ``_Committee.ranked`` of lists ``first`` to ``last`` - 1."""
    found = []
    for i in range(first, last):
        found.append(committee.ranked(lists, i))
        if advance is not None:
            advance(1)
    return found
