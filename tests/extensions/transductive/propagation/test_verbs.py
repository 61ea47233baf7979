"""Ranker propagation on the command line: train, predict with its report, show, run, report."""

import json

import numpy as np
import pytest

from rerank import CandidateLists, save
from rerank.data.judge import corpus_value
from rerank.experiments.folder import read_run
from rerank.experiments.run import run
from rerank.formats import load
from rerank.metrics.base import parse
from rerank.models.base import load_model

CONFIG = """\
data: {train: train.jsonl, test: test.jsonl}
select: {metric: nDCG@3}
metrics: [nDCG@3, AP]
baseline: ranksvm
learners:
  ranksvm: {}
  graph: {name: propagate, neighbours: 3}
  nearest: {name: propagate, neighbours: 3, form: inductive}
  by C: {name: propagate, neighbours: 3, base: {name: ranksvm, C: 1.0}}
  random: {name: propagate, control: random}
  oracle ORACLE: {name: propagate, control: oracle}
"""


def write_lists(path, seed, n_lists=7):
    """Graded lists with ids of lists and items; the first has one item."""
    rng = np.random.default_rng(seed)
    sizes = [1, *rng.integers(3, 9, n_lists - 1)]
    n = sum(sizes)
    X = np.round(rng.normal(0, 2, (n, 4)), 3)
    y = np.clip(np.round(X[:, 1] - 0.5 * X[:, 3] + rng.normal(0, 1, n)), 0, 2)
    names, ids = ["a", "b", "c", "d"], [f"{seed}-{i}" for i in range(n)]
    save(CandidateLists.from_arrays(X, y, group=sizes, feature_names=names, item_ids=ids), str(path))


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder to work in, with train.jsonl, test.jsonl and more.jsonl."""
    for seed, name in enumerate(("train", "test", "more")):
        write_lists(tmp_path / f"{name}.jsonl", seed)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def train(rerank, work):
    def train(out, *settings, code=0):
        given = [part for text in settings for part in ("--set", text)]
        data = ("--learner", "propagate", "--data", "train.jsonl", "--out", out)
        return rerank("train", *data, *given, code=code)

    return train


def test_predict_reports_each_list_and_the_whole(rerank, train, work):
    printed = train("model", "neighbours=2")
    assert "rankers of 6 of 7 lists (1: one item)" in printed.err
    seen = []
    for jobs in (1, 2):
        report = work / f"report.{jobs}"
        found = rerank("predict", "model", "test.jsonl", "--transductive-report", report, "--jobs", jobs)
        heads, *rows = [line.split("\t") for line in report.read_text().splitlines()]
        seen.append((found.out, found.err, heads, [row[:-1] for row in rows]))
    assert seen[0] == seen[1]
    names = ["degree", "labelled_share", "nearest", "norm", "smoothness_part"]
    assert heads == ["list", "items", "adapted", "reason", "tau", *names, "seconds"]
    assert rows[0][2:4] == ["no", "not reached: mean ranker"]
    lists, model = load(str(work / "test.jsonl")), load_model("model")
    expected = model.adapt(lists)
    assert found.out == "".join(f"{score!r}\n" for score in expected.scores.tolist())
    (line,) = [line for line in found.err.splitlines() if "adapted to" in line]
    assert "adapted to 6 of 7 lists (1: not reached: mean ranker)" in line
    assert "reached 6" in line
    assert f"smoothness {expected.facts['smoothness']:.6g}" in line
    assert line.endswith("scores depend on the other lists")
    train("alone", "form=inductive")
    assert "other lists" not in rerank("predict", "alone", "test.jsonl").err


def test_show_prints_the_rankers_and_the_graph(rerank, train):
    train("model", "neighbours=2", "kernel=bhattacharyya", "ridge=0.1", "drop_below=0.2")
    shown = rerank("show", "model").out
    for text in ("trained 6", "without (one item 1)", "ridge 0.1, neighbours 2", "mean cosine", "of lists"):
        assert text in shown
    facts = json.loads(rerank("show", "model", "--as", "json").out)
    assert facts["rankers"]["trained"] == 6
    assert facts["weights of"] == "the global ranker"


def test_importances_are_those_of_the_whole_or_refused(rerank, train):
    train("model", "neighbours=2")
    found = rerank("importance", "weights", "model", "test.jsonl", code=2)
    assert "a model of kind propagation has no weight of each feature" in found.err
    found = rerank("importance", "permute", "model", "test.jsonl", "--metric", "nDCG@3", "--repeats", 2)
    assert "b" in found.out
    train("oracle", "control=oracle")
    found = rerank("importance", "permute", "oracle", "test.jsonl", "--metric", "nDCG@3", code=2)
    assert "ORACLE" in found.err


def test_options_that_have_no_use_are_refused(rerank, train, work):
    found = train("m", "control=mean", "neighbours=3", code=2)
    assert "neighbours=3 would have no effect: control=mean uses no graph" in found.err
    train("model")
    found = rerank("predict", "model", "test.jsonl", "--cache", "folder", code=2)
    assert "--cache: not used by a model of kind propagation" in found.err
    assert (
        "--allow-oracle: not used" in rerank("predict", "model", "test.jsonl", "--allow-oracle", code=2).err
    )
    data = ("--learner", "propagate", "--data", "train.jsonl", "--out", "m", "--unlabelled", "more.jsonl")
    found = rerank("train", *data, code=2)
    assert "unlabelled lists are for form=inductive" in found.err
    found = rerank("train", *data, "--set", "form=inductive")
    assert "unlabelled" in found.err
    assert "not among" not in rerank("predict", "m", "test.jsonl").err


def test_cells_of_an_experiment_record_what_was_propagated(work, rerank):
    (work / "run.yaml").write_text(CONFIG)
    run("run.yaml", "out", models=True)
    done = read_run("out")
    for cell in done.cells:
        record = done.record(cell).adaptation
        if cell.row == "ranksvm":
            assert record is None
            continue
        model, test = load_model(done.file("cells", cell.key, "model")), done.test(cell.fold)
        found = model.adapt(test)
        np.testing.assert_array_equal(found.scores, done.scores(cell))
        assert record.together == found.facts
        assert record.adapted == sum(row.adapted for row in found.rows)
        judge = parse("nDCG@3").prepare(test)
        before = corpus_value(judge, judge.per_list(test.from_input_order(found.unadapted)))
        assert record.changes["nDCG@3"].unadapted == pytest.approx(before)
        if cell.row == "graph":
            assert record.together.keys() >= {"reached", "edges", "smoothness"}
            assert record.diagnostics.keys() >= {"degree", "norm"}
    rerank("report", "out", "--out", "report.txt", "--adaptation", "adaptation.tsv")
    rows = [line.split("\t") for line in (work / "adaptation.tsv").read_text().splitlines()]
    assert {row[1] for row in rows[1:]} == {"graph", "nearest", "by C", "random", "oracle ORACLE"}
    assert {"edges", "smoothness", "reached"} <= {row[5] for row in rows if row[1] == "graph"}


def test_an_oracle_row_needs_its_mark(work, rerank):
    (work / "run.yaml").write_text(CONFIG.replace("oracle ORACLE:", "oracle:"))
    found = rerank("run", "run.yaml", "--out", "out", code=2)
    assert "expected ORACLE in the name of the row" in found.err
