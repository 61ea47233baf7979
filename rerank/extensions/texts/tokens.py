"""Words of texts in any language as numbers: what a word is, its stem, and its n-grams of characters."""

from __future__ import annotations

import re
import sys
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from msgspec import Struct

from rerank.core.errors import ConfigError
from rerank.core.types import AnyArray, Bytes, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.extensions.texts.native import _words

GRAMS = (3, 5)  # characters of an n-gram
CAPITAL, NUMBER = 1, 2  # kinds of tokens, as bits

_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:[.,][0-9]+)*")
# Scripts that are written without blanks between words: Thai, Lao, Myanmar, Khmer, kana, Han.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
_UNSPACED += "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_RUN = re.compile(f"[{_UNSPACED}]+")


@cache
def _unicode_word() -> re.Pattern[str]:
    """A run of an unspaced script, or letters with their marks, and numbers with their separators."""
    marks: list[str] = []
    for code in range(0x300, sys.maxunicode + 1):
        if unicodedata.category(chr(code)) in ("Mn", "Mc") and not _RUN.fullmatch(chr(code)):
            if marks and ord(marks[-1][-1]) == code - 1:
                marks[-1] = marks[-1][0] + "-" + chr(code)
            else:
                marks.append(chr(code))
    letter = rf"[^\W_{_UNSPACED}]"
    return re.compile(rf"[{_UNSPACED}]+|{letter}(?:{letter}|[{''.join(marks)}])*(?:[.,]\d+)*")


class Tokens(Struct, frozen=True, eq=False):
    """The words of texts, text by text.

    words : int32 (n_tokens), the number of each word as it is written.
    bounds : int64 (n_texts + 1).
    """

    words: AnyArray
    bounds: Index


class Tokeniser:
    """Splits texts into words, and numbers them and their terms.

    A word is a run of letters and digits with their marks; a number keeps its separators (50,000). Runs of
    scripts without blanks (Chinese, Japanese, Thai ...) become overlapping bigrams, or single characters. The
    term of a word is its form without capitals, or its stem. Texts that are not ASCII are brought to the form
    NFKC first.

    Parameters
    ----------
    stemmer : a language of snowballstemmer; None = terms are whole words.
    unspaced : "bigrams" or "characters".
    known : terms that get the first numbers, in their order.

    Raises
    ------
    ConfigError
        If the package snowballstemmer is not installed, or does not know the language.
    """

    def __init__(
        self, stemmer: str | None = None, unspaced: str = "bigrams", known: Iterable[str] = ()
    ) -> None:
        self._stem = None if stemmer is None else stemmer_of(stemmer)
        self._size = 2 if unspaced == "bigrams" else 1
        self._words = _words.Words()
        self._terms: dict[str, int] = {}
        for term in known:
            self._terms[term] = len(self._terms)
        self._grams: list[dict[str, int]] = [{} for _ in GRAMS]
        self._of_words = array("i")  # the term of each word
        self._kinds = bytearray()
        self._gram_rows = [array("i") for _ in GRAMS]
        self._gram_sizes = [array("q") for _ in GRAMS]

    @property
    def terms(self) -> Sequence[str]:
        """The terms in the order of their numbers."""
        return list(self._terms)

    @property
    def n_terms(self) -> int:
        """The number of terms."""
        return len(self._terms)

    def split(self, texts: StringColumn) -> Tokens:
        """Return the words of texts."""
        room = np.empty(len(texts.data) + 1, dtype=np.int32)
        bounds = np.zeros(len(texts) + 1, dtype=np.int64)
        n = 0
        for i in range(len(texts)):
            found = self._words.split(texts.data, texts.offsets, i, room[n:])
            if found < 0:
                words = self.words_of(texts[i])
                found = len(words)
                room[n : n + found] = [self._words.number_of(word.encode()) for word in words]
            n += found
            bounds[i + 1] = n
        for number in range(len(self._of_words), len(self._words)):
            self._add(self._words.word(number).decode())
        return Tokens(room[:n].copy(), bounds)

    def words_of(self, text: str) -> list[str]:
        """Return the words of a text as they are written."""
        if text.isascii():
            return _ASCII_WORD.findall(text)
        text = text.encode("utf-8", "replace").decode()  # bytes that are no UTF-8 are no words
        found: list[str] = _unicode_word().findall(unicodedata.normalize("NFKC", text))
        if _RUN.search(text) is None:
            return found
        return [part for word in found for part in self._parts(word)]

    def _parts(self, word: str) -> list[str]:
        """The n-grams of a run of an unspaced script; another word as it is."""
        if _RUN.fullmatch(word) is None:
            return [word]
        return [word[i : i + self._size] for i in range(max(1, len(word) - self._size + 1))]

    def _add(self, word: str) -> None:
        """Note the term, the kind and the n-grams of a new word."""
        form = word.casefold()
        term = form if self._stem is None else self._stem(form) or form
        self._of_words.append(self._terms.setdefault(term, len(self._terms)))
        self._kinds.append(CAPITAL * word[0].isupper() | NUMBER * word[0].isdigit())
        padded = f" {form} "
        for n, known, rows, sizes in zip(GRAMS, self._grams, self._gram_rows, self._gram_sizes, strict=True):
            grams = dict.fromkeys(padded[i : i + n] for i in range(max(1, len(padded) - n + 1)))
            rows.extend([known.setdefault(gram, len(known)) for gram in grams])
            sizes.append(len(grams))

    def terms_of(self, tokens: Tokens) -> tuple[AnyArray, Bytes]:
        """Return the term and the kind of each token, int32 and uint8 (n_tokens)."""
        terms = np.array(self._of_words, dtype=np.int32)[tokens.words]
        return terms, np.frombuffer(bytes(self._kinds), dtype=np.uint8)[tokens.words]

    def grams(self, which: int) -> tuple[AnyArray, Index, int]:
        """Return the n-grams of GRAMS[which] of every word, their bounds, and how many there are."""
        rows = np.array(self._gram_rows[which], dtype=np.int32)
        return rows, offsets_of(np.array(self._gram_sizes[which], dtype=np.int64)), len(self._grams[which])


def stemmer_of(language: str) -> Callable[[str], str]:
    """Return the function that gives the stem of a word in lower case.

    Raises ConfigError if the package snowballstemmer is not installed, or does not know the language.
    """
    from rerank.extensions.questions.text import optional

    package: Any = optional("snowballstemmer", "snowballstemmer", "--stemmer")
    if language not in package.algorithms():
        from rerank.core.registry import did_you_mean

        raise ConfigError(
            f"stemmer: unknown language {language!r}; {did_you_mean(language, package.algorithms())}"
        )
    stem: Callable[[str], str] = package.stemmer(language).stemWord
    return stem
