"""Every system against every other, by every test, as ``rerank compare`` reports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.tables.display import Display
from rerank.core.types import ArrayLike
from rerank.data.lists import CandidateLists
from rerank.evaluation.bootstrap import judged_by_any, of_one_set
from rerank.evaluation.pairs import Pair, pairs_of, plain
from rerank.evaluation.significance import SEED
from rerank.metrics.base import parse_all, prepare_all
from rerank.metrics.judges import by_item, nothing_judged, statistics


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(Display):
    """All pairs, by metric; ``unjudged`` lists do not count."""

    n_lists: int
    n_items: int
    unjudged: int
    signatures: Mapping[str, str]
    typed: Mapping[str, str]
    digits: Mapping[str, int]
    pairs: Mapping[str, list[Pair]]
    samples: int
    level: float
    seed: int

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "lists": self.n_lists,
            "items": self.n_items,
            "unjudged": self.unjudged,
            "resampling": {"samples": self.samples, "level": self.level, "seed": self.seed},
            "metrics": {
                name: {"signature": self.signatures[name], "pairs": plain([asdict(pair) for pair in pairs])}
                for name, pairs in self.pairs.items()
            },
        }


def compare_all(
    lists: CandidateLists,
    systems: Mapping[str, ArrayLike],
    metrics: Sequence[str],
    *,
    ties: str | None = None,
    no_relevant: str = "zero",
    missing_lists: str | None = None,
    missing: str | None = None,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = SEED,
) -> Comparisons:
    """Test every two of ``systems`` by every metric; all tests of a metric use the same draws.

    Parameters
    ----------
    lists : CandidateLists
    systems : mapping of str to array_like (n_items)
        Scores by name, in the order of the caller's rows (see ``Model.score``); larger is better,
        NaN = not returned.
    metrics : sequence of str
    ties, no_relevant : str, optional
        See ``Preparation``.
    missing_lists : str, optional
        How lists count of which a system returned nothing, for the signatures; see ``prepare_all``.
    missing : str, optional
        What took the place of scores that a system lacks, for the signatures.
    samples : int
        Resamples of the judged lists.
    level : float
        Of the intervals.
    seed : int

    Raises
    ------
    ConfigError
        If there are fewer than two systems, or a name is unknown.
    DataError
        If scores do not fit or nothing is judged.
    """
    if len(systems) < 2:
        raise ConfigError("a comparison needs two systems at least")
    typed = parse_all(metrics)
    judges = prepare_all(
        lists,
        typed.values(),
        ties=ties,
        no_relevant=no_relevant,
        missing_lists=missing_lists,
        missing=missing,
    )
    judged = judged_by_any(judges)
    if not judged.any():
        raise nothing_judged(lists)
    rows = {name: statistics(judges, scores) for name, scores in by_item(lists, systems).items()}
    table = of_one_set(judges, rows, judged, samples, seed)
    pairs = {judge.name: pairs_of(table, combinations(rows, 2), m, level) for m, judge in enumerate(judges)}
    names = [judge.name for judge in judges]
    return Comparisons(
        lists.n_lists,
        lists.n_items,
        int(np.count_nonzero(~judged)),
        signatures={judge.name: judge.signature for judge in judges},
        typed=dict(zip(names, typed, strict=True)),
        digits={judge.name: judge.digits for judge in judges},
        pairs=pairs,
        samples=samples,
        level=level,
        seed=seed,
    )
