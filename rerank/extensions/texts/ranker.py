"""Texts ranked for a question in three lines of Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.text import count, some
from rerank.core.types import Floats
from rerank.data.base_scores import base_scores_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.text_reading import joined
from rerank.models.base import Model, load_model
from rerank.models.classes import ClassesModel
from rerank.models.feature_sources import move_encoders


def text_lists(
    questions: Sequence[str],
    texts: Sequence[Sequence[str | Mapping[str, str]]],
    labels: Sequence[Sequence[float]] | None = None,
) -> CandidateLists:
    """Return lists of texts, one for each question.

    Parameters
    ----------
    questions : n_lists of them.
    texts : the texts of each list; or mappings of fields to texts, such as title and body, all with the same
        keys in the same order.
    labels : their labels in the same form, larger is better, NaN = unjudged; None = nothing is judged.

    Returns
    -------
    CandidateLists

    Raises
    ------
    DataError
        If the sequences do not fit each other, a list is empty, or something is not a text.

    Examples
    --------
    >>> import rerank
    >>> rerank.text_lists(["a mill", "a dam"], [["the old mill"], ["a dam", "a house"]])
    CandidateLists(2 lists, 3 items, 0 dense features)
    """
    if isinstance(questions, str) or len(questions) != len(texts):
        found = f"{len(questions)} questions" if not isinstance(questions, str) else "one question"
        raise DataError(f"text_lists: found {found} for {len(texts)} lists of texts")
    sizes = [1 if isinstance(one, str) else len(one) for one in texts]
    odd = next((i for i, one in enumerate(texts) if isinstance(one, str) or not len(one)), None)
    if odd is not None:
        raise DataError(f"text_lists: texts of question {odd + 1}: found {texts[odd]!r}, expected some texts")
    flat = None
    if labels is not None:
        if [len(one) for one in labels] != sizes:
            raise DataError("text_lists: labels have other lengths than texts")
        flat = np.array([value for one in labels for value in one], dtype=np.float64)
    wrong = next((i for i, question in enumerate(questions) if not isinstance(question, str)), None)
    if wrong is not None:
        raise DataError(f"text_lists: question {wrong + 1}: found {questions[wrong]!r}, expected a text")
    lists = CandidateLists(
        np.cumsum([0, *sizes], dtype=np.int64),
        Dense(np.empty((sum(sizes), 0))),
        labels=flat,
        prompts=StringColumn.from_strings(questions),
        source="text_lists",
    )
    every = [(i, text) for i, one in enumerate(texts) for text in one]
    names = list(every[0][1]) if every and isinstance(every[0][1], Mapping) else []
    for i, text in every:
        values = list(text.values()) if isinstance(text, Mapping) else [text]
        if not all(isinstance(value, str) for value in values) or names != (
            list(text) if isinstance(text, Mapping) else []
        ):
            expected = f"texts of {some(names)}, as the first has" if names else "a text"
            raise DataError(f"text_lists: texts of question {i + 1}: found {text!r}, expected {expected}")
    return _with_texts(lists, names, [text for _, text in every])


def _with_texts(lists: CandidateLists, names: Sequence[str], texts: Sequence[Any]) -> CandidateLists:
    """The lists with texts, or with the fields ``names`` of mappings of texts."""
    if len(names) < 2:
        plain = [text[names[0]] for text in texts] if names else texts
        return replace(lists, texts=StringColumn.from_strings(plain))
    columns = {name: StringColumn.from_strings(text[name] for text in texts) for name in names}
    return replace(lists, **joined(columns, lists.source))


@dataclass(frozen=True)
class Ranked:
    """A text in a ranking.

    index : its place among the texts that were given, from 0.
    score : larger is better.
    text : the text.
    document : what was given, the text itself or the mapping that holds it.
    """

    index: int
    score: float
    text: str
    document: Any


class Ranker:
    """Ranks texts for a question with a model that was trained with ``features_from="text"``.

    Parameters
    ----------
    model : a model.

    Raises
    ------
    ConfigError
        If the model is one of classes, adapts to whole sets of lists, or uses the labels of what it ranks.

    Examples
    --------
    >>> import rerank
    >>> texts = [["the old mill", "no such thing"], ["a dam of stone", "it was closed"]]
    >>> lists = rerank.text_lists(["a mill", "a dam"], texts, [[1, 0], [1, 0]])
    >>> model = rerank.train(lists, "ridge", features_from="text")
    >>> [one.text for one in rerank.Ranker(model).rank("a tower", ["nothing here", "the tower"])]
    ['the tower', 'nothing here']
    """

    def __init__(self, model: Model) -> None:
        if isinstance(model, ClassesModel) or model.adapts or model.uses_test_labels:
            raise ConfigError(f"a model of kind {model.kind} does not rank the texts of one question")
        self.model = model

    @classmethod
    def load(cls, path: str | os.PathLike[str], **places: str | None) -> Self:
        """Return the ranker of a model file.

        Parameters
        ----------
        path : the file.
        places : folders of the model's encoders, and of their cache, if they are others than in training:
            ``encoder``, ``cross_encoder`` and ``vector_cache``.

        Raises
        ------
        RerankError
            If the file holds no model, or the model does not use a folder.
        """
        model = load_model(os.fspath(path))
        move_encoders(model, places)
        return cls(model)

    def __repr__(self) -> str:
        return f"Ranker({self.model!r})"

    def rank(
        self, query: str, documents: Sequence[str | Mapping[str, Any]], top: int | None = None
    ) -> list[Ranked]:
        """Return the documents, the best first; of equal scores the one that was given first.

        Parameters
        ----------
        query : the question.
        documents : texts; or mappings with a text (the key "text", or the column of the training lists; if
            these had several fields, all of them) and the other features of the model by name, such as a
            first stage's "score"; more keys are ignored.
        top : how many to return, None = all.

        Raises
        ------
        DataError
            If there is no word in the question, a document has no text, or lacks a feature of the model.
        """
        if isinstance(documents, str) or not isinstance(query, str):
            found = "one text" if isinstance(documents, str) else f"{type(query).__name__} as the question"
            raise DataError(f"rank: found {found}, expected a question and a list of texts")
        given = list(documents)
        if top is not None and top < 0:
            raise ConfigError(f"rank: top: found {top}, expected 0 or more")
        if not given:
            return []
        named = [getattr(one, "text", ()) for one in self.model.chain.sources]
        columns: tuple[str, ...] = next(filter(None, named), ())
        fields = columns if len(columns) > 1 else ()
        texts = [self._text(one, i, columns) for i, one in enumerate(given)]
        lists = _with_texts(self._lists(query, given), fields, given if fields else texts)
        scores = self.model.score_items(lists)
        order = np.argsort(-scores, kind="stable")[:top].tolist()
        whole: Any = lists.texts
        return [Ranked(i, float(scores[i]), whole[i], given[i]) for i in order]

    def _text(self, document: Any, i: int, columns: tuple[str, ...]) -> str:
        """The text of document ``i``, or of the first of its fields, all of which it must have."""
        fields = columns if len(columns) > 1 else ()
        expected = f"a mapping with texts as {some(fields)}" if fields else "a text, or a mapping with 'text'"
        found = type(document).__name__
        if isinstance(document, str) and not fields:
            return document
        if isinstance(document, Mapping):
            keys = fields or [key for key in (*columns, "text") if key in document][:1]
            values = [document.get(key) for key in keys]
            if keys and all(isinstance(value, str) for value in values):
                return str(values[0])
            found = f"keys {some(list(map(str, document)))}"
            wrong = next((key for key, v in zip(keys, values, strict=True) if not isinstance(v, str)), None)
            if wrong in document:
                found, expected = f"{document[wrong]!r} as {wrong!r}", "a text"
        raise DataError(f"rank: document {i}: found {found}, expected {expected}")

    def _lists(self, query: str, documents: list[Any]) -> CandidateLists:
        """The documents as a list of candidates."""
        names, model = self.model.input_names, self.model
        values = np.empty((len(documents), len(names)))
        for j, name in enumerate(names):
            values[:, j] = self._numbers(name, documents)
        base: Floats | None = None
        if model.base_weight is not None:
            base = self._numbers("score", documents)
        lists = CandidateLists(
            np.array([0, len(documents)], dtype=np.int64),
            Dense(values),
            base_scores=base,
            feature_names=names,
            prompts=StringColumn.from_strings([query]),
            first_best=-np.arange(len(documents), dtype=np.float64),
            source="rank",
        )
        if base is not None:
            base_scores_of(lists, "the model")
        return lists

    def _numbers(self, name: str, documents: list[Any]) -> Floats:
        """The values of a feature; NaN for None, if the model fills what is missing."""
        out = np.empty(len(documents))
        for i, document in enumerate(documents):
            value = document.get(name) if isinstance(document, Mapping) else None
            if value is None and self.model.imputation is None:
                n = count(len(self.model.input_names), "feature")
                kind = "in the mapping" if isinstance(document, Mapping) else "in a mapping beside 'text'"
                needs = f"the model needs {n} beside those of texts"
                raise DataError(f"rank: document {i}: no {name!r}, expected a number {kind}: {needs}")
            if value is not None and (isinstance(value, bool) or not isinstance(value, Real)):
                raise DataError(f"rank: document {i}: found {value!r} as {name!r}, expected a number")
            out[i] = np.nan if value is None else float(value)
        return out
