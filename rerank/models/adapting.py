"""What models have in common that adapt to the lists that they score, and what they did to each."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.tables.record import tsv
from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.data.concordance import Concordance
from rerank.data.lists import CandidateLists
from rerank.models.base import Model, multiplied

CHEATING = "CHEATING"  # the mark of what reads the labels of the lists to be ranked


Advance = Callable[[int], None]
By = Literal["list-kernel", "histogram"]  # how a cache of rankers compares lists
RankerCache = Any  # rerank.transductive.cache.store.RankerCache


@dataclass(frozen=True, eq=False)
class ListRow:
    """What happened to one list.

    Attributes
    ----------
    list_id, items
        Its id and its size.
    adapted
        Whether it is ranked by a ranker of its own.
    reason
        Why not; "" if it is.
    tau
        Kendall's tau-b between the scores of its own ranker and those of the unadapted model, see ``tau_b``;
        1 if the method made no ranker.
    seconds
        For adapting and scoring, on the clock.
    diagnostics
        Figures of the method by name.
    origin
        Where its ranker comes from if there is a cache, see ``Adapted``.
    """

    list_id: str
    items: int
    adapted: bool
    reason: str
    tau: float
    seconds: float
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    origin: str = ""


@dataclass(frozen=True, eq=False)
class Adaptation:
    """Rankings of lists.

    Attributes
    ----------
    scores, unadapted
        Of the model and of its unadapted model, float64 (n_items), both in the same order.
    rows
        A row for each list, in the order of the lists.
    facts
        Figures of all lists together, by name.
    together
        Whether the scores of a list depend on the other lists.
    """

    scores: Floats
    unadapted: Floats
    rows: tuple[ListRow, ...]
    facts: Mapping[str, float] = field(default_factory=dict)
    together: bool = False


def joined(parts: Sequence[Adaptation]) -> Adaptation:
    """Return the adaptation to all lists from those to some, in their order."""
    return Adaptation(
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.unadapted for part in parts]),
        tuple(row for part in parts for row in part.rows),
    )


def tau_b(a: Floats, b: Floats) -> float:
    """Return Kendall's tau-b between two scorings of the same items, float64 (n_items).

    That is (right - wrong) / sqrt(A * B): pairs that both put in the same order, minus those in opposite
    orders; A and B are the pairs that each of them orders. If neither orders any pair, as for one item, the
    rankings are the same: 1. If one alone orders none, they share nothing: 0. NaN if a score is not finite.
    """
    return float(taus(a, b, np.array([0, len(a)]))[0])


def taus(a: Floats, b: Floats, offsets: Index) -> Floats:
    """Return ``tau_b`` of each list, float64 (n_lists), for scores (n_items)."""
    finite = np.isfinite(a) & np.isfinite(b)
    a, b = np.where(finite, a, 0.0), np.where(finite, b, 0.0)
    of_a, of_b = Concordance(a, offsets), Concordance(b, offsets)
    n_a, n_b = of_a.n_pairs.astype(np.float64), of_b.n_pairs.astype(np.float64)
    surplus = 2.0 * of_b.right(a) - n_b
    size = np.where(n_a == n_b, n_a, np.sqrt(n_a) * np.sqrt(n_b))  # 1 for equal rankings
    tau = np.where(size > 0, surplus / np.maximum(size, 1.0), n_a == n_b)
    found: Floats = np.where(np.logical_and.reduceat(finite, offsets[:-1]), tau, np.nan)
    return found


class AdaptingModel(Model):
    """Base of models that make rankers for the lists that they score, without the labels of these lists.

    Attributes
    ----------
    factors
        What each column is multiplied by before it is adapted to, float64 (n_features); None = nothing. The
        training lists that the model holds are so multiplied already.
    """

    factors: Floats | None = None
    listwise = True

    @property
    @abstractmethod
    def cheats(self) -> bool:
        """Whether it uses the labels of the lists that it ranks: a control, marked CHEATING everywhere."""

    @property
    def together(self) -> bool:
        """Whether the scores of a list depend on the other lists that are scored with it."""
        return False

    def training_lines(self) -> list[str]:
        """Return what ``rerank train`` prints of this kind of model, besides what it prints of all."""
        return []

    @abstractmethod
    def adapt_prepared(
        self, lists: CandidateLists, advance: Advance | None = None, cache: RankerCache | None = None
    ) -> Adaptation:
        """Return the scores of lists with the model's columns, scaled, in the order of their items.

        Base scores are not added. Lists are spread over the workers of ``parallel``. Raises DataError
        if a score is not finite.
        """

    def adapt(
        self,
        lists: CandidateLists,
        *,
        strict: bool = False,
        advance: Advance | None = None,
        cache: RankerCache | None = None,
    ) -> Adaptation:
        """Return the scores of lists, in the order of the caller's rows, and what happened to each list.

        Parameters
        ----------
        lists, strict
            As for ``score``, whose scores these are.
        advance
            Called with the number of lists that have just been done.
        cache
            Rankers of earlier lists, as ``open_cache`` returns them.

        Raises
        ------
        DataError
            As for ``score``.
        """
        ready = self.prepared(lists, strict=strict)
        found = self.adapt_prepared(ready, advance, cache)
        scores = self.with_keep_margin(lists, self._finite(ready, self.with_base(ready, found.scores)))
        unadapted = self.with_keep_margin(lists, self.with_base(ready, found.unadapted))
        return replace(found, scores=lists.input_order(scores), unadapted=lists.input_order(unadapted))

    def score_aligned(self, lists: CandidateLists) -> Floats:
        return self.adapt_prepared(lists).scores

    def multiply_weight(self, column: int, factor: float) -> None:
        factors = np.ones(len(self.feature_names)) if self.factors is None else self.factors
        self.factors = multiplied(factors, column, factor)

    def set_factors(self, factors: Floats | None) -> None:
        """Set the factors of a model file, float64 (n_features) or None; DataError if one is not finite."""
        if factors is not None and not np.isfinite(factors).all():
            raise DataError("a factor that is not finite")
        self.factors = factors

    def with_factors(self, lists: CandidateLists) -> CandidateLists:
        """Return prepared lists with the columns multiplied that the training lists have multiplied."""
        if self.factors is None:
            return lists
        features = lists.features
        for column in np.flatnonzero(self.factors != 1).tolist():
            features = features.multiplied(column, float(self.factors[column]))
        return lists.with_values(features, "multiplying the base score")

    def open_cache(self, folder: str, nearest: int | None = None, by: By = "list-kernel") -> RankerCache:
        """Return this model's cache of rankers; see ``RankerCache``.

        Parameters
        ----------
        folder
            Where the rankers are, or will be.
        nearest
            Rank new lists by the rankers of so many stored lists; None = make their rankers.
        by
            How near lists are: by the list kernel, or by the histograms of their features.

        Raises
        ------
        ConfigError
            If the model makes no ranker of a list alone, or rankers that depend on labels of a list.
        DataError, RerankError
            If the folder cannot be used, holds the rankers of another model, or fewer than ``nearest``.
        """
        raise ConfigError(
            f"--cache: not used by a model of kind {self.kind}, which makes no ranker of a list"
        )


_HEADS = ("list", "items", "adapted", "reason", "tau")


def adaptation_tsv(rows: Sequence[ListRow]) -> Iterator[str]:
    """Yield a table of lists, header first; the method's diagnostics and then the seconds come last.

    With a cache of rankers there is a column that says where each one comes from.

    All columns but the seconds are the same for any number of workers.
    """
    names = diagnostic_names(rows)
    cached = any(row.origin for row in rows)
    cells = (
        (
            *(row.list_id, row.items, "yes" if row.adapted else "no", row.reason, float(row.tau)),
            *([row.origin] if cached else []),
            *(float(row.diagnostics.get(name, np.nan)) for name in names),
            round(row.seconds, 6),
        )
        for row in rows
    )
    return tsv([*_HEADS, *(["ranker"] if cached else []), *names, "seconds"], cells)


def diagnostic_names(rows: Sequence[ListRow]) -> list[str]:
    """Return the names of the diagnostics that any list has, in the order in which they come."""
    return list(dict.fromkeys(name for row in rows for name in row.diagnostics))


def adaptation_line(found: Adaptation) -> str:
    """Return how many lists were adapted to, why others were not, how far rankings moved, and the facts."""
    rows = found.rows
    adapted = sum(row.adapted for row in rows)
    line = f"adapted to {adapted} of {count(len(rows), 'list')}"
    reasons = Counter(row.reason for row in rows if not row.adapted)
    if reasons:
        line += f" ({', '.join(f'{n}: {reason}' for reason, n in reasons.most_common())})"
    origins = Counter(row.origin.partition(" ")[0] for row in rows if row.origin)
    if origins:
        line += f"; rankers {', '.join(f'{name} {n}' for name, n in sorted(origins.items()))}"
    taus = np.array([row.tau for row in rows])
    if len(taus):
        line += f"; mean tau with the unadapted rankings {np.nanmean(taus):.4f}"
    facts = [f"{name} {value:.6g}" for name, value in found.facts.items()]
    return "; ".join([line, *facts, *(["scores depend on the other lists"] if found.together else [])])
