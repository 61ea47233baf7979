"""Metrics of protein structures: the chosen model superposed on the native by its alpha carbons.

A residue of the model stands for the native's residue of the same key (chain, number and insertion code):
other ways to match are applied where natives are read. Residues that the native lacks are not counted.
All values but the RMSD are shares of the native's residues, so residues that the model lacks count as wrong.
A list is judged if it has a native and a model that shares a residue with it. Means are over lists; units are
0 to 100 for GDT, 0 to 1 for the TM-score and coverage, Å for the RMSD.

The counts of an item, ``lists.counts["superposition"]``, are float64 (n_items, 9): residues shared with the
native, residues of the native (0 = no native), the largest numbers of residues within 0.5, 1, 2, 4 and 8 Å,
the TM-score, and the RMSD (NaN without shared residues). Numbers and TM-score are NaN without a search, that
is if only RMSD or coverage were asked for.

Clashes are residues closer than a protein's can be, which may inflate GDT.
"""

from __future__ import annotations

import itertools
import math
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rerank.core.errors import DataError, DataNote
from rerank.core.text import count, some
from rerank.core.types import Floats, Index, Mask
from rerank.data.columns.traces import SUPERPOSITIONS, Traces, chain_codes, numbers
from rerank.data.lists import CandidateLists
from rerank.extensions.proteins.residue_pairs import (
    COUNTS,
    CUTOFFS,
    LENGTH,
    MATCHED,
    RMSD,
    TM,
    WIDTH,
    superposed,
    with_natives,
)
from rerank.metrics.base import Preparation, register
from rerank.metrics.judges import signed
from rerank.metrics.selecting import (
    ItemPairs,
    MeanJudge,
    MeanMetric,
    SelectingMetric,
    Selection,
    saved_counts,
    with_worst,
)

LIMIT = 3.6  # Å; packed residues are 3.8 apart and more
# Å; CA atoms of neighbours are 3.8 apart over a trans peptide bond, 2.9 over a cis bond
NEIGHBOUR_LIMIT = 2.7
MOST = 10_000_000  # of a structure: as many as 4,500 residues at one point have
# Å²; of files with three decimals it separates equal from smaller distances, however they are rounded
_ROUNDING = 5e-7


def clash_counts(traces: Traces) -> Index:
    """Return the number of clashes of each structure, int64 (n).

    A clash is a pair of residues whose CA atoms are closer than 3.6 Å, or than 2.7 Å if the two are
    neighbours: consecutive residues of one chain whose numbers differ by at most 1. An empty structure has
    none. Counts end at 10,000,000.

    - ``traces``: Traces (n)
    """
    from scipy.spatial import KDTree

    codes, number = chain_codes(traces.keys), numbers(traces.keys)
    follows = (codes[1:] == codes[:-1]) & (number[1:] - number[:-1] <= 1)
    square = np.square(np.diff(traces.xyz, axis=0)).sum(axis=1)
    limit, of_neighbours = LIMIT**2 - _ROUNDING, NEIGHBOUR_LIMIT**2 - _ROUNDING
    surplus = follows & (square >= of_neighbours) & (square < limit)  # pairs that are no clashes
    counts = np.zeros(len(traces), dtype=np.int64)
    for i, (start, stop) in enumerate(itertools.pairwise(traces.offsets.tolist())):
        if stop - start > 1:
            tree = KDTree(traces.xyz[start:stop], leafsize=8, balanced_tree=False)
            pairs = (tree.count_neighbors(tree, math.sqrt(limit)) - (stop - start)) // 2
            counts[i] = pairs - np.count_nonzero(surplus[start : stop - 1])
    return np.minimum(counts, MOST)


def clash_note(lists: CandidateLists) -> str | None:
    """Return a remark on models with clashes: how many there are, and the worst, the first on ties.

    None if no model has any, or there are no models.
    """
    if lists.traces is None:
        return None
    counts = clash_counts(lists.traces)
    if not counts.any():
        return None
    worst = int(np.argmax(counts))
    some = f"{np.count_nonzero(counts)} of {count(len(counts), 'model')}"
    what = f"clashes (CA-CA < {LIMIT} Å), which may inflate GDT, in {some}"
    more = " or more" if counts[worst] == MOST else ""
    return f"{lists.source}: {what}; {counts[worst]}{more} in {lists.place_of(worst)}"


@register("clashes")
class Clashes(MeanMetric):
    """Mean clashes of the chosen models."""

    summary = "mean number of clashes (CA-CA < 3.6 Å) of the chosen structures"
    meaning = (
        "The pairs of residues of the chosen structure whose CA atoms are closer than 3.6 Å (2.7 Å if they "
        "are consecutive in a chain), as a mean over lists. A candidate without a structure counts as the "
        "worst of its list, and lists without structures are left out. Counts end at 10,000,000."
    )
    source = "rerank"
    examples = ("clashes",)
    needs = ("traces",)
    better = -1
    digits = 2

    def of_items(self, lists: CandidateLists) -> Floats:
        if lists.traces is None:
            raise DataError(f"{lists.source}: clashes needs structures of the candidates")
        return np.where(lists.traces.lengths > 0, clash_counts(lists.traces), np.nan)

    def formula(self) -> list[str]:
        return [f"limit:{LIMIT}", f"consecutive:{NEIGHBOUR_LIMIT}"]


_FEW = 0.5  # share of the native's residues below which a note counts models
_LEAST = 3  # residues of an RMSD: any two structures of fewer fit each other too well


class StructureMetric(SelectingMetric):
    """A mean of a value of superposed models.

    Attributes
    ----------
    search : bool
        Whether it needs the search for the best superpositions.
    """

    needs = ("traces", "natives")
    search: ClassVar[bool] = True
    digits: ClassVar[int] = 2
    absent: ClassVar[str] = "0"
    in_parallel = True
    of_pairs = True

    @classmethod
    def pairs_of(cls, lists: CandidateLists, metrics: Sequence[StructureMetric]) -> ItemPairs:
        from rerank.extensions.proteins.consensus import ModelPairs

        return ModelPairs(lists, metrics)

    @abstractmethod
    def values(self, counts: Floats) -> Floats:
        """Return the metric of pairs of structures (n), from what is known of them (n, WIDTH).

        It is NaN if there is none, which can only be if few residues are shared.
        """

    def of_models(self, lists: CandidateLists) -> Floats:
        """Return the metric of each item with its native, float64 (n_items); NaN without one.

        An item without a structure has 0, or NaN if there is nothing to measure (RMSD).
        """
        counts = _superposed(lists, self.search)
        _note_doubts(lists, counts, self.search)
        return np.where(counts[:, LENGTH] > 0, self.values(counts), np.nan)

    def kept_counts(self, preparation: Preparation) -> dict[str, Floats]:
        return {SUPERPOSITIONS: preparation.shared(_counted)} if self.search else {}

    def formula(self) -> list[str]:
        """Return what the signature states of how it is computed."""
        return ["norm:native"]

    def prepare_in(self, preparation: Preparation) -> MeanJudge:
        lists = preparation.lists
        counts = preparation.shared(_counted)
        judged = _judged(lists, counts)
        values = self.values(counts)
        lacking = np.isnan(values)
        values, measured = with_worst(values, lists, self.better)
        judged &= measured
        saved = [] if lists.traces is not None and lists.natives is not None else ["counts:saved"]
        judge = MeanJudge(
            self.name,
            signed(self.family, *self.formula(), "match:keys", f"no_structure:{self.absent}", *saved),
            preparation.of_lists(Selection),
            np.where(np.repeat(judged, lists.lengths), values, 0.0),
            better=self.better,
            judged=judged,
            digits=self.digits,
            counts={SUPERPOSITIONS: counts},
        )
        judge.lacking = lacking
        return judge


class _Gdt(StructureMetric):
    """The mean share of residues within four cutoffs."""

    cutoffs: ClassVar[tuple[float, ...]]

    def values(self, counts: Floats) -> Floats:
        within = counts[:, COUNTS][:, [CUTOFFS.index(cutoff) for cutoff in self.cutoffs]]
        return 100.0 * within.sum(axis=1) / (len(self.cutoffs) * np.maximum(counts[:, LENGTH], 1.0))

    def formula(self) -> list[str]:
        return ["cutoffs:" + ",".join(f"{cutoff:g}" for cutoff in self.cutoffs), *super().formula()]


@register("GDT-TS", "GDT", "GDT_TS", "GDTTS")
class GdtTotalScore(_Gdt):
    """GDT-TS."""

    summary = "global distance test: native residues within 1, 2, 4 and 8 Å of the model's, 0 to 100"
    meaning = (
        "The mean over four cutoffs, 1, 2, 4 and 8 Å, of the largest percentage of the native's residues "
        "whose alpha carbons one superposition brings within the cutoff, each cutoff with a superposition of "
        "its own. A model without a structure counts 0. 0 to 100."
    )
    source = "Zemla 2003"
    elsewhere = (
        "GDT-TS of TMscore, times 100: at least its value, since the search counts more superpositions; "
        "GDT_TS of LGA and of CASP: as close as two searches are"
    )
    examples = ("GDT-TS",)
    cutoffs = (1.0, 2.0, 4.0, 8.0)


@register("GDT-HA", "GDT_HA", "GDTHA")
class GdtHighAccuracy(_Gdt):
    """GDT-HA."""

    summary = "GDT of high accuracy: native residues within 0.5, 1, 2 and 4 Å of the model's, 0 to 100"
    meaning = (
        "GDT-TS with cutoffs of 0.5, 1, 2 and 4 Å instead of 1, 2, 4 and 8 Å. A model without a structure "
        "counts 0. 0 to 100."
    )
    source = "Zemla 2003; Read & Chavali 2007"
    elsewhere = (
        "GDT-HA of TMscore, times 100: at least its value; GDT_HA of LGA: as close as two searches are"
    )
    examples = ("GDT-HA",)
    cutoffs = (0.5, 1.0, 2.0, 4.0)


@register("TM", "TM-score", "TM_score", "TMscore")
class TmScore(StructureMetric):
    """TM-score."""

    summary = "TM-score of the model, normalised by the native's length, 0 to 1"
    meaning = (
        "The largest sum over shared residues of 1 / (1 + (d / d0)^2), divided by the L residues of the "
        "native, where d is the distance of the alpha carbons in one superposition and d0 is "
        "1.24 (L - 15)^1/3 - 1.8 Å, at least 0.5 Å. A model without a structure counts 0. 0 to 1."
    )
    source = "Zhang & Skolnick 2004"
    elsewhere = (
        "TM-score of TMscore: at least its value; TM-score of TM-align and US-align: another one, since "
        "these align the structures first"
    )
    examples = ("TM",)
    digits = 4

    def values(self, counts: Floats) -> Floats:
        return counts[:, TM]

    def formula(self) -> list[str]:
        return ["d0:native", *super().formula()]


@register("RMSD")
class RootMeanSquareDeviation(StructureMetric):
    """RMSD of shared residues."""

    summary = "root mean square deviation of the shared residues' alpha carbons, in Å"
    meaning = (
        "The RMSD of the alpha carbons of all shared residues in the superposition of least squares. A model "
        "that shares fewer than three residues with its native counts as the worst other model of the list; "
        "a list in which all do is not judged. Residues that a model lacks do not count, so a partial model "
        "looks good: see coverage. 0 or more, in Å."
    )
    source = "Kabsch 1976"
    elsewhere = "RMSD of the common residues of TMscore: equal"
    examples = ("RMSD",)
    better = -1
    search = False
    digits = 3
    absent = "worst"

    def values(self, counts: Floats) -> Floats:
        return np.where(counts[:, MATCHED] >= _LEAST, counts[:, RMSD], np.nan)

    def formula(self) -> list[str]:
        return ["residues:shared", f"least:{_LEAST}"]


@register("coverage")
class Coverage(StructureMetric):
    """Share of the native that is modelled."""

    summary = "share of the native's residues that the model has, 0 to 1"
    meaning = (
        "The residues that model and native share divided by the residues of the native; no distance matters."
        " A model without a structure counts 0. 0 to 1."
    )
    source = "rerank"
    elsewhere = "residues in common of TMscore, divided by the length of the native: equal"
    examples = ("coverage",)
    search = False
    digits = 4

    def values(self, counts: Floats) -> Floats:
        return counts[:, MATCHED] / np.maximum(counts[:, LENGTH], 1.0)


def _counted(preparation: Preparation) -> Floats:
    """The counts of all items (n_items, WIDTH): saved ones, or those of one superposition of each item."""
    lists, search = preparation.lists, _searches(preparation)
    found = saved_counts(lists, SUPERPOSITIONS, WIDTH, known=COUNTS.start)
    if found is not None:
        saved = found.astype(np.float64, copy=False)
        _check(saved, lists)
        if not search or not np.isnan(saved[:, COUNTS.start : RMSD]).any():
            return saved
        if lists.traces is None or lists.natives is None:
            raise DataError(f"{lists.source}: the saved counts of superpositions are without a search")
    if lists.traces is None:
        raise DataError(f"{lists.source}: the candidates have no structures to superpose")
    if lists.natives is None:
        raise DataError(f"{lists.source}: no native structures; give them with --native")
    counts = _superposed(lists, search)
    _note_absent(lists, counts)
    _note_doubts(lists, counts, search)
    return counts


def _judged(lists: CandidateLists, counts: Floats) -> Mask:
    """Return whether each list has a native and a model that shares a residue with it: bool (n_lists)."""
    shared = np.maximum.reduceat(counts[:, MATCHED], lists.offsets[:-1])
    return (counts[lists.offsets[:-1], LENGTH] > 0) & (shared > 0)


def _searches(preparation: Preparation) -> bool:
    """Return whether a metric that is prepared needs the search; true if it is not known which are."""
    if preparation.metrics is None:
        return True
    metrics = [getattr(metric, "inner", metric) for metric in preparation.metrics]
    return any(metric.search for metric in metrics if isinstance(metric, StructureMetric))


def _check(saved: Floats, lists: CandidateLists) -> None:
    """Raise DataError if saved counts cannot be counts, or those of the structures that the lists have."""
    matched, length = saved[:, MATCHED], saved[:, LENGTH]
    within = np.nan_to_num(saved[:, COUNTS])
    sound = (saved[:, :RMSD] >= 0) | np.isnan(saved[:, :RMSD])
    if not sound.all() or (matched > length).any() or (within > matched[:, None]).any():
        raise DataError(f"{lists.source}: the saved counts of superpositions are of no structures")
    if lists.traces is None or lists.natives is None:
        return
    own = _superposed(lists, search=False)
    same = own[:, [MATCHED, LENGTH]] == saved[:, [MATCHED, LENGTH]]
    same &= np.isclose(own[:, RMSD], saved[:, RMSD], atol=1e-6, equal_nan=True)[:, None]
    if not same.all():
        place = lists.place_of(int(np.argmin(same.all(axis=1))))
        raise DataError(f"{lists.source}: {place}: the saved counts are of another structure")


def _superposed(lists: CandidateLists, search: bool) -> Floats:
    """The counts of all items, from the structures of the lists."""
    assert lists.traces is not None
    assert lists.natives is not None
    index = lists.list_index
    counts = superposed(with_natives(lists.traces, lists.natives, index), search, "superposing models")
    counts[:, LENGTH] = lists.natives.lengths[index]
    return counts


def _note_absent(lists: CandidateLists, counts: Floats) -> None:
    """Warn if lists have natives and nothing to superpose on them, or items of judged lists have nothing."""
    judged = _judged(lists, counts)
    lost = np.flatnonzero((counts[lists.offsets[:-1], LENGTH] > 0) & ~judged)
    if len(lost):
        which = some([repr(lists.list_id(i)) for i in lost.tolist()])
        what = "no item has a structure that shares a residue with the native"
        _warn(f"{lists.source}: {count(len(lost), 'list')} not judged ({which}): {what}")
    absent = np.flatnonzero(np.repeat(judged, lists.lengths) & (counts[:, MATCHED] == 0))
    if len(absent):
        items, first = count(len(absent), "item"), lists.place_of(int(absent[0]))
        _warn(
            f"{lists.source}: {items} without a structure that shares a residue with the native, beside "
            f"others with one: GDT, TM-score and coverage 0, RMSD as the worst of the list (the first is "
            f"{first})"
        )


def _note_doubts(lists: CandidateLists, counts: Floats, search: bool) -> None:
    """Warn if models lack many residues of their natives or, if GDT is searched for, have clashes."""
    remark = clash_note(lists) if search else None
    if remark is not None:
        _warn(remark)
    shared = counts[:, MATCHED] > 0
    few = np.flatnonzero(shared & (counts[:, MATCHED] < _FEW * counts[:, LENGTH]))
    if len(few) == 0:
        return
    item = int(few[np.argmin(counts[few, MATCHED] / counts[few, LENGTH])])
    matched, length = counts[item, [MATCHED, LENGTH]].astype(int).tolist()
    _warn(
        f"{lists.source}: {count(len(few), 'model')} of {np.count_nonzero(shared):,} with less than half of "
        f"the residues of the native, such as {lists.place_of(item)} with {matched} of {length}; "
        "they are partial, or numbered in another way (match by sequence)"
    )


def _warn(text: str) -> None:
    warnings.warn(text, DataNote, stacklevel=4)
