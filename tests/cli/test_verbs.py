"""The verbs on the tiny spelling set, against golden files; what they write, and the same bytes twice."""

import json

import numpy as np
import pytest
from small_judging import values

from rerank import load, load_model

TRAIN = ("train", "--data", "train.letor", "--dev", "dev.letor", "--metric", "RR", "--set", "keep=best")
NAMES = ("--feature-names", "features.txt")


@pytest.fixture
def trained(rerank, work):
    rerank(*TRAIN, *NAMES, "--scaling", "zscore", "--out", "model")
    rerank("predict", "model", "test.letor", *NAMES, "--out", "scores")
    return work


def test_train_reports_what_it_learnt(rerank, work, golden):
    result = rerank(*TRAIN, "--out", "model")
    assert result.out == ""
    golden("train.txt", result.err)


def test_show(rerank, trained, golden):
    golden("show.txt", rerank("show", "model").out)
    shown = json.loads(rerank("show", "model", "--as", "json", "--top", 3).out)
    assert shown["learner"] == "perceptron"
    assert [row["name"] for row in shown["weights"]] == [n for n, _ in load_model("model").explain()[:3]]


def test_eval_table_and_json(rerank, trained, golden):
    asked = (
        "eval", "test.letor", "scores", "--first-best", "input", "-m", "MRR", "-m", "P@1", "-m",
        "nDCG@5",
    )  # fmt: skip
    golden("eval.txt", rerank(*asked).out)
    golden("eval.json", rerank(*asked, "--as", "json").out)


def test_eval_agrees_with_the_python_functions(rerank, trained):
    lists = load("test.letor", feature_names="features.txt")
    scores = load_model("model").score(lists)
    found = json.loads(rerank("eval", "test.letor", "scores", "--as", "json").out)
    expected = values(lists, scores, ["AP", "RR", "nDCG@10"])
    assert {m: r["value"] for m, r in found["systems"][0]["metrics"].items()} == pytest.approx(expected)


def test_eval_writes_the_values_of_every_list(rerank, trained):
    rerank("eval", "test.letor", "scores", "-m", "RR", "--per-list", "lists.tsv")
    header, *rows = (trained / "lists.tsv").read_text().splitlines()
    assert header == "list\tsystem\tmetric\tvalue"
    assert len(rows) == load("test.letor").n_lists
    mean = np.mean([float(row.split("\t")[3]) for row in rows])
    found = json.loads(rerank("eval", "test.letor", "scores", "-m", "RR", "--as", "json").out)
    assert found["systems"][0]["metrics"]["RR"]["value"] == pytest.approx(mean)


def test_eval_against_a_baseline(rerank, trained):
    rerank("train", "--learner", "random", "--data", "train.letor", "--out", "random")
    rerank("predict", "random", "test.letor", "--out", "random.scores")
    found = json.loads(rerank("eval", "test.letor", "scores", "-b", "random.scores", "--as", "json").out)
    assert [system["name"] for system in found["systems"]] == ["random.scores", "scores"]
    assert found["systems"][0]["metrics"]["AP"]["p_bootstrap"] is None
    assert 0 < found["systems"][1]["metrics"]["AP"]["p_bootstrap"] <= 1


@pytest.mark.parametrize("as_", ["scores", "table", "run", "best"])
def test_predict_forms(rerank, trained, golden, as_):
    source = "test.letor"
    if as_ == "run":
        refused = rerank("predict", "model", source, *NAMES, "--as", as_, code=2)
        assert "cannot be written to a TREC run" in refused.err
        source = "blanks.letor"
        (trained / source).write_text((trained / "test.letor").read_text().replace(" -> ", "->"))
    lines = rerank("predict", "model", source, "--as", as_).out.splitlines()
    lists = load("test.letor")
    assert len(lines) == (lists.n_lists if as_ == "best" else lists.n_items)
    if as_ in ("table", "best"):
        without_scores = [line.rsplit("\t", 1)[0] for line in lines]
        golden(f"predict-{as_}.txt", "\n".join(without_scores) + "\n")


def test_predicted_lists_are_best_first(rerank, trained):
    rerank("predict", "model", "test.letor", *NAMES, "--as", "nbest", "-o", "best.letor")
    ordered = load("best.letor", feature_names="features.txt")
    lists = load("test.letor", feature_names="features.txt")
    scores = load_model("model").score(ordered)
    for i in range(ordered.n_lists):
        assert np.all(np.diff(scores[ordered.offsets[i] : ordered.offsets[i + 1]]) <= 0)
    assert sorted(ordered.item_ids) == sorted(lists.item_ids)


def test_scores_keep_the_order_of_the_lines_when_lists_were_regrouped(rerank, trained):
    lines = (trained / "test.letor").read_text().splitlines()
    shuffled = [lines[i] for i in np.random.default_rng(0).permutation(len(lines))]
    (trained / "apart.letor").write_text("\n".join(shuffled) + "\n")
    result = rerank("predict", "model", "apart.letor", *NAMES)
    assert "note:" in result.err
    by_line = dict(zip(lines, (trained / "scores").read_text().split(), strict=True))
    assert result.out.split() == [by_line[line] for line in shuffled]
    refused = rerank("predict", "model", "apart.letor", "--strict", code=2)
    assert "apart.letor:" in refused.err


def test_a_run_and_scores_have_the_same_numbers(rerank, work):
    """Also if scores are tied, and whatever the mode of ties but input, whose order a run changes."""
    rng = np.random.default_rng(0)
    rows = [(i, q) for q in "ab" for i in range(12)]
    (work / "tied").write_text("".join(f"{i % 3 % 2} qid:{q} 1:{rng.integers(3)} # d{i}\n" for i, q in rows))
    (work / "qrels").write_text("".join(f"{q} 0 d{i} {i % 3 % 2}\n" for i, q in rows))
    rerank("train", "--data", "tied", "--set", "epochs=2", "--out", "model", "--format", "svmlight")
    rerank("predict", "model", "tied", "-f", "svmlight", "--out", "scores")
    rerank("predict", "model", "tied", "-f", "svmlight", "--as", "run", "--out", "x.run")
    for ties in ("trec", "expected"):
        metrics = ["--ties", ties, "--as", "json", "-m", "AP", "-m", "RR", "-m", "nDCG@3", "-m", "P@2"]
        of_scores = json.loads(rerank("eval", "tied", "scores", "-f", "svmlight", *metrics).out)
        lines = (work / "x.run").read_text().splitlines()
        (work / "run.scores").write_text("".join(f"{line.split()[4]}\n" for line in lines))
        of_run = json.loads(rerank("eval", "x.run", "run.scores", "--qrels", "qrels", *metrics).out)
        for name, result in of_scores["systems"][0]["metrics"].items():
            assert of_run["systems"][0]["metrics"][name]["value"] == result["value"]
            if ties == "trec":
                assert of_run["metrics"][name]["first_best"] == result["value"]


def test_a_run_of_items_without_ids_is_strictly_ordered(rerank, work):
    (work / "tied").write_text("".join(f"{i % 2} qid:1 1:1\n" for i in range(5)))
    rerank("train", "--data", "tied", "--set", "epochs=2", "--out", "model", "--format", "svmlight")
    lines = rerank(
        "predict", "model", "tied", "-f", "svmlight", "--as", "run", "--tag", "me"
    ).out.splitlines()
    fields = [line.split() for line in lines]
    assert [f[2] for f in fields] == ["1", "2", "3", "4", "5"]
    assert [f[3] for f in fields] == ["1", "2", "3", "4", "5"]
    scores = np.array([float(f[4]) for f in fields], dtype=np.float32)
    assert np.all(np.diff(scores) < 0)
    assert {f[5] for f in fields} == {"me"}


def test_validate(rerank, work, golden):
    golden("validate.txt", rerank("validate", "train.letor", *NAMES).out)


def test_validate_finds_faults(rerank, work):
    (work / "bad.letor").write_text("1 qid:1 1:1\n0 qid:1 1:nan\n")
    assert rerank("validate", "bad.letor", code=1).out.startswith("fault  bad.letor:2: found")
    (work / "twice.letor").write_text("1 qid:7 1:1 # a\n0 qid:7 1:2 # a\n")
    found = rerank("validate", "twice.letor", code=1).out
    assert "1 duplicate item id within a list, the first 'a' in list 7" in " ".join(found.split())
    rerank("validate", "absent.letor", code=2)


def test_list_a_learner(rerank, golden):
    golden("list-perceptron.txt", rerank("list", "learners", "perceptron").out)


def test_a_configuration_and_options_on_top(rerank, work, monkeypatch):
    monkeypatch.setenv("TINY", str(work))
    (work / "sub").mkdir()
    (work / "sub" / "c.yaml").write_text(
        "data: {train: '${TINY}/train.letor', dev: ../dev.letor}\nscaling: zscore\n"
        "learner: {name: perceptron, epochs: 3, tau: 1}\nselect: {metric: RR, keep: best}\nseed: 5\n"
    )
    rerank("train", "sub/c.yaml", "--set", "tau=2", "--set", "learner.epochs=4", "--out", "model")
    settings = load_model("model").training.settings
    assert (settings["tau"], settings["epochs"], settings["seed"], settings["keep"]) == (2.0, 4, 5, "best")


def test_the_same_run_gives_the_same_bytes(rerank, work):
    for name in ("a", "b"):
        rerank(*TRAIN, "--out", name, "--curve", f"{name}.tsv")
        rerank("predict", name, "test.letor", "--out", f"{name}.scores")
        report = rerank("eval", "test.letor", "a.scores", "--first-best", "input", "--as", "json").out
        (work / f"{name}.json").write_text(report)
    for suffix in ("", ".tsv", ".scores", ".json"):
        assert (work / f"a{suffix}").read_bytes() == (work / f"b{suffix}").read_bytes()
    assert (work / "timing.a.tsv").read_text().startswith("step\tseconds\n")


def test_pairs(rerank, work, golden):
    golden("pairs.txt", rerank("pairs", "train.letor").out)
    asked = ("pairs", "train.letor", "-r", "pairs=all label_gap=0", "--as", "json")
    (row,) = json.loads(rerank(*asked).out)
    lists = load("train.letor")
    relevant = np.add.reduceat(lists.labels, lists.offsets[:-1])
    assert row["pairs"] == int((relevant * (lists.lengths - relevant)).sum())


def test_version(rerank):
    assert rerank("--version").out.startswith("rerank 0.")
