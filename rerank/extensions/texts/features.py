"""Features of a question and a text: how well the words of one are those of the other.

``NAMES`` has them all; the page of the manual explains each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from rerank.core import progress
from rerank.core.errors import DataError
from rerank.core.types import AnyArray, Bytes, Floats, Index
from rerank.data.columns.strings import StringColumn
from rerank.extensions.texts.native import _passages
from rerank.extensions.texts.statistics import Bags, Statistics, bags_of, blocks, part_of
from rerank.extensions.texts.tokens import CAPITAL, GRAMS, NUMBER, Tokeniser, Tokens

NAMES = {
    "bm25": "BM25 of the question's words",
    "ql_dirichlet": "mean log-probability of the question's words, Dirichlet smoothing",
    "ql_jelinek_mercer": "the same with Jelinek-Mercer smoothing, against the corpus",
    "tfidf_cosine": "cosine of the TF-IDF vectors",
    "coverage": "share of the question's different words in the text",
    "idf_coverage": "the same, each word weighted by its IDF",
    "idf_sum": "sum of the IDF of the words in both",
    "idf_max": "the largest IDF of a word in both",
    "tf_sum": "log(1 + tokens of the text that are words of the question)",
    "tf_share": "their share of the text's tokens",
    "jaccard": "different words in both / in either",
    "ordered_pairs": "share of neighbours in the question that stand so in the text",
    "near_pairs": "share of neighbours in the question within 8 words of the text",
    "window": "different words in both / words of the smallest window that has them",
    "closest_pair": "1 / distance of the nearest two different words of the question",
    "first_position": "1 / place in the text of the first word of the question",
    "longest_run": "share of the question that stands in the text in one piece",
    "char3": "share of the question's 3-grams of characters in words of the text",
    "char5": "the same for 5-grams",
    "numbers": "share of the question's numbers in the text",
    "new_numbers": "log(1 + other numbers of the text)",
    "names": "share of the question's capitalised words in the text, its first word left out",
    "new_names": "log(1 + other capitalised words of the text)",
    "length": "log(1 + words of the text)",
    "question_length": "words of the question",
    "novelty": "share of the text's different words that no other text of the list has",
    "centrality": "cosine of the text's TF-IDF vector with the sum of the others of the list",
}


class Weighting(Struct, frozen=True):
    """The parameters of BM25 (k1, b), and of smoothing (mu: Dirichlet, jm_lambda: Jelinek-Mercer)."""

    k1: float = 1.2
    b: float = 0.75
    mu: float = 1000.0
    jm_lambda: float = 0.1


USUAL = Weighting()


class Questions(Struct, frozen=True, eq=False):
    """The words of questions that are looked for.

    Attributes
    ----------
    wanted : int32, the different terms of each question.
    times : float64, how often the question has each of them.
    kinds : uint8, CAPITAL and NUMBER of each; the first word of a question counts as small.
    sequence : int32 (n, 2), of each word its place among the question's terms, and in the question.
    words : int32, the words.
    spans : int64 (n_questions + 1, 2), where ``wanted``, and ``sequence`` and ``words``, begin.
    """

    wanted: AnyArray
    times: Floats
    kinds: Bytes
    sequence: AnyArray
    words: AnyArray
    spans: Index


def read_questions(
    texts: StringColumn, tokeniser: Tokeniser, stop_words: Iterable[str], places: Sequence[str]
) -> Questions:
    """Return the words of questions without stop words, except for a question that has no others.

    Parameters
    ----------
    texts : the questions.
    tokeniser : what splits them.
    stop_words : words that are not looked for, in any case.
    places : how an error calls each question.

    Raises
    ------
    DataError
        If a question has no word.
    """
    tokens = tokeniser.split(texts)
    terms, kinds = tokeniser.terms_of(tokens)
    stopped = frozenset(word.casefold() for word in stop_words)
    is_stop = np.zeros(len(terms), dtype=bool)
    if stopped:
        words = [word for text in texts for word in tokeniser.words_of(text)]
        is_stop[:] = [word.casefold() in stopped for word in words]
    wanted: list[int] = []
    times: list[int] = []
    of_terms: list[int] = []
    sequence: list[tuple[int, int]] = []
    kept: list[int] = []
    spans = np.zeros((len(texts) + 1, 2), dtype=np.int64)
    for i, (start, stop) in enumerate(zip(tokens.bounds.tolist(), tokens.bounds[1:].tolist(), strict=False)):
        if start == stop:
            raise DataError(f"{places[i]}: found {texts[i][:60]!r}, expected a question with a word at least")
        at = (
            np.flatnonzero(~is_stop[start:stop]) if not is_stop[start:stop].all() else np.arange(stop - start)
        )
        own: dict[int, int] = {}
        for p in at.tolist():
            term = int(terms[start + p])
            kind = int(kinds[start + p]) & (NUMBER if p == 0 else NUMBER | CAPITAL)
            place = own.setdefault(term, len(own))
            if place == len(wanted) - spans[i, 0]:
                wanted.append(term)
                times.append(0)
                of_terms.append(0)
            times[int(spans[i, 0]) + place] += 1
            of_terms[int(spans[i, 0]) + place] |= kind
            sequence.append((place, p))
            kept.append(start + p)
        spans[i + 1] = len(wanted), len(sequence)
    return Questions(
        np.array(wanted, dtype=np.int32),
        np.array(times, dtype=np.float64),
        np.array(of_terms, dtype=np.uint8),
        np.array(sequence, dtype=np.int32).reshape(-1, 2),
        tokens.words[kept],
        spans,
    )


def features_of(
    questions: StringColumn,
    texts: StringColumn,
    offsets: Index,
    statistics: Statistics,
    tokeniser: Tokeniser,
    *,
    stop_words: Iterable[str] = (),
    weighting: Weighting = USUAL,
    places: Sequence[str] | None = None,
) -> Floats:
    """Return the features of every text for the question of its list, float64 (n_texts, len(NAMES)).

    Parameters
    ----------
    questions : of each list (n_lists).
    texts : of the items (n_items).
    offsets : int64 (n_lists + 1), the items of each list.
    statistics : of the corpus, whose terms ``tokeniser`` numbers first.
    tokeniser : what splits questions and texts.
    stop_words : words that are not looked for.
    weighting : parameters of BM25 and of smoothing.
    places : how an error calls each question; None = by number.

    Raises
    ------
    DataError
        If a question has no word.
    """
    names = [f"question {i + 1}" for i in range(len(questions))] if places is None else places
    asked = read_questions(questions, tokeniser, stop_words, names)
    out = np.empty((len(texts), len(NAMES)))
    with progress.step("features of texts", len(questions), "list") as advance:
        for first, last in blocks(texts, offsets):
            start, stop = int(offsets[first]), int(offsets[last])
            tokens = tokeniser.split(part_of(texts, start, stop))
            block = _Block(tokens, asked, offsets, first, last, tokeniser)
            out[start:stop] = block.features(statistics, weighting)
            advance(last - first)
    return out


class _Block:
    """Some lists: the tokens of their texts, and the words of their questions."""

    def __init__(
        self, tokens: Tokens, asked: Questions, offsets: Index, first: int, last: int, tokeniser: Tokeniser
    ) -> None:
        self.tokens, self.tokeniser = tokens, tokeniser
        self.offsets = offsets[first : last + 1] - offsets[first]
        spans = asked.spans[first : last + 1]
        (a, c), (b, d) = spans[0], spans[-1]
        self.wanted, self.times, self.kinds = asked.wanted[a:b], asked.times[a:b], asked.kinds[a:b]
        self.sequence, self.words = asked.sequence[c:d], asked.words[c:d]
        self.spans = np.ascontiguousarray(np.column_stack([self.offsets, spans - spans[0]]))

    def features(self, statistics: Statistics, weighting: Weighting) -> Floats:
        """Return all features (n_texts, len(NAMES))."""
        terms, kinds = self.tokeniser.terms_of(self.tokens)
        n_terms, lengths = self.tokeniser.n_terms, np.diff(self.tokens.bounds).astype(np.float64)
        idf = statistics.idf(n_terms)
        found = self._found(terms, kinds, idf, statistics.background(n_terms), n_terms)
        bags = bags_of(terms, self.tokens.bounds, n_terms)
        norms, alone, central = self._within_lists(bags, idf)
        some, m = np.maximum(lengths, 1.0), weighting
        columns: dict[str, Floats] = {}
        near = found.counts / (m.k1 * (1 - m.b + m.b * lengths / statistics.mean_length))[found.texts]
        columns["bm25"] = found.sums(found.times * found.idf * near / (1.0 + near))
        smooth = (found.counts + m.mu * found.p) / (lengths + m.mu)[found.texts]
        columns["ql_dirichlet"] = found.mean(np.log(smooth))
        share = found.counts / some[found.texts]
        columns["ql_jelinek_mercer"] = found.mean(np.log1p((1 - m.jm_lambda) / m.jm_lambda * share / found.p))
        asked = np.log1p(found.times) * found.idf
        dot = found.sums(asked * np.log1p(found.counts) * found.idf)
        columns["tfidf_cosine"] = _divided(dot, norms * np.sqrt(found.sums(asked**2)))
        there = found.counts > 0
        n_there = found.sums(there)
        columns["coverage"] = n_there / found.sums(np.ones(len(there)))
        columns["idf_sum"] = found.sums(there * found.idf)
        columns["idf_coverage"] = columns["idf_sum"] / found.sums(found.idf)
        columns["idf_max"] = np.maximum.reduceat(there * found.idf, found.starts)
        tokens = found.sums(found.counts)
        columns["tf_sum"] = np.log1p(tokens)
        columns["tf_share"] = tokens / some
        n_own = np.diff(bags.starts)
        n_asked = np.diff(np.append(found.starts, len(there)))
        columns["jaccard"] = n_there / (n_own + n_asked - n_there)
        shapes, n_words = found.shapes, np.repeat(np.diff(self.spans[:, 2]), np.diff(self.offsets))
        columns["ordered_pairs"] = shapes[:, 3] / np.maximum(n_words - 1, 1)
        columns["near_pairs"] = shapes[:, 4] / np.maximum(n_words - 1, 1)
        columns["window"] = _divided(n_there, shapes[:, 1])
        columns["closest_pair"] = _divided(np.ones(len(some)), shapes[:, 2])
        columns["first_position"] = _divided(np.ones(len(some)), shapes[:, 0] + 1)
        columns["longest_run"] = shapes[:, 5] / n_words
        for which, n in enumerate(GRAMS):
            columns[f"char{n}"] = self._grams(which)
        for name, kind, other in (("numbers", NUMBER, 7), ("names", CAPITAL, 6)):
            of_kind = (found.kinds & kind) > 0
            columns[name] = _divided(found.sums(of_kind & there), found.sums(of_kind))
            columns[f"new_{name}"] = np.log1p(shapes[:, other])
        columns["length"] = np.log1p(lengths)
        columns["question_length"] = n_words.astype(np.float64)
        columns["novelty"] = alone / np.maximum(n_own, 1)
        columns["centrality"] = central
        return np.column_stack([columns[name] for name in NAMES])

    def _found(self, terms: AnyArray, kinds: Bytes, idf: Floats, p: Floats, n_terms: int) -> _Found:
        """The terms of each question in each text of its list."""
        n_texts, sizes = np.diff(self.offsets), np.diff(self.spans[:, 1])
        per_text = np.repeat(sizes, n_texts)
        ends = np.cumsum(per_text)
        counts, shapes = np.empty(int(ends[-1]), dtype=np.int32), np.empty((len(per_text), 8))
        slots = np.full(n_terms, -1, dtype=np.int32)
        _passages.match(
            *(terms, kinds, self.tokens.bounds, self.spans, self.wanted),
            *(self.sequence, slots, counts, shapes),
        )
        starts = ends - per_text
        place = np.arange(len(counts)) - np.repeat(starts - np.repeat(self.spans[:-1, 1], n_texts), per_text)
        return _Found(
            counts=counts.astype(np.float64),
            texts=np.repeat(np.arange(len(per_text)), per_text),
            starts=starts,
            times=self.times[place],
            kinds=self.kinds[place],
            idf=idf[self.wanted[place]],
            p=p[self.wanted[place]],
            shapes=shapes,
        )

    def _within_lists(self, bags: Bags, idf: Floats) -> tuple[Floats, Floats, Floats]:
        """The lengths of TF-IDF vectors, terms that no other text of the list has, and centrality."""
        weights = np.log1p(bags.counts) * idf[bags.terms]
        norms = np.sqrt(bags.sums(weights**2))
        unit = weights / norms[bags.owners]
        out = np.empty((len(norms), 2))
        n = len(idf)
        _passages.within_lists(
            *(bags.terms, unit, bags.starts, self.offsets, np.zeros(n), np.zeros(n, dtype=np.int32), out)
        )
        return norms, out[:, 0], out[:, 1]

    def _grams(self, which: int) -> Floats:
        """The share of each question's n-grams of characters that a text has."""
        grams, starts, n = self.tokeniser.grams(which)
        wanted: list[int] = []
        spans = np.zeros((len(self.spans), 2), dtype=np.int64)
        spans[:, 0] = self.offsets
        for i in range(len(self.spans) - 1):
            words = self.words[self.spans[i, 2] : self.spans[i + 1, 2]].tolist()
            wanted += dict.fromkeys(
                g for word in words for g in grams[starts[word] : starts[word + 1]].tolist()
            )
            spans[i + 1, 1] = len(wanted)
        out = np.empty(len(self.tokens.bounds) - 1)
        _passages.shared_grams(
            *(self.tokens.words, self.tokens.bounds, spans, grams, starts, np.array(wanted, dtype=np.int32)),
            *(np.full(n, -1, dtype=np.int64), out),
        )
        return out / np.repeat(np.diff(spans[:, 1]), np.diff(self.offsets))


class _Found(Struct, frozen=True, eq=False):
    """Each term of a question for each text of its list: an entry of arrays but ``starts`` and ``shapes``.

    counts : how often the text has it. texts : the number of the text. starts : the first entry of each text.
    times, kinds, idf, p : of the term in the question and the corpus. shapes : see ``_passages.match``.
    """

    counts: Floats
    texts: Index
    starts: Index
    times: Floats
    kinds: Bytes
    idf: Floats
    p: Floats
    shapes: Floats

    def sums(self, values: AnyArray) -> Floats:
        """Return the sum of each text's entries."""
        return np.add.reduceat(values, self.starts, dtype=np.float64)

    def mean(self, values: Floats) -> Floats:
        """Return the mean of each text's entries over the words of the question."""
        return self.sums(self.times * values) / self.sums(self.times)


def _divided(values: Floats, by: Floats) -> Floats:
    """Values divided by others, 0 where these are 0."""
    return np.divide(values, by, out=np.zeros(len(values)), where=by > 0)
