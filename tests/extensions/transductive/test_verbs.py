"""Transductive models on the command line: train, predict with its report, show."""

import json

import numpy as np
import pytest

from rerank import CandidateLists, save
from rerank.formats import load
from rerank.models.base import load_model

QUICK = ("--set", "base.rounds=5", "--set", "noise=3")


def write_lists(path, seed, n_lists=6):
    """Graded lists with ids of lists and items."""
    rng = np.random.default_rng(seed)
    sizes = [1, *rng.integers(2, 9, n_lists - 1)]
    n = sum(sizes)
    X = rng.integers(-4, 5, (n, 4)).astype(float)
    y = np.clip(np.round(X[:, 1] - 0.5 * X[:, 3] + rng.normal(0, 1, n)) / 2, 0, 2).round()
    names, ids = ["a", "b", "c", "d"], [f"d{i}" for i in range(n)]
    save(CandidateLists.from_arrays(X, y, group=sizes, feature_names=names, item_ids=ids), str(path))


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder to work in, with train.jsonl, dev.jsonl and test.jsonl."""
    for seed, part in enumerate(("train", "dev", "test")):
        write_lists(tmp_path / f"{part}.jsonl", seed, 12)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def train(rerank, work):
    def run(out, *more):
        return rerank(
            "train", "--learner", "nearest-lists", "--data", "train.jsonl", "--dev", "dev.jsonl",
            "--metric", "RR", "--out", out, *QUICK, *more,
        )  # fmt: skip

    return run


def table(path):
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    return rows[0], rows[1:]


def test_a_model_predicts_the_same_for_any_number_of_jobs(rerank, train, work):
    train("model")
    seen = []
    for jobs in (None, 1, 2):
        given = [] if jobs is None else ["--jobs", jobs]
        report = work / f"report.{jobs}"
        found = rerank("predict", "model", "test.jsonl", "--transductive-report", report, *given)
        heads, rows = table(report)
        seen.append((found.out, heads, [row[:-1] for row in rows]))
        assert heads[-1] == "seconds"
        assert all(float(row[-1]) >= 0 for row in rows)
    assert seen[0] == seen[1] == seen[2]
    lists = load(str(work / "test.jsonl"))
    model = load_model("model")
    assert found.out == "".join(f"{score!r}\n" for score in model.score(lists).tolist())
    assert seen[0][1][:-1] == ["list", "items", "adapted", "reason", "tau", "largest"]
    rows = seen[0][2]
    assert [(row[0], int(row[1])) for row in rows] == [
        (lists.list_id(i), lists.lengths[i]) for i in range(lists.n_lists)
    ]
    expected = model.adapt(lists).rows
    assert [float(row[4]) for row in rows] == [row.tau for row in expected]
    assert f"adapted to {sum(row.adapted for row in expected)} of {lists.n_lists} lists" in found.err


@pytest.mark.parametrize("form", ["scores", "table", "run", "best", "nbest"])
def test_every_output_is_written(form, rerank, train, work):
    train("model")
    rerank("predict", "model", "test.jsonl", "--as", form, "--out", "out")
    lists = load(str(work / "test.jsonl"))
    expected = lists.n_lists if form in ("best", "nbest") else lists.n_items
    assert (work / "out").read_text().count("\n") >= expected


def test_abstaining_is_printed_and_shown(rerank, train, work):
    found = train("model", "--set", "abstain=auto")
    (line,) = [line for line in found.err.splitlines() if "abstain below tau" in line]
    assert "dev RR" in line
    shown = rerank("show", "model", "--top", 3)
    assert "abstains" in shown.out
    assert "the unadapted model" in shown.out
    assert "nearest-lists" in shown.out
    assert "rankboost" in shown.out
    facts = json.loads(rerank("show", "model", "--as", "json").out)
    assert facts["abstains"]["below tau"] == load_model("model").threshold
    assert facts["abstain"]["tuned"] is True
    assert facts["labelled"]["lists"] == load(str(work / "train.jsonl")).n_lists
    assert facts["unadapted"]["learner"] == "rankboost"
    assert facts["unadapted"]["rounds"] == 5


def test_abstaining_by_dev_lists_needs_them(rerank, work):
    found = rerank(
        "train", "--learner", "nearest-lists", "--data", "train.jsonl", "--out", "m", "--set", "abstain=auto",
        code=2,
    )  # fmt: skip
    assert "abstain=auto is chosen on development lists by a metric" in found.err


def test_a_model_that_uses_test_labels_is_marked_and_refused(rerank, train, work):
    assert "ORACLE" in train("model", "--set", "oracle=true").err
    assert "ORACLE" in rerank("show", "model").out
    found = rerank("predict", "model", "test.jsonl", "--out", "scores", code=2)
    assert "ORACLE" in found.err
    assert "--allow-oracle" in found.err
    assert not (work / "scores").exists()
    found = rerank("predict", "model", "test.jsonl", "--allow-oracle", "--as", "run")
    assert "ORACLE" in found.err
    assert all(line.endswith(" rerank-ORACLE") for line in found.out.splitlines())
    found = rerank("importance", "permute", "model", "test.jsonl", "--metric", "RR", code=2)
    assert "ORACLE: this model uses the labels" in found.err


def test_options_that_a_model_does_not_use_are_refused(rerank, train, work):
    rerank("train", "--learner", "ridge", "--data", "train.jsonl", "--out", "linear")
    for option in (["--jobs", 2], ["--cluster", "tcp://nowhere:1"], ["--transductive-report", "r"]):
        found = rerank("predict", "linear", "test.jsonl", *option, code=2)
        assert f"{option[0]}: not used by a model of kind linear" in found.err
    train("model")
    for model in ("linear", "model"):
        found = rerank("predict", model, "test.jsonl", "--allow-oracle", code=2)
        assert "--allow-oracle: not used by this model" in found.err
    assert "jobs: found -1" in rerank("predict", "model", "test.jsonl", "--jobs", "-1", code=2).err
    assert not (work / "r").exists()


def test_nothing_is_written_if_one_output_cannot_be(rerank, train, work):
    train("model")
    found = rerank("predict", "model", "test.jsonl", "--out", "a", "--transductive-report", "a", code=2)
    assert "a is the output of --out" in found.err
    found = rerank(
        "predict", "model", "test.jsonl", "--out", "a", "--transductive-report", "no/such/r", code=2
    )
    assert not (work / "a").exists()


def test_a_keep_margin_and_features_that_match_in_part(rerank, train, work):
    lists = load(str(work / "test.jsonl"))
    train("model")
    model = load_model("model")
    fewer = lists.with_columns(lists.names()[:-1])
    save(fewer, str(work / "fewer.jsonl"))
    found = rerank("predict", "model", "fewer.jsonl", "--first-best", "input", "--keep-margin", "0.5")
    assert "absent" in found.err
    assert "keep margin 0.5" in found.err
    model.keep_margin = 0.5
    with pytest.warns(match="absent"):
        expected = model.score(fewer.with_first_best("input"))
    np.testing.assert_array_equal([float(line) for line in found.out.splitlines()], expected)
