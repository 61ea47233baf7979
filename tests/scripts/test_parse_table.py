"""The experiment on parses, on small lists: cells are run once, and tables hold what they say."""

from __future__ import annotations

import json
import sys

import numpy as np
import parse_table
import pytest
from parse_lists import report, steadiness
from small_parses import parse_lists

import rerank
from rerank.data.folds import folds
from rerank.data.joining import joined


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An output folder whose stores are there already."""
    monkeypatch.setenv("RERANK_DATA", str(tmp_path / "none"))
    for features in ("our", "bllip"):
        (tmp_path / "out" / "stores" / features).mkdir(parents=True)
        for seed, part in enumerate(("train", "dev", "test")):
            lists = parse_lists(10 * (features == "our") + seed)
            rerank.save(lists, str(tmp_path / "out" / "stores" / features / f"{part}.store"))
    return tmp_path / "out"


def run(monkeypatch, folder, *arguments):
    monkeypatch.setattr(sys, "argv", ["parse_table.py", "--out", str(folder), *arguments])
    parse_table.main()


def rows(path):
    columns, *lines = [line.split("\t") for line in path.read_text().splitlines()]
    return [dict(zip(columns, line, strict=True)) for line in lines]


def test_models_are_judged_on_the_test_lists(folder, monkeypatch, capsys):
    run(monkeypatch, folder, "--features", "our", "--learners", "cd02", "top-label")
    cell = json.loads((folder / "cells" / "our" / "top-label" / "test.json").read_text())
    test = rerank.load(folder / "stores" / "our" / "test.store")
    scores = report.one_hot(np.array(cell["chosen"]), test)
    values = {row["system"]: row for row in rows(folder / "values-test.tsv")}
    assert list(values) == ["cd02", "top-label", "first-best", "oracle"]
    assert values["top-label"]["F"] == f"{rerank.evaluate(test, scores, ['PARSEVAL'])['PARSEVAL']:.2f}"
    first = rerank.evaluate(test, test.first_best, ["PARSEVAL"])["PARSEVAL"]
    assert values["first-best"]["F"] == f"{first:.2f}"
    assert float(values["oracle"]["F"]) >= float(values["top-label"]["F"])
    assert int(values["top-label"]["features_used"]) > 0
    pairs = rows(folder / "pairs-test.tsv")
    assert [(row["a"], row["b"]) for row in pairs] == [
        ("cd02", "top-label"),
        ("cd02", "first-best"),
        ("top-label", "first-best"),
    ]
    printed = capsys.readouterr().out
    run(monkeypatch, folder, "--features", "our", "--learners", "cd02", "top-label")
    assert capsys.readouterr().out == printed  # from the cells that are there, times included


def test_folds_judge_every_sentence_once(folder, monkeypatch):
    run(monkeypatch, folder, "--features", "bllip", "--learners", "top-even", "--cv", "3")
    whole = joined(
        [rerank.load(folder / "stores" / "bllip" / f"{part}.store") for part in ("train", "dev", "test")]
    )
    chosen = np.full(whole.n_lists, -1)
    for k, fold in enumerate(folds(whole.n_lists, 3, 1), 1):
        cell = json.loads((folder / "cells" / "bllip" / "top-even" / f"{k}-3.json").read_text())
        chosen[fold.test] = cell["chosen"]
    assert chosen.min() >= 0
    value = rerank.evaluate(whole, report.one_hot(chosen, whole), ["PARSEVAL"])["PARSEVAL"]
    values = {row["system"]: row for row in rows(folder / "values-cv3.tsv")}
    assert values["top-even"]["F"] == f"{value:.2f}"
    assert values["top-even"]["lists"] == "60"


def test_a_cell_that_fails_is_reported_and_left_out(folder, monkeypatch, capsys):
    (folder / "stores" / "our" / "train.store" / "meta.json").write_text("{}")
    run(monkeypatch, folder, "--features", "our", "--learners", "cd02")
    assert "test.json: " in capsys.readouterr().err
    assert [row["system"] for row in rows(folder / "values-test.tsv")] == ["first-best", "oracle"]


def test_claims_are_tested_on_the_learners_that_were_run(folder, monkeypatch):
    run(monkeypatch, folder, "--features", "our", "--learners", "cd02", "ordinal-even", "ordinal-uneven")
    found = rows(folder / "claims-test.tsv")
    assert [(row["better"], row["worse"]) for row in found] == [
        ("ordinal-uneven", "ordinal-even"),
        ("ordinal-even", "cd02"),
        ("ordinal-uneven", "cd02"),
    ]
    assert {row["verdict"] for row in found} <= {"holds", "false", "undecided"}


def test_steadiness_is_the_deviation_of_late_rounds(folder, monkeypatch, capsys, tmp_path):
    given = [str(folder / "stores" / "our"), str(tmp_path / "curves.tsv"), "--rounds", "4", "--seeds", "2"]
    monkeypatch.setattr(sys, "argv", ["steadiness.py", *given])
    steadiness.main()
    found = rows(tmp_path / "curves.tsv")
    assert len(found) == 2 * 2 * 2 * 4
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 4
    some = [row for row in found if (row["algorithm"], row["average"]) == ("1", "last")]
    late = [[float(row["F"]) for row in some if row["seed"] == seed][2:] for seed in ("1", "2")]
    deviation = np.mean([np.std(row) for row in late])
    assert f"deviation over rounds {deviation:.3f}" in printed[0]
