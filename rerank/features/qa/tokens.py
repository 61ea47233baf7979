"""Tokens of plain and of tagged text, and which of them are function words.

Plain text is split as the Penn treebank does it, by a few rules: punctuation is split off, "don't" becomes
"do n't" and "dog's" becomes "dog 's". Initials (U.S.) and a few titles (Mr.) keep their period. Words keep
hyphens, apostrophes, periods and ampersands between letters or digits (O'Hara, hip-hop, 3.5, AT&T). Brackets
and quotation marks stay as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rerank.core.errors import DataError

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


@dataclass(frozen=True)
class Tokens:
    """The tokens of a question or passage.

    forms : their strings.
    tags : their Penn tags, None if they are unknown.
    """

    forms: Sequence[str]
    tags: Sequence[str] | None = None


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


def split_tags(text: str, separator: str) -> Tokens:
    """Return the tokens of text in which each carries its tag, such as ``dogs_NNS bark_VBP``.

    The last separator of a token counts. Raises DataError at a token without a tag or without a form.
    """
    forms, tags = [], []
    for token in text.split():
        form, found, tag = token.rpartition(separator)
        if not (form and found and tag):
            raise DataError(f"found the token {token!r}, expected word{separator}TAG")
        forms.append(form)
        tags.append(tag)
    return Tokens(forms, tags)


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
