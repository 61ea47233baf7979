"""Similarity of two items of a list, 0 to 1 (a kernel may have values down to -1); an item and itself are 1.

A similarity is written as

- ``words``: the cosine of the words of two texts, weighted by tf-idf within the list;
- a kernel or a metric that compares two candidates, as the utilities of ``rerank help decision`` are written:
  ``kernel:gaussian(gamma=0.1)``, ``kernel:sst``, ``sBLEU``, ``chrF``, ``ngram2``, ``votes``,
  ``matrix:PATH``. The mean of both orders of a pair is divided by the root of what both items have with
  themselves;
- ``auto``: words if the lists have texts, otherwise what ``--decide mbr`` compares them by.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from rerank.core import progress
from rerank.core.errors import ConfigError, DataError
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.extensions.decision.expressions import AUTO, automatic, utility_of
from rerank.extensions.decision.utilities import FeatureUtility, KernelUtility, Pairing

WORDS = "words"
_WORD = re.compile(r"\w+")


def resolved(text: str, lists: CandidateLists) -> str:
    """Return the similarity that ``auto`` stands for in these lists, or ``text``."""
    if text != AUTO:
        return text
    return WORDS if lists.texts is not None else automatic(lists)


def check(text: str) -> None:
    """Raise ConfigError if ``text`` names no similarity."""
    if text in (AUTO, WORDS):
        return
    utility = utility_of(text)
    if isinstance(utility, FeatureUtility):
        hint = f"kernel:gaussian({utility.name}) is a similarity"
        raise ConfigError(f"similarity {text}: it is a distance of two values; {hint}")
    metric = getattr(utility, "metric", None)
    if metric is not None and metric.better < 0:
        raise ConfigError(
            f"similarity {text}: it counts errors, expected a similarity such as sBLEU or words"
        )


def tables(text: str, lists: CandidateLists) -> Iterator[Floats]:
    """Yield the similarities of the items of each list, float64 (n, n), symmetric.

    Raises
    ------
    ConfigError
        If ``text`` names no similarity.
    DataError
        If the lists lack what is compared, or a value of a matrix or of an item with itself is below 0.
    """
    check(text)
    if text == WORDS:
        yield from _of_words(lists)
        return
    utility = utility_of(text)
    for i, table in enumerate(utility.tables(Pairing.within(lists))):
        own = table.diagonal().copy()
        wrong = own < 0 if isinstance(utility, KernelUtility) else (table < 0).any(axis=1)
        if wrong.any():
            place = lists.place_of(int(lists.offsets[i]) + int(np.argmax(wrong)))
            raise DataError(
                f"{lists.source}: {place}: similarity {text}: found a value below 0, expected 0 or more"
            )
        empty = own == 0  # such as an empty text, which is like no other
        roots = np.sqrt(np.where(empty, 1.0, own))
        found = (table + table.T) / 2.0 / np.outer(roots, roots)
        found[empty] = 0.0
        found[:, empty] = 0.0
        np.fill_diagonal(found, 1.0)
        yield found


def _of_words(lists: CandidateLists) -> Iterator[Floats]:
    """The cosines of the words of texts; a text without words is like no other."""
    if lists.texts is None:
        raise DataError(f"{lists.source}: similarity {WORDS}: the lists have no texts")
    texts = lists.texts
    with progress.step(f"comparing candidates by {WORDS}", lists.n_lists, "list") as advance:
        for start, stop in zip(lists.offsets[:-1].tolist(), lists.offsets[1:].tolist(), strict=True):
            numbers: dict[str, int] = {}
            rows = [Counter(_WORD.findall(texts[item].lower())) for item in range(start, stop)]
            from scipy import sparse  # slow to load

            indices = [numbers.setdefault(word, len(numbers)) for row in rows for word in row]
            counts = np.array([n for row in rows for n in row.values()], dtype=np.float64)
            indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
            shape = len(rows), max(len(numbers), 1)
            documents = np.bincount(indices, minlength=shape[1]) if indices else np.ones(1)
            rarity = np.log((1.0 + shape[0]) / documents)  # above 0: a word of all texts counts a little
            values = (1.0 + np.log(counts)) * rarity[indices] if indices else counts
            table = sparse.csr_matrix((values, indices, indptr), shape=shape)
            found = (table @ table.T).toarray()
            roots = np.sqrt(np.where(found.diagonal() == 0, 1.0, found.diagonal()))
            found /= np.outer(roots, roots)
            np.fill_diagonal(found, 1.0)
            yield found
            advance(1)


def is_saved(text: str) -> bool:
    """Return whether a model file can hold the similarity: it is no matrix from another file."""
    return not text.startswith("matrix:")
