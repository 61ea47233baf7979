"""Which tokens of a question and a passage are linked.

Two tokens are linked if they have the same key (stem, lemma or form, in lower case) and neither is a function
word or punctuation (Moschitti's lecture: "ignore stop words in the matching"). Function words are recognised
by their form, since stems hide them: the lab's own files link "was" and "are", whose Porter stems are "wa"
and "ar".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rerank.features.qa.tokens import Tokens, is_content, is_word


@dataclass(frozen=True)
class Analysis:
    """A question or passage as it is compared.

    tokens : its forms and tags.
    leaves : of its trees.
    keys : of its tokens, "" for punctuation.
    content : whether each token is a word and no function word.
    """

    tokens: Tokens
    leaves: Sequence[str]
    keys: Sequence[str]
    content: Sequence[bool]

    def content_keys(self) -> list[str]:
        """Return the keys of the content words, in order."""
        return [key for key, content in zip(self.keys, self.content, strict=True) if content]


Reduce = Callable[[str, str | None], str]


def analysed(tokens: Tokens, leaf: Reduce, key: Reduce) -> Analysis:
    """Return the analysis of tokens; ``leaf`` and ``key`` reduce a form with its tag."""
    tags = tokens.tags if tokens.tags is not None else [None] * len(tokens.forms)
    pairs = list(zip(tokens.forms, tags, strict=True))
    keys = [key(form, tag) if is_word(form) else "" for form, tag in pairs]
    content = [is_content(form) and made != "" for (form, _), made in zip(pairs, keys, strict=True)]
    return Analysis(tokens, [leaf(form, tag) for form, tag in pairs], keys, content)


def links(question: Analysis, passage: Analysis) -> tuple[list[bool], list[bool]]:
    """Return whether each token of the question, and of the passage, is linked to one of the other."""
    shared = set(question.content_keys()).intersection(passage.content_keys())
    return _linked(question, shared), _linked(passage, shared)


def _linked(text: Analysis, shared: set[str]) -> list[bool]:
    return [content and key in shared for key, content in zip(text.keys, text.content, strict=True)]
