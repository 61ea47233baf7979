"""AP and nDCG@10 of arrays and dictionaries beside pytrec_eval, ir_measures and numpy; and the bootstrap.

    python scripts/bench/measures.py [--quick]

Lists per CPU second, the best of a few runs, all on the same random lists in one process. Peers get their
dicts beforehand and only their evaluation is timed; rerank is timed from the arrays: preparing the judges
(checking the ids, ideal DCGs) and the per-list values. The values are compared first.

Tiny runs are dictionaries for both: ``rerank.evaluate(qrels, run, metrics)``, and making pytrec_eval's
RelevanceEvaluator and evaluating with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import absent, arguments, cpu_seconds, need

import rerank
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.evaluation.significance import bootstrap_sums
from rerank.metrics.base import prepare_all
from rerank.metrics.judges import statistics
from rerank.metrics.judging import Judging

METRICS = ["AP", "nDCG@10"]


@dataclass
class Data:
    """Lists of one length and a share of relevant items, as arrays and as the peers' dicts."""

    lists: CandidateLists
    scores: Floats
    qrels: dict[str, dict[str, int]]
    run: dict[str, dict[str, float]]

    @classmethod
    def draw(cls, n_lists: int, length: int, share: float, seed: int) -> Data:
        rng = np.random.default_rng(seed)
        n = n_lists * length
        labels = np.where(rng.random(n) < share, rng.integers(1, 3, n), 0).astype(np.float64)
        scores = rng.normal(size=n) + 0.5 * labels
        ids = [f"doc{j}" for _ in range(n_lists) for j in rng.permutation(length)]
        lists = CandidateLists.from_arrays(
            np.zeros((n, 1)), labels, group=np.full(n_lists, length), item_ids=ids
        )
        qrels: dict[str, dict[str, int]] = {}
        run: dict[str, dict[str, float]] = {}
        for i in range(n_lists):
            span = range(i * length, (i + 1) * length)
            qrels[str(i)] = {ids[j]: int(labels[j]) for j in span}
            run[str(i)] = {ids[j]: float(scores[j]) for j in span}
        return cls(lists, scores, qrels, run)


def ours(data: Data, ties: str | None) -> list[Floats]:
    return statistics(prepare_all(data.lists, METRICS, Judging.by(None, ties=ties)), data.scores)


def by_numpy(data: Data) -> tuple[Floats, Floats]:
    """What one writes oneself: lists of one length as a matrix, sorted by row (ties as they fall)."""
    n_lists = data.lists.n_lists
    assert data.lists.labels is not None
    labels = data.lists.labels.reshape(n_lists, -1)
    order = np.argsort(-data.scores.reshape(n_lists, -1), axis=1)
    ranked = np.take_along_axis(labels, order, axis=1)
    good = ranked > 0
    places = np.arange(1, labels.shape[1] + 1)
    n_good = np.maximum(good.sum(axis=1), 1)
    ap = (np.cumsum(good, axis=1) / places * good).sum(axis=1) / n_good
    discounts = 1.0 / np.log2(places[:10] + 1.0)
    dcg = (ranked[:, :10] * discounts).sum(axis=1)
    ideal = (-np.sort(-labels, axis=1)[:, :10] * discounts).sum(axis=1)
    return ap, np.divide(dcg, ideal, out=np.zeros_like(dcg), where=ideal > 0)


def peers(data: Data) -> dict[str, Callable[[], Any]]:
    """Callables by name: what is timed of each."""
    import pytrec_eval

    trec = pytrec_eval.RelevanceEvaluator(data.qrels, {"map", "ndcg_cut.10"})
    others: dict[str, Callable[[], Any]] = {}
    if absent("ir_measures") is None:
        import ir_measures

        provider = ir_measures.evaluator([ir_measures.AP, ir_measures.nDCG @ 10], data.qrels)
        others["ir_measures"] = lambda: list(provider.iter_calc(data.run))
    return {
        "pytrec_eval": lambda: trec.evaluate(data.run),
        **others,
        "numpy": lambda: by_numpy(data),
        "rerank, trec": lambda: ours(data, "trec"),
        "rerank, expected": lambda: ours(data, "expected"),
    }


def check(data: Data, evaluate: Callable[[], Any]) -> None:
    theirs = evaluate()
    for name, found in zip(("map", "ndcg_cut_10"), ours(data, "trec"), strict=True):
        wanted = [theirs[str(i)][name] for i in range(data.lists.n_lists)]
        if found[:, 0].tolist() != wanted:
            raise SystemExit(f"{name} differs from pytrec_eval's")


def compare(lengths: Iterable[int], items: int, times: int) -> None:
    print("lists per CPU second, AP + nDCG@10 (times pytrec_eval)")
    for length in lengths:
        for share in (0.02, 0.1, 0.3, 0.6):
            data = Data.draw(items // length, length, share, seed=length)
            runs = peers(data)
            check(data, runs["pytrec_eval"])
            rates = {name: data.lists.n_lists / cpu_seconds(run, times) for name, run in runs.items()}
            cells = [
                f"{name} {rate:,.0f} ({rate / rates['pytrec_eval']:.1f})" for name, rate in rates.items()
            ]
            print(f"{length:5d} items, {share:4.0%} relevant: " + "; ".join(cells))


def tiny(times: int) -> None:
    """Time small runs that are evaluated again and again."""
    import pytrec_eval

    print("microseconds per run, AP + nDCG@10 of dictionaries (times pytrec_eval)")
    for n_lists, length in ((1, 10), (5, 20), (20, 50), (50, 100)):
        data = Data.draw(n_lists, length, 0.3, seed=n_lists)
        for i, found in enumerate(data.run.values()):
            found |= {f"doc{j}": 0.5 for j in range(0, length, 4)}  # ties
            data.qrels[str(i)] = {f"doc{j}": j % 3 for j in range(length // 2)} | {"far": 1}

        def theirs(data: Data = data) -> Any:
            return pytrec_eval.RelevanceEvaluator(data.qrels, {"map", "ndcg_cut.10"}).evaluate(data.run)

        def mine(data: Data = data) -> Any:
            return rerank.evaluate(data.qrels, data.run, METRICS)

        rows = theirs().values()
        for name, found in zip(("map", "ndcg_cut_10"), mine().values(), strict=True):
            if found != sum(row[name] for row in rows) / n_lists:
                raise SystemExit(f"{name} differs from pytrec_eval's")
        seconds = [cpu_seconds(run, times, 0.1) * 1e6 for run in (mine, theirs)]
        rates = f"rerank {seconds[0]:.0f} ({seconds[1] / seconds[0]:.1f}), pytrec_eval {seconds[1]:.0f}"
        print(f"{n_lists:3d} x {length:3d}: {rates}")


def bootstrap(times: int) -> None:
    rows = np.random.default_rng(0).random((3000, 20))
    seconds = cpu_seconds(lambda: bootstrap_sums(rows, 1000, 1), times)
    print(f"paired bootstrap, 1,000 samples of 3,000 lists, 2 systems x 10 statistics: {seconds:.4f} CPU s")


def main() -> None:
    quick = arguments(__doc__, "a tenth of the lists, two runs of each").parse_args().quick
    need("pytrec_eval")
    compare((10, 100, 1000), 20_000 if quick else 200_000, 2 if quick else 4)
    tiny(2 if quick else 5)
    bootstrap(2 if quick else 5)


if __name__ == "__main__":
    main()
