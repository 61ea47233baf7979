"""Rows of an experiment that learn from the test lists of the fold, of which they see no label."""

import numpy as np
import pytest

from rerank import load, save
from rerank.core.errors import ConfigError
from rerank.experiments.config import read_experiment
from rerank.experiments.folder import read_run
from rerank.experiments.run import run
from rerank.models.base import load_model

from .conftest import TWO_FOLDS

CONFIG = (
    TWO_FOLDS
    + """\
train_fractions: [50, 100]
select: {metric: label@1}
metrics: [AP]
seeds: 2
learners:
  ridge:
  weighted:
    name: list-iw
    base: {name: mert, restarts: 2}
    grid: {kernel: [list, bhattacharyya]}
  boosted: {name: list-iw, base: {rounds: 3}}
"""
)
DRAWN = """\
data: {train: folda/train.letor}
folds: 3
select: {metric: AP}
metrics: [AP, nDCG@3]
learners:
  boosted: {name: list-iw, base: {rounds: 3}, basis: kernel}
"""


def models(done):
    """The bytes of the model of each cell."""
    found = {}
    for cell in done.cells:
        with open(done.file("cells", cell.key, "model"), "rb") as file:
            found[cell.number] = file.read()
    return found


def test_cells_have_the_test_lists_of_their_fold_whose_labels_change_no_byte_of_a_model(folder):
    (folder / "run.yaml").write_text(CONFIG)
    run("run.yaml", "one", models=True)
    one = read_run("one")
    for cell in one.cells:
        record = load_model(one.file("cells", cell.key, "model")).training.unlabelled
        if cell.row == "ridge":
            assert record is None
        else:
            assert record.lists == one.test(cell.fold).n_lists
        assert not any("unlabelled" in note for note in one.record(cell).notes)
    for fold in "ab":
        path = f"fold{fold}/test.letor"
        lists = load(path)
        rng = np.random.default_rng(3)
        save(lists.replace_labels(rng.permutation(lists.labels)), path, "svmlight")
    run("run.yaml", "other", models=True)
    other = read_run("other")
    assert models(one) == models(other)
    assert [one.record(c).values for c in one.cells] != [other.record(c).values for c in other.cells]


def test_drawn_folds_have_their_test_lists_too(folder):
    (folder / "run.yaml").write_text(DRAWN)
    run("run.yaml", "out", models=True)
    done = read_run("out")
    sizes = [load_model(done.file("cells", c.key, "model")).training.unlabelled.lists for c in done.cells]
    assert sizes == [done.test(cell.fold).n_lists for cell in done.cells]


def test_other_unlabelled_lists_are_refused(folder):
    (folder / "run.yaml").write_text(CONFIG.replace("data:\n", "data:\n  unlabelled: x.letor\n", 1))
    with pytest.raises(ConfigError, match=r"run.yaml: data.unlabelled: not used by run"):
        read_experiment("run.yaml")
