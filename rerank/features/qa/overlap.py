"""Features of what the words of a question and of a passage share.

    overlap_count     distinct content keys that both have
    overlap_share     their share of the question's
    overlap_jaccard   their share of all that occur in either
    overlap_bigrams   share of the question's distinct pairs of neighbouring words that the passage has
    overlap_lcs       longest common subsequence of content keys, as a share of the question's content words
    overlap_idf       share of the question's content keys, each weighted by its idf
    overlap_cosine    cosine of the content keys, weighted by tf idf
    overlap_length    log(1 + words of the passage)

Content keys are the stems (lemmas, forms) by which tokens are linked. Bigrams contain function words, but no
punctuation. A share of nothing is 0. The idf of a key is log(1 + (n - df + 0.5) / (df + 0.5)), df being the
passages of the same list that have it, of n. So a value depends on the item's own list and on nothing else:
not on labels, not on other lists of the file.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from rerank.features.qa.linking import Analysis

NAMES = tuple(
    f"overlap_{name}" for name in ("count", "share", "jaccard", "bigrams", "lcs", "idf", "cosine", "length")
)


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
