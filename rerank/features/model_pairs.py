"""Similarities of the protein models of a list to each other, for consensus features.

The similarity of two models is a metric of structures with the longer one in the native's place: the same
both ways, so each pair is superposed once. For complete models it is normalised by the length of the target,
as in 3D-Jury, Pcons and ModFOLDclust. Residues are the same if number, insertion code and chain are; the
names of chains do not matter in a list whose models have one each. Two models that share no residue have the
similarity 0. No native is needed. The search is the quicker one of ``superpositions``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError
from rerank.core.types import Floats, Index
from rerank.core.workers import parallel
from rerank.data.columns.traces import Traces
from rerank.data.lists import CandidateLists
from rerank.features.model_doubts import note_doubts, of_one_chain
from rerank.metrics.residue_pairs import WIDTH, among
from rerank.metrics.structures import StructureMetric, TmScore

# Residues of a block of pairs: enough blocks for the workers and for the display of progress.
_RESIDUES = 1 << 16


class ModelPairs:
    """What is known of each pair of models of a list, see ``metrics.residue_pairs``.

    Parameters
    ----------
    lists : CandidateLists
    metrics : sequence of StructureMetric
        What similarities are asked for; only these are searched for.

    Raises
    ------
    DataError
        If the lists have no structures.
    """

    def __init__(self, lists: CandidateLists, metrics: Sequence[StructureMetric]) -> None:
        if lists.traces is None:
            raise DataError(f"{lists.source}: the candidates have no structures to compare")
        self.lists = lists
        tm = any(isinstance(metric, TmScore) for metric in metrics)
        gdt = any(metric.search and not isinstance(metric, TmScore) for metric in metrics)
        lengths = lists.traces.lengths
        spans = [np.arange(a, b) for a, b in zip(lists.offsets[:-1], lists.offsets[1:], strict=True)]
        self.items = [span[lengths[span] > 0] for span in spans]
        sizes = np.array([len(items) * (len(items) - 1) // 2 for items in self.items])
        memory.require(8 * WIDTH * int(sizes.sum()), f"{int(sizes.sum()):,} pairs of models")
        tasks = [
            (models, first, last, gdt, tm)
            for items, n_pairs in zip(self.items, sizes.tolist(), strict=True)
            for models in ([of_one_chain(lists.traces.take(items))] if n_pairs else [])
            for first, last in _blocks(models, n_pairs)
        ]
        found = parallel.each(_block, tasks, threads=True, anywhere=True, step=("comparing models", "block"))
        self._known = np.split(np.concatenate([np.empty((0, WIDTH)), *found]), np.cumsum(sizes)[:-1])
        note_doubts(lists, self.items, self._known)

    def tables(self, metric: StructureMetric) -> list[Floats]:
        """Return the similarities of each list's models with a structure to each other, float64 (k, k).

        Raises ConfigError if the metric has no value for models that share no residue.
        """
        if metric.better < 0:
            text = f"consensus by {metric.name}: models that share no residue have none"
            raise ConfigError(f"{text}; GDT-TS, GDT-HA and TM count them as 0")
        out = []
        for items, known in zip(self.items, self._known, strict=True):
            table = np.zeros((len(items), len(items)))
            table[np.triu_indices(len(items), 1)] = metric.values(known)
            out.append(table + table.T)
        return out


def _blocks(models: Traces, n_pairs: int) -> list[tuple[int, int]]:
    """Where blocks of pairs begin and end."""
    size = max(1, _RESIDUES // len(np.unique(models.keys)))
    return [(first, min(first + size, n_pairs)) for first in range(0, n_pairs, size)]


def _block(models: Traces, first: int, last: int, gdt: bool, tm: bool) -> Floats:
    """What is known of pairs ``first`` to ``last`` - 1 of models: float64 (last - first, WIDTH)."""
    pairs = among(models, *_numbered(len(models), np.arange(first, last)))
    return pairs.superposed(gdt, tm, thorough=False)  # a mean over models needs no last residue


def _numbered(k: int, pairs: Index) -> tuple[Index, Index]:
    """The two models of pairs by their number, as ``triu_indices(k, 1)`` has them."""
    starts = np.cumsum(np.r_[0, np.arange(k - 1, 0, -1)])
    one = np.searchsorted(starts, pairs, side="right") - 1
    return one, pairs - starts[one] + one + 1
