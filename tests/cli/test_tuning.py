"""Tuning from the command line: weights in and out, workers, the reported restarts."""

import json

import numpy as np
import pytest

from rerank import load_model

TRAIN = ("train", "--data", "dev.nbest", "-f", "moses", "--refs", "dev.ref", "--learner", "mert")


def test_what_is_tuned_is_reported(rerank, nbest):
    result = rerank(*TRAIN, "--metric", "BLEU", "--out", "model", "--curve", "restarts.tsv")
    first, second, third, *_ = result.err.splitlines()
    assert first == "rerank: mert: 3 lists, 7 items, 3 features (lm, tm_0, tm_1), scaling none"
    assert second.startswith("rerank: train BLEU 100.0000 (from BLEU ")
    assert second.endswith((", initial weights: base)", ", initial weights: even)"))
    assert third.startswith("rerank: 21 restarts: best 100.0000, median 100.0000, worst ")
    rows = [line.split("\t") for line in (nbest / "restarts.tsv").read_text().splitlines()]
    assert rows[0] == ["restart", "start", "train", "steps", "searches"]
    assert [row[0] for row in rows[1:]] == [str(i) for i in range(21)]
    gain = result.err.splitlines()[-1]
    assert gain.startswith("rerank: train BLEU: initial weights ")
    assert gain.endswith("over 3 lists (fitted to them)")
    averaged = rerank(*TRAIN, "--metric", "BLEU", "--set", "average=4", "--out", "mean").err.splitlines()
    assert ", mean of the 4 best restarts (from BLEU " in averaged[1]
    assert averaged[2] == third
    shown = rerank("show", "model").out
    assert "weights of the better half of 21 restarts" in shown
    found = json.loads(rerank("show", "model", "--as", "json").out)
    assert len(found["rounds"]["restarts"]) == 21
    assert found["rounds"]["metric"] == "BLEU"


def test_no_improvement_is_reported(rerank, nbest):
    rerank(*TRAIN, "--metric", "BLEU", "--out", "model")
    result = rerank(*TRAIN, "--metric", "BLEU", "--init", "model", "--out", "again")
    assert (
        "rerank: no improvement over the initial weights (BLEU 100.0000, initial weights: given)"
        in result.err
    )
    np.testing.assert_array_equal(load_model("again").weights, load_model("model").weights)


def test_weights_come_from_files(rerank, nbest):
    settings = ("--metric", "WER", "--set", "restarts=0", "--set", "perturbations=0")
    (nbest / "run.yaml").write_text("data: {init: moses.ini}\n")
    rerank(*TRAIN, *settings, "--init", "moses.ini", "--out", "a")
    rerank("train", "run.yaml", *TRAIN[1:], *settings, "--out", "b")
    rerank("import", "moses.ini", "--out", "start")
    rerank(*TRAIN, *settings, "--init", "start", "--out", "c")
    assert (nbest / "a").read_bytes() == (nbest / "b").read_bytes() == (nbest / "c").read_bytes()
    assert load_model("a").training.rounds.init == "given"
    result = rerank(
        *TRAIN, *settings, "--init", "moses.ini", "--scaling", "list-zscore", "--out", "x", code=2
    )
    assert result.err.startswith("rerank: initial weights moses.ini: scaling list-zscore has no fixed factor")
    for init in ("moses.ini", "base"):
        result = rerank(*TRAIN[:-1], "prank", "--label", "sBLEU", "--init", init, "--out", "x", code=2)
        assert result.err == "rerank: learner prank accepts no initial weights (--init, data.init)\n"
    assert "no such file" in rerank(*TRAIN, *settings, "--init", "nowhere", "--out", "x", code=2).err


@pytest.mark.parametrize("learner", ["mert", "mira", "perceptron"])
def test_weights_of_the_first_stage_are_named(rerank, nbest, learner):
    given = (*TRAIN[:-1], learner, "--metric", "sBLEU", "--label", "sBLEU")
    (nbest / "run.yaml").write_text("data: {init: base}\n")
    lines = [line.split(" ||| ") for line in (nbest / "dev.nbest").read_text().splitlines()]
    for line in lines:
        line[3] = str(sum(float(cell) for cell in line[2].split() if cell[-1] != "="))
    (nbest / "dev.nbest").write_text("".join(f"{' ||| '.join(line)}\n" for line in lines))
    rerank(*given, "--init", "base", "--out", "a")
    rerank(*given, "--set", "init=base", "--out", "b")
    rerank("train", "run.yaml", *given[1:], "--out", "c")
    assert (nbest / "a").read_bytes() == (nbest / "b").read_bytes() == (nbest / "c").read_bytes()
    assert load_model("a").training.rounds.init == "base"
    result = rerank(*given, "--init", "base", "--set", "init=zero", "--out", "x", code=2)
    assert result.err == "rerank: --set init=zero: the key is given twice, also by --init (data.init)\n"
    rerank("train", "run.yaml", *given[1:], "--set", "init=zero", "--out", "a")
    rerank(*given, "--set", "init=zero", "--out", "b")
    assert (nbest / "a").read_bytes() == (nbest / "b").read_bytes()
    assert "no such file" in rerank(*given, "--init", "./base", "--out", "x", code=2).err


@pytest.mark.parametrize("scaling", ["none", "zscore"])
def test_weights_go_back_into_moses_ini(rerank, nbest, scaling):
    rerank(*TRAIN, "--metric", "BLEU", "--scaling", scaling, "--out", "model")
    rerank("export", "model", "--to", "moses-ini", "--ini", "moses.ini", "--out", "tuned.ini")
    lines = (nbest / "tuned.ini").read_text().splitlines()
    assert lines[:4] == ["[feature]", "x", "", "[weight]"]
    rerank("import", "tuned.ini", "--out", "back")
    for name in ("model", "back"):
        rerank("predict", name, "dev.nbest", "-f", "moses", "--as", "best", "--out", f"{name}.txt")
    assert (nbest / "model.txt").read_text() == "the cat sat down\nit rains in town\nyes\n"
    assert (nbest / "back.txt").read_text() == (nbest / "model.txt").read_text()
    out = rerank("export", "model", "--to", "tsv", "--out", "-").out
    assert [line.split("\t")[0] for line in out.splitlines()] == ["lm", "tm_0", "tm_1"]


def test_what_cannot_be_exported_is_an_error(rerank, nbest):
    rerank(*TRAIN, "--metric", "BLEU", "--scaling", "list-zscore", "--out", "model")
    result = rerank("export", "model", "--to", "tsv", "--out", "-", code=2)
    assert result.err.startswith("rerank: model: scaling list-zscore has no fixed factor")
    result = rerank("export", "dev.nbest", "--to", "tsv", "--out", "-", code=2)
    assert "expected a model file written by rerank" in result.err
