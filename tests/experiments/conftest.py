"""A small experiment of two folds, and the bytes of a folder."""

import numpy as np
import pytest
from command_line import ROOT as ROOT
from fuzz.children import here

from rerank import CandidateLists, save
from rerank.core.workers import parallel

TWO_FOLDS = """\
data:
  train: fold{fold}/train.letor
  dev: fold{fold}/dev.letor
  test: fold{fold}/test.letor
folds: [a, b]
"""
CONFIG = (
    TWO_FOLDS
    + """\
select: {metric: AP}
metrics: [AP, nDCG@3]
baseline: ridge
seeds: 2
learners:
  random:
  ridge:
    grid: {penalty: [0.1, 10]}
  perceptron: {epochs: 3}
"""
)
# The same with one quick row.
SHORT = TWO_FOLDS + "select: {metric: AP}\nmetrics: [AP, RR]\nlearners: {ridge: }\n"


@pytest.fixture
def processes():
    """Cells are done in processes of their own, as outside of tests."""


@pytest.fixture(autouse=True)
def _in_this_process(request, monkeypatch):
    """Cells are done in this process, which takes a second less, unless a test asks for ``processes``."""
    if "processes" not in request.fixturenames:
        monkeypatch.setattr(parallel, "as_completed", here)


def lists_of(seed: int, n: int = 8) -> CandidateLists:
    """Lists whose labels follow two of their features."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 7, n)
    X = rng.standard_normal((lengths.sum(), 3))
    y = np.clip(np.round(X[:, 0] + 0.3 * X[:, 1] + rng.standard_normal(len(X))), 0, 2)
    names = [f"q{seed}-{i}" for i in np.repeat(np.arange(n), lengths)]
    return CandidateLists.from_arrays(X, y, qid=names)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with run.yaml and two folds of three files."""
    monkeypatch.chdir(tmp_path)
    for k, fold in enumerate("ab"):
        (tmp_path / f"fold{fold}").mkdir()
        for j, part in enumerate(("train", "dev", "test")):
            save(lists_of(10 * k + j), f"fold{fold}/{part}.letor", "svmlight")
    (tmp_path / "run.yaml").write_text(CONFIG)
    return tmp_path


def tree(path):
    """The bytes of every file but the times."""
    files = (file for file in path.rglob("*") if file.is_file())
    return {str(file.relative_to(path)): file.read_bytes() for file in files if file.parent.name != "timings"}
