"""Settings of features that training computes from questions and texts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal

from rerank.core.files.read import is_pipe
from rerank.core.settings import Settings, setting

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


def beside(path: str, name: str) -> str:
    """Return the path ``name`` as the file ``path`` means it: relative to it, or as typed in a pipe."""
    return name if name == "-" or is_pipe(path) else os.path.normpath(Path(path).parent / name)


def put_texts_beside(texts: Any, path: str) -> None:
    """Make the relative paths of a section of texts relative to the file ``path``, in place."""
    for key in ("background", "stop_words") if isinstance(texts, dict) else ():
        if isinstance(texts.get(key), str) and (key, texts[key]) != ("stop_words", ENGLISH):
            texts[key] = beside(path, texts[key])
