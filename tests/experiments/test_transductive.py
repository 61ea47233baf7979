"""Transductive rows of an experiment: what their cells record and what is reported of it."""

import json

import numpy as np
import pytest
from reference.nearest_lists import NearestLists

from rerank.core.errors import ConfigError
from rerank.core.records import read_json
from rerank.data.judge import corpus_value
from rerank.experiments.config import read_experiment
from rerank.experiments.folder import CellRecord, read_run
from rerank.experiments.reporting import report_files
from rerank.experiments.run import run
from rerank.learners.base import LEARNERS
from rerank.metrics.base import parse
from rerank.models.adaptation import Adaptation, ListRow, adaptation_line
from rerank.models.base import load_model

from .conftest import TWO_FOLDS, tree

CONFIG = (
    TWO_FOLDS
    + """\
train_fractions: [50, 100]
select: {metric: AP}
metrics: [AP, nDCG@3]
baseline: rankboost
learners:
  rankboost: {rounds: 3, keep: last}
  near:
    name: nearest-lists
    base: {rounds: 3}
    abstain: auto
    noise: 3
    grid: {base.thresholds: [1, all]}
  near ORACLE: {name: nearest-lists, base: {rounds: 3}, oracle: true}
"""
)


@pytest.fixture(autouse=True)
def nearest_lists(monkeypatch):
    LEARNERS.names()
    monkeypatch.setitem(LEARNERS._entries, "nearest-lists", NearestLists)


@pytest.fixture
def done(folder):
    """The folder of an experiment with transductive rows that has been run."""
    (folder / "run.yaml").write_text(CONFIG)
    run("run.yaml", "out", models=True)
    return read_run("out")


def test_cells_record_how_they_adapted(done, folder):
    records = [(cell, done.record(cell)) for cell in done.cells]
    assert len(records) == 3 * 2 * 2
    for cell, record in records:
        assert (record.adaptation is not None) == (cell.row != "rankboost")
    for cell, record in records:
        if cell.row != "near":
            continue
        model, test = load_model(done.file("cells", cell.key, "model")), done.test(cell.fold)
        found, adaptation = model.adapt(test), record.adaptation
        np.testing.assert_array_equal(found.scores, done.scores(cell))
        assert (adaptation.lists, adaptation.adapted) == (
            test.n_lists,
            sum(row.adapted for row in found.rows),
        )
        assert adaptation.tau == pytest.approx(np.mean([row.tau for row in found.rows]))
        means = np.nanmean([row.diagnostics["largest"] for row in found.rows])
        assert adaptation.diagnostics == {"largest": pytest.approx(means)}
        judge = parse("AP").prepare(test)
        own, before = (judge.per_list(test.from_input_order(s)) for s in (found.scores, found.unadapted))
        change = adaptation.changes["AP"]
        gains = [
            corpus_value(judge, own[[i]]) - corpus_value(judge, before[[i]]) for i in range(test.n_lists)
        ]
        assert change.unadapted == pytest.approx(corpus_value(judge, before))
        assert (change.improved, change.harmed) == (
            sum(gain > 1e-9 for gain in gains),
            sum(gain < -1e-9 for gain in gains),
        )
        assert record.choice.settings.keys() == {"base.thresholds"}


def test_nothing_depends_on_when_it_was_run(done, folder):
    run("run.yaml", "again", models=True)
    assert tree(folder / "again") == tree(folder / "out")


def test_the_report_writes_how_rows_adapted(done, folder):
    report_files(["out"], out="report.txt", adaptation="adaptation.tsv", samples=20)
    assert "near ORACLE" in (folder / "report.txt").read_text()
    heads, *rows = [line.split("\t") for line in (folder / "adaptation.tsv").read_text().splitlines()]
    assert heads == ["set", "row", "fold", "seed", "share", "diagnostic", "value"]
    assert {row[1] for row in rows} == {"near", "near ORACLE"}
    assert len(rows) == 2 * 2 * 2 * 10
    cell = next(cell for cell in done.cells if cell.row == "near")
    own = {
        row[5]: row[6] for row in rows if row[1:5] == [cell.row, cell.fold, str(cell.seed), str(cell.share)]
    }
    facts = dict(done.record(cell).adaptation.facts())
    assert own == {name: repr(value) for name, value in facts.items()}
    assert {
        "lists",
        "adapted",
        "tau",
        "largest",
        "improved AP",
        "harmed AP",
        "unadapted nDCG@3",
    } <= own.keys()


def test_a_diagnostic_that_no_list_has_is_recorded_as_missing(folder):
    (folder / "run.yaml").write_text(CONFIG.replace("noise: 3", "does: unknown"))
    assert not run("run.yaml", "out").failed
    done = read_run("out")
    near = [done.record(cell).adaptation for cell in done.cells if cell.row == "near"]
    assert near
    assert all(np.isnan(one.diagnostics["largest"]) for one in near)
    report_files(["out"], out="report.txt", adaptation="adaptation.tsv", samples=20)
    assert "largest\tnan" in (folder / "adaptation.tsv").read_text()


def test_a_report_without_transductive_rows_has_no_adaptation(folder):
    (folder / "run.yaml").write_text(CONFIG.split("  near:")[0])
    run("run.yaml", "out")
    with pytest.raises(ConfigError, match="--adaptation: no row has a transductive learner"):
        report_files(["out"], out="report.txt", adaptation="adaptation.tsv")
    assert not (folder / "report.txt").exists()


def test_a_record_of_an_earlier_version_is_read(done):
    cell = next(cell for cell in done.cells if cell.row == "rankboost")
    text = json.dumps(done.record(cell).as_json())
    assert "adaptation" not in text
    assert CellRecord.from_json(read_json(text.encode())).adaptation is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("near ORACLE:", "oracle row:"), "expected ORACLE in the name of the row"),
        (("  dev: fold{fold}/dev.letor\n", ""), "abstain: auto needs development lists"),
        (("base.thresholds: [1, all]", "oracle: [true, false]"), "use the labels of test lists"),
        (("base.thresholds: [1, all]", "base.treshold: [1, 2]"), "did you mean 'base.threshold"),
        (("base: {rounds: 3}", "base: {round: 3}"), "unknown setting 'round'; did you mean 'rounds'"),
    ],
)
def test_wrong_rows_are_refused_before_anything_is_trained(change, message, folder):
    (folder / "run.yaml").write_text(CONFIG.replace(*change))
    with pytest.raises(ConfigError, match=message):
        read_experiment("run.yaml")


def test_tables_and_lines_of_lists():
    rows = [
        ListRow("a\tb", 3, True, "", 0.5, 0.1234567, {"x": np.float64(2.0)}),
        ListRow("c", 1, False, "one item", 1.0, 0.0, {"x": np.nan, "y": 1}),
    ]
    assert list(Adaptation(np.zeros(4), np.zeros(4), tuple(rows)).tsv()) == [
        "list\titems\tadapted\treason\ttau\tx\ty\tseconds",
        "a\\tb\t3\tyes\t\t0.5\t2.0\tnan\t0.123457",
        "c\t1\tno\tone item\t1.0\tnan\t1.0\t0.0",
    ]
    expected = "adapted to 1 of 2 lists (1: one item); mean tau with the unadapted rankings 0.7500"
    scores = np.zeros(4)
    assert adaptation_line(Adaptation(scores, scores, tuple(rows))) == expected
    assert adaptation_line(Adaptation(scores, scores, tuple(rows), {"edges": 3})) == f"{expected}; edges 3"
