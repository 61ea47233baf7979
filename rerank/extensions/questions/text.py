"""Tokens of plain and of tagged text, and which of them are function words.

Plain text is split as the Penn treebank does it, by a few rules: punctuation is split off, "don't" becomes
"do n't" and "dog's" becomes "dog 's". Initials (U.S.) and a few titles (Mr.) keep their period. Words keep
hyphens, apostrophes, periods and ampersands between letters or digits (O'Hara, hip-hop, 3.5, AT&T). Brackets
and quotation marks stay as they are written.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rerank.core.errors import ConfigError, DataError

_TOKEN = re.compile(
    r"""(?:[^\W\d_]\.){2,}                              # U.S.
      | (?:Mr|Mrs|Ms|Dr|Prof|Sen|Rep|Gov|Gen|Lt|Col|Capt|Sgt|Rev|St|Jr|Sr|Inc|Corp|Co|Ltd|vs)\.
      | [^\W_]+(?:[-'’.,&][^\W_]+)*n['’]t\b | [^\W_]+(?:[-'’.&][^\W_]+|(?<=\d),(?=\d)[^\W_]+)*
      | ['’](?:s|re|ve|ll|d|m)\b
      | `` | '' | \.{2,} | -{2,}
      | \S""",
    re.VERBOSE | re.IGNORECASE,
)
_CONTRACTION = re.compile(r"(.+?)(n['’]t|['’](?:s|re|ve|ll|d|m))", re.IGNORECASE)
_TAGGED = re.compile(r"\S+_[^\s_a-z]{1,6}")
_POSITION = re.compile(r"^[BIES]-|-[BI]$")  # of a token within an entity
_ALPHANUMERIC = re.compile(r"(?!-[LR][RSC]B-$).*[^\W_]", re.DOTALL)

# By kind: determiners and pronouns, question words, auxiliaries, prepositions, conjunctions, particles.
_FUNCTION_WORDS = """
    a an the this that these those some any no every each all both either neither such same other another
    i me my mine myself we us our ours ourselves you your yours yourself he him his himself she her hers
    herself it its itself they them their theirs themselves one there what which who whom whose when where why
    how whatever whoever whichever am is are was were be been being do does did doing done have has had having
    will would can could shall should may might must ca wo sha aboard about above across after against along
    amid among around as at before behind below beneath beside besides between beyond by despite down during
    except for from in inside into like near of off on onto out outside over past per since than through
    throughout till to toward towards under until up upon via with within without and or but nor so yet if
    because although though while whereas unless whether not n't n’t 's ’s 're ’re 've ’ve 'll ’ll 'd ’d 'm ’m
    also too very just only then here now
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
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
_PROPER = {"NN": "NNP", "JJ": "NNP", "NNS": "NNPS"}
_AUXILIARY = re.compile(
    r"am|are|is|was|were|be|been|being|do|does|did|done|doing|have|has|had|having|['’].*", re.I
)
_LONGEST = 40  # characters of a word that the tagger sees: its time grows with their square
_KINDS = {
    "NP": "$ CD DT EX JJ JJR JJS NN NNP NNPS NNS POS PRP PRP$ WDT WP WP$",
    "VP": "MD VB VBD VBG VBN VBP VBZ",
    "ADVP": "RB RBR RBS WRB",
    "PP": "IN TO",
}
KINDS = {tag: kind for kind, tags in _KINDS.items() for tag in tags.split()}


@dataclass(frozen=True)
class Tokens:
    """The tokens of a question or passage.

    forms : their strings.
    tags : their Penn tags, None if they are unknown.
    types : of the entities that they belong to, "" = none; None if they are unknown.
    """

    forms: Sequence[str]
    tags: Sequence[str] | None = None
    types: Sequence[str] | None = None


def tokenise(text: str) -> list[str]:
    """Return the tokens of plain text.

    >>> tokenise("Who's Mr. O'Hara (of the U.S.), don't they ask?")
    ['Who', "'s", 'Mr.', "O'Hara", '(', 'of', 'the', 'U.S.', ')', ',', 'do', "n't", 'they', 'ask', '?']
    """
    out: list[str] = []
    for token in _TOKEN.findall(text):
        parts = _CONTRACTION.fullmatch(token)
        out += parts.groups() if parts else (token,)
    return out


def split_tags(text: str, separator: str, entities: str | None = None) -> Tokens:
    """Return the tokens of text in which each carries its tag, such as ``dogs_NNS bark_VBP``.

    With ``entities``, a separator too, the type of its entity follows: ``Rome_NNP#GPE``, ``#B-GPE`` or
    ``#GPE-B``; ``#O`` and ``#-`` are none. The last separator of a token counts. Raises DataError at a token
    that lacks its form, tag or type.
    """
    forms, tags, types = [], [], []
    for token in text.split():
        rest, mark, kind = token, "", ""
        if entities is not None:
            rest, mark, kind = token.rpartition(entities)
        form, found, tag = rest.rpartition(separator)
        if not (form and found and tag) or (entities is not None and not (mark and kind)):
            expected = f"word{separator}TAG" + (f"{entities}TYPE" if entities is not None else "")
            raise DataError(f"found the token {token!r}, expected {expected}")
        forms.append(form)
        tags.append(tag)
        types.append("" if kind in ("O", "-") else _POSITION.sub("", kind))
    return Tokens(forms, tags, types if entities is not None else None)


def looks_tagged(text: str) -> bool:
    """Return whether every token seems to carry a tag, as in ``dogs_NNS bark_VBP``."""
    tokens = text.split()
    return bool(tokens) and all(_TAGGED.fullmatch(token) for token in tokens)


def is_word(form: str) -> bool:
    """Return whether a token has a letter or a digit, and is no bracket (-LRB-)."""
    return _ALPHANUMERIC.match(form) is not None


def is_content(form: str) -> bool:
    """Return whether a token is a word and no function word; capitals make no difference."""
    return is_word(form) and form.lower() not in FUNCTION_WORDS


def _rows(table: str) -> list[list[str]]:
    """Return the entries of a table, separated by / or a line end, as lists of words."""
    return [entry.split() for entry in re.split(r" / |\n", table) if entry.strip()]


def _by_value(table: str) -> dict[str, str]:
    """Return the first word of each entry by the others."""
    return {key: value for value, *keys in _rows(table) for key in keys}


PENN = _by_value(_C5)
BY_FORM = {**_by_value(_FORMS), **_by_value(_SYMBOLS), "/": ":"}
C5 = {row[0]: row[1] for row in _rows(_OPEN)}


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


def chunks(tags: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the phrases of a text in order: label, first token and end; the label of a lone token is ""."""
    for kind, run in groupby(range(len(tags)), key=lambda i: KINDS.get(tags[i], "")):
        places = list(run)
        if kind in ("", "PP"):
            yield from ((kind, i, i + 1) for i in places)
        else:
            yield kind, places[0], places[-1] + 1
