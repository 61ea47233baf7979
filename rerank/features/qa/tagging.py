"""Penn tags and lemmas by HanTa, a tagger in pure Python (extra ``rerank[qa]``), and stems.

HanTa gives tags of the British National Corpus (C5). They are translated by ``PENN``, with two exceptions.
Punctuation, symbols and some frequent words ("to" is TO, "what" WP) are tagged by their form. A capitalised
common noun or adjective is a proper noun unless it begins the text, since Penn tags the words of a name
(Black Panther) as proper nouns.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from rerank.core.errors import ConfigError

# Penn tags, each with the C5 tags that it translates.
_C5 = """
    JJ AJ0 ORD / JJR AJC / JJS AJS / RB AV0 XX0 / RP AVP / WRB AVQ / CD CRD / DT AT0 DT0 / EX EX0 / CC CJC
    UH ITJ / IN CJS CJT IN PRF PRP / TO TO0 / MD VM0 / PRP$ DPS / PRP PNP PNX / WDT DTQ / WP PNQ / POS POS
    NN NN NN0 NN1 PNI UNC UNKNOWN ZZ0 !!! / NNS NN2 / NNP NP0 / -LRB- PUL / -RRB- PUR / : PUN / '' PUQ
    VB VBI VDI VHI VVI / VBP VBB VDB VHB VVB / VBZ VBZ VDZ VHZ VVZ / VBD VBD VDD VHD VVD
    VBG VBG VDG VHG VVG / VBN VBN VDN VHN VVN
"""
# Words that Penn mostly gives one tag, whatever their C5 tag.
_FORMS = """
    TO to / WP what whatever / WP$ whose / WDT which / WRB when where why how / NNS people / JJR more
    JJ many such several other same former few last
"""
_SYMBOLS = """
    , , / . . ? ! / : : ; - -- --- ... _ – — … / `` `` ` “ ‘ / '' '' " ” ’ / $ $ £ € ¥ / # # / NN % / CC &
    -LRB- ( [ { -LRB- -LSB- -LCB- / -RRB- ) ] } -RRB- -RSB- -RCB-
"""
# Penn tags of open classes, with the C5 tag under which HanTa looks up the lemma.
_OPEN = """
    NN NN1 / NNS NN2 / NNP NP0 / NNPS NP0 / JJ AJ0 / JJR AJC / JJS AJS
    VB VVI / VBP VVB / VBZ VVZ / VBD VVD / VBN VVN / VBG VVG
"""


def _rows(table: str) -> list[list[str]]:
    """Return the entries of a table, separated by / or a line end, as lists of words."""
    return [entry.split() for entry in re.split(r" / |\n", table) if entry.strip()]


def _by_value(table: str) -> dict[str, str]:
    """Return the first word of each entry by the others."""
    return {key: value for value, *keys in _rows(table) for key in keys}


PENN = _by_value(_C5)
BY_FORM = {**_by_value(_FORMS), **_by_value(_SYMBOLS), "/": ":"}
C5 = {row[0]: row[1] for row in _rows(_OPEN)}
_PROPER = {"NN": "NNP", "JJ": "NNP", "NNS": "NNPS"}
_AUXILIARY = re.compile(
    r"am|are|is|was|were|be|been|being|do|does|did|done|doing|have|has|had|having|['’].*", re.I
)
_LONGEST = 40  # characters of a word that the tagger sees: its time grows with their square


def optional(name: str, package: str, user: str) -> Any:
    """Return a module of the extra ``rerank[qa]``; raises ConfigError, naming ``user``, without it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if not error.name or error.name.partition(".")[0] != name.partition(".")[0]:
            raise
        raise ConfigError(f"{user} needs the package {package}: pip install 'rerank[qa]'") from None


class HanTa:
    """The tagger and lemmatiser. Raises ConfigError that names ``user`` if the package is not installed."""

    def __init__(self, user: str) -> None:
        module = optional("HanTa.HanoverTagger", "HanTa", user)
        # A bare name would be looked for in the working directory first.
        model = os.path.join(os.path.dirname(module.__file__), "morphmodel_en.pgz")
        self._tagger = module.HanoverTagger(model)
        self.lemma = functools.cache(self._lemma)

    def tags(self, forms: Sequence[str]) -> list[str]:
        """Return the Penn tags of a question or passage."""
        found = self._tagger.tag_sent([form[:_LONGEST] for form in forms], taglevel=0)
        return [penn_tag(form, tag, i == 0) for i, (form, tag) in enumerate(zip(forms, found, strict=True))]

    def _lemma(self, form: str, tag: str | None) -> str:
        """Return the lemma of a word in lower case; without a tag, that of its most frequent reading."""
        pos = None if tag is None or _AUXILIARY.fullmatch(form) else C5.get(tag)
        if tag is not None and pos is None and not tag.startswith(("VB", "MD")):
            return form.lower()
        lemma: str = self._tagger.analyze(form[:_LONGEST], pos or "EMPTY")[0]
        return (lemma + form[_LONGEST:]).lower() or form.lower()


def penn_tag(form: str, tag: str, first: bool) -> str:
    """Return the Penn tag of a token with a C5 tag; ``first`` if it begins the text."""
    known = BY_FORM.get(form) or BY_FORM.get(form.lower())
    if known is not None:
        return known
    penn = PENN.get(tag, "NN")
    return _PROPER.get(penn, penn) if form[0].isupper() and not first else penn


def stemmer(name: str, user: str) -> Callable[[str], str]:
    """Return a function that gives the stem of a word in lower case: "english" (Porter2) or "porter".

    A word without a stem (Porter's of "s" is empty) is its own.

    Raises ConfigError that names ``user`` if snowballstemmer is not installed.
    """
    stem: Callable[[str], str] = optional("snowballstemmer", "snowballstemmer", user).stemmer(name).stemWord
    return functools.cache(lambda form: stem(form.lower()) or form.lower())
