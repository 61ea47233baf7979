"""The graph of comparisons: its components, and items that won or lost everything."""

from __future__ import annotations

import numpy as np

from rerank.core.errors import DataError
from rerank.core.text import count, some
from rerank.core.types import Index
from rerank.extensions.preferences.comparisons import Comparisons
from rerank.extensions.preferences.models import Likelihood


def parts_of(model: Likelihood, strong: bool) -> tuple[int, Index]:
    """Return the number of components of the graph of wins, and that of each item (n_items)."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    winners, losers = model.edges()
    n = model.n_items
    graph = coo_matrix((np.ones(len(winners)), (winners, losers)), shape=(n, n))
    parts: tuple[int, Index] = connected_components(
        graph, directed=True, connection="strong" if strong else "weak"
    )
    return parts


def components(model: Likelihood) -> list[Index]:
    """Return the items of each part of the graph of comparisons, the largest first."""
    n, of = parts_of(model, strong=False)
    parts = [np.flatnonzero(of == k) for k in range(n)]
    return sorted(parts, key=lambda part: (-len(part), part[0]))


def apart(parts: list[Index], items: list[str]) -> str:
    """Return what to say of components."""
    names = "; ".join(f"{{{some([items[i] for i in part])}}}" for part in parts[:4])
    return f"comparisons fall apart into {len(parts)} components: {names}{'; ...' * (len(parts) > 4)}"


def check_finite(model: Likelihood, given: Comparisons) -> None:
    """Raise DataError if some items never lose to the others: without a prior they are infinitely strong."""
    n, of = parts_of(model, strong=True)
    if n == 1:
        return
    winners, losers = model.edges()
    crossing = of[winners] != of[losers]
    # Parts that nothing of another part beat, and parts that beat nothing of another one.
    unbeaten = np.setdiff1d(np.arange(n), of[losers[crossing]])
    winless = np.setdiff1d(np.arange(n), of[winners[crossing]])
    single = [
        (given.items[int(np.flatnonzero(of == k)[0])], word)
        for ks, word in ((unbeaten, "won"), (winless, "lost"))
        for k in ks
        if np.count_nonzero(of == k) == 1
    ]
    hint = "strengths are infinite; expected a prior (--prior 1)"
    if single:
        who = some([f"{name!r} {word} every comparison" for name, word in single])
        raise DataError(f"{given.source}: {who}: {hint}")
    top = [given.items[i] for i in np.flatnonzero(of == unbeaten[0])]
    who = f"{some(top)} ({count(len(top), 'item')}) won every comparison with the others"
    raise DataError(f"{given.source}: {who}: {hint}")
