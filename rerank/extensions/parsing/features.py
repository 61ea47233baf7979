"""Features of parse trees: the eleven types of Collins & Koo (2005, section 5.2) and their second pass.

A constituent with its children is a rule, one child its head (see heads.py). A feature's name is its type and
its parts, for VP -> PP VBD NP NP SBAR under S -> NP VP:

    rule VP PP VBD NP NP SBAR                       bigram right VP NP SBAR
    grandparent-rule S VP PP VBD NP NP SBAR         grandparent-bigram right S VP NP SBAR
    two-level-rule (S NP VP) VP PP VBD NP NP SBAR   two-level-bigram (S NP VP) right VP NP SBAR
    trigram VP PP VBD! NP                           lexical-bigram right VP NP story SBAR that
    head-modifier right S VP VBD NP adj=1           distance VP VBD SBAR >=2
    pp NP NP PP NP president of U.S.                pp NP NP PP NP of U.S.

In the second pass ("lexicalised") a label whose head word belongs to a closed class carries that word, as in
``rule VP PP(on) VBD NP NP SBAR(that)``. Rules that this does not change have no second feature.

Choices that the paper leaves open: a tag over its word is not a rule. The parent of the root is TOP, and the
root has no two-level features. Bigrams run outwards from the head to STOP; a side without a modifier has
none. Labels TOP and STOP of a tree are not distinguished from these. The argument of a PP is the constituent
after its preposition; a PP whose head is a phrase has no argument. A distance is the number of words between
two head words; x goes up to 9 in "distance <= x" as in the paper, and up to 255 in "distance >= x", for which
the paper has no limit. Punctuation except comma and colon is left out, as by the paper's parser. A word is
closed-class by its tag. Words are not normalised.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.memory import available, size
from rerank.core.registry import did_you_mean
from rerank.core.settings import Settings, setting
from rerank.core.text import count
from rerank.core.types import Index, Ints, NDArray
from rerank.core.workers import parallel
from rerank.data.columns.forests import Forest
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Mixed, Sparse
from rerank.extensions.parsing.heads import HeadTable, bare_label, default_heads
from rerank.extensions.parsing.native._treefeatures import Trees, hash_strings
from rerank.extensions.parsing.native._treefeatures_names import spell
from rerank.extensions.parsing.native._treefeatures_sets import Columns, Counts

Words = NDArray[np.uint64]

# In the order of the kernel's numbers; those up to trigram have a second pass.
TYPES = (
    "rule",
    "bigram",
    "grandparent-rule",
    "grandparent-bigram",
    "lexical-bigram",
    "two-level-rule",
    "two-level-bigram",
    "trigram",
    "head-modifier",
    "pp",
    "distance",
)
LEXICALISED = "lexicalised"
CLOSED_CLASS = (
    *("CC", "DT", "EX", "IN", "MD", "PDT", "POS", "PRP", "PRP$", "RP", "TO", "WDT", "WP", "WP$", "WRB"),
    *("AUX", "AUXG"),
)
LEFT_OUT = (".", "``", "''")
PREPOSITIONAL = "PP"

_CLOSED, _LEFT_OUT, _PREPOSITIONAL = 1, 2, 4  # as in the kernel
_PORTION = 1 << 20  # indices made at a time
_PARTS_SENT = 4  # for each worker of a cluster
_KEY_BITS = 64
_FEATURE_BYTES = 512  # of memory for each different feature, names apart: its key, its place, its occurrences
_Arguments = tuple[object, ...]
_Filled = tuple[bytearray, bytearray, int, int]


class ParseSettings(Settings):
    """Settings of the features of parse trees."""

    cutoff: int = setting(5, "Sentences in whose parses a feature must occur.", ge=1)
    types: tuple[str, ...] = setting((*TYPES, LEXICALISED), "Types of features.")
    values: Literal["indicators", "counts"] = setting(
        "indicators", "Whether a feature occurs in a parse, or how often."
    )
    closed_class: tuple[str, ...] = setting(
        CLOSED_CLASS, "Tags whose words, as heads, become part of labels in the second pass."
    )
    left_out: tuple[str, ...] = setting(LEFT_OUT, "Tags whose words are left out (punctuation).")
    heads: HeadTable | None = setting(None, "Which child is the head; none = Collins' table.")

    def check_values(self) -> None:
        known = (*TYPES, LEXICALISED)
        for name in self.types:
            if name not in known:
                raise ConfigError(f"types: unknown {name!r}; {did_you_mean(name, known)}")
        if not set(self.types) & set(TYPES):
            found = ", ".join(self.types) or "none"
            raise ConfigError(f"types: found {found}, expected one of {', '.join(TYPES)}")


@dataclass(frozen=True, eq=False)
class ParseFeatures:
    """Features chosen on a training set, by type and then by first appearance.

    names : StringColumn (n), a type and its parts.
    keys : uint64 (n, 2), what they are found by.
    types : int8 (n), a place in TYPES, + 11 in the second pass.
    sentences : int32 (n), training sentences in whose parses each occurs.
    seen : int64 (22), features before the cutoff, by type.
    """

    settings: ParseSettings
    names: StringColumn
    keys: Words
    types: NDArray[np.int8]
    sentences: Ints
    seen: Index

    def __len__(self) -> int:
        return len(self.keys)

    def by_type(self) -> dict[str, tuple[int, int]]:
        """Features (seen, kept) of each type, ``rule+`` being those of the second pass."""
        kept = np.bincount(self.types, minlength=len(self.seen))
        names = [*TYPES, *(f"{name}+" for name in TYPES)]
        pairs = zip(self.seen.tolist(), kept.tolist(), strict=True)
        return {name: pair for name, pair in zip(names, pairs, strict=True) if pair[0]}

    def apply(self, lists: CandidateLists) -> CandidateLists:
        """Return the lists with these features after their own, dense ones.

        Other features that occur in the trees are dropped.

        Raises
        ------
        DataError
            If the lists have no trees, or have sparse features already.
        """
        return self.rows(lists).onto(lists)

    def rows(self, lists: CandidateLists) -> Rows:
        """Return the rows that ``apply`` attaches, so that the trees can be freed before ``Rows.onto``.

        Raises
        ------
        DataError
            If the lists have no trees, or have sparse features already.
        """
        if not isinstance(lists.features, Dense):
            raise DataError(
                f"{lists.source}: has sparse features already, expected the features read from parses"
            )
        trees = trees_of(lists)
        with _within_memory(lists.source):
            return Rows(self, trees, lists.offsets, lists.n_features)


def choose(lists: CandidateLists, settings: ParseSettings | None = None) -> ParseFeatures:
    """Return the features that occur in the parses of at least ``settings.cutoff`` lists.

    Raises
    ------
    DataError
        If the lists have no trees, or no feature remains.
    """
    settings = settings or ParseSettings.checked({}, "parse features")
    trees = trees_of(lists)
    arguments = _arguments(trees, settings)
    parts = [(arguments, lists.offsets, first, last) for first, last in _ranges(lists.n_lists)]
    with _within_memory(lists.source):
        counts, *others = parallel.each(
            _count, parts, threads=True, anywhere=True, step=("counting features of parses", "block")
        )
        if parallel.remote():  # of another machine, with what its memory allows
            counts, others = Counts(_most_features()), [counts, *others]
        for other in others:
            counts.merge(other)
    keys, sentences, seen = counts.kept(
        min(settings.cutoff, lists.n_lists + 1)
    )  # the kernel counts in 32 bits
    if len(keys) == 0:
        raise DataError(
            f"{lists.source}: no feature occurs in the parses of {count(settings.cutoff, 'list')}"
        )
    with _within_memory(lists.source):
        names = _names(arguments, trees, seen)
    order = np.argsort(seen[:, 3], kind="stable")
    names = names.take(order)
    twice = names.repeated(np.array([0, len(names)], dtype=np.int64))
    if np.any(twice):
        raise DataError(f"{lists.source}: two features are called {names[int(np.argmax(twice))]!r}")
    types = seen[order, 3].astype(np.int8)
    return ParseFeatures(settings, names, keys[order], types, sentences[order], counts.by_type())


def trees_of(lists: CandidateLists) -> Forest:
    """Return the trees of the items; raise DataError if there are none."""
    if lists.trees is None:
        raise DataError(f"{lists.source}: items have no trees, expected parses")
    return lists.trees


def _arguments(trees: Forest, settings: ParseSettings) -> _Arguments:
    """Return the arguments of the kernel's Trees."""
    strings = list(trees.vocabulary)
    hashes = np.empty((len(strings), 2), dtype=np.uint64)
    hash_strings(trees.vocabulary.data, trees.vocabulary.offsets, hashes)
    facts = np.zeros(len(strings), dtype=np.uint8)
    marks = (
        (_CLOSED, set(settings.closed_class), strings),
        (_LEFT_OUT, set(settings.left_out), strings),
        (_PREPOSITIONAL, {PREPOSITIONAL}, [bare_label(string) for string in strings]),
    )
    for bit, members, labels in marks:
        facts[[i for i, label in enumerate(labels) if label in members]] |= bit
    heads = (settings.heads or default_heads()).compiled(strings)
    types = sum(1 << TYPES.index(name) for name in set(settings.types) if name != LEXICALISED)
    return (
        trees.offsets,
        trees.symbols,
        trees.sizes,
        hashes,
        facts,
        heads.arrays(),
        types,
        LEXICALISED in settings.types,
        _KEY_BITS,
    )


def _ranges(n: int) -> list[tuple[int, int]]:
    """Return ranges that divide 0..n among the workers, none empty; a cluster sends several for each."""
    parts = parallel.jobs() * (_PARTS_SENT if parallel.remote() else 1)
    bounds = np.linspace(0, n, min(parts, n) + 1).astype(np.int64).tolist()
    return list(itertools.pairwise(bounds))


@contextmanager
def _within_memory(source: str) -> Iterator[None]:
    """Report features that would not fit: kernels hold as many as ``_most_features`` and then stop."""
    try:
        yield
    except MemoryError:
        raise DataError(
            f"{source}: the features of its parses need more memory than is left ({size(available())});"
            " fewer --types need less"
        ) from None


def _most_features() -> int:
    """Return how many different features fit into the memory that is left."""
    return available() // _FEATURE_BYTES


def _count(arguments: _Arguments, offsets: Index, first: int, last: int) -> Counts:
    counts = Counts(_most_features())
    counts.count(Trees(*arguments), offsets, first, last)
    return counts


def _names(arguments: _Arguments, trees: Forest, seen: Ints) -> StringColumn:
    types = StringColumn.from_strings(TYPES)
    strings = trees.vocabulary
    walker = Trees(*arguments)
    most = available() // 4  # they are copied in another order, then written
    return StringColumn(*spell(walker, seen, strings.data, strings.offsets, types.data, types.offsets, most))


class Rows:
    """Chosen features of the parses of some lists.

    known, unknown : features of sentences (of any of its parses) that were chosen and that were not, summed.
    """

    def __init__(self, chosen: ParseFeatures, trees: Forest, offsets: Index, lead: int) -> None:
        self._chosen = chosen
        self._lead = lead
        self._lengths = np.zeros(len(trees), dtype=np.int64)
        self._counts = chosen.settings.values == "counts"
        arguments = _arguments(trees, chosen.settings)
        ranges = _ranges(len(offsets) - 1)
        parts = [_Part(arguments, offsets, *part, lead, self._counts) for part in ranges]
        filled = self._filled(parts, Columns(chosen.keys, _most_features()))
        self._indices, self._values, self.known, self.unknown = next(filled)
        for indices, values, known, unknown in filled:
            self._indices += indices
            self._values += values
            self.known += known
            self.unknown += unknown

    def onto(self, lists: CandidateLists) -> CandidateLists:
        """Return the lists with these rows as features after their own; to be called once."""
        names = [*(lists.names() if self._lead else ()), *self._chosen.names]
        indices = np.frombuffer(self._indices, dtype=np.int32)
        data = np.frombuffer(self._values, dtype=np.float64) if self._counts else None
        rows = Sparse(offsets_of(self._lengths), indices, data, len(names))
        if not self._lead:
            return lists.with_features(rows, names)
        own = lists.features.to_dense().astype(np.float64, copy=False)
        places = np.arange(self._lead, dtype=np.int32)
        return lists.with_features(Mixed(own, places, rows), names)

    def _filled(self, parts: list[_Part], columns: Columns) -> Iterator[_Filled]:
        """Yield what each part gives, and set its lengths."""
        if not parallel.remote():
            tasks = [(part, columns, self._lengths) for part in parts]
            yield from parallel.each(_fill, tasks, threads=True, step=("finding features of parses", "block"))
            return
        apart = [(part, self._chosen.keys) for part in parts]
        for part, (filled, lengths) in zip(parts, parallel.in_order(_fill_apart, apart), strict=True):
            self._lengths[part.items] = lengths
            yield filled


@dataclass(frozen=True, eq=False)
class _Part:
    """Sentences whose rows are made at once, with what they are made of."""

    arguments: _Arguments
    offsets: Index
    first: int
    last: int
    lead: int
    counts: bool

    @property
    def items(self) -> slice:
        """The parses of these sentences."""
        return slice(int(self.offsets[self.first]), int(self.offsets[self.last]))


def _fill(part: _Part, columns: Columns, lengths: Index) -> _Filled:
    """Return indices, values if they are counts, and the sums of known and unknown features; OUT lengths."""
    walker = Trees(*part.arguments)
    indices, values = bytearray(), bytearray()
    room = np.empty(_PORTION, dtype=np.int32)
    numbers = np.empty(_PORTION) if part.counts else None
    known = unknown = 0
    first = part.first
    while first < part.last:
        first, used, old, new, needed = columns.fill(
            walker, part.offsets, first, part.last, part.lead, room, numbers, lengths
        )
        indices += room[:used].data
        if numbers is not None:
            values += numbers[:used].data
        if needed > len(room):
            room = np.empty(needed, dtype=np.int32)
            numbers = np.empty(needed) if part.counts else None
        known += old
        unknown += new
    return indices, values, known, unknown


def _fill_apart(part: _Part, keys: Words) -> tuple[_Filled, Index]:
    """Return what ``_fill`` gives, and the lengths, in a process without the columns."""
    lengths = np.zeros(int(part.offsets[-1]), dtype=np.int64)  # of which only its own become memory
    filled = _fill(part, Columns(keys, _most_features()), lengths)
    return filled, lengths[part.items]
