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
