"""Settings of features that training computes from questions and texts."""

from __future__ import annotations

from typing import ClassVar, Literal

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
        "words of questions that are not looked for, a word per line; english = function words",
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
    k1: float = setting(1.2, "BM25: how soon further occurrences of a word stop counting", ge=0)
    b: float = setting(0.75, "BM25: how much long texts are discounted, 0 to 1", ge=0, le=1)
    mu: float = setting(1000.0, "Dirichlet smoothing: words of the corpus that are added to a text", gt=0)
    jm_lambda: float = setting(0.1, "Jelinek-Mercer smoothing: weight of the corpus, 0 to 1", gt=0, lt=1)
