"""--keep-margin, --seeds and --replicas, from training to evaluation."""

import itertools
import json

import numpy as np
import pytest

from rerank import load, load_model

SETS = ("--data", "train.letor", "--dev", "dev.letor", "--first-best", "bigram_overlap", "-m", "label@1")
NAMES = ("--feature-names", "features.txt")
TRAIN = ("train", *SETS, *NAMES, "--set", "epochs=3", "--keep-margin", "auto")
TEST = ("test.letor", *NAMES, "--first-best", "bigram_overlap")


@pytest.fixture
def trained(rerank, work):
    work.joinpath("printed").write_text(rerank(*TRAIN, "--out", "model").err, encoding="utf-8")
    return work


def test_what_train_and_show_print(rerank, trained, golden):
    golden("train-keep-margin.txt", (trained / "printed").read_text(encoding="utf-8"))
    golden("show-keep-margin.txt", rerank("show", "model", "--top", 2).out)
    shown = json.loads(rerank("show", "model", "--as", "json").out)
    assert shown["keep_margin"] == load_model("model").keep_margin
    assert shown["keep"]["tuned"] is True
    assert [gain["part"] for gain in shown["gains"]] == ["train", "dev", "dev"]


def chosen(path):
    scores = np.loadtxt(path)
    offsets = load("test.letor").offsets
    return [int(np.argmax(scores[a:b])) for a, b in itertools.pairwise(offsets)]


def test_predict_obeys_the_models_margin_or_the_one_given(rerank, trained):
    first = load("test.letor", feature_names="features.txt").with_first_best("bigram_overlap").first_best
    np.savetxt("first", first)
    for name, given in (("own", ()), ("inf", ("inf",)), ("zero", ("0",))):
        options = ("--keep-margin", *given) if given else ()
        printed = rerank("predict", "model", *TEST, *options, "-o", name).err
        different = sum(a != b for a, b in zip(chosen(name), chosen("first"), strict=True))
        assert printed.startswith("rerank: keep margin ")
        assert printed.endswith(f": {different} of 12 lists switch\n")
    assert chosen("inf") == chosen("first") != chosen("own")
    assert rerank("predict", "model", "test.letor", *NAMES, "--keep-margin", "none", "-o", "none").err == ""
    assert "--first-best" in rerank("predict", "model", "test.letor", *NAMES, code=2).err


def test_eval_counts_the_lists_that_switch(rerank, trained):
    rerank("predict", "model", *TEST, "-o", "scores")
    table = rerank("eval", *TEST, "scores", "-m", "label@1", "-m", "RR", "--as", "json").out
    found = json.loads(table)["systems"][0]["metrics"]
    np.savetxt(
        "first", load("test.letor", feature_names="features.txt").with_first_best("bigram_overlap").first_best
    )
    different = sum(a != b for a, b in zip(chosen("scores"), chosen("first"), strict=True))
    assert found["label@1"]["switched"] == different > 0
    assert "switched" not in found["RR"]


def test_seeds_write_every_run_or_the_chosen_one(rerank, work):
    asked = (*TRAIN, "--seeds", 3, "--seed", 7)
    printed = rerank(*asked, "--out", "m.{seed}").err
    assert sorted(path.name for path in work.glob("m.*")) == ["m.7", "m.8", "m.9"]
    assert "rerank: 3 runs: dev label@1 " in printed
    seed = printed.split("kept seed ")[1][0]
    assert rerank(*asked, "--out", "model").err == printed
    assert (work / "model").read_bytes() == (work / f"m.{seed}").read_bytes()
    assert load_model("model").training.settings["seed"] == int(seed)
    for k in (7, 8, 9):
        rerank("predict", f"m.{k}", *TEST, "-o", f"s.{k}")
    table = rerank("eval", *TEST, "s.7", "s.8", "s.9", "-m", "label@1", "--replicas").out
    assert "3 runs: label@1 " in table
    assert "between runs" in table
