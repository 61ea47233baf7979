"""The table of learners by scalings, on the small sets of data/."""

from __future__ import annotations

import numpy as np
import pytest
import scaling_table
from conftest import ROOT

import rerank

FILES = [str(ROOT / "data" / "spelling-tiny" / f"{part}.letor") for part in ("train", "dev", "test")]


def test_cells_are_means_over_seeds_of_what_train_and_evaluate_give(capsys):
    options = "--metric RR --seeds 2 --learners perceptron mira --scalings none zscore"
    scaling_table.main(["--files", *FILES, *options.split()])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == f"{FILES[0]}: RR, dense float64, 2 seeds"
    assert lines[3].split() == ["none", "zscore"]
    train, dev, test = map(rerank.load, FILES)
    found = []
    for seed in (1, 2):
        model = rerank.train(train, "perceptron", dev, "RR", "zscore", keep="best", seed=seed)
        found.append(rerank.evaluate(test, model.score(test), ["RR"])["RR"])
    cells = lines[4].split()
    assert cells[0] == "perceptron"
    assert cells[-2:] == [f"{np.mean(found):.4f}", f"±{np.std(found, ddof=1):.4f}"]
    assert lines[5].split() == ["mira", "-", "-"], "RR is no metric of single candidates"


def test_without_dev_lists_a_fifth_of_the_training_lists_is_kept():
    train, dev, test = scaling_table.with_dev([rerank.load(path) for path in (FILES[0], FILES[2])])
    assert (train.n_lists, dev.n_lists, test.n_lists) == (32, 8, 12)


@pytest.mark.parametrize("asked", [["--files", *FILES], ["--files", FILES[0], "--metric", "RR"]])
def test_files_need_a_metric_and_a_test_set(asked, capsys):
    with pytest.raises(SystemExit):
        scaling_table.main(asked)
    assert "--files takes TRAIN TEST or TRAIN DEV TEST, with --metric" in capsys.readouterr().err
