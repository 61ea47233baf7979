"""PARSEVAL of the chosen parses, as evalb counts it with COLLINS.prm: labelled brackets against gold's.

A bracket is a label over words, those of pre-terminals and of TOP and S1 left out. Words with a tag of
punctuation (, : `` '' .) in gold are left out of both trees, as are traces (-NONE-), and with them the
brackets that hold nothing else. Labels end before their first - or =, and PRT counts as ADVP. A bracket of
the parse is matched by one of gold of the same label and words, each of gold once; it crosses gold where it
shares words with a bracket of gold and neither holds the other.

The counts of an item, ``lists.counts["PARSEVAL"]``, are float64 (n_items, 5):

    0 matched   brackets of the parse that are matched
    1 gold      brackets of gold
    2 test      brackets of the parse
    3 crossing  brackets of the parse that cross gold; NaN (in all items) where it is not known
    4 length    words of gold with punctuation, without traces; NaN (in all items) where it is not known

Measures, in percent where nothing else is said (algorithm: Black et al. 1991; Collins & Koo 2005, 5.1):

- PARSEVAL, the F of the sums, 2 matched / (gold + test); .LR = matched / gold; .LP = matched / test;
- .EX, sentences all of whose brackets are right; .0CB and .2CB, those with no, at most two, crossing ones;
- .CB, crossing brackets a sentence (smaller is better);
- .score, the mean over sentences of F / 100 * gold, the paper's Score, whose sum its equation 21 compares.

``(max=40)`` counts only sentences of at most 40 words, as evalb's second table does. Sums of nothing give 0.
evalb takes punctuation by each tree's own tags, and leaves a sentence out as an error where the two then have
other words; here gold's tags decide, and it counts. Where evalb skips a sentence without a parse, it counts
here too: nothing is matched, and nothing crosses. S1 goes beyond COLLINS.prm, which names TOP alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from rerank._version import __version__
from rerank.data.columns.forests import TRACE, Forest
from rerank.data.judge import SumForm
from rerank.data.lists import CandidateLists
from rerank.data.types import Floats, Index, Ints
from rerank.errors import ConfigError, DataError
from rerank.metrics.base import FAMILIES, Metric, Parameter, Preparation, refuse_unknown
from rerank.metrics.selecting import (
    MeanJudge,
    RatioJudge,
    SelectingJudge,
    SelectingMetric,
    no_cutoff,
    selection,
)
from rerank.native.metrics import _parseval

Kinds = npt.NDArray[np.int8]

NAME = "PARSEVAL"
WIDTH = 5
CROSSING, LENGTH = 3, 4
PUNCTUATION = (",", ":", "``", "''", ".")
DELETED = frozenset({"TOP", "S1", TRACE, *PUNCTUATION})
EQUAL = {"PRT": "ADVP"}

_TAIL = re.compile("[-=].*", re.DOTALL)


def counts_of(lists: CandidateLists) -> Floats:
    """The counts of each item, see above: float64 (n_items, 5), saved ones or counted from trees.

    Raises DataError where neither those nor trees and gold are there, saved ones are none, or a parse has
    not as many words as gold.
    """
    saved = lists.counts.get(NAME)
    if saved is not None:
        unknown = np.isnan(saved)
        if saved.shape[1] != WIDTH or unknown[:, :CROSSING].any():
            raise DataError(f"{lists.source}: the saved counts of {NAME} must be {WIDTH} numbers an item")
        return saved
    if lists.trees is None or lists.gold is None:
        lacking = "candidates' trees" if lists.trees is None else "gold trees"
        raise DataError(f"{lists.source}: {NAME} needs the {lacking} or saved counts, there are neither")
    return _counted(lists, lists.trees, lists.gold)


def _counted(lists: CandidateLists, trees: Forest, gold: Forest) -> Floats:
    classes: dict[str, int] = {}
    of_trees, of_gold = _arrays(trees, classes), _arrays(gold, classes)
    largest = int(max(trees.lengths().max(initial=0), gold.lengths().max(initial=0)))
    out = np.empty((lists.n_items, WIDTH))
    bad = _parseval.count(lists.offsets, *of_trees, *of_gold, len(classes), _parseval.Scratch(largest), out)
    if bad >= 0:
        i = int(np.searchsorted(lists.offsets, bad, side="right")) - 1
        which = f"parse {bad - int(lists.offsets[i]) + 1} of list {lists.list_id(i)!r}"
        raise DataError(f"{lists.source}: {which} has not as many words as its gold tree")
    return out


def _arrays(forest: Forest, classes: dict[str, int]) -> tuple[Index, Ints, Ints, Ints, Kinds]:
    """Offsets, symbols, sizes; of each symbol its class as a label (-1 = no bracket) and its kind as a tag.

    ``classes`` numbers labels that count as different ones, in both forests.
    """
    of_symbols = np.full(len(forest.vocabulary), -1, dtype=np.int32)
    kinds = np.full(len(forest.vocabulary), _parseval.KINDS["word"], dtype=np.int8)
    for symbol, string in enumerate(forest.vocabulary):
        if string in DELETED:
            kinds[symbol] = _parseval.KINDS["trace" if string == TRACE else "left out"]
        label = _TAIL.sub("", string)
        if string and label not in DELETED:
            of_symbols[symbol] = classes.setdefault(EQUAL.get(label, label), len(classes))
    return forest.offsets, forest.symbols, forest.sizes, of_symbols, kinds


def counts_in(preparation: Preparation) -> Floats:
    """What all PARSEVAL judges of ``preparation`` share: ``preparation.shared(counts_in)``."""
    return counts_of(preparation.lists)


class BracketRatio(RatioJudge):
    """100 times a ratio of brackets, 0 where there are none."""

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Ratios (...) of sums (..., 2)."""
        out = np.nan_to_num(super().score_from_sums(sums), nan=0.0)
        return out if out.ndim else float(out)

    @property
    def sum_form(self) -> SumForm:
        return SumForm("ratio", (self.scale, 0.0))


def paper_score(counts: Floats) -> Floats:
    """F / 100 * gold of each item (n_items), from its counts; 0 where nothing is produced."""
    both = counts[:, 1] + counts[:, 2]
    twice = 2.0 * counts[:, 0] * counts[:, 1]
    out: Floats = np.divide(twice, both, out=np.zeros(len(counts)), where=both > 0)
    return out


RATIOS: dict[str, Callable[[Floats], tuple[Floats, Floats]]] = {
    "": lambda c: (2.0 * c[:, 0], c[:, 1] + c[:, 2]),
    "LR": lambda c: (c[:, 0], c[:, 1]),
    "LP": lambda c: (c[:, 0], c[:, 2]),
}
MEANS: dict[str, Callable[[Floats], Floats]] = {
    "EX": lambda c: np.where((c[:, 0] == c[:, 1]) & (c[:, 0] == c[:, 2]), 100.0, 0.0),
    "CB": lambda c: c[:, CROSSING],
    "0CB": lambda c: np.where(c[:, CROSSING] == 0, 100.0, 0.0),
    "2CB": lambda c: np.where(c[:, CROSSING] <= 2, 100.0, 0.0),
    "score": paper_score,
}


@dataclass(frozen=True)
class Parseval(SelectingMetric):
    """One of RATIOS or MEANS, over sentences of at most ``longest`` words where that is given."""

    measure: str = ""
    longest: int | None = None

    @property
    def name(self) -> str:
        bracket = "" if self.longest is None else f"(max={self.longest})"
        return NAME + f".{self.measure}" * bool(self.measure) + bracket

    def prepare_in(self, preparation: Preparation) -> SelectingJudge:
        """A judge that shares counts and choices with the others of ``preparation``."""
        lists = preparation.lists
        counts = preparation.shared(counts_in)
        stage = preparation.shared(selection)
        needed = [("lengths of sentences", LENGTH)] * (self.longest is not None)
        needed += [("crossing brackets", CROSSING)] * self.measure.endswith("CB")
        for what, column in needed:
            if np.isnan(counts[:, column]).any():
                raise DataError(f"{lists.source}: {self.name} needs {what}, and the saved counts have none")
        judged = np.ones(lists.n_lists, dtype=bool)
        if self.longest is not None:
            judged = counts[lists.offsets[:-1], LENGTH] <= self.longest
        signature = self._signature(lists)
        if self.measure in RATIOS:
            per_item = np.column_stack(RATIOS[self.measure](counts))
            per_item[~np.repeat(judged, lists.lengths)] = 0.0
            return BracketRatio(self.name, signature, stage, per_item, judged=judged, counts={NAME: counts})
        values = MEANS[self.measure](counts)
        better = -1 if self.measure == "CB" else 1
        return MeanJudge(
            self.name, signature, stage, values, better=better, judged=judged, counts={NAME: counts}
        )

    def _signature(self, lists: CandidateLists) -> str:
        length = "all" if self.longest is None else f"<={self.longest}"
        parts = [self.name, "prm:COLLINS", "punctuation:gold", f"words:{length}"]
        if lists.trees is None or NAME in lists.counts:
            parts[1:3] = ["counts:saved"]
        return "|".join([*parts, "missing_parse:0", f"version:{__version__}"])


def _make(
    measure: str, *, parameters: Mapping[str, Parameter], cutoff: int | None, inner: Metric | None
) -> Parseval:
    no_cutoff(f"{NAME}.{measure}".rstrip("."), cutoff, inner)
    refuse_unknown(parameters, ["max"])
    longest = parameters.get("max")
    if longest is not None and (not isinstance(longest, float) or longest < 1 or longest % 1):
        raise ConfigError(f"max is the most words of a sentence, a whole number above 0, got {longest!r}")
    return Parseval(measure, None if longest is None else int(longest))


FAMILIES.register(NAME, f"{NAME}.F1")(partial(_make, ""))
for _measure in ("LR", "LP", *MEANS):
    FAMILIES.register(f"{NAME}.{_measure}")(partial(_make, _measure))
