"""Rows of an experiment with labels of their own."""

import numpy as np
import pytest
from small_parses import parse_lists

from rerank import load, save
from rerank.core.errors import DataNote
from rerank.experiments.folder import read_run
from rerank.experiments.run import run
from rerank.training.config import read_config
from rerank.training.train import train_files

CONFIG = """\
data: {train: train.store, test: test.store, label: PARSEVAL}
metrics: [PARSEVAL]
learners:
  f: &boosting {name: boosting, rounds: 20, pair_weighting: score}
  f again: *boosting
  score: {<<: *boosting, data: {label: PARSEVAL.score}}
"""


def test_a_label_of_a_row_decides_what_it_learns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, part in enumerate(("train", "test")):
        save(parse_lists(seed, 30), f"{part}.store")
    (tmp_path / "run.yaml").write_text(CONFIG)
    with pytest.warns(DataNote, match="rows 'f' and 'f again' have the same settings"):
        assert not run("run.yaml", "out").failed
    results = read_run("out")
    keys = [cell.key for cell in results.cells]
    assert keys[0] == keys[1] != keys[2]
    learner = {"name": "boosting", "rounds": 20, "pair_weighting": "score"}
    for cell, label in zip(results.cells, ("PARSEVAL", "PARSEVAL", "PARSEVAL.score"), strict=True):
        base = {"data.train": "train.store", "data.label": label, "learner": learner}
        scores = train_files(read_config(None, base=base)).model.score(load("test.store"))
        np.testing.assert_array_equal(results.scores(cell), scores)
