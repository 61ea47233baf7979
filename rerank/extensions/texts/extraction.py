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
from rerank.core.text import count, some
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
from rerank.models.feature_sources import SOURCES, FeatureSource, columns_of, kept_columns, with_columns
from rerank.training.text_options import ENGLISH, TextSettings

PREFIX = "text_"
_FORGET = 1 << 20  # new terms of lists that were scored, after which all of them are forgotten
_WHOLE = ("question_length",)  # features of the question, which fields do not repeat
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
    text: str | tuple[str, ...] | None
    source: str
    parts: tuple[dict[str, Any], ...] = ()


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
    fields : counts of each field of the texts, by name; empty = texts have none.
    query, text : the columns of files that have them; None, () = those with the usual names.
    source : what was counted, for messages.
    """

    kind: ClassVar[str] = "text"

    words: Words
    statistics: Statistics
    fields: Mapping[str, Statistics] = {}
    query: str | None = None
    text: tuple[str, ...] = ()
    source: str = ""

    @classmethod
    def fit(
        cls, lists: CandidateLists, settings: Any, query: str | None = None, text: tuple[str, ...] = ()
    ) -> TextFeatures:
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
        parts = [f"{PREFIX}{field}_{name}" for field in self.fields for name in NAMES if name not in _WHOLE]
        return [f"{PREFIX}{name}" for name in NAMES] + parts

    def tokeniser(self, field: str | None = None) -> Tokeniser:
        """Return the tokeniser whose first terms are those of the corpus; it remembers new ones.

        field : the corpus is this field of the texts; None = the texts.
        """
        statistics = self.statistics if field is None else self.fields[field]
        own = vars(self).setdefault("tokenisers", {})
        known = own.get(field)
        if known is None or known.n_terms > len(statistics.terms) + _FORGET:
            known = own[field] = Tokeniser(self.words.stemmer, self.words.unspaced, statistics.terms)
        return known

    def columns(self, lists: CandidateLists) -> Mapping[str, Floats]:
        questions, texts = questions_and_texts(lists)
        if list(lists.fields) != list(self.fields):
            found = f"the fields {some(list(lists.fields))}" if lists.fields else "texts without fields"
            expected = (
                f"{some(list(self.fields))} (--text for each)" if self.fields else "texts without fields"
            )
            raise DataError(f"{lists.source}: found {found}, expected {expected}, as in training")
        places = [f"{lists.source}: list {lists.list_id(i)!r}" for i in range(lists.n_lists)]

        def values_of(texts: StringColumn, field: str | None, statistics: Statistics) -> dict[str, Floats]:
            values = features_of(
                questions,
                texts,
                lists.offsets,
                statistics,
                self.tokeniser(field),
                stop_words=self.words.stop_words,
                weighting=self.words.weighting,
                places=places,
            )
            return dict(zip(NAMES, values.T, strict=True))

        out = {f"{PREFIX}{k}": column for k, column in values_of(texts, None, self.statistics).items()}
        for field, statistics in self.fields.items():
            own = values_of(lists.fields[field], field, statistics)
            out |= {f"{PREFIX}{field}_{k}": column for k, column in own.items() if k not in _WHOLE}
        return out

    def reading(self, reading: Reading) -> Reading:
        """Return reading of the columns of the training lists, if no others are given."""
        return with_columns(reading, self.query, self.text)

    def to_meta(self) -> dict[str, Any]:
        m = self.words.weighting
        parts = [
            {"name": name, "n_texts": one.n_texts, "n_tokens": one.n_tokens}
            for name, one in self.fields.items()
        ]
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
            "text": kept_columns(self.text),
            "source": self.source,
            **({"parts": parts} if self.fields else {}),
        }

    def arrays(self) -> dict[str, AnyArray]:
        parts = {"": self.statistics, **{f"{k}.": one for k, one in enumerate(self.fields.values())}}
        return {f"{part}{name}": array for part, one in parts.items() for name, array in _kept(one).items()}

    @classmethod
    def forms(cls, meta: Mapping[str, Any]) -> dict[str, ArrayForm]:
        own = meta.get("parts")
        parts = ["", *(f"{k}." for k in range(len(own) if isinstance(own, list | tuple) else 0))]
        return {f"{part}{name}": ArrayForm(kind, (None,)) for part in parts for name, kind in _FORMS.items()}

    @classmethod
    def restore(cls, n_features: int, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        known = _Meta.from_json(dict(meta))
        statistics = _restored("", known.n_texts, known.n_tokens, arrays)
        fields = {}
        for k, entry in enumerate(known.parts):
            field = _Field.from_json(entry)
            fields[field.name] = _restored(f"{k}.", field.n_texts, field.n_tokens, arrays)
        if known.unspaced not in ("bigrams", "characters") or len(fields) < len(known.parts):
            raise DataError("words that no tokeniser gives, or a field twice")
        weighting = Weighting(known.k1, known.b, known.mu, known.jm_lambda)
        return cls(
            n_features=n_features,
            words=Words(known.stemmer, known.unspaced, tuple(known.stop_words), weighting),
            statistics=statistics,
            fields=fields,
            query=known.query,
            text=columns_of(known.text),
            source=known.source,
        )

    def summary(self) -> str:
        stems = "" if self.words.stemmer is None else f", {self.words.stemmer} stems"
        stops = f", {count(len(self.words.stop_words), 'stop word')}" if self.words.stop_words else ""
        n = self.statistics
        corpus = f"{count(n.n_texts, 'text')}, {count(len(n.terms), 'term')}, {count(n.n_tokens, 'token')}"
        of_fields = f" of the texts and their fields {some(list(self.fields))}" if self.fields else ""
        return (
            f"{len(self.names)} features{of_fields}{stems}{stops}; words counted in {self.source}: {corpus}"
        )


class _Field(Record):
    """A field in meta.json."""

    name: str
    n_texts: int = fact(ge=0, lt=1 << 53)
    n_tokens: int = fact(ge=0, lt=1 << 53)


def _kept(statistics: Statistics) -> dict[str, AnyArray]:
    terms = StringColumn.from_strings(statistics.terms)
    counts = {"texts": statistics.texts, "tokens": statistics.tokens}
    return {"terms": terms.data, "bounds": terms.offsets, **counts}


def _restored(part: str, n_texts: int, n_tokens: int, arrays: Mapping[str, AnyArray]) -> Statistics:
    """Statistics that ``_kept`` gave under names that begin with ``part``; DataError if they are damaged."""
    terms = StringColumn(arrays[f"{part}terms"], arrays[f"{part}bounds"])
    texts, tokens = arrays[f"{part}texts"], arrays[f"{part}tokens"]
    sound = len(terms) == len(texts) == len(tokens) and int(tokens.sum()) == n_tokens
    if not sound or np.any((texts < 0) | (texts > n_texts) | (tokens < texts)):
        raise DataError("counts of words that no corpus gives")
    if len(set(terms)) < len(terms):
        raise DataError("words that no tokeniser gives")
    return Statistics(list(terms), texts, tokens, n_texts, n_tokens)


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
    text: tuple[str, ...] = (),
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
    parts: dict[str | None, StringColumn] = {None: texts, **dict(lists.fields.items())}
    if settings.background is not None:
        source = shown(settings.background)
        rows = [row for _, _, row in texts_of(settings.background, list(lists.fields))]
        columns = [StringColumn.from_strings(column) for column in zip(*rows, strict=True)]
        if lists.fields:
            columns.insert(0, StringColumn.from_strings(b"\n".join(row) for row in rows))
        parts = dict(zip(parts, columns or len(parts) * [StringColumn.from_strings([])], strict=True))
    tokenisers: dict[str | None, Tokeniser] = {}
    counts = {}
    with progress.step("counting words"):
        for part, column in parts.items():
            tokenisers[part] = Tokeniser(words.stemmer, words.unspaced)
            counts[part] = count_corpus(column, tokenisers[part])
            if not counts[part].n_tokens:
                where = "the texts" if part is None else f"the field {part!r}"
                raise DataError(
                    f"{source if settings.background else lists.source}: found no word in {where}"
                )
    found = TextFeatures(
        n_features=lists.n_features,
        words=words,
        statistics=counts[None],
        fields={name: counts[name] for name in lists.fields},
        query=query,
        text=text or tuple(lists.fields),
        source=source,
    )
    vars(found)["tokenisers"] = tokenisers
    return found
