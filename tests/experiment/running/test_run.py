"""Experiments: what is run, what is not run again, and what is found in the folder."""

from __future__ import annotations

import numpy as np
import pytest

from rerank import CandidateLists, evaluate, load, save
from rerank.config import read_config
from rerank.experiment import read_run, run, train_from

CONFIG = """\
data:
  train: fold{fold}/train.letor
  dev: fold{fold}/dev.letor
  test: fold{fold}/test.letor
folds: [a, b]
select: {metric: AP}
metrics: [AP, nDCG@3]
baseline: ridge
seeds: 2
learners:
  random:
  ridge:
    grid: {penalty: [0.1, 10]}
  perceptron: {rounds: 3}
"""


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


def test_a_cell_has_the_scores_and_metrics_of_the_model_that_train_gives(folder):
    found = run("run.yaml", "out")
    assert not found.failed
    results = read_run("out")
    assert len(results.cells) == len(found.trained) == 2 * (2 + 1 + 2)
    cell = next(cell for cell in results.cells if (cell.row, cell.fold, cell.seed) == ("perceptron", "b", 2))
    data = {"data.train": "foldb/train.letor", "data.dev": "foldb/dev.letor"}
    select = {"select.metric": "AP", "select.keep": "best"}
    base = {**data, **select, "learner": {"name": "perceptron", "rounds": 3}, "seed": 2}
    model = train_from(read_config(None, base=base)).model
    test = load("foldb/test.letor")
    scores = model.score(test)
    record = results.record(cell)
    np.testing.assert_array_equal(results.scores(cell), scores)
    assert {name: value.value for name, value in record.values.items()} == evaluate(
        test, scores, ["AP", "nDCG@3"]
    )
    assert record.dev.fingerprint == load("foldb/dev.letor").fingerprint()
    assert results.test("b").fingerprint() == test.fingerprint()
    assert results.timing(cell).seconds > 0


def test_what_is_there_is_not_done_again_and_new_metrics_are_only_judged(folder):
    run("run.yaml", "out")
    before = tree(folder / "out")
    again = run("run.yaml", "out")
    assert (len(again.there), again.trained) == (10, [])
    assert tree(folder / "out") == before
    (folder / "run.yaml").write_text(CONFIG.replace("nDCG@3", "RR").replace("baseline: ridge", ""))
    judged = run("run.yaml", "out")
    assert (len(judged.judged), judged.trained) == (10, [])
    values = read_run("out").record(judged.judged[0]).values
    assert list(values) == ["AP", "RR", "nDCG@3"]


def test_the_number_of_jobs_changes_no_byte(folder):
    run("run.yaml", "one", jobs=1)
    run("run.yaml", "two", jobs=2)
    assert tree(folder / "one") == tree(folder / "two")
