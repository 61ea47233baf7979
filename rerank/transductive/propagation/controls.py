"""Controls of ranker propagation: rankers that use no graph."""

from __future__ import annotations

import numpy as np

from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.transductive.labelled import generator, single
from rerank.transductive.propagation.nodes import Nodes
from rerank.transductive.propagation.ranked import Ranked, own_scores
from rerank.transductive.propagation.rankers import list_rankers
from rerank.transductive.propagation.settings import PropagationSettings


def ranked_for_control(
    nodes: Nodes, lists: CandidateLists, settings: PropagationSettings, of_all: Floats
) -> Ranked:
    """Rank lists as the setting ``control`` says.

    Parameters
    ----------
    nodes
        The training lists and their rankers.
    lists
        With the columns of ``nodes``, scaled; ``oracle`` uses their labels.
    settings
        Those of the learner.
    of_all
        The global ranker, float64 (n_features).
    """
    n, control = lists.n_lists, settings.control
    reasons = [""] * n
    match control:
        case "random":
            weights = nodes.rankers[[_drawn(lists, i, settings.seed, nodes) for i in range(n)]]
        case "mean":
            weights = np.broadcast_to(nodes.mean, (n, len(of_all)))
            reasons = ["control: mean ranker"] * n
        case "global":
            weights = np.broadcast_to(of_all, (n, len(of_all)))
            reasons = ["control: global ranker"] * n
        case "oracle":
            weights, reasons = _of_labels(lists, settings, of_all)
        case _:
            raise AssertionError(control)
    return Ranked(own_scores(lists, weights), reasons, [{} for _ in range(n)])


def _drawn(lists: CandidateLists, i: int, seed: int, nodes: Nodes) -> int:
    """The number of the trained ranker that list ``i`` draws, by the seed and its features alone."""
    return int(generator(single(lists, i, labels=False), seed).integers(int(nodes.trained.sum())))


def _of_labels(
    lists: CandidateLists, settings: PropagationSettings, of_all: Floats
) -> tuple[Floats, list[str]]:
    """The ranker trained on the labels of each list, or the global one and the reason."""
    n = lists.n_lists
    if lists.labels is None:
        return np.broadcast_to(of_all, (n, len(of_all))), ["no labels: global ranker"] * n
    found = list_rankers(settings.base_learner, lists, settings.normalise)
    weights = np.where(found.trained[:, None], found.weights, of_all)
    return weights, [reason and f"{reason}: global ranker" for reason in found.reasons]
