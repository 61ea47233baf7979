"""Base of metrics: stages that place scores, judges that an evaluation can show, checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from rerank._version import __version__
from rerank.core.errors import DataError
from rerank.core.types import ArrayLike, Floats, Mask, NDArray
from rerank.data.arrays import cells, is_nested, kind_of, real_array
from rerank.data.judge import mean_from_sums
from rerank.data.lists import CandidateLists

Scores: TypeAlias = Floats | NDArray[np.float32]


class Stage(ABC):
    """The work that judges of one kind share: relevant items' places, the chosen item of each list, ..."""

    def __init__(self, lists: CandidateLists) -> None:
        self.lists = lists

    @abstractmethod
    def place(self, scores: ArrayLike) -> Any:
        """Return how ``scores`` (n_items, larger is better) rank the lists.

        An item with the score NaN was not returned. A stage that knows no such items refuses it.

        Raises DataError if the number of scores is wrong.
        """

    @cached_property
    def first_best(self) -> Any:
        """Return the first stage's ranking of the lists; None if they have no order of their own."""
        first = first_stage(self.lists)
        return None if first is None else self.place(first)


class ReportJudge(ABC):
    """A judge that an evaluation can show: with its bounds, and work shared with judges of its stage.

    Attributes
    ----------
    name : str
        The metric's canonical name.
    signature : str
        Everything that changes the number.
    better : int
        1 if a larger value is better, -1 if a smaller one is.
    digits : int
        Decimals that a table shows.
    judged : bool (n_lists)
        Lists that can be judged at all; the others have statistics of zero.
    """

    better: int = 1
    digits: int = 4
    judged: Mask

    def __init__(self, name: str, signature: str, stage: Any) -> None:
        self.name = name
        self.signature = signature
        self.stage = stage

    @abstractmethod
    def of(self, placed: Any) -> Floats:
        """Return ``per_list`` of ``stage.place(scores)``."""

    @abstractmethod
    def random(self) -> float:
        """Return the value that a random ranking has on average."""

    @abstractmethod
    def oracle(self) -> float:
        """Return the best value that any order reaches."""

    def per_list(self, scores: ArrayLike) -> Floats:
        """Return the statistics of each list under ``scores`` (n_items): float64 (n_lists, k).

        Raises DataError if a score is NaN: those of a system that did not return every item are for
        ``statistics``.
        """
        return self.of(self.stage.place(_without_nan(real_array(scores, "scores"))))

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Return the metric (...) of summed statistics (..., k): here means of [value, 1]."""
        return mean_from_sums(sums)

    def first_best(self) -> Floats | None:
        """Return ``per_list`` of the first stage's ranking; None if the lists have none."""
        placed = self.stage.first_best
        return None if placed is None else self.of(placed)


def statistics(judges: Sequence[ReportJudge], scores: ArrayLike) -> list[Floats]:
    """Return ``per_list`` of every judge on the same scores; each stage places them once.

    An item with the score NaN was not returned by the system. It has no rank and is never chosen; a list of
    which nothing was returned counts as if its worst item was chosen.
    """
    placed: dict[int, Any] = {}
    out = []
    for judge in judges:
        key = id(judge.stage)  # the judges keep their stages alive throughout
        if key not in placed:
            placed[key] = judge.stage.place(scores)
        out.append(judge.of(placed[key]))
    return out


def nothing_judged(lists: CandidateLists) -> DataError:
    """Return the error for lists of which no metric judges any."""
    if lists.judged_lists().any():
        why = "--no-relevant skip or short=skip leaves out every one"
        return DataError(f"{lists.source}: no judged list counts; {why}")
    return DataError(f"{lists.source}: no list has a judged item")


def signed(*parts: str) -> str:
    """Return a signature: the parts and the package's version."""
    return "|".join([*parts, f"version:{__version__}"])


def checked_scores(scores: ArrayLike, n_items: int, *, partial: bool = False) -> Scores:
    """Return scores as a contiguous float vector (n_items).

    - ``scores``: array_like (n_items)
    - ``partial``: whether NaN is allowed: the item was not returned.

    Raises DataError if one is NaN or not a number, or there are more or fewer.
    """
    values = real_array(scores, "scores")
    if values.shape != (n_items,):
        raise DataError(f"scores have shape {values.shape}, expected ({n_items},)")
    if not partial:
        _without_nan(values)
    return values if values.flags.c_contiguous else values.copy()


def _without_nan(values: Scores) -> Scores:
    missing = np.isnan(values)
    if missing.any():
        raise DataError(f"the score of item {int(np.argmax(missing))} is NaN ({int(missing.sum())} in all)")
    return values


def first_stage(lists: CandidateLists) -> Floats | None:
    """Return ``first_best``, NaN for items that a TREC run did not return; None if there is no order."""
    first, run = lists.first_best, lists.run_scores
    return first if first is None or run is None else np.where(np.isnan(run), np.nan, first)


def ranked_last(scores: Scores) -> Floats:
    """Return scores (n_items) in which items that were not returned (NaN) are tied below all others.

    The order of the others and their ties remain.
    """
    values = scores.astype(np.float64, copy=False)
    absent = np.isnan(values)
    if not absent.any():
        return values
    if np.isneginf(values).any():  # below them there is no number
        values = np.unique(values, return_inverse=True)[1].astype(np.float64)
    ranked: Floats = np.where(absent, -np.inf, values)
    return ranked


def untied(lists: CandidateLists, values: Floats) -> Floats:
    """Return scores that rank each list as ``values`` do, ties in input order: float64 (n_items).

    Items that were not returned (NaN) are tied below the others.
    """
    down = np.lexsort((-values, lists.list_index))  # stable
    scores = np.empty(lists.n_items)
    scores[down] = -np.arange(lists.n_items, dtype=np.float64)
    scores[np.isnan(values)] = -float(lists.n_items)
    return scores


def scores_of(scores: Any, lists: CandidateLists, *, partial: bool = False) -> Floats:
    """Return scores float64 (n_items) in the order of the caller's rows, as ``Model.score`` returns them.

    Nested scores are a sequence for each of ``lists``; flat ones are in that order already. NaN is allowed if
    they may be ``partial``: the item was not returned.

    Raises DataError if one is not a number, or NaN and all are needed, or they do not match the lists.
    """
    if isinstance(scores, str | bytes) or not hasattr(scores, "__iter__"):
        expected = f"expected {lists.n_items} numbers, one for each item"
        raise DataError(f"scores: found {kind_of(scores)}, {expected}")
    if is_nested(scores):
        rows = [cells(row) for row in scores]
        found, expected = [len(row) for row in rows], lists.lengths.tolist()
        if found != expected:
            bad = next((i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), None)
            if bad is None:
                raise DataError(f"found scores of {len(found)} lists, expected {len(expected)}")
            raise DataError(f"list {bad + 1}: found {found[bad]} scores, expected {expected[bad]}")
        flat = checked_scores(list(chain.from_iterable(rows)), lists.n_items, partial=partial)
        return lists.input_order(flat.astype(np.float64, copy=False))
    return checked_scores(scores, lists.n_items, partial=partial).astype(np.float64, copy=False)
