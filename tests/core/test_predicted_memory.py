"""What would not fit is refused before it is allocated, in one line that names what would need less."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from small_training import fit, make_learner

import rerank
from rerank.core.errors import RerankError
from rerank.data import npy
from rerank.data.labels import parse_quantiser, quantised
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Sparse
from rerank.data.scaling import fit_scaling
from rerank.evaluation.significance import bootstrap_sums, randomised_sums
from rerank.extensions.decision.consensus import consensus
from rerank.formats.sources import as_lists
from rerank.learners.perceptron import Ballots
from rerank.training.options import options_of
from rerank.training.pipeline import pipeline_of
from rerank.training.select import select

LEFT = 100_000_000
SMALL = CandidateLists.from_arrays(
    np.arange(12.0).reshape(6, 2), np.array([1.0, 0, 0, 0, 1, 0]), group=[3, 3], feature_names=["a", "b"]
)
WIDE = CandidateLists.from_arrays(sparse.csr_matrix((2, 2_000_000)), [0.0, 1.0])
LONG = CandidateLists.from_arrays(np.arange(20_000.0)[:, None], np.arange(20_000.0), feature_names=["a"])
TALL = Sparse(np.zeros(5001, dtype=np.int64), np.empty(0, dtype=np.int32), None, 5000)
ROWS = Dense(np.zeros((5000, 1)))


@pytest.fixture(autouse=True)
def little_memory(memory_left):
    memory_left(LEFT)


def seeds():
    options = options_of("perceptron", {"metric": "AP", "scaling": "none"})
    return select(pipeline_of(options.with_settings(seeds=10**9)), SMALL)


def fit_with(name, **settings):
    return fit(make_learner(name, settings), SMALL, metric="label@1")


def voted():
    ballots = Ballots(np.zeros(5_000_000))
    for _ in range(3):
        ballots.visit(np.zeros(5_000_000), True)


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (
            TALL.to_dense,
            "needs 200 MB for a dense matrix of 5,000 x 5,000; 100 MB are available; sparse features",
        ),
        (
            lambda: ROWS.select(np.zeros(1, dtype=np.int64), 5000),
            "needs 200 MB for a dense matrix of 5,000 x 5,000",
        ),
        (
            lambda: bootstrap_sums(np.ones((2, 3)), 10**9, 1),
            "needs 64 GB for 1,000,000,000 samples of 3 statistics",
        ),
        (lambda: randomised_sums(np.ones((2, 1)), np.ones((2, 1)), 10**9, 1), r"needs 80 GB .*\(--samples\)"),
        (seeds, r"for 1,000,000,000 runs; 100 MB are available; fewer runs need less \(--seeds\)"),
        (lambda: fit_with("mert", restarts=10**9), r"1,000,000,001 restarts; .* \(--set restarts\)"),
        (
            lambda: fit_with("pro", samples=10**9),
            r"needs 64 GB for 1,000,000,000 pairs drawn .* \(--set samples\)",
        ),
        (
            lambda: consensus(LONG, "a", "mean"),
            "needs 13 GB for the utilities of 400,000,000 pairs of candidates of a list",
        ),
        (
            lambda: quantised(LONG, parse_quantiser("kmeans=9000"), None),
            r"9,000 clusters of 20,000 .*\(--quantise\)",
        ),
        (lambda: rerank.train(WIDE), "needs 240 MB for the names and weights of 2,000,000 features"),
        (lambda: fit_scaling("zscore", WIDE), "needs 112 MB for the statistics of 2,000,000 features"),
        (voted, "more voted weights; .* average=average needs one vector"),
    ],
)
def test_a_need_beyond_memory_is_refused_in_one_line(work, message):
    with pytest.raises(RerankError, match=message) as caught:
        work()
    assert "\n" not in str(caught.value)


def test_texts_of_long_lists_are_counted(memory_left):
    texts = as_lists([[f"{k}" + "x" * 20_000 for k in range(100)]])
    memory_left(10**7)
    with pytest.raises(RerankError, match="the texts of a list once for each of its candidates"):
        consensus(texts, "WER", "mean")


def test_scaled_copies_are_counted(monkeypatch):
    """They are in a temporary file if there is one large enough."""
    monkeypatch.setattr(npy, "available", lambda: LEFT)
    monkeypatch.setattr(npy.shutil, "disk_usage", lambda folder: SimpleNamespace(free=10**6))
    scaling = fit_scaling("zscore", SMALL)
    big = dataclasses.replace(SMALL)
    object.__setattr__(big, "features", Dense(np.broadcast_to(0.0, (50_000_000, 2))))
    with pytest.raises(RerankError, match=r"needs 800 MB in .* for scaled features; 1 MB are free"):
        scaling.apply(big)
