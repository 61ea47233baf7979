"""Experiments: what is run, what is not run again, and what is found in the folder."""

import numpy as np
import pytest

from rerank import RerankError, evaluate, load, load_model
from rerank.experiments import parts
from rerank.experiments.folder import read_run
from rerank.experiments.run import run
from rerank.training.config import read_config
from rerank.training.train import train_files

from .conftest import CONFIG, SHORT, tree


def test_a_cell_has_the_scores_and_metrics_of_the_model_that_train_gives(folder):
    found = run("run.yaml", "out")
    assert not found.failed
    results = read_run("out")
    assert len(results.cells) == len(found.trained) == 2 * (2 + 1 + 2)
    cell = next(cell for cell in results.cells if (cell.row, cell.fold, cell.seed) == ("perceptron", "b", 2))
    data = {"data.train": "foldb/train.letor", "data.dev": "foldb/dev.letor"}
    select = {"select.metric": "AP", "select.keep": "best"}
    base = {**data, **select, "learner": {"name": "perceptron", "epochs": 3}, "seed": 2}
    model = train_files(read_config(None, base=base)).model
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


def test_a_metric_that_cannot_judge_is_refused_before_training_although_the_lists_are_stored(folder):
    run("run.yaml", "out")
    cells = folder / "out" / "cells"
    before = sorted(cells.iterdir())
    (folder / "run.yaml").write_text(CONFIG.replace("nDCG@3", "BLEU").replace("epochs: 3", "epochs: 4"))
    with pytest.raises(
        RerankError, match=r"run.yaml: test lists of fold a: BLEU needs the candidates' texts"
    ):
        run("run.yaml", "out")
    assert sorted(cells.iterdir()) == before


def test_the_number_of_jobs_changes_no_byte(folder, processes):
    (folder / "run.yaml").write_text((folder / "run.yaml").read_text().replace("seeds: 2\n", ""))
    run("run.yaml", "one", jobs=1)
    run("run.yaml", "two", jobs=2)
    assert tree(folder / "one") == tree(folder / "two")


def test_files_that_change_while_they_are_read_are_not_stored_under_the_old_digest(folder, monkeypatch):
    real = parts.load_part

    def load_and_change(data, part):
        lists = real(data, part)
        with open("folda/train.letor", "a") as file:
            file.write("1 qid:new 1:1 2:2 3:3\n")
        return lists

    (folder / "run.yaml").write_text(SHORT)
    monkeypatch.setattr(parts, "load_part", load_and_change)
    with pytest.raises(RerankError, match=r"folda/train.letor: changed while it was read"):
        run("run.yaml", "out")
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    first = run("run.yaml", "out")
    record = first.folder.record(first.folder.cells[0])
    assert (record.train.lists, record.train.fingerprint) == (9, load("folda/train.letor").fingerprint())


def test_changed_bytes_settings_or_names_change_what_is_trained(folder):
    run("run.yaml", "out")
    with open("folda/test.letor", "a") as file:
        file.write("1 qid:new 1:1 2:2 3:3\n")
    assert {cell.fold for cell in run("run.yaml", "out").trained} == {"a"}
    (folder / "run.yaml").write_text(CONFIG.replace("epochs: 3", "epochs: 4"))
    assert {cell.row for cell in run("run.yaml", "out").trained} == {"perceptron"}
    renamed = CONFIG.replace("epochs: 3", "epochs: 4").replace("  perceptron: {", "  p: {name: perceptron, ")
    (folder / "run.yaml").write_text(renamed)
    found = run("run.yaml", "out")
    assert (found.trained, len(found.there)) == ([], 10)
    assert {cell.row for cell in found.folder.cells} == {"random", "ridge", "p"}


def test_models_are_kept_if_asked_for(folder):
    assert not list(folder.glob("out/cells/*/model"))
    run("run.yaml", "out", task=5)
    found = run("run.yaml", "out", task=5, models=True)
    cell = found.trained[0]
    model = load_model(found.folder.file("cells", cell.key, "model"))
    np.testing.assert_array_equal(model.score(load("folda/test.letor")), found.folder.scores(cell))
    assert run("run.yaml", "out", task=5, models=True).there == [cell]


def test_the_format_that_a_name_tells_is_part_of_the_key(folder):
    run("run.yaml", "out", task=3)
    for path in folder.glob("fold?/*.letor"):
        path.rename(path.with_suffix(".txt"))
    (folder / "run.yaml").write_text(CONFIG.replace(".letor", ".txt"))
    assert run("run.yaml", "out", task=3).there
    (folder / "run.yaml").write_text(CONFIG.replace(".letor", ".csv"))
    for path in folder.glob("fold?/*.txt"):
        path.rename(path.with_suffix(".csv"))
    with pytest.raises(RerankError, match=r"folda/train.csv"):
        run("run.yaml", "out", task=3)
