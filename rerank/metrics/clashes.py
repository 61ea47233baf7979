"""Clashes of CA traces: residues closer than a protein's can be, which may inflate GDT."""

from __future__ import annotations

import numpy as np

from rerank.core.errors import DataError
from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.data.columns.traces import Traces, chain_codes, numbers
from rerank.data.lists import CandidateLists
from rerank.metrics.base import Preparation, register
from rerank.metrics.judges import signed
from rerank.metrics.selecting import MeanJudge, SelectingMetric, Selection
from rerank.native.metrics import _clashes

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

    Parameters
    ----------
    traces : Traces (n)
    """
    longest = int(traces.lengths.max(initial=0))
    follows = np.zeros(len(traces.keys), dtype=np.uint8)
    codes, number = chain_codes(traces.keys), numbers(traces.keys)
    follows[1:] = (codes[1:] == codes[:-1]) & (number[1:] - number[:-1] <= 1)
    counts = np.zeros(len(traces), dtype=np.int64)
    _clashes.clashes(
        traces.offsets,
        traces.xyz,
        follows,
        LIMIT,
        LIMIT**2 - _ROUNDING,
        NEIGHBOUR_LIMIT**2 - _ROUNDING,
        MOST,
        np.full(1 << (2 * longest + 1).bit_length(), -1, dtype=np.int32),
        np.empty(longest, dtype=np.int32),
        np.empty((longest, 3), dtype=np.int32),
        counts,
    )
    return counts


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


def _values(lists: CandidateLists) -> Floats:
    """Clashes of each item; one without a structure has as many as the worst of its list."""
    if lists.traces is None:
        raise DataError(f"{lists.source}: clashes needs structures of the candidates")
    there = lists.traces.lengths > 0
    values = np.where(there, clash_counts(lists.traces), np.nan)
    worst = np.fmax.reduceat(values, lists.offsets[:-1])
    return np.where(there, values, np.repeat(worst, lists.lengths))


@register("clashes")
class Clashes(SelectingMetric):
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

    def prepare_in(self, preparation: Preparation) -> MeanJudge:
        """Return a judge that shares choices with the others of ``preparation``."""
        values = preparation.of_lists(_values)
        lists = preparation.lists
        judge = MeanJudge(
            self.name,
            signed(
                self.name, f"limit:{LIMIT}", f"consecutive:{NEIGHBOUR_LIMIT}", "missing:worst", "mean:lists"
            ),
            preparation.of_lists(Selection),
            values,
            better=self.better,
            judged=~np.isnan(values[lists.offsets[:-1]]),
            digits=2,
        )
        judge.lacking = None if lists.traces is None else lists.traces.lengths == 0
        return judge
