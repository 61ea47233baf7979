"""Experiments on hardly any data, and with names that are hard to write."""

import csv
import json
import math

import pytest

from rerank.core.errors import DataNote
from rerank.experiments.folder import read_run
from rerank.experiments.overview import Overview
from rerank.experiments.run import run

pytestmark = pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
NAMES = ["a\tb", "ü <b>&\"'", "x" * 300, "\\alpha_{1}%", "../up", " "]


def write(path, *lists):
    """Lists of labels, with their place and its square as features."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(
            f"{label} qid:{i} 1:{k} 2:{k * k}\n"
            for i, labels in enumerate(lists)
            for k, label in enumerate(labels)
        )
    )


def experiment(folder, **keys):
    """Write run.yaml with these keys beside those that every experiment has."""
    data = {"train": "{fold}/train.letor", "test": "{fold}/test.letor"}
    (folder / "run.yaml").write_text(json.dumps({"data": data, "folds": ["one"], "metrics": ["AP"], **keys}))


def test_names_that_are_hard_to_write_are_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folds = ["a/b", "c d", "é"]
    for fold in folds:
        write(tmp_path / fold / "train.letor", [0, 1, 2], [1, 0])
        write(tmp_path / fold / "test.letor", [2, 1, folds.index(fold)], [0, 1])
    rows = {name: {"name": "ridge", "penalty": k + 1.5} for k, name in enumerate(NAMES)}
    experiment(tmp_path, folds=folds, learners=rows, baseline=NAMES[1])
    found = run("run.yaml", "out")
    assert len(found.trained) == len(NAMES) * len(folds)
    results = read_run("out")
    assert results.config.rows == tuple(NAMES)
    assert results.config.baseline == NAMES[1]
    listed = list(
        csv.DictReader(Overview("run.yaml", "out").listed(), delimiter="\t", quoting=csv.QUOTE_NONE)
    )
    assert len(listed) == len(results.cells)
    assert [row["row"] for row in listed[::3]] == [
        name.replace("\\", "\\\\").replace("\t", "\\t") for name in NAMES
    ]


@pytest.mark.parametrize(
    ("test", "value"), [([[0, 1, 2]], (1 / 2 + 2 / 3) / 2), ([[1, 1], [2, 2]], 1.0), ([[0, 0]], 0.0)]
)
def test_test_lists_of_one_list_without_differences_or_judgements(test, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "one" / "train.letor", [2, 1, 0], [1, 0])
    write(tmp_path / "one" / "test.letor", *test)
    experiment(tmp_path, learners={"ridge": None})
    found = run("run.yaml", "out")
    record = found.folder.record(found.trained[0])
    assert record.values["AP"].value == pytest.approx(value)
    assert len(record.values["AP"].per_list) == len(test)


def test_training_lists_that_a_learner_cannot_learn_from_fail_one_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "one" / "train.letor", [1, 1], [1, 1])
    write(tmp_path / "one" / "test.letor", [1, 0])
    experiment(tmp_path, learners={"perceptron": None, "rrf": None})
    found = run("run.yaml", "out")
    assert [cell.row for cell in found.trained] == ["rrf"]
    assert "train: " in found.failed[0][1]


def test_shares_without_a_list_fail_and_the_others_do_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "one" / "train.letor", [0, 1], [1, 0], [0, 2])
    write(tmp_path / "one" / "test.letor", [1, 0])
    experiment(tmp_path, learners={"ridge": None}, train_fractions=[10, 50, 100])
    found = run("run.yaml", "out")
    assert [cell.share for cell in found.trained] == [50, 100]
    assert "a fraction of 0.1 of 3 lists contains no list" in found.failed[0][1]


def test_values_that_do_not_exist_are_null(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for part in ("train", "test"):
        rows = "".join(
            f"q{i},{'' if part == 'test' and i == 0 else k % 2},{k}\n" for i in range(2) for k in range(3)
        )
        (tmp_path / "one").mkdir(exist_ok=True)
        (tmp_path / "one" / f"{part}.csv").write_text("list,label,x\n" + rows)
    data = {"train": "{fold}/train.csv", "test": "{fold}/test.csv"}
    experiment(tmp_path, data=data, learners={"ridge": None})
    found = run("run.yaml", "out")
    record = found.folder.record(found.trained[0])
    first, second = record.values["AP"].per_list
    assert math.isnan(first)
    assert record.values["AP"].value == second
    text = (tmp_path / "out" / "cells" / record.key / "record.json").read_text()
    assert "null" in text
    assert "NaN" not in text


def test_folds_of_copies_alone_are_too_few(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "all.letor", *[[0, 1, 2]] * 6)
    experiment(tmp_path, data={"train": "all.letor"}, folds=2, fold_dev="none", learners={"ridge": None})
    with pytest.raises(Exception, match="2 folds of 1 keys: too few"):
        run("run.yaml", "out")


def test_notes_of_reading_are_reported_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "one" / "train.letor", [0, 1], [1, 0])
    write(tmp_path / "one" / "test.letor", [1, 0])
    text = (tmp_path / "one" / "train.letor").read_text().splitlines(keepends=True)
    (tmp_path / "one" / "train.letor").write_text("".join([text[0], text[2], text[1], text[3]]))
    experiment(tmp_path, learners={"ridge": None, "rrf": None})
    with pytest.warns(DataNote) as caught:
        run("run.yaml", "out")
    assert [str(one.message) for one in caught if "contiguous" in str(one.message)]
    assert len(caught) == len({str(one.message) for one in caught})
