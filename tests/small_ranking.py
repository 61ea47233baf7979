"""A small judged set with folds, in LETOR's form."""

from __future__ import annotations

import numpy as np

from rerank import CandidateLists
from rerank.formats import FORMATS

EXPERIMENT = """
data:
  train: ${SMALL}/Fold{fold}/train.txt
  dev: ${SMALL}/Fold{fold}/vali.txt
  test: ${SMALL}/Fold{fold}/test.txt
folds: [1, 2]
select: {metric: nDCG-exp@10}
metrics: [nDCG-exp@10, AP]
baseline: random
learners:
  random:
  sensitive:
    name: perceptron
    rounds: 3
    grid: {tau: [0, 1], scaling: [none, zscore]}
"""


def ranking_lists(seed, n_lists=12, first=0):
    """Lists of 3 to 9 items with grades 0 to 2; one of three features knows the grade, with noise."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 10, n_lists)
    X = rng.standard_normal((sizes.sum(), 3)).round(3)
    y = np.clip(np.round(X[:, 0] + 0.5 * rng.standard_normal(len(X))), 0, 2)
    ids = np.repeat([f"q{first + i}" for i in range(n_lists)], sizes)
    return CandidateLists.from_arrays(X, y, qid=ids)


def write_folds(folder, folds=(1, 2)):
    """FoldK/train.txt, vali.txt and test.txt; no list is in two tests."""
    for fold in folds:
        place = folder / f"Fold{fold}"
        place.mkdir(parents=True)
        for seed, part in enumerate(("train", "vali", "test")):
            lists = ranking_lists(10 * fold + seed, first=1000 * fold + 100 * seed)
            FORMATS.get("svmlight")().write(lists, str(place / f"{part}.txt"))
