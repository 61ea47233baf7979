"""The ranking of assemblies in CASP16: z-scores of six measures within each list, added with equal weights.

The counts of an item are those of interfaces, then lDDT and the TM-score under the same mapping of chains.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from rerank.core.errors import DataError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.extensions.proteins.atoms.assembly import Assembly
from rerank.extensions.proteins.atoms.counted import CountedMetric, counts_called
from rerank.extensions.proteins.atoms.docking import Mapping
from rerank.extensions.proteins.atoms.interfaces import (
    INTERFACES,
    SHARED,
    WIDTH,
    ContactScore,
    DockQ,
    Native,
    PatchScore,
    QuaternaryScore,
    interface_counts,
)
from rerank.extensions.proteins.atoms.lddt import Reference
from rerank.extensions.proteins.residue_pairs import superpositions
from rerank.metrics.base import Preparation, register
from rerank.metrics.labels import FlooredJudge, Moments
from rerank.metrics.selecting import MeanJudge

LDDT, TM = WIDTH, WIDTH + 1
_TM_OF_SEARCH = 5
# A value that is exactly two deviations below is kept whichever way its z-score is rounded.
_OUTLIER = -2.0 - 1e-9


def _whole(native: Native) -> Callable[[Assembly, Mapping], Floats]:
    """Return a function that gives lDDT and TM-score of a model whose chains are mapped."""
    structure = native.assembly.whole
    reference = Reference.of(structure, structure.keys)
    alpha = native.assembly.backbone[:, 1]

    def values(model: Assembly, mapping: Mapping) -> Floats:
        theirs, ours = list[np.ndarray](), list[np.ndarray]()
        for a, x in enumerate(mapping.chains):
            if x >= 0:
                of = mapping.partners[a, x]
                rows = np.flatnonzero(of >= 0)
                theirs.append(native.assembly.chains[a].first + rows)
                ours.append(model.chains[x].first + of[rows])
        if not theirs:
            return np.zeros(2)
        here, there = np.concatenate(theirs), np.concatenate(ours)
        order = np.argsort(there, kind="stable")
        kept = reference.kept(model.whole.rows(there[order]), structure.keys[here[order]])
        order = np.argsort(here, kind="stable")
        offsets, lengths = np.array([0, len(here)]), [len(structure.keys)]
        found = superpositions(
            model.backbone[:, 1], alpha, there[order], here[order], offsets, lengths, gdt=False
        )
        return np.array([kept / max(reference.possible, 1), found[0, _TM_OF_SEARCH]])

    return values


@register("casp16")
class Casp16(CountedMetric):
    """The combination of z-scores of the assessors of CASP16."""

    summary = "mean z-score of QS, ICS, IPS, DockQ, TM-score and lDDT of the chosen assembly, as in CASP16"
    meaning = (
        "The z-scores of QS, ICS, IPS, DockQ, TM-score and lDDT within the list, added with weights of 1/6. "
        "Each is by the mean and deviation of the list's models without those whose own z-score is below -2; "
        "what is lower than the floor counts as the floor, as does a model without a chain of the native. "
        "0 if all models are equal. Chains are mapped as for DockQ."
    )
    source = "Code of the assessors of CASP16, 2024"
    elsewhere = (
        "The assessors' final ranking takes z-scores of each interface and weights interfaces and targets; "
        "their formula for monomers needs measures of other programs"
    )
    unreturned = "as the floor"
    of_pool = True
    of_arrays = False
    examples = ("casp16", "casp16(floor=-2)")
    digits = 3
    kind = FlooredJudge
    absent = "floor"
    unjudged = "the native has no two chains in contact, or no model has a chain of it"
    width, shared = WIDTH + 2, SHARED
    counts_name = counts_called("casp16")
    floor: Literal[0, -2] = setting(0, "the lowest z-score of a measure that counts")

    @classmethod
    def count(cls, lists: CandidateLists) -> Floats:
        return interface_counts(lists, _whole, 2)

    def of_models(self, lists: CandidateLists) -> Floats:
        raise DataError("casp16 compares the models of a list; evaluate lists with it")

    def values(self, counts: Floats) -> Floats:
        raise NotImplementedError  # they depend on the other models, see values_in

    def values_in(self, counts: Floats, lists: CandidateLists) -> Floats:
        there = counts[:, SHARED] > 0
        own = [metric().values(counts) for metric in (QuaternaryScore, ContactScore, PatchScore, DockQ)]
        total = np.zeros(len(counts))
        for column in (*own, counts[:, TM], counts[:, LDDT]):
            known = np.where(there, column, np.nan)
            outlier = Moments(known, lists).standardised(known, "sample") < _OUTLIER
            z = Moments(np.where(outlier, np.nan, known), lists).standardised(known, "sample")
            total += np.where(there, np.maximum(z, self.floor), self.floor)
        return np.where(counts[:, INTERFACES] > 0, total / 6.0, np.nan)

    def formula(self) -> list[str]:
        words = ["measures:QS,ICS,IPS,DockQ,TM,lDDT", "weights:equal", "drop:below-2", f"floor:{self.floor}"]
        return [*words, "deviation:sample", "constant:0", "mapping:DockQ"]

    def prepare_in(self, preparation: Preparation) -> MeanJudge:
        judge = super().prepare_in(preparation)
        assert isinstance(judge, FlooredJudge)
        judge.floor = float(self.floor)
        return judge
