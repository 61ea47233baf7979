"""Measures of retrieval of plain dictionaries without making lists of them: small runs, evaluated often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from rerank.core.errors import RerankError
from rerank.data.lists import CandidateLists
from rerank.evaluation.judged import Values
from rerank.metrics.base import Metric, parse_all, prepare_all
from rerank.metrics.gains import Ndcg
from rerank.metrics.ranking import RankingMetric
from rerank.native.metrics import _mappings

_FAR = 1_000_000_000  # a cutoff that no list reaches


@dataclass(frozen=True, eq=False)
class _Plan:
    """Metrics as the kernel takes them, and what ``Values`` has of each."""

    names: tuple[str, ...]
    measures: _mappings.Measures
    signatures: Mapping[str, str]
    digits: Mapping[str, int]


def values_of_mappings(qrels: dict[Any, Any], run: dict[Any, Any], metrics: Any) -> Values | None:
    """Return measures of a run, equal to those of lists made of it; None if that way must be taken.

    That is so if a metric is none of retrieval, or anything is not plain: other numbers of queries, names
    that are not ASCII, a value that is not a finite number, or anything to report.

    Parameters
    ----------
    qrels, run : labels, and scores, by document, by query.
    metrics : names, or one name.
    """
    try:
        plan = _plan((metrics,) if type(metrics) is str else tuple(metrics))
    except (RerankError, TypeError, AttributeError):  # which is for the other way to report
        return None
    if plan is None:
        return None
    means = plan.measures.means(qrels, run)
    if means is None:
        return None
    return Values(zip(plan.names, means, strict=True), plan.signatures, plan.digits)


@lru_cache(maxsize=256)
def _plan(metrics: tuple[str, ...]) -> _Plan | None:
    """Return the plan for metrics; None if the kernel does not know one, or its name may need a note."""
    typed = parse_all(metrics)
    kinds = [_kind_of(text, metric) for text, metric in typed.items()]
    if None in kinds:
        return None
    one = CandidateLists.from_arrays(np.empty((1, 0)), [1.0], item_ids=["1"])
    judges = prepare_all(one, typed.values())
    rels = [getattr(metric, "rel", 1.0) for metric in typed.values()]
    depths = [metric.depth or _FAR for metric in typed.values() if isinstance(metric, RankingMetric)]
    return _Plan(
        tuple(typed),
        _mappings.Measures(
            np.array(kinds, dtype=np.int32),
            np.minimum(depths, _FAR).astype(np.int64),
            np.array(rels, dtype=np.float64),
            Ndcg().divisors(np.arange(1, _mappings.LONGEST + 1, dtype=np.float64)),
        ),
        {text: judge.signature for text, judge in zip(typed, judges, strict=True)},
        {text: judge.digits for text, judge in zip(typed, judges, strict=True)},
    )


def _kind_of(text: str, metric: Metric) -> int | None:
    """Return the kernel's number of a metric; None if it has none, or its name may mean another one."""
    if metric.family not in _mappings.KINDS or not isinstance(metric, RankingMetric):
        return None
    if (metric.depth or 0) > _FAR or (metric.family == "nDCG" and not text.startswith("nDCG")):
        return None
    return _mappings.KINDS.index(metric.family)
