"""Utilities: how good one candidate of a list would be if another one were the right answer.

A utility gives a table for each list: a row for each candidate, a column for each pseudo-reference, larger is
better (errors are negated). The pseudo-references are the candidates themselves, or those of other lists with
the same ids. Equal texts are compared once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rerank.core import memory, progress
from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.types import Counts, Floats, Index
from rerank.data.columns.class_sets import plain_answer
from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.extensions.decision.edit_pairs import edit_statistics
from rerank.extensions.decision.ngrams import PairedTexts, Statistics
from rerank.metrics.bleu import ORDERS, Bleu, BleuStatistics, SentenceBleu
from rerank.metrics.chrf import Chrf
from rerank.metrics.edit import EditRate
from rerank.metrics.selecting import ItemPairs, SelectingMetric
from rerank.similarity.expression import ItemKernel

# Pairs of candidates held at once: bounds the memory, changes no number.
_PAIRS = 1 << 18
_TREE_PAIRS = 1 << 15  # whose trees are copied
_BLOCKS = 8  # of rows of a kernel, which leave out what is known below them


@dataclass(frozen=True, eq=False)
class Pairing:
    """Lists of candidates, and the lists whose items are their pseudo-references.

    Attributes
    ----------
    lists : CandidateLists
    others : CandidateLists
        Of the pseudo-references; ``lists`` itself if these are the candidates.
    of : int64 (n_lists)
        The list of ``others`` for each list.
    """

    lists: CandidateLists
    others: CandidateLists
    of: Index

    @classmethod
    def within(cls, lists: CandidateLists) -> Pairing:
        """Return the pairing of candidates with each other."""
        return cls(lists, lists, np.arange(lists.n_lists, dtype=np.int64))

    @classmethod
    def by_id(cls, lists: CandidateLists, others: CandidateLists) -> Pairing:
        """Return the pairing with the lists of ``others`` that have the same ids.

        Raises DataError if a list has no id, or there is no other list, or more than one, with its id.
        """
        if lists.list_ids is None or others.list_ids is None:
            lacking = lists if lists.list_ids is None else others
            raise DataError(f"{lacking.source}: found no list ids, expected those that pair lists")
        places = {name: i for i, name in enumerate(others.list_ids)}
        if len(places) < others.n_lists:
            raise DataError(f"{others.source}: two lists have the same id")
        names = list(lists.list_ids)
        lost = [name for name in names if name not in places]
        if lost:
            found = f"{len(lost)} of {lists.n_lists} lists of {lists.source} have no list there"
            raise DataError(f"{others.source}: {found} (the first is {lost[0]!r})")
        return cls(lists, others, np.array([places[name] for name in names], dtype=np.int64))

    def subset(self, places: Index) -> Pairing:
        """Return the pairing of some lists."""
        lists, others = self.lists.subset(places), self.others.subset(self.of[places])
        if self.same:
            return Pairing.within(lists)
        return Pairing(lists, others, np.arange(len(places), dtype=np.int64))

    def part(self, candidates: Index, references: Index) -> Pairing:
        """Return the pairing of some candidates of the only list with some pseudo-references, both rising."""
        kept = [np.zeros(one.n_items, dtype=bool) for one in (self.lists, self.others)]
        kept[0][candidates] = kept[1][references] = True
        return Pairing(self.lists.kept(kept[0]), self.others.kept(kept[1]), self.of)

    @property
    def same(self) -> bool:
        """Return whether the pseudo-references are the candidates."""
        return self.lists is self.others

    def rows(self, i: int) -> Index:
        """Return the candidates of list ``i``."""
        return np.arange(self.lists.offsets[i], self.lists.offsets[i + 1])

    def columns(self, i: int) -> Index:
        """Return its pseudo-references, items of ``others``."""
        j = int(self.of[i])
        return np.arange(self.others.offsets[j], self.others.offsets[j + 1])

    def sizes(self) -> Index:
        """Return the number of pairs of each list, int64 (n_lists)."""
        return self.lists.lengths * self.others.lengths[self.of]


class Utility(ABC):
    """A utility; ``text`` is how it is written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def tables(self, pairing: Pairing) -> Iterator[Floats]:
        """Yield the table of each list, float64 (candidates, pseudo-references), finite; larger is better.

        Raises DataError if the lists lack what is compared.
        """
        longest = int(pairing.sizes().max())
        shown = f"the utilities of {longest:,} pairs of candidates of a list"
        memory.require(32 * longest, shown, "shorter lists need less (--distinct leaves out equal texts)")
        with progress.step(f"comparing candidates by {self.text}", pairing.lists.n_lists, "list") as advance:
            for table in self._tables(pairing):
                yield table
                advance(1)

    @abstractmethod
    def _tables(self, pairing: Pairing) -> Iterator[Floats]:
        """Yield the tables."""

    def compared(self, lists: CandidateLists) -> Iterator[tuple[Index, Floats]]:
        """Yield the items of each list that can be compared, and their table, for consensus features."""
        pairing = Pairing.within(lists)
        for i, table in enumerate(self.tables(pairing)):
            yield pairing.rows(i), table


class TextUtility(Utility):
    """A metric of texts or trees, or n-gram precision if there is no metric."""

    def __init__(self, text: str, metric: SelectingMetric | None, order: int = 0) -> None:
        super().__init__(text)
        self.metric, self.order = metric, order
        self.of_trees = metric is not None and "gold" in metric.needs
        # What is counted for all pairs of a list at once; None = pair by pair.
        self.statistics: Statistics | None = BleuStatistics() if metric is None else None
        if isinstance(metric, Bleu | SentenceBleu):
            self.statistics = metric.statistics
        elif isinstance(metric, Chrf):
            self.statistics = metric

    def _tables(self, pairing: Pairing) -> Iterator[Floats]:
        sides = self._column(pairing.lists), self._column(pairing.others)
        rows, row_of = distinct(sides[0], pairing.lists.offsets)
        columns, column_of = (rows, row_of) if pairing.same else distinct(sides[1], pairing.others.offsets)
        n_columns = [len(columns[j]) for j in pairing.of.tolist()]
        sizes = np.array([len(own) * n for own, n in zip(rows, n_columns, strict=True)])
        for first, stop in _batches(sizes, _TREE_PAIRS if self.of_trees else _PAIRS):
            chosen = [(rows[i], columns[int(pairing.of[i])]) for i in range(first, stop)]
            values = self._values(self._pairs(*sides, chosen, pairing))
            at = 0
            for i, (own, references) in enumerate(chosen, first):
                n = len(own) * len(references)
                if self.statistics is None:
                    table = values[at : at + n].reshape(len(references), len(own)).T
                else:
                    table = values[at : at + n].reshape(len(own), len(references))
                at += n
                here = row_of[pairing.rows(i)][:, None], column_of[pairing.columns(i)]
                yield np.ascontiguousarray(table[here])

    def _column(self, lists: CandidateLists) -> StringColumn | Forest:
        found = lists.trees if self.of_trees else lists.texts
        if found is None:
            what = "trees" if self.of_trees else "texts"
            raise DataError(f"{lists.source}: {self.text} needs the candidates' {what}, there are none")
        return found

    def _values(self, pairs: CandidateLists) -> Floats:
        """The values of items with one reference each, float64 (n_items)."""
        if self.metric is not None:
            judge = self.metric.prepare(pairs)
            return np.nan_to_num(judge.better * judge.item_values(), nan=0.0)
        counts = BleuStatistics().of(pairs)
        matches, totals = counts[:, self.order - 1], counts[:, ORDERS + self.order - 1]
        return np.divide(matches, totals, out=np.zeros(len(matches)), where=totals > 0)

    def _pairs(
        self,
        own: StringColumn | Forest,
        others: StringColumn | Forest,
        chosen: Sequence[tuple[Index, Index]],
        pairing: Pairing,
    ) -> CandidateLists:
        """A list of all pairs, with the statistics of the metric or what it counts them from."""
        halved = self.metric if pairing.same and isinstance(self.metric, EditRate) else None
        if self.statistics is None and halved is None:
            return self._each_as_reference(own, others, chosen, pairing.lists.source)
        assert isinstance(own, StringColumn)
        assert isinstance(others, StringColumn)
        counts: Counts
        if halved is not None:
            name, counts = halved.name, edit_statistics(halved, own, [rows for rows, _ in chosen])
        else:
            assert self.statistics is not None
            name = self.statistics.name
            counts = PairedTexts(own, others, chosen, pairing.same).statistics(self.statistics)
        ends, none = np.array([0, len(counts)]), Dense(np.zeros((len(counts), 0)))
        return CandidateLists(ends, none, counts={name: counts}, source=pairing.lists.source)

    def _each_as_reference(
        self,
        own: StringColumn | Forest,
        others: StringColumn | Forest,
        chosen: Sequence[tuple[Index, Index]],
        source: str,
    ) -> CandidateLists:
        """The candidates of each list once for each of its pseudo-references, whose values come first."""
        items = np.concatenate([np.tile(rows, len(columns)) for rows, columns in chosen])
        references = np.concatenate([columns for _, columns in chosen])
        sizes = np.concatenate([np.full(len(columns), len(rows)) for rows, columns in chosen])
        n_bytes = int(own.lengths()[items].sum()) * (8 if self.of_trees else 1)
        memory.require(
            n_bytes, "the texts of a list once for each of its candidates", "shorter lists need less"
        )
        offsets, none = np.concatenate(([0], np.cumsum(sizes))), Dense(np.zeros((len(items), 0)))
        if isinstance(own, Forest) and isinstance(others, Forest):
            return CandidateLists(
                offsets, none, trees=own.take(items), gold=others.take(references), source=source
            )
        assert isinstance(own, StringColumn)
        assert isinstance(others, StringColumn)
        return CandidateLists(
            offsets, none, texts=own.take(items), references=(others.take(references),), source=source
        )


def distinct(column: StringColumn | Forest, offsets: Index) -> tuple[list[Index], Index]:
    """Return the items of each list with different content, and which of them each item equals.

    Parameters
    ----------
    column : StringColumn or Forest (n_items)
    offsets : int64 (n_lists + 1)

    Returns
    -------
    list of int64, int64 (n_items)
        The first item of each content, and for each item its place among them.
    """
    bytes_at: Callable[[int], bytes]
    if isinstance(column, StringColumn):
        bytes_at = column.bytes_at
    else:
        bounds, symbols, sizes = column.offsets.tolist(), column.symbols, column.sizes

        def bytes_at(item: int) -> bytes:
            here = slice(bounds[item], bounds[item + 1])
            return symbols[here].tobytes() + sizes[here].tobytes()

    firsts, places = [], np.empty(int(offsets[-1]), dtype=np.int64)
    for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        known: dict[bytes, int] = {}
        own = [known.setdefault(bytes_at(item), len(known)) for item in range(start, stop)]
        places[start:stop] = own
        firsts.append(start + np.unique(own, return_index=True)[1])
    return firsts, places


def _batches(sizes: Index, most: int) -> Iterator[tuple[int, int]]:
    """The first and the last list + 1 of batches of a bounded number of pairs, or of one list."""
    first = pairs = 0
    for i, size in enumerate(sizes.tolist()):
        if i > first and pairs + size > most:
            yield first, i
            first, pairs = i, 0
        pairs += size
    yield first, len(sizes)


class StructureUtility(Utility):
    """A metric that compares the items of a list itself; items that have nothing to compare have 0."""

    def __init__(self, text: str, metric: SelectingMetric) -> None:
        super().__init__(text)
        self.metric = metric
        self.pairs: ItemPairs | None = None  # of the lists, if they are known already
        self.largest = 100.0 if metric.family.startswith("GDT") else 1.0  # of a structure and itself

    def compared(self, lists: CandidateLists) -> Iterator[tuple[Index, Floats]]:
        pairs = self.pairs or self.metric.pairs_of(lists, [self.metric])
        yield from zip(pairs.items, pairs.tables(self.metric), strict=True)

    def _tables(self, pairing: Pairing) -> Iterator[Floats]:
        if not pairing.same:
            raise ConfigError(f"utility {self.text}: structures are compared within a list only")
        starts, sizes = pairing.lists.offsets[:-1].tolist(), pairing.lists.lengths.tolist()
        for (items, known), start, k in zip(self.compared(pairing.lists), starts, sizes, strict=True):
            table = np.zeros((k, k))
            table[np.ix_(items - start, items - start)] = known
            table[items - start, items - start] = self.largest
            yield table


class FeatureUtility(Utility):
    """Minus the distance of the values of a feature."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self.name = name

    def _tables(self, pairing: Pairing) -> Iterator[Floats]:
        own, others = (self._values(lists) for lists in (pairing.lists, pairing.others))
        for i in range(pairing.lists.n_lists):
            yield -np.abs(np.subtract.outer(own[pairing.rows(i)], others[pairing.columns(i)]))

    def _values(self, lists: CandidateLists) -> Floats:
        if self.name not in lists.names():
            found = did_you_mean(self.name, lists.names())
            raise DataError(f"{lists.source}: utility {self.text}: no feature {self.name!r}; {found}")
        values = lists.features.column(lists.column_of(self.name))
        if np.isnan(values).any():
            raise DataError(
                f"{lists.source}: utility {self.text}: the feature is missing (NaN) in some items"
            )
        return values


class Votes(Utility):
    """1 for the same answer, or the same text in lists without answers, else 0; no answer equals none."""

    def _tables(self, pairing: Pairing) -> Iterator[Floats]:
        answers = [lists.answers is not None for lists in (pairing.lists, pairing.others)]
        own, others = (self._answers(lists, all(answers)) for lists in (pairing.lists, pairing.others))
        for i in range(pairing.lists.n_lists):
            mine = own[pairing.lists.offsets[i] : pairing.lists.offsets[i + 1]]
            j = int(pairing.of[i])
            theirs = others[pairing.others.offsets[j] : pairing.others.offsets[j + 1]]
            codes = {text: code for code, text in enumerate(dict.fromkeys(filter(None, (*mine, *theirs))))}
            rows, columns = (np.array([codes.get(text, -1) for text in side]) for side in (mine, theirs))
            yield ((rows[:, None] == columns) & (columns >= 0)).astype(np.float64)

    def _answers(self, lists: CandidateLists, answers: bool) -> list[str]:
        column = lists.answers if answers else lists.texts
        if column is None:
            raise DataError(f"{lists.source}: votes need the candidates' answers or texts, there are none")
        return [plain_answer(text) for text in column]


class KernelUtility(Utility):
    """A kernel of items, of their features or trees."""

    def __init__(self, text: str, kernel: ItemKernel) -> None:
        super().__init__(text)
        self.kernel = kernel

    def _tables(self, pairing: Pairing) -> Iterator[Floats]:
        if pairing.same:
            (own,) = self.kernel.prepare(pairing.lists)
            others = own
        else:
            own, others = self.kernel.prepare(pairing.lists, pairing.others)
        for i in range(pairing.lists.n_lists):
            rows = own.take(pairing.rows(i))
            if not pairing.same:
                columns = others.take(pairing.columns(i))
                table = np.empty((rows.n, columns.n))
                rows.rows(np.arange(rows.n), columns, table)
                yield table
                continue
            table = np.zeros((rows.n, rows.n))
            step = max(1, rows.n // _BLOCKS)
            for first in range(0, rows.n, step):
                last = min(first + step, rows.n)
                rows.fill(rows, first, last, table[first:last])
            yield np.triu(table) + np.triu(table, 1).T  # K(x, y) of a pair once
