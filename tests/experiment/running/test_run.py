"""Experiments: what is run, what is not run again, and what is found in the folder."""

from __future__ import annotations

import numpy as np

from rerank import evaluate, load
from rerank.config import read_config
from rerank.experiment import read_run, run, train_from

from .conftest import CONFIG, tree


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
