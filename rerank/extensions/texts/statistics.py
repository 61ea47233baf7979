"""Counts of a corpus: in how many texts a term occurs, how often, and how long texts are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from rerank.core.types import AnyArray, Floats, Index
from rerank.data.columns.strings import StringColumn
from rerank.extensions.texts.native import _passages
from rerank.extensions.texts.tokens import Tokeniser, Tokens

_BLOCK = 1 << 23  # bytes that are looked at together


class Bags(Struct, frozen=True, eq=False):
    """The different terms of each text.

    terms, counts : int32, text by text: each term once, and how often it occurs.
    starts : int64 (n_texts + 1).
    """

    terms: AnyArray
    counts: AnyArray
    starts: Index

    @property
    def owners(self) -> Index:
        """The text of each term, int64."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def sums(self, values: Floats) -> Floats:
        """Return the sum of the values of each text's terms, float64 (n_texts)."""
        out: Floats = np.bincount(self.owners, values, len(self.starts) - 1).astype(np.float64)
        return out


def bags_of(terms: AnyArray, bounds: Index, n_terms: int) -> Bags:
    """Return the different terms of each text.

    terms : int32 (n_tokens), below ``n_terms``.
    bounds : int64 (n_texts + 1).
    """
    found, counts = np.empty((2, len(terms)), dtype=np.int32)
    starts = np.empty(len(bounds), dtype=np.int64)
    n = _passages.distinct(terms, bounds, np.zeros(n_terms, dtype=np.int32), found, counts, starts)
    return Bags(found[:n], counts[:n], starts)


class Statistics(Struct, frozen=True, eq=False):
    """Counts of a corpus.

    Attributes
    ----------
    terms : sequence of str, those that occur.
    texts, tokens : int64 (n_terms), the texts that have each term, and its tokens.
    n_texts, n_tokens : int, of the corpus.
    """

    terms: Sequence[str]
    texts: Index
    tokens: Index
    n_texts: int
    n_tokens: int

    @property
    def mean_length(self) -> float:
        """Tokens of a text on average."""
        return max(self.n_tokens, 1) / max(self.n_texts, 1)

    def idf(self, n_terms: int) -> Floats:
        """Return ln(1 + (N - n + .5) / (n + .5)) of each term, of which the first are those of the corpus.

        n texts of the N have it (Robertson & Zaragoza 2009, with 1 added so that it is never negative).
        """
        n = np.zeros(n_terms)
        n[: len(self.texts)] = self.texts
        return np.log1p((self.n_texts - n + 0.5) / (n + 0.5))

    def background(self, n_terms: int) -> Floats:
        """Return the probability of each term in the corpus, (tokens + 1) / (all tokens + terms + 1)."""
        n = np.zeros(n_terms)
        n[: len(self.tokens)] = self.tokens
        return (n + 1.0) / (self.n_tokens + len(self.texts) + 1.0)


def count_corpus(texts: StringColumn, tokeniser: Tokeniser) -> Statistics:
    """Return the statistics of texts, whose terms ``tokeniser`` numbers."""
    held = _Counts()
    for first, last in blocks(texts):
        held.add(tokeniser.split(part_of(texts, first, last)), tokeniser)
    return held.statistics(tokeniser)


class _Counts:
    """Counts that grow."""

    def __init__(self) -> None:
        self.texts = np.zeros(0, dtype=np.int64)
        self.tokens = np.zeros(0, dtype=np.int64)
        self.n_texts = 0

    def add(self, tokens: Tokens, tokeniser: Tokeniser) -> None:
        """Count some texts."""
        terms, _ = tokeniser.terms_of(tokens)
        n = tokeniser.n_terms
        bags = bags_of(terms, tokens.bounds, n)
        found = np.bincount(bags.terms, minlength=n), np.bincount(terms, minlength=n)
        for new, old in zip(found, (self.texts, self.tokens), strict=True):
            new[: len(old)] += old
        self.texts, self.tokens = found
        self.n_texts += len(tokens.bounds) - 1

    def statistics(self, tokeniser: Tokeniser) -> Statistics:
        """Return all that was counted."""
        return Statistics(
            list(tokeniser.terms)[: len(self.texts)],
            *(self.texts, self.tokens, self.n_texts),
            int(self.tokens.sum()),
        )


def blocks(texts: StringColumn, offsets: Index | None = None) -> Iterator[tuple[int, int]]:
    """Yield ranges of texts, or of lists of them, with about _BLOCK bytes together, or a single one.

    offsets : int64 (n_lists + 1), the texts of each list; None = texts.
    """
    ends = texts.offsets if offsets is None else texts.offsets[offsets]
    first = 0
    while first < len(ends) - 1:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + _BLOCK, side="right")) - 1)
        yield first, last
        first = last


def part_of(texts: StringColumn, first: int, last: int) -> StringColumn:
    """Return some texts that follow each other, without copying them."""
    offsets = texts.offsets[first : last + 1]
    return StringColumn(texts.data[offsets[0] : offsets[-1]], offsets - offsets[0])
