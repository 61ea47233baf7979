"""Votes of samples over their answers: maj@k, every sample with one vote, and wmaj@k, weighted by the scores.

The answers are ``CandidateLists.answers``: equal strings are one answer, and blanks at their ends do not
count. A sample without an answer does not vote.

An answer counts the mean label of its judged samples, or as a sample without a label if none is judged; so
does a vote without any answer. Lists without a judged item are left out.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Literal

import numpy as np

from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.core.settings import setting
from rerank.core.types import Floats, Index
from rerank.data.columns.class_sets import plain_answer
from rerank.data.columns.offsets import offsets_of
from rerank.data.judge import corpus_value, labels_of
from rerank.data.lists import CandidateLists
from rerank.metrics.base import Preparation, register
from rerank.metrics.draws import SampleJudge, SampleMetric, Samples, Subsets, tied

RANDOM_RANKINGS = 5
_SEED = 12345
_DENSE = 1 << 20  # up to so many subsets x answers, votes are counted in a table
_SAME = 1e-12  # sums of weights that differ by less, relative to the largest, are tied


class _VoteMetric(SampleMetric):
    """The label of the answer with the most votes."""

    needs = ("labels", "answers")

    ties: Literal["expected", "first"] = setting(
        "expected", "equal votes: the mean over the tied answers, or the one sampled first"
    )
    subsets: int = setting(
        200,
        "all subsets of k samples are counted if there are at most so many, else so many seeded ones",
        ge=1,
    )

    def check_values(self) -> None:
        super().check_values()
        fixed = self.cutoff is None or self.draw == "first"
        if fixed and self.subsets != type(self).settings["subsets"].default:
            raise ConfigError(f"subsets needs draws of k samples, such as {self.family}(subsets=500)@4")

    def formula(self) -> list[str]:
        drawn = [f"subsets:{self.subsets}"] if self.cutoff and self.draw == "subsets" else []
        return [f"vote-ties:{self.ties}", *drawn]


@register("maj", "majority", "cons", "self-consistency")
class Majority(_VoteMetric):
    """The majority vote of k samples."""

    summary = "label of the answer that most of k samples give; no ranking changes it"
    meaning = (
        "The share of right answers among the most frequent ones of k samples, from 0 to 1: the mean over "
        "subsets of k of the N samples, then over lists. Blanks at the ends of answers "
        "do not count; samples without an answer do not vote. Equal votes: "
        "the mean over the tied answers, or with ties=first the one sampled first."
    )
    source = "Wang et al. (2023), self-consistency"
    elsewhere = (
        "maj@k of lm-evaluation-harness, Qwen2.5-Math and search-and-learn takes the first k samples and the "
        "first of tied answers, as maj(ties=first, draw=first)@k does"
    )
    examples = ("maj", "maj(short=all)@2", "maj(ties=first, draw=first, short=all)@3", "maj(short=skip)@3")
    of_scores = False

    def prepare_in(self, preparation: Preparation) -> VoteJudge:
        return VoteJudge(self, self.samples(preparation, Ballots))


@register("wmaj", "weighted-majority")
class WeightedMajority(_VoteMetric):
    """The vote of k samples weighted by their scores."""

    summary = "label of the answer whose samples have the largest sum of scores among k"
    meaning = (
        "As maj@k, with the sum of its samples' scores as the votes of an answer. No score may be negative; "
        "weight=exp takes exp(score), weight=rank the place among the samples of the list from the worst. "
        "First-best votes with the first stage's scores, or with ranks if these cannot be weights."
    )
    source = "Li et al. (2023), voting verifier; Cobbe et al. (2021)"
    elsewhere = (
        "weighted@k of search-and-learn and rm-weighted votes: wmaj(ties=first, draw=first)@k; weight=exp is "
        "softmax voting"
    )
    examples = (
        "wmaj",
        "wmaj(short=all)@2",
        "wmaj(weight=exp, short=all)@2",
        "wmaj(weight=rank, ties=first)",
    )
    of_order = False

    weight: Literal["score", "exp", "rank"] = setting(
        "score", "weight of a sample's vote: its score, exp(score), or its rank in the list from the worst"
    )

    def formula(self) -> list[str]:
        return [f"weight:{self.weight}", *super().formula()]

    def prepare_in(self, preparation: Preparation) -> WeightedJudge:
        return WeightedJudge(self, self.samples(preparation, Ballots))


class Ballots(Samples):
    """The answers of samples as codes, and the label of each answer.

    Attributes
    ----------
    codes : int64 (n)
        The answer of each sample, numbered within its list by first appearance; -1 = none.
    bounds : int64 (n_lists + 1)
        The answers of list i are ``bounds[i]:bounds[i + 1]``.
    answers : float64 (n_answers)
        The label of each answer of each list.
    floor : float64 (n_lists)
        What a vote without an answer counts.
    """

    def __init__(self, lists: CandidateLists, most: int | None) -> None:
        super().__init__(lists, most)
        if lists.answers is None:
            raise DataError(
                f"{lists.source}: votes need the samples' answers, found none (--answer-column names their "
                "column, --answer-pattern finds them in texts; in Python answer_column= and answers=)"
            )
        texts = lists.answers.take(self.items)
        self.contents = [plain_answer(text).encode("utf-8", "surrogateescape") for text in texts]
        judged = labels_of(lists)[self.items]
        starts = self.offsets[:-1]
        self.floor: Floats = np.minimum(np.minimum.reduceat(self.labels, starts), 0.0)
        self.codes: Index = np.empty(len(self.items), dtype=np.int64)
        counts = np.zeros(len(starts), dtype=np.int64)
        for i, (start, stop) in enumerate(zip(starts.tolist(), self.offsets[1:].tolist(), strict=True)):
            known: dict[bytes, int] = {}
            self.codes[start:stop] = [
                known.setdefault(text, len(known)) if text else -1 for text in self.contents[start:stop]
            ]
            counts[i] = len(known)
        self.bounds: Index = offsets_of(counts)
        self.answers: Floats = self._labels(judged)
        self._note_contradictions(judged)

    def answers_of(self, i: int) -> Floats:
        """Return the labels of list i's answers."""
        return self.answers[self.bounds[i] : self.bounds[i + 1]]

    @cached_property
    def cells(self) -> Index:
        """The number of each sample's answer among those of all lists, -1 = none: int64 (n)."""
        return np.where(self.codes < 0, -1, self.codes + self.bounds[:-1][self.list_index])

    def _labels(self, labels: Floats) -> Floats:
        """The mean label of the judged samples of each answer, the floor of its list if none is judged."""
        some = (self.cells >= 0) & ~np.isnan(labels)
        n = int(self.bounds[-1])
        counts = np.bincount(self.cells[some], minlength=n)
        sums = np.bincount(self.cells[some], weights=labels[some], minlength=n)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.repeat(self.floor, np.diff(self.bounds)))

    def _note_contradictions(self, labels: Floats) -> None:
        """Warn of answers whose judged samples have different labels."""
        some = np.flatnonzero((self.cells >= 0) & ~np.isnan(labels))
        _, first, which = np.unique(self.cells[some], return_index=True, return_inverse=True)
        odd = some[labels[some] != labels[some][first][which]]
        if len(odd):
            item = int(odd[0])
            name = self.lists.list_id(int(self.list_index[item]))
            text = self.contents[item].decode("utf-8", "replace")
            warnings.warn(
                f"{self.lists.source}: {len(np.unique(self.cells[odd]))} answers have samples with different "
                f"labels, the first in list {name!r}, answer {text[:40]!r}; the mean of the labels counts",
                DataNote,
                stacklevel=3,
            )


class VoteJudge(SampleJudge):
    """Label of the answer with the most votes of k samples."""

    stage: Ballots

    def __init__(self, metric: _VoteMetric, stage: Ballots) -> None:
        super().__init__(metric, stage)
        self.first = metric.ties == "first"
        self._subsets = Subsets(metric.subsets)
        self._plain: Floats | None = None

    def of(self, placed: Floats) -> Floats:
        """Return [value, 1] of each list that counts; every sample has one vote."""
        if self._plain is None:
            self._plain = self.voted(None)
        return self._plain

    def random(self) -> float:
        """Return the value, which is that of every ranking."""
        return corpus_value(self, self.of(self.stage.floor))

    def oracle(self) -> float:
        """Return the value, which is that of every ranking."""
        return self.random()

    def voted(self, weights: Floats | None, *, exp: bool = False, best: bool = False) -> Floats:
        """Return [value, 1] of each list from votes with weights (n), or with ``best`` of the best answer.

        With ``exp`` the weights are exponents.
        """
        stage = self.stage
        values = self._of_all(weights, exp, best)
        drawn = self.judged & (self.sizes < stage.lengths) & (np.diff(stage.bounds) > 0)
        for i in np.flatnonzero(drawn).tolist():
            start, k, n = int(stage.offsets[i]), int(self.sizes[i]), int(stage.lengths[i])
            part = slice(start, start + n)
            subsets = self._subsets.of(n, k, b"\0".join(stage.contents[part]))
            codes = stage.codes[part][subsets]
            if best:
                values[i] = np.r_[stage.answers_of(i), stage.floor[i]][codes].max(axis=1).mean()
                continue
            own = None if weights is None else weights[part][subsets]
            if exp and own is not None:
                own = _exponents(own, codes)
            values[i] = self._vote(codes, own, subsets, i).mean()
        return self.counted(values)

    def _of_all(self, weights: Floats | None, exp: bool, best: bool) -> Floats:
        """Value of each list if all of its samples vote (n_lists)."""
        stage = self.stage
        values = stage.floor.copy()
        votes_at = np.flatnonzero(stage.codes >= 0)
        if not len(votes_at):
            return values
        cells, held = stage.cells[votes_at], np.flatnonzero(np.diff(stage.bounds))
        first_answer, first_vote = stage.bounds[held], np.searchsorted(votes_at, stage.offsets[held])
        if best:
            most = np.maximum.reduceat(stage.answers[cells], first_vote)
            silent = np.diff(np.r_[first_vote, len(votes_at)]) < stage.lengths[held]
            values[held] = np.where(silent, np.maximum(most, stage.floor[held]), most)
            return values
        votes: Floats = np.bincount(cells).astype(np.float64)
        if weights is not None:
            own = weights[votes_at]
            if exp:
                largest = np.maximum.reduceat(own, first_vote)
                with np.errstate(over="ignore"):  # a difference may be beyond all numbers
                    own = np.exp(own - np.repeat(largest, np.diff(np.r_[first_vote, len(own)])))
            votes = np.bincount(cells, weights=own).astype(np.float64, copy=False)
        n_answers = np.diff(stage.bounds)[held]
        most = np.maximum.reduceat(votes, first_answer)
        won = votes >= np.repeat(most - _SAME * np.abs(most), n_answers)
        if self.first:  # answers are numbered by first appearance
            last = len(won) - 1
            values[held] = stage.answers[
                np.minimum.reduceat(np.where(won, np.arange(last + 1), last), first_answer)
            ]
        else:
            sums = np.add.reduceat(np.where(won, stage.answers, 0.0), first_answer)
            values[held] = sums / np.add.reduceat(won, first_answer, dtype=np.int64)
        return values

    def _vote(self, codes: Index, weights: Floats | None, places: Index, i: int) -> Floats:
        """Value of the winning answers of each subset; codes and weights are (n_subsets, k)."""
        labels = self.stage.answers_of(i)
        n_subsets, k = codes.shape
        m = len(labels)
        if m > k and n_subsets * m > _DENSE:
            codes, labels = _renumbered(codes, labels)
            m = k
        # Samples without an answer go to one more column, which is dropped.
        cells = (np.where(codes < 0, m, codes) + np.arange(n_subsets)[:, None] * (m + 1)).ravel()
        counts = np.bincount(cells, minlength=n_subsets * (m + 1)).reshape(n_subsets, m + 1)[:, :m]
        votes = counts.astype(np.float64)
        if weights is not None:
            sums = np.bincount(cells, weights=weights.ravel(), minlength=n_subsets * (m + 1))
            votes = np.where(counts > 0, sums.reshape(n_subsets, m + 1)[:, :m], -1.0)
        most = votes.max(axis=1)
        cast = counts.any(axis=1)
        won = (votes >= (most - _SAME * np.abs(most))[:, None]) & (counts > 0)
        if self.first:
            firsts = np.full(n_subsets * (m + 1), np.iinfo(np.int64).max)
            np.minimum.at(firsts, cells, places.ravel())
            firsts = np.where(won, firsts.reshape(n_subsets, m + 1)[:, :m], np.iinfo(np.int64).max)
            best = firsts.argmin(axis=1)
            values = labels[best] if labels.ndim == 1 else labels[np.arange(n_subsets), best]
        else:
            sums = won @ labels if labels.ndim == 1 else (won * labels).sum(axis=1)
            values = sums / np.maximum(won.sum(axis=1), 1)
        return np.where(cast, values, self.stage.floor[i])


class WeightedJudge(VoteJudge):
    """Label of the answer with the largest sum of weights among k samples."""

    def __init__(self, metric: WeightedMajority, stage: Ballots) -> None:
        super().__init__(metric, stage)
        self.kind = metric.weight

    def of(self, placed: Floats) -> Floats:
        """Return [value, 1] of each list that counts, from scores that this judge's stage has placed.

        Raises DataError if a score is infinite or, with weight=score, negative.
        """
        return self._weighted(placed, self.kind)

    def first_best(self) -> Floats | None:
        """Return ``per_list`` of the first stage's scores, or of its ranks if they can be no weights."""
        lists = self.stage.lists
        if lists.first_best is None:
            return None
        base = lists.base_scores
        if self.kind != "rank" and base is not None and not np.isnan(base).any():
            placed = self.stage.place(base)
            if self.kind == "exp" or placed.min() >= 0:
                return self.of(placed)
        return self._weighted(self.stage.place(lists.first_best), "rank")

    def random(self) -> float:
        """Return the mean value of scores drawn from 0 to 1, by a fixed seed."""
        rng = np.random.Generator(np.random.PCG64(_SEED))
        n = len(self.stage.items)
        rows = [self._weighted(rng.random(n), self.kind) for _ in range(RANDOM_RANKINGS)]
        return float(np.mean([corpus_value(self, one) for one in rows]))

    def oracle(self) -> float:
        """Return the value of the best answer of each subset, which some weights choose."""
        return corpus_value(self, self.voted(None, best=True))

    def _weighted(self, scores: Floats, kind: str) -> Floats:
        """[value, 1] of each list from votes with weights of one kind."""
        return self.voted(self._weights(scores, kind), exp=kind == "exp")

    def _weights(self, scores: Floats, kind: str) -> Floats:
        """The weight of each sample's vote, or its exponent (n)."""
        stage = self.stage
        index, starts = stage.list_index, stage.offsets[:-1]
        if kind == "rank":
            return _ranks(scores, index, stage.offsets)
        bad = np.flatnonzero(np.isinf(scores) if kind == "exp" else ~(scores >= 0) | np.isinf(scores))
        if len(bad):
            item = int(bad[0])
            family = self.name.partition("(")[0].partition("@")[0]
            k = f"@{self.name.partition('@')[2]}" if "@" in self.name else ""
            hint = f"; {family}(weight=exp){k} takes exp(score), {family}(weight=rank){k} the rank"
            raise DataError(
                f"{stage.lists.source}: the score of {stage.lists.place_of(int(stage.items[item]))} is "
                f"{scores[item]:g}, expected a finite weight of 0 or more{hint if kind == 'score' else ''}"
            )
        if kind == "exp":
            return scores
        largest = np.maximum.reduceat(scores, starts)[index]  # a factor of a list changes no vote
        return np.divide(scores, largest, out=np.zeros_like(scores), where=largest > 0)


def _renumbered(codes: Index, labels: Floats) -> tuple[Index, Floats]:
    """Return codes (n_subsets, k) of answers numbered within each subset, and their labels of that shape."""
    known = np.where(codes < 0, len(labels), codes)
    order = np.argsort(known, axis=1, kind="stable")
    rising = np.take_along_axis(known, order, axis=1)
    new = np.zeros(codes.shape, dtype=np.int64)
    new[:, 1:] = rising[:, 1:] != rising[:, :-1]
    local = np.empty_like(new)
    np.put_along_axis(local, order, np.cumsum(new, axis=1), axis=1)
    own = np.zeros(codes.shape)
    np.put_along_axis(own, local, np.r_[labels, 0.0][known], axis=1)
    return np.where(codes < 0, -1, local), own


def _exponents(scores: Floats, codes: Index) -> Floats:
    """exp(score) of each sample of each subset: (n_subsets, k).

    It is divided by that of the largest score which votes. The largest of the whole list may not be drawn or
    have no answer, and all others would be 0, that is tied, if it is 746 above them.
    """
    largest = np.where(codes < 0, -np.inf, scores).max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):  # of samples without an answer
        return np.exp(scores - largest)


def _ranks(scores: Floats, index: Index, offsets: Index) -> Floats:
    """Place of each score in its list from the lowest, from 1, the mean of tied ones: float64 (n)."""
    order, firsts, sizes = tied(scores, index)
    means = firsts + (sizes + 1) / 2.0
    out = np.empty(len(scores))
    out[order] = np.repeat(means, sizes)
    return out - offsets[:-1][index]
