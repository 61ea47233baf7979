"""Settings of features that training computes from questions, texts and vectors."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from rerank.core.files.read import is_pipe
from rerank.core.settings import Settings, setting
from rerank.data.text_reading import EncoderPlaces

ENGLISH = "english"  # instead of a file of stop words


class TextSettings(Settings):
    """Settings of features of questions and texts."""

    help_group: ClassVar[str] = "Choice and tuning"

    stemmer: str | None = setting(
        None,
        "stems instead of words: a language of snowballstemmer, such as english (extra rerank[qa])",
        metavar="LANGUAGE",
    )
    stop_words: str | None = setting(
        None,
        "words of questions to leave out, a word per line; english = function words",
        metavar="FILE|english",
    )
    unspaced: Literal["bigrams", "characters"] = setting(
        "bigrams",
        "words of scripts without blanks (Chinese, Japanese, Thai): pairs of characters, or single ones",
    )
    background: str | None = setting(
        None,
        "texts in which words are counted: id<TAB>text on each line, or JSON Lines [those of the lists]",
        metavar="FILE",
        path=True,
    )
    k1: float = setting(1.2, "BM25: how soon repetitions of a word stop counting", metavar="X", ge=0)
    b: float = setting(0.75, "BM25: how much long texts are discounted, 0 to 1", metavar="X", ge=0, le=1)
    mu: float = setting(1000.0, "Dirichlet smoothing: words of the corpus added to a text", metavar="X", gt=0)
    jm_lambda: float = setting(0.1, "Jelinek-Mercer: weight of the corpus, 0 to 1", metavar="X", gt=0, lt=1)

    def with_digests(self, digest: Callable[[str], str]) -> dict[str, Any]:
        """Return all values, with the digests of files instead of their paths."""
        paths = self.files()
        return {key: digest(value) if value in paths else value for key, value in self.get_params().items()}

    def files(self) -> list[str]:
        """Return the paths of the files that are read."""
        return [path for path in (self.background, self.stop_words) if path is not None and path != ENGLISH]


class VectorSettings(EncoderPlaces):
    """Settings of features of vectors."""

    query_prefix: str = setting("", "put before each question, such as 'query: '", metavar="TEXT")
    text_prefix: str = setting("", "put before each text, such as 'passage: '", metavar="TEXT")
    max_tokens: int | None = setting(
        None, "tokens of a text that models see [as the model says]", metavar="N", ge=2
    )
    pooling: Literal["auto", "mean", "cls"] = setting(
        "auto", "vector of a text from those of its tokens: as the model says, their mean, or the first"
    )


class SourceSettings(TextSettings, VectorSettings):
    """Settings of all features that training computes."""

    def files(self) -> list[str]:
        return [*super().files(), *self._files_of(self.encoder), *self._files_of(self.cross_encoder)]

    def with_digests(self, digest: Callable[[str], str]) -> dict[str, Any]:
        values = super().with_digests(digest) | {"vector_cache": None}
        for name in ("encoder", "cross_encoder"):
            if (folder := getattr(self, name)) is not None:
                values[name] = [digest(path) for path in self._files_of(folder)]
        return values

    @staticmethod
    def _files_of(folder: str | None) -> list[str]:
        """The files of a model; none if there is no such folder, which is an error when it is opened."""
        found = () if folder is None else sorted(os.walk(folder))
        return [os.path.join(place, name) for place, _, names in found for name in sorted(names)]

    @staticmethod
    def of_sources(values: Mapping[str, Any], sources: Any) -> dict[str, Any]:
        """Return those of the given settings that features from ``sources`` use."""
        kinds: dict[str, type[Settings]] = {"text": TextSettings, "vectors": VectorSettings}
        used = {name for source in sources for name in kinds[source].settings}
        return {name: value for name, value in values.items() if name in used}


def beside(path: str, name: str) -> str:
    """Return the path ``name`` as the file ``path`` means it: relative to it, or as typed in a pipe."""
    return name if name == "-" or is_pipe(path) else os.path.normpath(Path(path).parent / name)


def put_texts_beside(texts: Any, path: str) -> None:
    """Make the relative paths of a section of texts relative to the file ``path``, in place."""
    keys = ("background", "stop_words", *EncoderPlaces.settings)
    for key in keys if isinstance(texts, dict) else ():
        if isinstance(texts.get(key), str) and (key, texts[key]) != ("stop_words", ENGLISH):
            texts[key] = beside(path, texts[key])
