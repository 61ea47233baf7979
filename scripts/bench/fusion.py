"""Methods of fusion compared with ranx's on equal runs: values, and CPU time of fusing alone.

    python scripts/bench/fusion.py [--quick]

Makes seven runs of 100 queries, 1,000 documents each (--quick: 20 queries, 100 documents), without ties, and
judgements. Both sides have the runs in memory, both scale scores to 0 to 1 within a query where the method
looks at them, and methods that estimate are fitted on the same judgements. "difference" is the largest
difference of a fused score; for condorcet the share of pairs of documents in the other order, since both
return ranks. ranx runs each method once before it is timed, so that it is compiled.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
from common import arguments, cpu_seconds, need

import rerank
from rerank.data.lists import CandidateLists
from rerank.extensions.fusion.fuse import checked_judgements, merged_mappings
from rerank.extensions.fusion.model import Fused

WEIGHTS = [0.3, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1]
# Method here -> that of ranx, settings here and there. Weights are given, not tuned.
PLAIN: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "combsum": ("sum", {}, {}),
    "combmnz": ("mnz", {}, {}),
    "combanz": ("anz", {}, {}),
    "combmed": ("med", {}, {}),
    "combmin": ("min", {}, {}),
    "combmax": ("max", {}, {}),
    "combgmnz": ("gmnz", {"gamma": 0.5}, {"gamma": 0.5}),
    "rrf": ("rrf", {"k": 60}, {"k": 60}),
    "isr": ("isr", {}, {}),
    "log_isr": ("log_isr", {}, {}),
    "logn_isr": ("logn_isr", {"sigma": 0.01}, {"sigma": 0.01}),
    "rbc": ("rbc", {"phi": 0.9}, {"phi": 0.9}),
    "bordafuse": ("bordafuse", {}, {}),
    "condorcet": ("condorcet", {}, {}),
}
WEIGHTED = ("wsum", "wmnz", "mixed", "w_bordafuse", "w_condorcet")
# Method -> settings here, what ranx's training gets besides judgements and runs, what its fusion gets.
ESTIMATED: dict[str, tuple[dict[str, Any], tuple[Any, ...], dict[str, Any]]] = {
    "posfuse": ({}, (), {}),
    "slidefuse": ({"window": 5}, (), {"w": 5}),
    "probfuse": ({"segments": 25}, (25,), {}),
    "segfuse": ({"segments": "ends"}, (), {}),
    "bayesfuse": ({}, (), {}),
    "mapfuse": ({}, (), {}),
}
PARAMETER = {"bayesfuse": "log_odds", "mapfuse": "map_scores"}

Nested = dict[str, dict[str, float]]


def make_runs(n_queries: int, depth: int) -> tuple[dict[str, Nested], dict[str, dict[str, int]]]:
    """Return seven runs of different quality and scale, and judgements."""
    rng = np.random.default_rng(1)
    runs: dict[str, Nested] = {f"run{j}": {} for j in range(7)}
    qrels: dict[str, dict[str, int]] = {}
    for query in (f"q{i}" for i in range(n_queries)):
        relevance = rng.normal(0, 1, 3 * depth)
        best = np.argsort(-relevance)[: depth // 10]
        qrels[query] = {f"d{d}": int(rng.integers(1, 3)) for d in best.tolist()}
        for j, run in enumerate(runs.values()):
            scores = relevance + rng.normal(0, 0.5 + 0.2 * j, len(relevance))
            top = np.argsort(-scores)[: depth - 3 * j]
            run[query] = {f"d{d}": 10.0**j * float(scores[d]) for d in top.tolist()}
    return runs, qrels


def fused_here(lists: CandidateLists, method: str, settings: dict[str, Any]) -> Any:
    """Return fused scores of merged runs."""
    if method in WEIGHTED:
        scaling = "none" if method.startswith("w_") else "list-minmax"
        ready = rerank.train(lists, "combsum", missing="nan", scaling=scaling).prepared(lists)
        scores = Fused(lists.names(), method, np.array(WEIGHTS)).score_aligned(ready)
    else:
        scores = rerank.train(lists, method, missing="nan", **settings).score_items(lists)
    return scores


def by_query(lists: CandidateLists, scores: Any) -> Nested:
    """Return scores by document, by query."""
    found: Nested = {}
    ids = lists.item_ids
    assert ids is not None
    for i in range(lists.n_lists):
        first, last = lists.offsets[i : i + 2].tolist()
        found[lists.list_id(i)] = {ids[k]: float(scores[k]) for k in range(first, last)}
    return found


def difference(ours: Nested, theirs: Any) -> float:
    """Return the largest difference of a score; infinity if the documents differ."""
    most = 0.0
    for query, scores in ours.items():
        other = dict(theirs[query])
        if other.keys() != scores.keys():
            return float("inf")
        most = max([most, *(abs(score - other[name]) for name, score in scores.items())])
    return most


def reversed_pairs(ours: Nested, theirs: Any) -> float:
    """Return the share of pairs of documents in the other order, of the first ten queries."""
    shares = []
    for query, scores in list(ours.items())[:10]:
        one = np.array(list(scores.values()))
        two = np.array([theirs[query][name] for name in scores])
        signs = np.sign(one[:, None] - one) * np.sign(two[:, None] - two)
        shares.append(np.count_nonzero(signs < 0) / (len(one) * (len(one) - 1)))
    return float(np.mean(shares))


def main() -> None:
    quick = arguments(__doc__, "20 queries, 100 documents a run").parse_args().quick
    need("ranx")
    import ranx
    from ranx import fusion

    warnings.simplefilter("ignore")
    nested, qrels = make_runs(20, 100) if quick else make_runs(100, 1000)
    lists = checked_judgements(qrels, "qrels").on(merged_mappings(nested))
    runs = [ranx.Run(run, name=name) for name, run in nested.items()]
    judged = ranx.Qrels(qrels)
    rows: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = dict(PLAIN)
    rows |= {name: (name, {}, {"weights": WEIGHTS}) for name in WEIGHTED}
    rows |= {name: (name, settings, {}) for name, (settings, _, _) in ESTIMATED.items()}
    print(f"{len(nested)} runs, {lists.n_lists} queries, {lists.n_items:,} documents: CPU seconds")
    for method, (theirs, settings, params) in rows.items():

        def ranx_way(theirs: str = theirs, params: dict[str, Any] = params) -> Any:
            if theirs in ESTIMATED:
                _, more, extra = ESTIMATED[theirs]
                scaled = [ranx.normalization.norm_switch("min-max")(run) for run in runs]
                table = getattr(fusion, f"{theirs}_train")(judged, scaled, *more)
                params = {PARAMETER.get(theirs, "probs"): table, **extra}
            return ranx.fuse(runs, norm="min-max", method=theirs, params=params)

        other = ranx_way()
        own = by_query(lists, fused_here(lists, method, settings))
        if "condorcet" in method:
            text = f"{reversed_pairs(own, other):.2%} reversed"
        else:
            text = f"difference {difference(own, other):.1e}"
        mine = cpu_seconds(functools.partial(fused_here, lists, method, settings), 2)
        peer = cpu_seconds(ranx_way, 1 if "condorcet" in method else 2)
        print(
            f"{method:12} {text:>20}  rerank {mine:7.3f}  ranx {peer:7.3f}  ({peer / mine:5.1f} x)",
            flush=True,
        )


if __name__ == "__main__":
    main()
