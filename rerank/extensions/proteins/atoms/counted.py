"""Base of metrics of all atoms: counts of each item, kept with the set, and a value of them."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from rerank.core.errors import DataError, DataNote
from rerank.core.text import count, some
from rerank.core.types import Floats
from rerank.data.columns.traces import SUPERPOSITIONS, Traces
from rerank.data.lists import CandidateLists
from rerank.extensions.proteins.atoms.file_traces import FileTraces
from rerank.metrics.base import Preparation
from rerank.metrics.judges import signed
from rerank.metrics.selecting import MeanJudge, SelectingMetric, Selection, saved_counts, with_worst


def structures_in(lists: CandidateLists, name: str) -> tuple[Traces, Traces]:
    """Return models and natives; raise DataError, for the metric ``name``, if the lists lack one of them."""
    if lists.traces is None:
        raise DataError(f"{lists.source}: the candidates have no structures for {name}")
    if lists.natives is None:
        raise DataError(f"{lists.source}: no native structures for {name}; give them with --native")
    return lists.traces, lists.natives


def has_atoms(lists: CandidateLists) -> bool:
    """Return whether models and natives come from files, which have more than alpha carbons."""
    return isinstance(lists.traces, FileTraces) and isinstance(lists.natives, FileTraces)


class CountedMetric(SelectingMetric):
    """A mean of a value that counts of model and native give.

    Attributes
    ----------
    counts_name : str
        Under which a set keeps the counts; changed structures drop those that begin like SUPERPOSITIONS.
    width, shared : int
        Numbers of each item, and which of them are the residues that it shares with the native.
    absent : str
        What a model without a structure counts.
    """

    needs = ("traces", "natives")
    digits: ClassVar[int] = 4
    in_parallel = True
    counts_name: ClassVar[str]
    kind: ClassVar[type[MeanJudge]] = MeanJudge
    width: ClassVar[int]
    shared: ClassVar[int]
    absent: ClassVar[str] = "0"
    unjudged: ClassVar[str]  # why a list with a native is not judged

    @classmethod
    @abstractmethod
    def count(cls, lists: CandidateLists) -> Floats:
        """Return the counts of all items, float64 (n_items, width), from their structures."""

    @abstractmethod
    def values(self, counts: Floats) -> Floats:
        """Return the metric of items (n) from their counts (n, width); NaN if there is none."""

    def values_in(self, counts: Floats, lists: CandidateLists) -> Floats:
        """Return the metric of the items of lists, if it depends on the others of the list."""
        return self.values(counts)

    @abstractmethod
    def formula(self) -> list[str]:
        """Return what the signature states of how it is computed."""

    @classmethod
    def counted(cls, preparation: Preparation) -> Floats:
        """Return the counts of all items, float64 (n_items, width): saved ones, or of the structures."""
        lists = preparation.lists
        saved = saved_counts(lists, cls.counts_name, cls.width, known=0)
        if saved is None:
            return cls.count(lists)
        counts = saved.astype(np.float64, copy=False)
        if not ((counts >= 0) | np.isnan(counts)).all():
            raise DataError(f"{lists.source}: the saved counts of {cls.family} are of no structures")
        return counts

    def kept_counts(self, preparation: Preparation) -> dict[str, Floats]:
        return {self.counts_name: preparation.shared(self._counter())}

    def of_models(self, lists: CandidateLists) -> Floats:
        """Return the metric of each item with its native, float64 (n_items); NaN without one."""
        return self.values(self.count(lists))

    def _counter(self) -> Callable[[Preparation], Floats]:
        """Return the function that counts, the same for all metrics of these counts: it is called once."""
        kind = next(kind for kind in type(self).__mro__ if "counts_name" in vars(kind))
        return kind.counted  # type: ignore[attr-defined]  # bound methods of a class are equal

    def prepare_in(self, preparation: Preparation) -> MeanJudge:
        lists = preparation.lists
        counts = preparation.shared(self._counter())
        values = self.values_in(counts, lists)
        filled, judged = with_worst(values, lists, self.better)
        judged &= np.maximum.reduceat(np.nan_to_num(counts[:, self.shared]), lists.offsets[:-1]) > 0
        lost = ~judged & (lists.natives.lengths > 0) if lists.natives is not None else np.zeros(0, dtype=bool)
        if lost.any():
            names = some([repr(lists.list_id(i)) for i in np.flatnonzero(lost).tolist()])
            what = f"{count(int(np.count_nonzero(lost)), 'list')} not judged by {self.family} ({names})"
            warnings.warn(f"{lists.source}: {what}: {self.unjudged}", DataNote, stacklevel=3)
        saved = [] if lists.traces is not None and lists.natives is not None else ["counts:saved"]
        judge = self.kind(
            self.name,
            signed(self.family, *self.formula(), f"no_structure:{self.absent}", *saved),
            preparation.of_lists(Selection),
            np.where(np.repeat(judged, lists.lengths), filled, 0.0),
            better=self.better,
            judged=judged,
            digits=self.digits,
            counts={self.counts_name: counts},
        )
        judge.lacking = np.isnan(values)
        return judge


def counts_called(name: str) -> str:
    """Return under which name a set keeps counts that other structures change."""
    return f"{SUPERPOSITIONS}.{name}"
