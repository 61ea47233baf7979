"""The table of learners on folds, on small lists: choices on dev, values on test, cells that are run once."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import ohsumed_table
import pytest
from conftest import ROOT
from ranked_lists.cells import run_learner
from ranked_lists.experiment import read_experiment, train_config
from ranked_lists.published import published
from small_ranking import EXPERIMENT, ranking_lists, write_folds

import rerank
from rerank.data.joining import joined
from rerank.evaluation.compare import compare_all
from rerank.learners.base import LEARNERS

CONFIG = ROOT / "configs" / "ohsumed.yaml"


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A folder with folds and the configuration of an experiment on them."""
    monkeypatch.setenv("SMALL", str(tmp_path))
    write_folds(tmp_path)
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT)
    return tmp_path


def run(small, *arguments):
    given = ["--config", str(small / "experiment.yaml"), "--out", str(small / "out"), *arguments]
    ohsumed_table.main(given)


def rows(path):
    columns, *lines = [line.split("\t") for line in path.read_text().splitlines()]
    return [dict(zip(columns, line, strict=True)) for line in lines]


def parts(small, fold):
    return [rerank.load(small / f"Fold{fold}" / f"{part}.txt") for part in ("train", "vali", "test")]


def test_choices_are_made_on_dev_and_judged_on_test(small, capsys):
    run(small)
    tests, scores, expected = [], {"sensitive": [], "random": []}, []
    for fold in (1, 2):
        train, dev, test = parts(small, fold)
        grid = {"tau": [0, 1], "scaling": ["none", "zscore"]}
        plan = {"dev": dev, "metric": "nDCG-exp@10", "choose": "dev", "grid": grid}
        model = rerank.train(train, "perceptron", rounds=3, seed=1, **plan)
        tests.append(test)
        scores["sensitive"].append(model.score(test))
        scores["random"].append(rerank.train(train, "random", seed=1).score(test))
        expected.append(rerank.evaluate(test, scores["sensitive"][-1], ["AP"])["AP"])
    found = {(row["row"], row["metric"]): row for row in rows(small / "out" / "values.tsv")}
    row = found["sensitive", "AP"]
    assert [row["fold1"], row["fold2"]] == [f"{value:.4f}" for value in expected]
    assert row["mean"] == f"{np.mean(expected):.4f}"
    systems = {name: np.concatenate(of_folds) for name, of_folds in scores.items()}
    pair = compare_all(joined(tests), systems, ["AP"], samples=2000).pairs["AP"][0]
    assert row["difference"] == f"{pair.difference:+.4f}"
    assert row["holm"] == f"{pair.p_bootstrap:.4f}"  # the only comparison with the baseline
    assert found["random", "AP"]["difference"] == ""
    choices = rows(small / "out" / "choices.tsv")
    assert [row["row"] for row in choices] == ["random", "random", "sensitive", "sensitive"]
    assert set(json.loads(choices[2]["settings"])) == {"tau", "scaling"}
    assert "random" in capsys.readouterr().out


def test_cells_are_run_once_unless_settings_or_files_change(small, capsys):
    run(small, "--learners", "random", "--folds", "1")
    first = capsys.readouterr().out
    cell = next((small / "out" / "cells" / "random").glob("1-*.json"))
    record = json.loads(cell.read_text())
    cell.write_text(json.dumps(record | {"seconds": 7.0}))
    run(small, "--learners", "random", "--folds", "1")
    again = capsys.readouterr().out
    assert "7.00" in again
    assert again.splitlines()[:2] == first.splitlines()[:2]
    vali = small / "Fold1" / "vali.txt"
    vali.write_text(vali.read_text() + "0 qid:last 1:0 2:0 3:0\n")
    run(small, "--learners", "random", "--folds", "1")
    assert "7.00" not in capsys.readouterr().out


def test_a_row_that_fails_is_reported_and_left_out(small, capsys):
    config = small / "experiment.yaml"
    config.write_text(EXPERIMENT + "  mert:\n")
    run(small, "--learners", "random", "mert", "--folds", "1")
    printed = capsys.readouterr()
    assert "mert needs a metric of single candidates" in printed.err
    assert "mert: 1 of 1 cells are missing, left out" in printed.err
    assert {row["row"] for row in rows(small / "out" / "values.tsv")} == {"random"}


def test_the_spread_is_the_range_of_all_choices_on_test(small, capsys):
    run(small, "--learners", "random", "--folds", "1", "--spread", "sensitive")
    last = capsys.readouterr().out.splitlines()[-1]
    train, dev, test = parts(small, 1)
    values = []
    for tau in (0, 1):
        for scaling in ("none", "zscore"):
            model = rerank.train(
                train, dev=dev, metric="nDCG-exp@10", scaling=scaling, tau=tau, rounds=3, keep="best", seed=1
            )
            values.append(rerank.evaluate(test, model.score(test), ["AP"])["AP"])
    assert last == f"sensitive over 4 choices: AP {min(values):.4f} to {max(values):.4f}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("rounds: 3", "round: 3"), "unknown setting 'round'"),
        (("${SMALL}", "${NOWHERE}"), "an environment variable is not set"),
        (("baseline: random", "baseline: mira"), "baseline: 'mira' is none of the learners"),
        (("select: {metric: nDCG-exp@10}", "select: {}"), "select.metric: not given"),
        (("  test:", "  tests:"), "data.test: not given"),
        (("name: perceptron", "name: perceptro"), "perceptro"),
        (("metrics: [nDCG-exp@10, AP]", "metric: [AP]"), "unknown setting 'metric'"),
    ],
)
def test_a_wrong_configuration_is_refused_in_a_line(small, capsys, change, message):
    config = small / "experiment.yaml"
    config.write_text(EXPERIMENT.replace(*change))
    with pytest.raises(SystemExit):
        run(small)
    error = capsys.readouterr().err.splitlines()[-1]
    assert message in error


def test_an_unknown_row_is_refused(small, capsys):
    with pytest.raises(SystemExit):
        run(small, "--learners", "nobody")
    assert "learners: no 'nobody'; known: random, sensitive" in capsys.readouterr().err


def test_seconds_are_of_a_fit_with_the_chosen_settings():
    lists = tuple(ranking_lists(seed, first=100 * seed) for seed in range(3))
    learner = {"name": "perceptron", "keep": "best"}
    config = {"learner": learner, "select": {"metric": "AP", "choose": "dev"}, "grid": {"tau": [0, 1, 2]}}
    found = run_learner(train_config(config), lists)
    assert 0 <= found["seconds"] <= found["with_choosing"]
    assert found["settings"]["tau"] in (0, 1, 2)
    assert len(found["scores"]) == lists[2].n_items


def test_every_learner_of_the_configuration_can_be_made(monkeypatch):
    monkeypatch.setenv("RERANK_DATA", "/data")
    experiment = read_experiment(CONFIG)
    configs = [train_config(experiment.config(row)) for row in experiment.learners]
    assert {config.learner["name"] for config in configs} == set(LEARNERS.names())


def sheet(name, *tables):
    cell = '<table:table-cell table:number-columns-repeated="{}"><text:p>{}</text:p></table:table-cell>'
    lines = [
        f"<table:table-row>{''.join(cell.format(1, value) for value in line)}{cell.format(900, '')}"
        "</table:table-row>"
        for line in tables
    ]
    return f'<table:table table:name="{name}">{"".join(lines)}</table:table>'


def test_published_results_are_those_of_the_test_lists(tmp_path):
    trials = [[str(k), f"0,{k}5", "0.5"] for k in range(1, 6)]
    worse = [[str(k), "0,01", "0,02"] for k in range(1, 6)]
    head = ["Trials", "NDCG@1", "MAP"]
    own = sheet(
        "RankX", ["Performance on the test set"], head, *trials, ["Average", "0,3", "0,5"], head, *worse
    )
    names = "urn:oasis:names:tc:opendocument:xmlns:"
    content = (
        f'<a xmlns:table="{names}table:1.0" xmlns:text="{names}text:1.0">{sheet("Average", head)}{own}</a>'
    )
    with zipfile.ZipFile(tmp_path / "p.ods", "w") as archive:
        archive.writestr("content.xml", content)
    found = published(tmp_path / "p.ods")
    assert found == {"RankX": {"nDCG-letor@1": [0.15, 0.25, 0.35, 0.45, 0.55], "AP": [0.5] * 5}}
