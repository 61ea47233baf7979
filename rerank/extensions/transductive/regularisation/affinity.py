"""Affinities between the items of a list: by their texts, their features, or any kernel on items."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.lists import single
from rerank.extensions.transductive.space import Points
from rerank.similarity.expression import ItemKernel
from rerank.similarity.item_sums import kernel_rows

AUTO, TEXTS, FEATURES = "auto", "texts", "features"
EXPECTED = "auto, texts, features, or a kernel on items such as ptk(passage) (rerank list kernels)"
_WORD = re.compile(r"\w+")
_TIED = 1e-9  # of affinities, relative: items this close to the k-th neighbour are neighbours too
_BYTES = 40  # of a pair of items: affinities, edges, their normalised form, and the solution

Affinities = Callable[[int], Floats]


def check_affinity(name: str) -> None:
    """Raise ConfigError if ``name`` is no affinity."""
    if name in (AUTO, TEXTS, FEATURES):
        return
    try:
        ItemKernel.parse(name)
    except ConfigError as error:
        raise ConfigError(f"affinity: {error}; expected {EXPECTED}") from None


def resolved_affinity(name: str, lists: CandidateLists) -> str:
    """Return what ``auto`` stands for in these lists, and kernels with the names of their trees.

    auto means texts if there are some, else features, else a kernel of all trees.

    Raises
    ------
    DataError
        If the lists lack what is compared.
    """
    if name == AUTO and lists.texts is not None:
        return TEXTS
    if name == AUTO and lists.n_features:
        return FEATURES
    if name == AUTO:
        return ItemKernel.default(lists).resolved(lists).text
    _check_present(name, lists)
    return name if name in (TEXTS, FEATURES) else ItemKernel.parse(name).resolved(lists).text


def compares_features(name: str) -> bool:
    """Return whether a resolved affinity reads features."""
    return name == FEATURES or (name != TEXTS and ItemKernel.parse(name).compares("features"))


def affinities(name: str, lists: CandidateLists) -> Affinities:
    """Return a function that gives the affinities of the items of list ``i``, float64 (n, n).

    They are symmetric, 0 or more, and 1 for equal items. Those of one list depend on this list alone.

    Parameters
    ----------
    name
        A resolved affinity.
    lists
        With features as the base learner sees them.

    Raises
    ------
    DataError
        If the lists lack what is compared, or (the function) a distance overflows.
    """
    _check_present(name, lists)
    if name == TEXTS:
        texts = lists.texts
        return lambda i: text_affinities([texts[item] for item in _items(lists, i)])  # type: ignore[index]
    if name == FEATURES:
        return lambda i: feature_affinities(single(lists, i, labels=False))
    (items,) = ItemKernel.parse(name).prepare(lists)

    def of_kernel(i: int) -> Floats:
        part = items.take(np.array(_items(lists, i)))
        gram = kernel_rows(part, np.arange(part.n), part)
        roots = np.sqrt(np.maximum(part.diagonal(), 0.0))
        norms = roots[:, None] * roots
        found = np.divide(gram, norms, out=np.zeros_like(gram), where=norms > 0)
        return np.maximum(0.5 * (found + found.T), 0.0)

    return of_kernel


def _items(lists: CandidateLists, i: int) -> range:
    return range(int(lists.offsets[i]), int(lists.offsets[i + 1]))


def _check_present(name: str, lists: CandidateLists) -> None:
    """Raise DataError if lists lack texts or features that an affinity compares."""
    if name == TEXTS and lists.texts is None:
        raise DataError(f"{lists.source}: found no texts of the items, which affinity=texts compares")
    if name == FEATURES and not lists.n_features:
        raise DataError(f"{lists.source}: found no features, which affinity=features compares")


def text_affinities(texts: Sequence[str]) -> Floats:
    """Return the cosines of texts, float64 (n, n), as vectors of weighted words.

    Words are runs of letters and digits, without case. A word that occurs t times in a text and in d of the n
    texts has the weight (1 + ln t) (1 + ln((1 + n) / (1 + d))): sublinear tf, and a smooth idf of this list
    alone. A text without words has the affinity 0 to all others.

    References
    ----------
    Manning, Raghavan & Schütze: Introduction to information retrieval. Cambridge 2008, sections 6.2 and 6.4.
    """
    from scipy.sparse import csr_array

    counts = [Counter(_WORD.findall(text.casefold())) for text in texts]
    known: dict[str, int] = {}
    columns = [known.setdefault(word, len(known)) for words in counts for word in words]
    n = len(texts)
    lengths = [len(words) for words in counts]
    data = 1.0 + np.log(np.array([t for words in counts for t in words.values()], dtype=np.float64))
    in_texts = np.bincount(np.array(columns, dtype=np.int64), minlength=len(known))
    data *= (1.0 + np.log((1.0 + n) / (1.0 + in_texts)))[columns] if columns else 1.0
    rows = np.repeat(np.arange(n), lengths)
    norms = np.sqrt(np.bincount(rows, data**2, n))
    data /= norms[rows]
    vectors = csr_array((data, columns, np.concatenate([[0], np.cumsum(lengths)])), shape=(n, len(known)))
    found: Floats = (vectors @ vectors.T).toarray()
    return found


def feature_affinities(one: CandidateLists) -> Floats:
    """Return Gaussian affinities of the items of a list, float64 (n, n).

    exp(-d^2 / (2 w^2)), where w is the median distance of two different items of the list; without different
    items all affinities are 1.

    Raises
    ------
    DataError
        If a distance overflows.
    """
    points = Points(one)
    squared = points.squared_distances(points)
    if not np.isfinite(squared).all():
        where = f"{one.source}: list {one.list_id(0)!r}"
        raise DataError(f"{where}: distances of items overflow: features that large need a scaling")
    apart = squared[np.triu_indices(len(squared), 1)]
    apart = apart[apart > 0]
    if not len(apart):
        return np.ones_like(squared)
    width = float(np.median(np.sqrt(apart)))
    with np.errstate(under="ignore"):
        found: Floats = np.exp(-0.5 * (np.sqrt(squared) / width) ** 2)
    return found


def neighbour_weights(found: Floats, neighbours: int | None) -> Floats:
    """Return the normalised weights S of the graph of nearest neighbours, float64 (n, n).

    An edge joins two items if one is among the k nearest of the other and their affinity is above 0; items as
    near as the k-th one count as well. With the affinities W of the edges and their row sums D,
    S = D^-1/2 W D^-1/2: symmetric, with eigenvalues from -1 to 1. Rows of items without an edge are 0.

    Parameters
    ----------
    found : float64 (n, n)
        Symmetric affinities of 0 or more; the diagonal does not count.
    neighbours
        k, 1 or more; None = all other items.
    """
    n = len(found)
    weights = found.copy()
    np.fill_diagonal(weights, 0.0)
    if neighbours is not None and neighbours < n - 1:
        kth = np.partition(weights, n - neighbours, axis=1)[:, n - neighbours]
        edges = weights >= kth[:, None] * (1.0 - _TIED)
        weights *= edges | edges.T
    roots = np.sqrt(weights.sum(axis=1))
    joined = roots > 0
    weights[joined] /= roots[joined, None]
    weights[:, joined] /= roots[joined]
    return weights


def regularised(scores: Floats, weights: Floats, alpha: float) -> Floats:
    """Return the scores of a list that are smooth over its graph, float64 (n).

    The standardised scores z become z* with (I - alpha S) z* = (1 - alpha) z, and then have the mean and the
    scale of the given scores again. With mu = 1 / alpha - 1, z* minimises

        1/2 sum_ij W_ij (z_i / sqrt(D_i) - z_j / sqrt(D_j))^2 + mu |z* - z|^2

    for items that have an edge. Equal scores remain as they are, and so do all with alpha = 0.

    Parameters
    ----------
    scores : float64 (n)
    weights : float64 (n, n)
        S, as ``neighbour_weights`` returns it.
    alpha
        From 0 to below 1.

    References
    ----------
    Diaz: Regularizing ad hoc retrieval scores. CIKM 2005.
    Zhou, Bousquet, Lal, Weston & Schölkopf: Learning with local and global consistency. NIPS 2003.
    """
    largest = float(np.abs(scores).max())
    if alpha == 0 or not np.isfinite(largest) or (scores == scores[0]).all():
        return scores.copy()
    scaled = scores / largest  # sums and squares of huge scores would overflow
    mean, deviation = float(scaled.mean()), float(scaled.std())
    if deviation == 0:
        return scores.copy()
    system = -alpha * weights
    system[np.diag_indices(len(scores))] += 1.0
    found = np.linalg.solve(system, (1.0 - alpha) * (scaled - mean) / deviation)
    return np.asarray((mean + deviation * found) * largest, dtype=np.float64)


def require_memory(sizes: Index) -> None:
    """Raise RerankError if there is no memory for the affinities of the largest list."""
    n = int(sizes.max())
    memory.require(_BYTES * n * n, f"the affinities of {n:,} items of a list", "shorter lists need less")
