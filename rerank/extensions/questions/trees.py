"""Trees of questions and passages in brackets, with marks on what is linked.

Chunk trees have phrases over tags over leaves, ``(S (NP (DT the) (REL-NN dog)) (VP (VBZ bark)) (. .))``. The
tag of a linked token, and the phrase that contains it, begin with ``REL-``.

A BOX tree has the words as children of its root, ``(BOX the (REL dog) bark)``. A linked word has a node REL
above it, so that trees with different linked words still share the fragment BOX over REL. In the notation of
SVM-light-TK, ``(BOX (the) (REL (dog)) (bark))``, a bracket with a word alone is this same leaf.

Words that fit the question's focus have another mark, such as REL-FOCUS-HUM, in the place of REL.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rerank.extensions.questions.text import Tokens, chunks, is_content, is_word

REL = "REL"
_ESCAPES = str.maketrans({"(": "-LRB-", ")": "-RRB-"})
Reduce = Callable[[str, str | None], str]
NAMES = tuple(
    f"overlap_{name}" for name in ("count", "share", "jaccard", "bigrams", "lcs", "idf", "cosine", "length")
)


def symbol(text: str) -> str:
    """Return a label or a word as it is in brackets: its own brackets are spelled -LRB- and -RRB-."""
    return text.translate(_ESCAPES)


def box_tree(leaves: Sequence[str], marks: Sequence[str]) -> str:
    """Return the BOX tree of some words with their marks ("" = not linked), "" if there are none."""
    words = (
        f"({mark} {symbol(leaf)})" if mark else symbol(leaf) for leaf, mark in zip(leaves, marks, strict=True)
    )
    return f"(BOX {' '.join(words)})" if leaves else ""


def chunk_tree(leaves: Sequence[str], tags: Sequence[str], marks: Sequence[str]) -> str:
    """Return the tree of phrases of some words with their marks ("" = not linked), "" if there are none.

    A phrase has the longest mark of its words.
    """
    parts = []
    for kind, first, stop in chunks(tags):
        inner = " ".join(
            f"({_marked(symbol(tags[i]), marks[i])} {symbol(leaves[i])})" for i in range(first, stop)
        )
        mark = max(marks[first:stop], key=len)
        parts.append(f"({_marked(kind, mark)} {inner})" if kind else inner)
    return f"(S {' '.join(parts)})" if parts else ""


def _marked(label: str, mark: str) -> str:
    return f"{mark}-{label}" if mark else label


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


def overlaps(question: Analysis, passages: Sequence[Analysis]) -> list[list[float]]:
    """Return the features of each passage of a list, in the order of ``NAMES``."""
    frequency = Counter(key for passage in passages for key in set(passage.content_keys()))
    n = len(passages)
    keys = question.content_keys()
    idf = {
        key: math.log1p((n - df + 0.5) / (df + 0.5))
        for key, df in ((key, frequency[key]) for key in {*frequency, *keys})
    }
    asked, pairs = set(keys), _bigrams(question)
    weights = _weights(keys, idf)
    return [_features(passage, keys, asked, pairs, weights, idf) for passage in passages]


def _features(
    passage: Analysis,
    keys: Sequence[str],
    asked: set[str],
    pairs: set[tuple[str, str]],
    weights: dict[str, float],
    idf: dict[str, float],
) -> list[float]:
    mine = passage.content_keys()
    found = set(mine)
    shared = asked & found
    return [
        float(len(shared)),
        _share(len(shared), len(asked)),
        _share(len(shared), len(asked | found)),
        _share(len(pairs & _bigrams(passage)), len(pairs)),
        _share(common_subsequence(keys, mine), len(keys)),
        _share(_sum(idf[key] for key in shared), _sum(idf[key] for key in asked)),
        _cosine(weights, _weights(mine, idf)),
        math.log1p(sum(key != "" for key in passage.keys)),
    ]


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _sum(values: Iterable[float]) -> float:
    return math.fsum(values)  # exact, so that the order of a set makes no difference


def _bigrams(text: Analysis) -> set[tuple[str, str]]:
    return set(pairwise(key for key in text.keys if key))


def _weights(keys: Sequence[str], idf: dict[str, float]) -> dict[str, float]:
    return {key: n * idf[key] for key, n in Counter(keys).items()}


def _cosine(a: dict[str, float], b: dict[str, float]) -> float:
    dot = _sum(value * b[key] for key, value in a.items() if key in b)
    lengths = _sum(value * value for value in a.values()) * _sum(value * value for value in b.values())
    return _share(dot, math.sqrt(lengths))


def common_subsequence(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    References
    ----------
    Hyyrö (2004), Bit-parallel LCS-length computation revisited: one row of the table is the bits of a number.
    """
    places: dict[str, int] = {}
    for i, key in enumerate(a):
        places[key] = places.get(key, 0) | 1 << i
    everything = (1 << len(a)) - 1
    row = everything
    for key in b:
        match = row & places.get(key, 0)
        row = (row + match | row - match) & everything
    return len(a) - row.bit_count()
