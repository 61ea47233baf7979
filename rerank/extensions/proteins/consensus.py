"""Similarities of the protein models of a list to each other, for consensus features.

The similarity of two models is a metric of structures with the longer one in the native's place: the same
both ways, so each pair is superposed once. For complete models it is normalised by the length of the target,
as in 3D-Jury, Pcons and ModFOLDclust. Residues are the same if number, insertion code and chain are; the
names of chains do not matter in a list whose models have one each. Two models that share no residue have the
similarity 0. No native is needed. The search is the quicker one of ``superpositions``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.core.workers import parallel
from rerank.data.columns.traces import Traces, residue_name, without_chain
from rerank.data.lists import CandidateLists
from rerank.extensions.proteins.matching import BLOSUM62, is_uniform, only_chains
from rerank.extensions.proteins.residue_pairs import MATCHED, WIDTH, among

# Residues of a block of pairs: enough blocks for the workers and for the display of progress.
_RESIDUES = 1 << 16
_KNOWN = BLOSUM62.diagonal() > 0  # bytes that are letters of the twenty amino acids
_TM = "TM"  # the metric whose search is not that of GDT
_FEW = 0.5  # share of the residues of the shorter of two models
_ALIKE = 0.9  # share of amino acids; a model whose numbers are shifted has about 6 %


class ModelPairs:
    """Similarities of each pair of models of a list, see ``metrics.residue_pairs``.

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

    def __init__(self, lists: CandidateLists, metrics: Sequence[Any]) -> None:
        if lists.traces is None:
            raise DataError(f"{lists.source}: the candidates have no structures to compare")
        self.lists = lists
        tm = any(metric.family == _TM for metric in metrics)
        gdt = any(metric.search and metric.family != _TM for metric in metrics)
        lengths = lists.traces.lengths
        spans = [np.arange(a, b) for a, b in zip(lists.offsets[:-1], lists.offsets[1:], strict=True)]
        self.items: list[Index] = [span[lengths[span] > 0] for span in spans]
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

    def tables(self, metric: Any) -> list[Floats]:
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
    """Return the bounds of blocks of pairs."""
    size = max(1, _RESIDUES // len(np.unique(models.keys)))
    return [(first, min(first + size, n_pairs)) for first in range(0, n_pairs, size)]


def _block(models: Traces, first: int, last: int, gdt: bool, tm: bool) -> Floats:
    """Similarities of pairs ``first`` to ``last`` - 1 of models: float64 (last - first, WIDTH)."""
    pairs = among(models, *_numbered(len(models), np.arange(first, last)))
    return pairs.superposed(gdt, tm, thorough=False)  # a mean over models needs no last residue


def _numbered(k: int, pairs: Index) -> tuple[Index, Index]:
    """The two models of pairs by their number, as ``triu_indices(k, 1)`` has them."""
    starts = np.cumsum(np.r_[0, np.arange(k - 1, 0, -1)])
    one = np.searchsorted(starts, pairs, side="right") - 1
    return one, pairs - starts[one] + one + 1


def of_one_chain(models: Traces) -> Traces:
    """Return models without the names of chains if each has a single one, as natives are matched."""
    if np.all((only_chains(models) >= 0) | (models.lengths == 0)):
        return replace(models, keys=without_chain(models.keys))
    return models


def note_doubts(lists: CandidateLists, items: Sequence[Index], known: Sequence[Floats]) -> None:
    """Warn if models share few residues with most others of their list, or have other amino acids.

    Parameters
    ----------
    lists : CandidateLists
        With models.
    items : int64 (k) for each list, its models with a structure.
    known : float64 (k (k - 1) / 2, WIDTH) for each list
        What is known of pairs of these, in the order of ``triu_indices(k, 1)``.
    """
    assert lists.traces is not None
    few: list[int] = []
    other: list[tuple[int, str]] = []
    for own, pairs in zip(items, known, strict=True):
        if len(own) > 1:
            models = of_one_chain(lists.traces.take(own))
            few += own[_shared(models.lengths, pairs[:, MATCHED]) < _FEW].tolist()
            other += [(int(own[k]), text) for k, text in _of_other_sequence(models)]
    if few:
        what = f"{count(len(few), 'model')} with less than half of the residues of most others in the list"
        _warn(f"{lists.source}: {what} ({lists.place_of(few[0])}); residues are compared by their numbers")
    if other:
        item, text = other[0]
        what = f"{count(len(other), 'model')} of other amino acids than most in the list"
        _warn(
            f"{lists.source}: {what} ({lists.place_of(item)}: {text}); residues are compared by their numbers"
        )


def _shared(lengths: Index, matched: Floats) -> Floats:
    """The median over the other models of the share of residues that a model has in common with one: (k)."""
    k = len(lengths)
    one, two = np.triu_indices(k, 1)
    table = np.full((k, k), np.nan)
    table[one, two] = table[two, one] = matched / np.minimum(lengths[one], lengths[two])
    return np.asarray(np.nanmedian(table, axis=1), dtype=np.float64)


def _of_other_sequence(models: Traces) -> list[tuple[int, str]]:
    """The models whose amino acids are not those that most models have there, each with its first one."""
    keys, places = np.unique(models.keys, return_inverse=True)
    rows = np.flatnonzero(_KNOWN[models.residues])
    counts = np.zeros((len(keys), len(_KNOWN)), dtype=np.int64)
    np.add.at(counts, (places[rows], models.residues[rows]), 1)
    most = counts.argmax(axis=1)
    compared = _KNOWN[models.residues] & (counts.sum(axis=1) > 1)[places]
    differs = compared & (models.residues != most[places])
    out = []
    for k in range(len(models)):
        here = models.of(k)
        if differs[here].sum() > (1 - _ALIKE) * compared[here].sum() and not is_uniform(
            models.residues[here]
        ):
            row = here.start + int(np.argmax(differs[here]))
            name, letter = residue_name(int(models.keys[row])), chr(models.residues[row])
            out.append((k, f"{name} is {letter}, in most {chr(most[places[row]])}"))
    return out


def _warn(text: str) -> None:
    warnings.warn(text, DataNote, stacklevel=5)
