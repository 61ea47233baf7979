"""The conditional log-loss of all lists, by blocks of lists that threads can share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.core.types import Floats, Index
from rerank.core.workers.parallel import each
from rerank.data.blocks import bundle, worth_bundling
from rerank.data.matrix import Features
from rerank.learners.blocks import list_blocks
from rerank.native.learners._loglinear import ListBlock, log_loss


@dataclass(frozen=True, eq=False)
class TargetLists:
    """Lists and the probability that each item should have.

    Attributes
    ----------
    offsets, items
        int64 (n_lists + 1) and (n_items): the rows of each list.
    target
        float64 (n_items), of sum 1 in each list; with ``marginal`` 1 or 0: whether it may be the choice.
    weight
        float64 (n_lists): the weight of each list.
    marginal
        Whether the loss is that of the summed probability of the targets.
    """

    offsets: Index
    items: Index
    target: Floats
    weight: Floats
    marginal: bool = False


class LogLoss:
    """The sum over lists of weight * -sum(target * log P), and its gradient.

    With ``marginal`` it is the sum of weight * -log sum(target * P). P is the softmax of the scores w·x of a
    list. Lists are divided into blocks, and the blocks' sums are added in their order, so that results have
    the same bits on any number of threads.

    Parameters
    ----------
    features
        Of all items, of any layout.
    lists
        Lists with their targets.
    """

    def __init__(self, features: Features, lists: TargetLists) -> None:
        offsets, d = lists.offsets, features.n_features
        matrix = None if worth_bundling(features, offsets, lists.items) else features.matrix()

        def block(first: int, last: int) -> ListBlock:
            low, high = offsets[first], offsets[last]
            of, items = offsets[first : last + 1] - low, lists.items[low:high]
            aims = (lists.target[low:high], lists.weight[first:last], lists.marginal)
            if matrix is not None:
                return ListBlock(matrix, of, items, *aims)
            found = bundle(features, of, items)
            return ListBlock(found.matrix, of, None, *aims, found.members, found.starts, found.n_entries)

        tasks = list_blocks(offsets, d)
        self._blocks = each(block, tasks, threads=True)
        self._gradients = np.empty((len(tasks), d))

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return the loss at w (n_features) and its gradient, a new array."""
        tasks = [(block, w, out) for block, out in zip(self._blocks, self._gradients, strict=True)]
        losses = each(log_loss, tasks, threads=True)
        gradient = self._gradients[0].copy()
        for more in self._gradients[1:]:
            gradient += more
        return float(sum(losses)), gradient
