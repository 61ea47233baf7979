"""A selection step cannot read the test lists, and results know what they were made from."""

import sys

import numpy as np
import pytest

from rerank import load, save
from rerank.core.errors import DataNote
from rerank.data.joining import joined
from rerank.data.reading import DataSection
from rerank.experiments import work as working
from rerank.experiments.config import ExperimentData
from rerank.experiments.planning import planned
from rerank.experiments.run import _make_stores, prepare_folder, run

from .conftest import SHORT, lists_of

DRAWN = """\
data: {train: all.letor}
folds: 4
select: {metric: AP}
metrics: [AP, nDCG]
learners: {ridge: {grid: {penalty: [1, 10]}}, perceptron: {epochs: 2}}
"""
_opened: list[str] = []
_listening = False


def _listen(event, arguments):
    if _listening and event == "open":
        _opened.append(str(arguments[0]))


sys.addaudithook(_listen)  # which cannot be removed


@pytest.fixture
def opened():
    """The paths of all files and folders that this process opens."""
    global _listening  # noqa: PLW0603
    _opened.clear()
    _listening = True
    yield _opened
    _listening = False


def ready(config):
    """The plan and the folder of an experiment whose parts are stored."""
    plan, folder = planned(config, "out")
    prepare_folder(plan, folder)
    _make_stores(plan, folder, folder.cells)
    return plan, folder


@pytest.mark.parametrize("drawn", [False, True])
def test_test_lists_are_opened_only_when_the_model_is_complete(drawn, folder, monkeypatch, opened):
    if drawn:
        save(lists_of(3, 20), "all.letor", "svmlight")
        (folder / "run.yaml").write_text(DRAWN)
    plan, results = ready("run.yaml")
    train = working.train

    def and_mark(*arguments):
        trained = train(*arguments)
        opened.append("the model is complete")
        return trained

    monkeypatch.setattr(working, "train", and_mark)
    for cell in results.cells:
        opened.clear()
        assert working.do(plan.work(results, cell)).status == "trained"
        name = results.config.tests[cell.fold]
        complete = opened.index("the model is complete")
        assert any(plan.parts.folds[cell.fold].train[0].name in path for path in opened[:complete])
        assert not any(name in path or path.endswith(".letor") for path in opened[:complete])
        assert any(name in path for path in opened[complete:])


def test_what_is_trained_has_no_place_for_test_lists():
    assert {"test", "test_refs", "test_ids"} == set(ExperimentData.settings) - set(DataSection.settings)
    assert not isinstance(ExperimentData(test="t", train="a").training("1"), ExperimentData)


def test_parts_of_drawn_folds_share_no_list_and_no_copy_of_one(folder):
    lists = lists_of(3, 16)
    copies = lists.subset(np.arange(0, 16, 3)).regrouped(
        [f"copy {i}" for i in lists.subset(np.arange(0, 16, 3)).list_index]
    )
    save(joined([lists, copies]), "all.store")
    (folder / "run.yaml").write_text(DRAWN.replace("all.letor", "all.store"))
    plan, results = ready("run.yaml")
    whole = load("all.store")
    seen = []
    for cell in results.cells:
        parts = plan.parts.folds[cell.fold]
        stored = [*parts.train, parts.dev, parts.test]
        found = [load(results.file("data", one.name)) for one in stored]
        assert sorted(name for part in found for name in part.list_ids) == sorted(whole.list_ids)
        values = [
            {
                part.features.to_dense()[a:b].tobytes()
                for a, b in zip(part.offsets, part.offsets[1:], strict=False)
            }
            for part in found
        ]
        assert sum(map(len, values)) == len(set().union(*values)) == 16
        seen += found[-1].list_ids if cell.row == "ridge" else []
    assert sorted(seen) == sorted(whole.list_ids)


def test_lists_that_are_in_two_parts_are_reported(folder):
    train, test = load("folda/train.letor"), load("folda/test.letor")
    some = train.subset(np.arange(2)).regrouped([f"again-{i}" for i in train.subset(np.arange(2)).list_index])
    save(joined([test, some]), "folda/test.letor", "svmlight")
    expected = r"^test: 20% of the lists have the features of training lists \(5 cells\)$"
    with pytest.warns(DataNote, match=expected):
        found = run("run.yaml", "out")
    notes = [found.folder.record(cell).notes for cell in found.folder.cells]
    assert [cell.fold for cell, own in zip(found.folder.cells, notes, strict=True) if own] == ["a"] * 5


def test_a_single_list_of_another_part_is_reported(folder):
    (folder / "run.yaml").write_text(SHORT)
    parts = {name: load(f"folda/{name}.letor") for name in ("train", "dev", "test")}
    others = [lists_of(100 + k) for k in range(3)]
    for known, part in (("train", "test"), ("dev", "test"), ("train", "dev")):
        save(joined([parts[part], *others, parts[known].subset([0])]), f"folda/{part}.letor", "svmlight")
        expected = f"{part}: 1 list with the id and the features of one of the "
        expected += "training lists" if known == "train" else "development lists"
        with pytest.warns(DataNote, match=expected):
            run("run.yaml", "out")
        save(parts[part], f"folda/{part}.letor", "svmlight")


def test_a_share_is_part_of_a_larger_one_and_folds_are_chosen_on_what_it_has(folder):
    text = (folder / "run.yaml").read_text() + "train_fractions: [50, 75, 100]\n"
    (folder / "run.yaml").write_text(text)
    plan, results = ready("run.yaml")
    trained = {}
    for cell in results.cells:
        if cell.fold == "a" and cell.row == "ridge":
            task = plan.work(results, cell)
            lists = working.train(task.config, task.share).lists
            trained[cell.share, cell.seed] = set(lists.list_ids)
    assert [(share, seed) for share, seed in trained] == [(50, 1), (50, 2), (75, 1), (75, 2), (100, None)]
    assert [len(ids) for ids in trained.values()] == [4, 4, 6, 6, 8]
    assert trained[50, 1] < trained[75, 1] < trained[100, None]
    assert trained[50, 1] != trained[50, 2]
