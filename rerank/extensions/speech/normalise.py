"""Steps of text normalisation that the error rates WER, CER, PER and SER declare (``norm=``)."""

from __future__ import annotations

import functools
import importlib.metadata
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError
from rerank.data.lists import CandidateLists
from rerank.formats.common import note
from rerank.metrics.edit import WordErrorRate
from rerank.metrics.signatures import NORMALISERS, Normaliser

# Han, kana (with their marks), bopomofo and their extensions: scripts written without blanks.
_CJK = re.compile(
    "([\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff])"
)


class _Punctuation(dict[int, Any]):
    """A table of ``str.translate`` for the characters of Unicode's categories P*, as jiwer removes them.

    A character is looked up when it is first met: there are a million of them.
    """

    def __init__(self, to: str | None) -> None:
        super().__init__()
        self._to = to

    def __missing__(self, code: int) -> Any:
        found = self[code] = self._to if unicodedata.category(chr(code))[0] == "P" else code
        return found


_REMOVED, _SPACED = _Punctuation(None), _Punctuation(" ")
_FORMS = "lower+punct"
_SAMPLE, _ERRORS = 200, 20  # lists that note_forms looks at, and errors that they must have
_STEPS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "punct": lambda text: text.translate(_REMOVED),
    "punct-space": lambda text: text.translate(_SPACED),
    "spaces": lambda text: " ".join(text.split()),
    "no-spaces": lambda text: "".join(text.split()),
    "cjk": lambda text: " ".join(_CJK.sub(r" \1 ", text).split()),
    **{
        form.lower(): functools.partial(unicodedata.normalize, form)
        for form in ("NFC", "NFD", "NFKC", "NFKD")
    },
}


@NORMALISERS.register("steps", *_STEPS)
class Step(Normaliser):
    """Steps that need no package.

    - lower: lower case;
    - punct: without punctuation (Unicode's categories P*), as RemovePunctuation of jiwer: don't becomes dont;
    - punct-space: a blank instead of each punctuation mark;
    - spaces: one blank between words, none at the ends; no-spaces: no white space;
    - cjk: Chinese characters, kana and bopomofo become words of their own; words of other scripts stay;
    - nfc, nfd, nfkc, nfkd: Unicode's normal forms.
    """

    def __init__(self, name: str) -> None:
        if name not in _STEPS:
            raise ConfigError(f"unknown step of normalisation {name!r}; known: {', '.join(_STEPS)}")
        self.apply = _STEPS[name]

    @classmethod
    def note_forms(cls, lists: CandidateLists) -> None:
        """Warn if half of the word errors of some first candidates are gone without case and punctuation.

        The first candidates of up to 200 lists are looked at, which must have 20 errors.
        """
        if lists.texts is None or not lists.references:
            return
        n = min(lists.n_lists, _SAMPLE)
        texts = lists.texts.take(lists.offsets[:n])
        references = tuple(column.take(np.arange(n)) for column in lists.references)
        every, left = (
            int(WordErrorRate(norm=norm).count(texts, references, np.arange(n + 1))[:, 0].sum())
            for norm in ("none", _FORMS)
        )
        if every >= _ERRORS and 2 * left <= every:
            note(
                f"{lists.source}: {every - left} of {every} word errors of the first candidates of {n} lists "
                f"are differences in case or punctuation, which -m 'WER|norm:{_FORMS}' leaves out"
            )


@NORMALISERS.register("whisper", "whisper-en", "numbers-en")
class WhisperStep(Normaliser):
    """The normalisers of Whisper, by the package whisper-normalizer (extra ``speech``).

    - whisper: lower case, blanks instead of marks, symbols and punctuation, nothing of what is in brackets;
    - whisper-en: English: also contractions, spelling, titles, hesitations, numbers;
    - numbers-en: only the numbers of whisper-en: twenty one becomes 21.
    """

    def __init__(self, name: str) -> None:
        try:
            from whisper_normalizer import basic, english
        except ImportError as error:
            raise ConfigError(
                f"norm={name} needs the package whisper-normalizer: pip install 'rerank[speech]' ({error})"
            ) from None
        kinds = {
            "whisper": basic.BasicTextNormalizer,
            "whisper-en": english.EnglishTextNormalizer,
            "numbers-en": english.EnglishNumberNormalizer,
        }
        self.apply: Any = kinds[name]()
        self.facts = (f"whisper-normalizer:{importlib.metadata.version('whisper-normalizer')}",)
