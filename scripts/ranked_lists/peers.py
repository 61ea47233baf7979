"""Other tools on the same lists: each with a grid whose best cell on dev lists is judged on test lists.

What a tool makes of missing values is its own: LightGBM and XGBoost get NaN, the others 0.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import os
import resource
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ranked_lists import ranklib
from ranked_lists.arrays import Arrays, arrays_of, explicit_pairs, list_minmax
from rerank import CandidateLists, ConfigError
from rerank.core.types import Floats
from rerank.data.judge import corpus_value
from rerank.metrics.base import parse

Scorer = Callable[[Arrays], Floats]
Grid = Mapping[str, Sequence[Any]]
JAR = "RANKLIB_JAR"  # the environment variable that names RankLib's jar
_THREADS = 1
_SEED = 1


class Peer(NamedTuple):
    """A tool: its fit with the settings of a cell, its grid, its module, and what missing values become."""

    fit: Callable[..., Scorer]
    grid: Grid
    module: str = ""
    missing: float = 0.0
    note: str = ""

    def absent(self) -> str | None:
        """Return why the tool cannot run here, None if it can."""
        if self.module:
            top = self.module.partition(".")[0]
            return None if importlib.util.find_spec(top) else f"no module {top}"
        if not Path(os.environ.get(JAR, "")).is_file():
            return f"{JAR} names no file"
        return None if shutil.which("java") else "no java"


def run_peer(name: str, grid: Grid, metric: str, lists: Sequence[CandidateLists]) -> dict[str, Any]:
    """Return the scores of the test lists and what the tool's best cell on the dev lists cost.

    Parameters
    ----------
    name : a name of PEERS.
    grid : the values of its settings.
    metric : what cells are compared by; the first is the best on ties.
    lists : training, dev and test lists.
    """
    peer = PEERS[name]
    if peer.module:
        importlib.import_module(peer.module)  # its time is not the first fit's
    train, dev, test = (arrays_of(part, peer.missing) for part in lists)
    judge = parse(metric).prepare(lists[1])
    best: dict[str, Any] = {}
    whole = 0.0
    for values in itertools.product(*grid.values()):
        settings = dict(zip(grid, values, strict=True))
        started = _cpu()
        scorer = peer.fit(train, dev, **settings)
        seconds = _cpu() - started
        whole += seconds
        value = corpus_value(judge, judge.per_list(scorer(dev)))
        if not best or judge.better * value > judge.better * best["chosen_by"]:
            scores = lists[2].input_order(scorer(test)).tolist()
            best = {"scores": scores, "seconds": seconds, "settings": settings, "chosen_by": value}
    if not best:
        raise ConfigError(f"{name}: a grid without a cell")
    return best | {"with_choosing": whole}


def _cpu() -> float:
    """CPU seconds of this process and of the programs that it ran."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _lightgbm(train: Arrays, dev: Arrays, **settings: Any) -> Scorer:
    import lightgbm

    top = int(max(train.y.max(), dev.y.max()))
    parameters = {
        "objective": "lambdarank",
        "metric": "ndcg",
        "eval_at": [10],
        "label_gain": [2.0**label - 1 for label in range(top + 1)],
        "num_threads": _THREADS,
        "seed": _SEED,
        "deterministic": True,
        "force_row_wise": True,
        "verbose": -1,
    }
    data = lightgbm.Dataset(train.X, train.y, group=train.lengths)
    watched = lightgbm.Dataset(dev.X, dev.y, group=dev.lengths, reference=data)
    stop = lightgbm.early_stopping(100, verbose=False)
    model = lightgbm.train(parameters | settings, data, 1000, [watched], callbacks=[stop])
    return lambda part: np.asarray(model.predict(part.X, num_threads=_THREADS), dtype=np.float64)


def _xgboost(train: Arrays, dev: Arrays, **settings: Any) -> Scorer:
    import xgboost

    ranker = xgboost.XGBRanker(
        n_estimators=1000,
        tree_method="hist",
        n_jobs=_THREADS,
        random_state=_SEED,
        eval_metric="ndcg@10",
        early_stopping_rounds=100,
        **settings,
    )
    ranker.fit(train.X, train.y, qid=train.qid, eval_set=[(dev.X, dev.y)], eval_qid=[dev.qid], verbose=False)
    return lambda part: np.asarray(ranker.predict(part.X), dtype=np.float64)


def _svm_rank(train: Arrays, dev: Arrays, C: float) -> Scorer:
    import dlib

    scaled = list_minmax(train)
    queries = dlib.ranking_pairs()
    for start, stop in itertools.pairwise(scaled.offsets):
        X, y = scaled.X[start:stop], scaled.y[start:stop]
        # Of each grade its items against those below: the pairs of a query with several grades.
        for grade in np.unique(y)[1:]:
            query = dlib.ranking_pair()
            for vectors, rows in ((query.relevant, X[y == grade]), (query.nonrelevant, X[y < grade])):
                for row in rows:
                    vectors.append(dlib.vector(row.tolist()))
            queries.append(query)
    trainer = dlib.svm_rank_trainer()
    trainer.c = C
    weights = np.array(trainer.train(queries).weights).ravel()
    return lambda part: list_minmax(part).X @ weights


def _linear_svc(train: Arrays, dev: Arrays, C: float) -> Scorer:
    from sklearn.svm import LinearSVC

    differences = explicit_pairs(list_minmax(train))
    sign = np.where(np.arange(len(differences)) % 2, -1.0, 1.0)  # two classes of pairs
    model = LinearSVC(C=C, loss="squared_hinge", dual=False, fit_intercept=False, random_state=_SEED)
    model.fit(differences * sign[:, None], sign)
    weights = model.coef_.ravel()
    return lambda part: list_minmax(part).X @ weights


def _coordinate_ascent(train: Arrays, dev: Arrays, measure: str) -> Scorer:
    import fastrank

    request = fastrank.TrainRequest.coordinate_ascent()
    request.measure = measure
    request.params.seed = _SEED
    request.params.quiet = True
    model = _fastrank_data(train).train_model(request)
    return lambda part: np.array(
        [score for _, score in sorted(model.predict_scores(_fastrank_data(part)).items())]
    )


def _fastrank_data(part: Arrays) -> Any:
    import fastrank

    return fastrank.CDataset.from_numpy(part.X.astype(np.float32), part.y, part.qid)


def _ranklib(number: int) -> Callable[..., Scorer]:
    def fit(train: Arrays, dev: Arrays, **settings: Any) -> Scorer:
        return ranklib.fit(os.environ[JAR], number, train, dev, settings)

    return fit


_JAVA = "seconds include the Java machine, reading text and the metric after each round"
PEERS: dict[str, Peer] = {
    "ranklib-rankboost": Peer(_ranklib(2), {"tc": [10, 100], "round": [300]}, note=_JAVA),
    "ranklib-lambdamart": Peer(_ranklib(6), {"leaf": [10], "shrinkage": [0.1], "estop": [50]}, note=_JAVA),
    "lightgbm": Peer(
        _lightgbm,
        {"num_leaves": [7, 31], "learning_rate": [0.05], "min_child_samples": [20, 100]},
        "lightgbm",
        np.nan,
    ),
    "xgboost": Peer(
        _xgboost,
        {"max_depth": [3, 6], "learning_rate": [0.1], "min_child_weight": [1, 10]},
        "xgboost",
        np.nan,
    ),
    "dlib-svm-rank": Peer(_svm_rank, {"C": [0.1, 1, 10, 100]}, "dlib", note="min-max within lists"),
    "linear-svc-pairs": Peer(_linear_svc, {"C": [1e-4, 1e-2, 1]}, "sklearn.svm", note="min-max within lists"),
    "fastrank-ca": Peer(_coordinate_ascent, {"measure": ["ndcg@10"]}, "fastrank"),
}
