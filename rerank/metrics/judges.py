"""What metrics share: stages that place scores, judges that an evaluation can show, checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rerank._version import __version__
from rerank.data.label_judge import mean_from_sums
from rerank.data.lists import CandidateLists
from rerank.data.types import Floats, Mask
from rerank.errors import DataError

Scores: TypeAlias = Floats | npt.NDArray[np.float32]


class Stage(ABC):
    """The work that judges of one kind share: relevant items' places, the chosen item of each list, ..."""

    def __init__(self, lists: CandidateLists) -> None:
        self.lists = lists

    @abstractmethod
    def place(self, scores: npt.ArrayLike) -> Any:
        """Return how ``scores`` (n_items, larger is better) rank the lists.

        Raises
        ------
        DataError
            If a score is NaN or their number is wrong.
        """

    @cached_property
    def first_best(self) -> Any:
        """How the first stage ranked the lists; None if they have no order of their own."""
        return None if self.lists.first_best is None else self.place(self.lists.first_best)


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

    def per_list(self, scores: npt.ArrayLike) -> Floats:
        """Return the statistics of each list under ``scores`` (n_items): float64 (n_lists, k)."""
        return self.of(self.stage.place(scores))

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Return the metric (...) of summed statistics (..., k): here means of [value, 1]."""
        return mean_from_sums(sums)

    def first_best(self) -> Floats | None:
        """Return ``per_list`` of the first stage's ranking; None if the lists have none."""
        placed = self.stage.first_best
        return None if placed is None else self.of(placed)


def statistics(judges: Sequence[ReportJudge], scores: npt.ArrayLike) -> list[Floats]:
    """Return ``per_list`` of every judge on the same scores; each stage places them once."""
    placed: dict[int, Any] = {}
    out = []
    for judge in judges:
        key = id(judge.stage)  # the judges keep their stages alive throughout
        if key not in placed:
            placed[key] = judge.stage.place(scores)
        out.append(judge.of(placed[key]))
    return out


def signed(*parts: str) -> str:
    """Return a signature: the parts and the package's version."""
    return "|".join([*parts, f"version:{__version__}"])


def by_item(lists: CandidateLists, systems: Mapping[str, npt.ArrayLike]) -> dict[str, Scores]:
    """Return scores by system in the order of the items, from those in the order of the caller's rows.

    Raises
    ------
    DataError
        With the system's name, as ``checked_scores``.
    """
    out = {}
    for name, scores in systems.items():
        try:
            out[name] = lists.from_input_order(checked_scores(scores, lists.n_items))
        except DataError as error:
            raise DataError(f"{name}: {error}") from None
    return out


def checked_scores(scores: npt.ArrayLike, n_items: int) -> Scores:
    """Return scores as a contiguous float vector (n_items).

    Raises
    ------
    DataError
        If one is NaN or not a number, or there are more or fewer.
    """
    try:
        values = np.asarray(scores)
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"scores must be numbers: {error}") from None
    if values.shape != (n_items,):
        raise DataError(f"scores have shape {values.shape}, expected ({n_items},)")
    missing = np.isnan(values)
    if missing.any():
        raise DataError(f"the score of item {int(np.argmax(missing))} is NaN ({int(missing.sum())} in all)")
    return np.ascontiguousarray(values)


def untied(lists: CandidateLists, values: Floats) -> Floats:
    """Return scores that rank each list as ``values`` do, ties in input order: float64 (n_items).

    Items that a TREC run did not return are tied below the others.
    """
    down = np.lexsort((-values, lists.list_index))  # stable
    scores = np.empty(lists.n_items)
    scores[down] = -np.arange(lists.n_items, dtype=np.float64)
    if lists.run_scores is not None:
        scores[np.isnan(lists.run_scores)] = -float(lists.n_items)
    return scores
