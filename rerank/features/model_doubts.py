"""Models of a list that may not be comparable with the others: other numbers of residues, other proteins."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rerank.core.errors import DataNote
from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.data.columns.traces import Traces, residue_name, without_chain
from rerank.data.lists import CandidateLists
from rerank.data.matching import BLOSUM62, is_uniform, only_chains
from rerank.metrics.residue_pairs import MATCHED

_KNOWN = BLOSUM62.diagonal() > 0  # bytes that are letters of the twenty amino acids
_FEW = 0.5  # share of the residues of the shorter of two models
_ALIKE = 0.9  # share of amino acids; a model whose numbers are shifted has about 6 %


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
