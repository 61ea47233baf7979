"""Guarantees of the theorems of Shen & Joshi (2005) to a perceptron on some lists."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.tables.table import Column, Row, Table
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.data.pairs import Pairs, make_pairs
from rerank.data.reading import Reading
from rerank.learners.perceptron import Perceptron
from rerank.models.base import Model
from rerank.models.linear import LinearModel
from rerank.models.predict import lists_for

_PAIRS = 1 << 20  # at once, at least those of one list


@dataclass(frozen=True)
class Bounds:
    """Quantities of Theorems 1 and 2 on some lists, and their guarantees.

    Attributes
    ----------
    lists, pairs : int
        Lists with pairs of the relation T, and these pairs.
    mistakes, short : int
        Pairs that the weights put in the wrong order or tie, and those besides that lead by g * tau or less.
    separated : int
        Lists without a mistake.
    radius, difference : float
        R, the largest norm of an item of these lists; the largest norm of the difference of a pair. Of each
        the square of ``dimension`` is a part, see ``Perceptron.dimension``.
    least, longest : float, int
        lambda, the smallest g of a pair; k, the items of the longest list.
    margin : float
        gamma, the largest margin weighted by g (equation 5) that is known of a unit vector: that of the
        model's weights, or of the extra dimensions. At most 0: none is known that separates the lists.
    tau : float
        The learning margin, in units of the scores.
    theorem : int
        1 for Algorithm 1 and for rivals=top, 2 for Algorithm 2.
    most : float or None
        The largest number of updates (Theorem 1) or of pairs that are mistaken in training (Theorem 2, whose
        updates are no more); None if nothing is guaranteed.
    fewest : float or None
        Theorem 1 with the largest difference instead of 2 R, as its proof allows.
    reached : float or None
        The margin that the last weights of a training that stops by itself have at least, divided by g.
    reasons : list of str
        Why nothing is guaranteed.
    notes : list of str
        What the guarantees are not of.
    """

    lists: int
    pairs: int
    mistakes: int
    short: int
    separated: int
    radius: float
    difference: float
    least: float
    longest: int
    margin: float
    tau: float
    theorem: int
    most: float | None
    fewest: float | None
    reached: float | None
    reasons: list[str]
    notes: list[str]

    def as_json(self) -> dict[str, Any]:
        """Return plain values by name, under ``bounds``."""
        return {"bounds": asdict(self)}

    def rows(self) -> list[tuple[str, str]]:
        """Return what is known, as names and texts."""
        name = "Theorem 1, updates" if self.theorem == 1 else "Theorem 2, mistakes"
        found = [
            ("lists", f"{self.lists:,}, {self.separated:,} of them without a mistake"),
            ("pairs", f"{self.pairs:,}: {self.mistakes:,} mistakes, {self.short:,} more within the margin"),
            ("R", f"{self.radius:.6g}; largest difference of a pair {self.difference:.6g}"),
            ("lambda, k", f"{self.least:.6g}, {self.longest}"),
            ("tau", f"{self.tau:.6g}"),
            ("gamma", f"{self.margin:.6g}" + ("" if self.margin > 0 else ", the pairs are not separated")),
        ]
        if self.most is None:
            return [
                *found,
                (f"Theorem {self.theorem}", "guarantees nothing"),
                *(("", why) for why in self.reasons),
            ]
        closer = "" if self.fewest is None else f"; by the largest difference {_whole(self.fewest)}"
        return [
            *found,
            (name, f"{_whole(self.most)} at most, until training stops{closer}"),
            ("margin", f"{self.reached:.6g} * g at least, of the last weights then"),
        ]

    def lines(self) -> list[str]:
        """Return the same as text."""
        width = max(len(name) for name, _ in self.rows())
        return ["", *(f"{name:{width}}  {text}".rstrip() for name, text in self.rows()), *self.notes]

    def tables(self) -> list[Table]:
        """Return the same as a table."""
        columns = (Column("bounds", ("name",), left=True), Column("", ("value",), left=True))
        return [Table(columns, tuple(Row(row) for row in self.rows()), notes=tuple(self.notes))]


def perceptron_bounds(model: Model, lists: CandidateLists, *, strict: bool = False) -> Bounds:
    """Return what Theorems 1 and 2 of Shen & Joshi (2005) guarantee to the training of a model on lists.

    The margin gamma that the theorems need is that of any vector that separates the pairs. The model's own
    weights show one, so that the true gamma is no less and the bounds hold; with other weights they may be
    lower. Features are scaled and filled as the model has it.

    Parameters
    ----------
    model
        Of the learner perceptron, with last or averaged weights.
    lists
        Judged lists, as a rule those for training.
    strict
        Raise an error instead of a note if features are missing.

    Raises
    ------
    ConfigError
        If the theorems do not cover the model.
    DataError
        If no list has a pair of the model's relation, or the features overflow.

    References
    ----------
    Shen, Joshi: Ranking and reranking with perceptron. Machine Learning 60, 2005. Theorems 1 and 2.
    """
    learner = _learner_of(model)
    assert isinstance(model, LinearModel)
    ready = model.prepared(lists, strict=strict)
    pairs = make_pairs(ready, learner.relation, learner.margin_function)
    if not pairs.n_lists:
        raise DataError(f"{lists.source}: no list has a pair under pairs={learner.pairs}")
    tau = float(model.training.notes.get("absolute_tau", learner.tau))
    items = ready.features.take(pairs.items)
    found = _Pairs(items, pairs, items.scores(model.weights), tau, learner.dimension**2)
    norm = float(np.linalg.norm(model.weights))
    margin = max(found.margin / norm if norm > 0 else 0.0, found.own)
    if not np.isfinite([found.radius, found.difference, margin]).all():
        raise DataError(f"{lists.source}: norms or scores overflow; scale the features")
    longest = int(np.diff(pairs.offsets).max())
    reasons = _not_covered(model, learner)
    if margin <= 0:
        reasons.append("these weights do not separate the pairs; others may")
    theorem = 1 if learner.algorithm == 1 or learner.rivals == "top" else 2
    most = fewest = reached = None
    if not reasons:
        size = 2 * tau + (4 if theorem == 1 else longest**2) * found.radius**2
        with np.errstate(divide="ignore", over="ignore"):
            most = float(size / np.float64(found.least * margin) ** 2)
            if theorem == 1:
                fewest = float((2 * tau + found.difference**2) / np.float64(found.least * margin) ** 2)
        reached = margin * tau / size if size > 0 else 0.0
    notes = []
    if model.training.data.fingerprint not in (None, lists.fingerprint()):
        notes.append("the model was trained on other lists: the guarantees are of a training on these")
    return Bounds(
        lists=pairs.n_lists,
        pairs=pairs.n_pairs,
        mistakes=found.mistakes,
        short=found.short,
        separated=found.separated,
        radius=found.radius,
        difference=found.difference,
        least=found.least,
        longest=longest,
        margin=margin,
        tau=tau,
        theorem=theorem,
        most=most,
        fewest=fewest,
        reached=reached,
        reasons=reasons,
        notes=notes,
    )


def bounds_on(model: Model, path: str | None, reading: Reading) -> Bounds:
    """Return ``perceptron_bounds`` on the lists of a file.

    - ``path``: the file; None is an error, as nothing is to be read.
    - ``reading``: how it is read.
    """
    if path is None:
        raise ConfigError("options of reading: not used without --bounds")
    return perceptron_bounds(model, lists_for(model, path, reading))


def _learner_of(model: Model) -> Perceptron:
    """The learner of a model that the theorems can be about."""
    training = model.training
    if training.learner != "perceptron":
        found = training.learner or f"a model of kind {model.kind}"
        raise ConfigError(f"--bounds: found {found}; the theorems are about the learner perceptron")
    if not isinstance(model, LinearModel):
        raise ConfigError("--bounds: found voted weights; average=last or average has one vector of them")
    return Perceptron.checked(training.settings, "--bounds")


def _not_covered(model: Model, learner: Perceptron) -> list[str]:
    """Return why the proofs do not cover how a model was trained."""
    training = model.training
    reasons = []
    if learner.algorithm == 2 and learner.rivals == "all" and learner.margin != "even":
        reasons.append(f"Theorem 2 is proved for margin=even; the model has margin={learner.margin}")
    if learner.plain:
        reasons.append("with rivals=top updates are not multiplied by g; step=margin does that")
    if training.list_weights is not None:
        reasons.append("list weights multiplied the updates")
    if model.initial is not None or getattr(training.rounds, "init", None) not in (None, "zero"):
        reasons.append("training began with other weights than 0")
    if training.base_scale is not None:
        reasons.append("base_scale multiplied a feature during training")
    return reasons


def _whole(bound: float) -> str:
    """The largest whole number that a bound allows."""
    return f"{math.floor(bound):,}" if bound < 1e15 else f"{bound:.4g}"


class _Pairs:
    """Pairs of some lists, as the bounds need them.

    - ``features``: of the items of ``pairs``.
    - ``scores``: float64 (n_items), of these.
    - ``tau``: the learning margin.
    - ``square``: that of the extra dimension of each item.

    Attributes are as those of ``Bounds``; ``margin`` is that of the scores, not divided by |w|, and ``own``
    that of a unit vector in the extra dimensions.
    """

    def __init__(self, features: Features, pairs: Pairs, scores: Floats, tau: float, square: float) -> None:
        self.mistakes = self.short = 0
        self.margin = self.least = np.inf
        squares = np.empty(len(scores))
        largest, rank = 0.0, -pairs.rank.astype(np.float64)
        wrong = np.zeros(pairs.n_lists, dtype=bool)
        own, of_list = np.inf, np.repeat(np.arange(pairs.n_lists), np.diff(pairs.offsets))
        for lists, first in _blocks(pairs):
            better, worse = (side + first for side in pairs.subset(lists).explicit())
            g = pairs.h[better] - pairs.h[worse] + pairs.c
            lead = scores[better] - scores[worse]
            missed = lead <= 0
            self.mistakes += int(missed.sum())
            self.short += int(((lead <= g * tau) & ~missed).sum())
            wrong[of_list[better[missed]]] = True
            self.margin = min(self.margin, float((lead / g).min()))
            self.least = min(self.least, float(g.min()))
            own = min(own, float(((rank[better] - rank[worse]) / g).min()))
            for i in lists.tolist():
                here = slice(*pairs.offsets[i : i + 2].tolist())
                squares[here], distances = _distances(features.take(here))
                mine = of_list[better] == i
                local = better[mine] - here.start, worse[mine] - here.start
                largest = max(largest, float(distances[local].max()))
        self.separated = int(pairs.n_lists - wrong.sum())
        self.radius = math.sqrt(float(squares.max()) + square)
        self.difference = math.sqrt(largest + 2 * square)
        self.own = math.sqrt(square) * own / float(np.linalg.norm(rank)) if square else -np.inf


def _blocks(pairs: Pairs) -> Iterator[tuple[Index, int]]:
    """Yield neighbouring lists with at most _PAIRS pairs, or one, and the position of their first item."""
    starts = np.flatnonzero(np.diff(np.cumsum(pairs.counts) // _PAIRS, prepend=-1)).tolist()
    for first, last in zip(starts, [*starts[1:], pairs.n_lists], strict=True):
        yield np.arange(first, last), int(pairs.offsets[first])


def _distances(features: Features) -> tuple[Floats, Floats]:
    """Return |x|^2 of the items of a list, float64 (n), and the squared distance of every two (n, n)."""
    rows = features.compressed()
    columns, places = np.unique(rows.indices, return_inverse=True)
    dense = np.zeros((rows.n_items, len(columns)))
    values = np.ones(rows.n_values) if rows.data is None else rows.data
    dense[np.repeat(np.arange(rows.n_items), np.diff(rows.indptr)), places] = values
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (dense**2).sum(axis=1)
        moved = dense - dense[0]  # so that differences of close items lose no digits
        gram = moved @ moved.T
        norms = gram.diagonal()
        return squares, np.maximum(norms[:, None] + norms - 2 * gram, 0.0)
