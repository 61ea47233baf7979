"""Features of texts as a fitted step: counts of a corpus and settings, which a model keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from msgspec import Struct

from rerank.core import progress
from rerank.core.errors import DataError, FormatError
from rerank.core.files.read import shown
from rerank.core.records import Record, fact
from rerank.core.text import count
from rerank.core.types import AnyArray, Floats
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.data.reading import Reading
from rerank.extensions.texts.features import NAMES, Weighting, features_of
from rerank.extensions.texts.statistics import Statistics, count_corpus
from rerank.extensions.texts.tokens import Tokeniser, stemmer_of
from rerank.formats.collection import texts_of
from rerank.formats.texts import read_lines
from rerank.models.feature_sources import SOURCES, FeatureSource, with_columns
from rerank.training.text_options import ENGLISH, TextSettings

PREFIX = "text_"
_FORGET = 1 << 20  # new terms of lists that were scored, after which all of them are forgotten
_FORMS = {"terms": "|u1", "bounds": "<i8", "texts": "<i8", "tokens": "<i8"}


class _Meta(Record):
    """The part of meta.json about an extraction."""

    kind: str
    n_features: int
    names: tuple[str, ...]
    stemmer: str | None
    unspaced: str
    stop_words: tuple[str, ...]
    k1: float = fact(ge=0)
    b: float = fact(ge=0, le=1)
    mu: float = fact(gt=0)
    jm_lambda: float = fact(gt=0, lt=1)
    n_texts: int = fact(ge=0, lt=1 << 53)
    n_tokens: int = fact(ge=0, lt=1 << 53)
    query: str | None
    text: str | None
    source: str


class Words(Struct, frozen=True):
    """The way questions and texts become words; hashable.

    stemmer : a language of snowballstemmer, None = no stems.
    unspaced : "bigrams" or "characters", see ``Tokeniser``.
    stop_words : words of questions that are not looked for.
    weighting : parameters of BM25 and of smoothing.
    """

    stemmer: str | None = None
    unspaced: str = "bigrams"
    stop_words: tuple[str, ...] = ()
    weighting: Weighting = Weighting()

    @classmethod
    def of(cls, settings: TextSettings) -> Words:
        """Return what settings mean; FormatError if a file of stop words has no word or several in a line."""
        given = settings
        weighting = Weighting(given.k1, given.b, given.mu, given.jm_lambda)
        return cls(given.stemmer, given.unspaced, _stop_words(given), weighting)


def _stop_words(settings: TextSettings) -> tuple[str, ...]:
    if settings.stop_words is None:
        return ()
    if settings.stop_words == ENGLISH:
        from rerank.extensions.questions.text import FUNCTION_WORDS

        return tuple(sorted(FUNCTION_WORDS))
    path = settings.stop_words
    words = [line.strip() for line in read_lines(path)]
    for number, word in enumerate(words, 1):
        if len(word.split()) > 1:
            raise FormatError(shown(path), number, repr(word[:40]), "one word per line")
    found = tuple(sorted({word.casefold() for word in words if word}))
    if not found:
        raise FormatError(shown(path), None, "no word", "one word per line")
    return found


@SOURCES.register("text")
class TextFeatures(FeatureSource, frozen=True, eq=False, kw_only=True, dict=True):
    """Features of the question and the text of each item.

    Attributes
    ----------
    words : how they become words.
    statistics : counts of the corpus.
    query, text : the columns of files that have them, None = those with the usual names.
    source : what was counted, for messages.
    """

    kind: ClassVar[str] = "text"

    words: Words
    statistics: Statistics
    query: str | None = None
    text: str | None = None
    source: str = ""

    @classmethod
    def fit(cls, lists: CandidateLists, settings: Any, query: str | None, text: str | None) -> TextFeatures:
        return fit_text(lists, settings, query, text)

    @classmethod
    def check_settings(cls, settings: Any) -> None:
        if settings.stemmer is not None:
            stemmer_of(settings.stemmer)

    @classmethod
    def check_lists(cls, lists: CandidateLists, settings: Any) -> None:
        questions_and_texts(lists)

    @property
    def names(self) -> list[str]:
        return [f"{PREFIX}{name}" for name in NAMES]

    def tokeniser(self) -> Tokeniser:
        """Return the tokeniser whose first terms are those of the corpus; it remembers new ones."""
        known = vars(self).get("tokeniser_")
        if known is None or known.n_terms > len(self.statistics.terms) + _FORGET:
            known = Tokeniser(self.words.stemmer, self.words.unspaced, self.statistics.terms)
            vars(self)["tokeniser_"] = known
        return known

    def columns(self, lists: CandidateLists) -> Mapping[str, Floats]:
        questions, texts = questions_and_texts(lists)
        places = [f"{lists.source}: list {lists.list_id(i)!r}" for i in range(lists.n_lists)]
        values = features_of(
            questions,
            texts,
            lists.offsets,
            self.statistics,
            self.tokeniser(),
            stop_words=self.words.stop_words,
            weighting=self.words.weighting,
            places=places,
        )
        return dict(zip(self.names, values.T, strict=True))

    def reading(self, reading: Reading) -> Reading:
        """Return reading of the columns of the training lists, if no others are given."""
        return with_columns(reading, self.query, self.text)

    def to_meta(self) -> dict[str, Any]:
        m = self.words.weighting
        return {
            "stemmer": self.words.stemmer,
            "unspaced": self.words.unspaced,
            "stop_words": list(self.words.stop_words),
            "k1": m.k1,
            "b": m.b,
            "mu": m.mu,
            "jm_lambda": m.jm_lambda,
            "n_texts": self.statistics.n_texts,
            "n_tokens": self.statistics.n_tokens,
            "query": self.query,
            "text": self.text,
            "source": self.source,
        }

    def arrays(self) -> dict[str, AnyArray]:
        terms = StringColumn.from_strings(self.statistics.terms)
        counts = {"texts": self.statistics.texts, "tokens": self.statistics.tokens}
        return {"terms": terms.data, "bounds": terms.offsets, **counts}

    @classmethod
    def forms(cls, meta: Mapping[str, Any]) -> dict[str, ArrayForm]:
        return {name: ArrayForm(kind, (None,)) for name, kind in _FORMS.items()}

    @classmethod
    def restore(cls, n_features: int, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        known = _Meta.from_json(dict(meta))
        terms = StringColumn(arrays["terms"], arrays["bounds"])
        texts, tokens = arrays["texts"], arrays["tokens"]
        sound = len(terms) == len(texts) == len(tokens) and int(tokens.sum()) == known.n_tokens
        if not sound or np.any((texts < 0) | (texts > known.n_texts) | (tokens < texts)):
            raise DataError("counts of words that no corpus gives")
        if known.unspaced not in ("bigrams", "characters") or len(set(terms)) < len(terms):
            raise DataError("words that no tokeniser gives")
        weighting = Weighting(known.k1, known.b, known.mu, known.jm_lambda)
        return cls(
            n_features=n_features,
            words=Words(known.stemmer, known.unspaced, tuple(known.stop_words), weighting),
            statistics=Statistics(list(terms), texts, tokens, known.n_texts, known.n_tokens),
            query=known.query,
            text=known.text,
            source=known.source,
        )

    def summary(self) -> str:
        stems = "" if self.words.stemmer is None else f", {self.words.stemmer} stems"
        stops = f", {count(len(self.words.stop_words), 'stop word')}" if self.words.stop_words else ""
        n = self.statistics
        corpus = f"{count(n.n_texts, 'text')}, {count(len(n.terms), 'term')}, {count(n.n_tokens, 'token')}"
        return f"{len(NAMES)} features{stems}{stops}; words counted in {self.source}: {corpus}"


def questions_and_texts(lists: CandidateLists) -> tuple[StringColumn, StringColumn]:
    """Return the questions and texts of lists; DataError if there are none, or all texts are empty."""
    if lists.prompts is None:
        advice = "--query names their column, --queries FILE has them by the list's id"
        raise DataError(f"{lists.source}: found no questions, from which features are computed; {advice}")
    if lists.texts is None:
        advice = "--text names their column, --collection FILE has them by the item's id"
        raise DataError(f"{lists.source}: found no texts, from which features are computed; {advice}")
    if len(lists.texts.data) == 0:
        raise DataError(f"{lists.source}: every text is empty, expected words")
    return lists.prompts, lists.texts


def fit_text(
    lists: CandidateLists,
    settings: TextSettings,
    query: str | None = None,
    text: str | None = None,
    source: str = "the training lists",
) -> TextFeatures:
    """Count the words of lists, or of the background that settings name.

    Parameters
    ----------
    lists : with questions and texts; labels are not looked at.
    settings : how features are computed.
    query, text : the columns that files have them in.
    source : what a description calls the lists.

    Raises
    ------
    DataError
        If the lists have no questions or texts, or there is no word in what is counted.
    """
    _, texts = questions_and_texts(lists)
    words = Words.of(settings)
    if settings.background is not None:
        source = shown(settings.background)
        texts = StringColumn.from_strings(one for _, _, one in texts_of(settings.background))
    tokeniser = Tokeniser(words.stemmer, words.unspaced)
    with progress.step("counting words"):
        statistics = count_corpus(texts, tokeniser)
    if not statistics.n_tokens:
        raise DataError(f"{source if settings.background else lists.source}: found no word in the texts")
    found = TextFeatures(
        n_features=lists.n_features, words=words, statistics=statistics, query=query, text=text, source=source
    )
    vars(found)["tokeniser_"] = tokeniser
    return found
