"""PARSEVAL of the chosen parses, as evalb counts it with COLLINS.prm: labelled brackets against gold's.

A bracket is a label over words; those of pre-terminals and of TOP and S1 do not count. Words with a tag of
punctuation (, : `` '' .) in gold are dropped from both trees, as are traces (-NONE-), and with them the
brackets that hold nothing else. Labels end before their first - or =, and PRT counts as ADVP. A bracket of
the parse is matched by one of gold of the same label and words, each of gold once; it crosses gold if it
shares words with a bracket of gold and neither contains the other.

The counts of an item, ``lists.counts["PARSEVAL"]``, are int32 or float64 (n_items, 5):

    0 matched   brackets of the parse that are matched
    1 gold      brackets of gold
    2 test      brackets of the parse
    3 crossing  brackets of the parse that cross gold; NaN (in all items) if that is unknown
    4 length    words of gold with punctuation, without traces; NaN (in all items) if that is unknown

Measures, in percent unless stated otherwise (algorithm: Black et al. 1991; Collins & Koo 2005, 5.1):

- PARSEVAL, the F of the sums, 2 matched / (gold + test); .LR = matched / gold; .LP = matched / test;
- .EX, sentences all of whose brackets are right; .0CB and .2CB, those with no, at most two, crossing ones;
- .CB, crossing brackets per sentence (lower is better);
- .score, the mean over sentences of F / 100 * gold, the paper's Score, whose sum its equation 21 compares.

``(max=40)`` counts only sentences of at most 40 words, as evalb's second table does. Sums of nothing give 0.

Differences from evalb: it takes punctuation by each tree's own tags, and skips a sentence as an error if the
two trees then have different words; here gold's tags decide, and the sentence counts. It skips a sentence
without a parse; here that counts with nothing matched and nothing crossing. S1 is an addition to
COLLINS.prm, which names TOP alone.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import ClassVar

import numpy as np

from rerank.core.errors import DataError
from rerank.core.settings import setting
from rerank.core.types import AnyArray, Counts, Floats, Ints, Mask, NDArray
from rerank.data.columns.forests import TRACE, Forest
from rerank.data.judge import SumForm
from rerank.data.lists import CandidateLists
from rerank.extensions.parsing.native import _parseval
from rerank.metrics.base import Preparation, register
from rerank.metrics.judges import signed
from rerank.metrics.selecting import (
    MeanJudge,
    RatioJudge,
    SelectingJudge,
    SelectingMetric,
    Selection,
    fitted,
    saved_counts,
)

Kinds = NDArray[np.int8]

NAME = "PARSEVAL"
WIDTH = 5
CROSSING, LENGTH = 3, 4
PUNCTUATION = (",", ":", "``", "''", ".")
DELETED = frozenset({"TOP", "S1", TRACE, *PUNCTUATION})
EQUAL = {"PRT": "ADVP"}

_TAIL = re.compile("[-=].*", re.DOTALL)


def counts_of(lists: CandidateLists) -> Counts:
    """Return the counts of each item, saved or counted from trees: int32 or float64 (n_items, 5).

    Raises DataError if neither counts nor trees and gold are present, the counts have another shape, or a
    parse and its gold tree have different numbers of words.
    """
    saved = saved_counts(lists, NAME, WIDTH, known=CROSSING)
    if saved is not None:
        return saved
    if lists.trees is None or lists.gold is None:
        lacking = "candidates' trees" if lists.trees is None else "gold trees"
        raise DataError(f"{lists.source}: {NAME} needs the {lacking} or saved counts, found neither")
    return _counted(lists, lists.trees, lists.gold)


def _counted(lists: CandidateLists, trees: Forest, gold: Forest) -> Ints:
    classes: dict[str, int] = {}
    of_trees, of_gold = _arrays(trees, classes), _arrays(gold, classes)
    largest = int(max(trees.lengths().max(initial=0), gold.lengths().max(initial=0)))
    out = np.empty((lists.n_items, WIDTH), dtype=np.int32)
    scratch = _parseval.Scratch(largest)
    bad = _parseval.count(lists.offsets, of_trees, of_gold, len(classes), scratch, out)
    if bad >= 0:
        i = int(np.searchsorted(lists.offsets, bad, side="right")) - 1
        which = f"parse {bad - int(lists.offsets[i]) + 1} of list {lists.list_id(i)!r}"
        raise DataError(f"{lists.source}: {which} and its gold tree have different numbers of words")
    return out


def _arrays(forest: Forest, classes: dict[str, int]) -> _parseval.Trees:
    """The arrays of a forest, with each symbol's class as a label (-1 = no bracket) and its kind as a tag.

    ``classes`` numbers the labels that count as different in both forests.
    """
    of_symbols = np.full(len(forest.vocabulary), -1, dtype=np.int32)
    kinds = np.full(len(forest.vocabulary), _parseval.KINDS["word"], dtype=np.int8)
    for symbol, string in enumerate(forest.vocabulary):
        if string in DELETED:
            kinds[symbol] = _parseval.KINDS["trace" if string == TRACE else "left out"]
        label = _TAIL.sub("", string)
        if string and label not in DELETED:
            of_symbols[symbol] = classes.setdefault(EQUAL.get(label, label), len(classes))
    return _parseval.Trees(forest.offsets, forest.symbols, forest.sizes, of_symbols, kinds)


class BracketRatio(RatioJudge):
    """100 times a ratio of brackets, 0 if there are none."""

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Return ratios (...) of sums (..., 2)."""
        out = np.nan_to_num(super().score_from_sums(sums), nan=0.0)
        return out if out.ndim else float(out)

    @property
    def sum_form(self) -> SumForm:
        return SumForm("ratio", (self.scale, 0.0))


def paper_score(counts: Counts) -> Floats:
    """Return F / 100 * gold of each item (n_items), from its counts; 0 if neither tree has a bracket."""
    both = np.add(counts[:, 1], counts[:, 2], dtype=np.float64)
    twice = 2.0 * counts[:, 0] * counts[:, 1]
    out: Floats = np.divide(twice, both, out=np.zeros(len(counts)), where=both > 0)
    return out


class _Brackets(SelectingMetric):
    """A ratio or mean of counts, over sentences of at most ``max`` words if that is given."""

    needs = ("trees", "gold")
    max: int | None = setting(None, "only sentences of at most so many words", ge=1)

    @abstractmethod
    def judge(self, counts: Counts, signature: str, stage: Selection, judged: Mask) -> SelectingJudge:
        """Return the judge that sums these counts."""

    def prepare_in(self, preparation: Preparation) -> SelectingJudge:
        lists = preparation.lists
        counts = preparation.of_lists(counts_of)
        needed = [("lengths of sentences", LENGTH)] * (self.max is not None)
        needed += [("crossing brackets", CROSSING)] * self.family.endswith("CB")
        for what, column in needed:
            if np.isnan(counts[:, column]).any():
                raise DataError(f"{lists.source}: {self.name} needs {what}, which the saved counts lack")
        judged = np.ones(lists.n_lists, dtype=bool)
        if self.max is not None:
            judged = counts[lists.offsets[:-1], LENGTH] <= self.max
        return self.judge(counts, self._signature(lists), preparation.of_lists(Selection), judged)

    def _signature(self, lists: CandidateLists) -> str:
        how = ["prm:COLLINS", "punctuation:gold"]
        if lists.trees is None or NAME in lists.counts:
            how = ["counts:saved"]
        length = "all" if self.max is None else f"<={self.max}"
        return signed(self.name, *how, f"words:{length}", "missing_parse:0")


class _Ratio(_Brackets):
    @abstractmethod
    def ratio(self, counts: Counts) -> tuple[AnyArray, AnyArray]:
        """Return numerators and denominators of items (n_items)."""

    def judge(self, counts: Counts, signature: str, stage: Selection, judged: Mask) -> SelectingJudge:
        per_item = fitted(*self.ratio(counts))
        per_item[~np.repeat(judged, stage.lists.lengths)] = 0
        return BracketRatio(self.name, signature, stage, per_item, judged=judged, counts={NAME: counts})


class _Mean(_Brackets):
    @abstractmethod
    def values(self, counts: Counts) -> Counts:
        """Return the metric of items (n_items)."""

    def judge(self, counts: Counts, signature: str, stage: Selection, judged: Mask) -> SelectingJudge:
        known = {NAME: counts}
        values = self.values(counts)
        return MeanJudge(self.name, signature, stage, values, better=self.better, judged=judged, counts=known)


@register("PARSEVAL", "PARSEVAL.F1")
class Parseval(_Ratio):
    """F of labelled brackets."""

    summary = "F of the chosen parses' labelled brackets, 0 to 100, as in evalb"
    meaning = (
        "Twice the matched labelled brackets, divided by the brackets of the chosen and of the gold "
        "parses, over all sentences. 0 to 100."
    )
    source = "Black et al. 1991; evalb"
    elsewhere = "Bracketing FMeasure of evalb with COLLINS.prm: equal"
    examples = ("PARSEVAL", "PARSEVAL(max=4)")

    def ratio(self, counts: Counts) -> tuple[AnyArray, AnyArray]:
        return 2.0 * counts[:, 0], np.add(counts[:, 1], counts[:, 2], dtype=np.float64)


@register("PARSEVAL.LR")
class LabelledRecall(_Ratio):
    """Labelled recall."""

    summary = "recall of gold's labelled brackets, 0 to 100"
    meaning = "Matched labelled brackets divided by the brackets of the gold parses. 0 to 100."
    source = "Black et al. 1991; evalb"
    elsewhere = "Bracketing Recall of evalb: equal"
    examples = ("PARSEVAL.LR",)

    def ratio(self, counts: Counts) -> tuple[AnyArray, AnyArray]:
        return counts[:, 0], counts[:, 1]


@register("PARSEVAL.LP")
class LabelledPrecision(_Ratio):
    """Labelled precision."""

    summary = "precision of the parses' labelled brackets, 0 to 100"
    meaning = "Matched labelled brackets divided by the brackets of the chosen parses. 0 to 100."
    source = "Black et al. 1991; evalb"
    elsewhere = "Bracketing Precision of evalb: equal"
    examples = ("PARSEVAL.LP",)

    def ratio(self, counts: Counts) -> tuple[AnyArray, AnyArray]:
        return counts[:, 0], counts[:, 2]


@register("PARSEVAL.EX")
class ExactMatch(_Mean):
    """Sentences without a wrong bracket."""

    summary = "percentage of sentences all of whose brackets are right"
    meaning = "The sentences whose chosen parse has exactly the brackets of the gold parse. 0 to 100."
    source = "evalb"
    elsewhere = "Complete match of evalb: equal"
    examples = ("PARSEVAL.EX",)

    def values(self, counts: Counts) -> Counts:
        exact = (counts[:, 0] == counts[:, 1]) & (counts[:, 0] == counts[:, 2])
        return np.where(exact, 100.0, 0.0)


@register("PARSEVAL.CB")
class CrossingBrackets(_Mean):
    """Crossing brackets per sentence."""

    summary = "crossing brackets per sentence"
    meaning = (
        "The brackets of the chosen parse that share words with a bracket of the gold parse while neither"
        " contains the other, per sentence. 0 or more."
    )
    source = "Black et al. 1991; evalb"
    elsewhere = "Average crossing of evalb: equal"
    examples = ("PARSEVAL.CB",)
    better = -1

    def values(self, counts: Counts) -> Counts:
        return counts[:, CROSSING]


@register("PARSEVAL.0CB")
class NoCrossing(_Mean):
    """Sentences without a crossing bracket."""

    summary = "percentage of sentences without a crossing bracket"
    meaning = "The sentences whose chosen parse has no crossing bracket. 0 to 100."
    source = "evalb"
    elsewhere = "No crossing of evalb: equal"
    examples = ("PARSEVAL.0CB",)
    most: ClassVar[int] = 0

    def values(self, counts: Counts) -> Counts:
        return np.where(counts[:, CROSSING] <= self.most, 100.0, 0.0)


@register("PARSEVAL.2CB")
class TwoCrossing(NoCrossing):
    """Sentences with at most two crossing brackets."""

    summary = "percentage of sentences with at most two crossing brackets"
    meaning = "The sentences whose chosen parse has at most two crossing brackets. 0 to 100."
    source = "evalb"
    elsewhere = "2 or less crossing of evalb: equal"
    examples = ("PARSEVAL.2CB",)
    most = 2


@register("PARSEVAL.score")
class Score(_Mean):
    """Collins and Koo's Score."""

    summary = "mean over sentences of F / 100 * gold brackets (Collins & Koo's Score)"
    meaning = (
        "The F-score of each sentence, 0 to 1, times the number of its gold brackets, averaged over "
        "sentences."
    )
    source = "Collins & Koo 2005, equation 21"
    examples = ("PARSEVAL.score",)

    def values(self, counts: Counts) -> Counts:
        return paper_score(counts)
