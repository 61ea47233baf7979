"""Named parts and folds of a set, as ``rerank split`` writes them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from rerank.data.folds import folds, split
from rerank.data.lists import CandidateLists
from rerank.errors import ConfigError


def parts_of(lists: CandidateLists, parts: Sequence[str], seed: int) -> Iterator[tuple[str, CandidateLists]]:
    """(name, lists) of every part NAME=SHARE, drawn by list.

    Raises ConfigError for a part that cannot be read or is given twice, or shares beyond 1.
    """
    shares: dict[str, float] = {}
    for text in parts:
        name, equals, share = text.partition("=")
        try:
            value = float(share)
        except ValueError:
            value = float("nan")
        if not name or not equals or not 0 < value <= 1 or os.sep in name or name in shares:
            raise ConfigError(f"--part {text}: expected NAME=SHARE, each name once, a share of 0 to 1")
        shares[name] = value
    chosen = split(lists, list(shares.values()), seed)
    for name, index in zip(shares, chosen, strict=True):
        yield name, lists.subset(index)


def folds_of(lists: CandidateLists, n_folds: int, seed: int) -> Iterator[tuple[str, CandidateLists]]:
    """(name, lists) of fold1/train, fold1/test, fold2/train, ...; raises ConfigError as ``folds`` does."""
    for i, fold in enumerate(folds(lists, n_folds, seed), 1):
        yield f"fold{i}/train", lists.subset(fold.train)
        yield f"fold{i}/test", lists.subset(fold.test)
