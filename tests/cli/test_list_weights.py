"""``rerank weigh-lists`` and ``rerank train --list-weights``."""

import json

import numpy as np
import pytest

import rerank as package
from rerank.core.errors import DataError, FitError
from rerank.data.lists import CandidateLists
from rerank.models.base import load_model


def lists_of(seed, n=12, ids="q"):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 7, n)
    X = np.round(rng.normal(size=(int(sizes.sum()), 3)) * np.repeat(rng.gamma(1, 1, (n, 3)), sizes, 0), 3)
    y = np.clip(np.round(X[:, 0] + rng.normal(size=len(X))), 0, 2)
    return CandidateLists.from_arrays(X, y, qid=np.repeat([f"{ids}{i}" for i in range(n)], sizes))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    package.save(lists_of(0), "train.letor", "svmlight")
    package.save(lists_of(1, ids="t"), "test.letor", "svmlight")
    return tmp_path


def arrays(path):
    return {name: array.tolist() for name, array in load_model(path).arrays().items()}


def test_what_is_written_is_what_python_computes(rerank, folder):
    result = rerank("weigh-lists", "train.letor", "test.letor", "--out", "w.tsv", "-k", "angles", "-c", 2)
    train, test = package.load("train.letor"), package.load("test.letor")
    found = package.weigh_lists(train, test, settings={"kernel": "angles", "components": 2})
    rows = [line.split("\t") for line in (folder / "w.tsv").read_text().splitlines()]
    assert rows[0] == ["list", "items", "weight"]
    assert [row[0] for row in rows[1:]] == [f"q{i}" for i in range(12)]
    assert [float(row[2]) for row in rows[1:]] == found.weights.tolist()
    assert found.weights.mean() == pytest.approx(1)
    assert f"width       {found.figures['width']:.6g}, mean log w of left-out lists" in result.out
    assert "12 of train.letor, weighted for 12 of test.letor" in result.out
    assert "angles (components 2), scaling zscore" in result.out
    told = rerank(
        "weigh-lists", "train.letor", "test.letor", "--out", "w2", "-k", "angles", "-c", 2, "--as", "json"
    )
    assert json.loads(told.out)["figures"]["effective"] == found.figures["effective"]
    assert (folder / "w2").read_bytes() == (folder / "w.tsv").read_bytes()


def test_the_learner_has_the_weights_of_the_verb(rerank, folder):
    rerank("weigh-lists", "train.letor", "test.letor", "--out", "w.tsv", "--set", "components=2", "--seed", 4)
    common = ["--data", "train.letor", "--scaling", "zscore", "--metric", "label@1"]
    rerank("train", *common, "--learner", "loglinear", "--list-weights", "w.tsv", "--out", "a")
    rerank(
        *("train", *common, "--learner", "list-iw", "--set", "base=loglinear", "--set", "components=2"),
        *("--unlabelled", "test.letor", "--seed", 4, "--out", "b"),
    )
    assert arrays("a") == arrays("b")
    assert arrays("a") != arrays_without(rerank, common)


def arrays_without(rerank, common):
    rerank("train", *common, "--learner", "loglinear", "--out", "plain")
    return arrays("plain")


def test_weights_follow_their_lists_and_are_recorded(rerank, folder):
    rerank("weigh-lists", "train.letor", "test.letor", "--out", "w.tsv")
    lines = (folder / "w.tsv").read_text().splitlines()
    (folder / "moved.tsv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
    for name in ("w", "moved"):
        result = rerank(
            *("train", "--data", "train.letor", "--learner", "ridge", "--list-weights", f"{name}.tsv"),
            *("--out", f"{name}.model", "--select", "cv", "--metric", "AP", "--grid", "penalty=0.1,1"),
        )
    assert (folder / "w.model").read_bytes() == (folder / "moved.model").read_bytes()
    assert "list weights: effective share of the lists" in result.err + result.out
    found = load_model("w.model").training.list_weights
    figures = package.weigh_lists("train.letor", "test.letor").figures
    assert found.effective == pytest.approx(figures["effective"])
    shown = rerank("show", "w.model").out
    assert f"list weights  fingerprint {found.fingerprint}" in shown
    assert json.loads(rerank("show", "w.model", "--as", "json").out)["list_weights"]["zeros"] == found.zeros


def test_folds_have_the_weights_of_their_lists():
    """With all weight on some lists, every fold learns from them alone, as if the others were absent."""
    lists = lists_of(3, 20)
    weights = np.arange(20) % 2.0
    model = package.train(
        lists,
        "ridge",
        list_weights=weights,
        scaling="none",
        metric="AP",
        select="cv",
        folds=4,
        grid={"penalty": [0.1, 9]},
    )
    from rerank.data.folds import folds
    from rerank.metrics.base import parse

    for cell, penalty in zip(model.training.choice.cells, (0.1, 9), strict=True):
        scores = np.empty(lists.n_items)
        for fold in folds(lists, 4, 0):
            kept = np.array([i for i in fold.train if weights[i]])
            part = package.train(lists.subset(kept), "ridge", penalty=penalty, scaling="none")
            items = np.flatnonzero(np.isin(lists.list_index, fold.test))
            scores[items] = part.score_items(lists.subset(fold.test))
        judge = parse("AP").prepare(lists)
        assert cell.value == pytest.approx(judge.score_from_sums(judge.per_list(scores).sum(axis=0)))


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([1.0], r"list_weights has shape \(1,\), expected \(12,\)"),
        ([-1.0] * 12, "list weights must be 12 finite numbers"),
        ([np.nan] * 12, "list weights must be 12 finite numbers"),
        ([0.0] * 12, "list weights: every weight is 0"),
    ],
)
def test_wrong_weights_from_python_are_refused(weights, expected):
    with pytest.raises((DataError, FitError), match=expected):
        package.train(lists_of(0), "ridge", list_weights=np.array(weights))


@pytest.mark.parametrize("scale", [1e-320, 1e308])
def test_figures_do_not_depend_on_the_unit_of_weights(scale):
    weights = np.array([0.25, 1.0, 0.5] * 4)
    found, expected = (
        package.train(lists_of(0), "ranksvm", list_weights=unit * weights).training.list_weights
        for unit in (scale, 1.0)
    )
    assert found.effective == pytest.approx(expected.effective, rel=1e-3)  # 1e-320 has few digits
    assert (found.zeros, found.median) == (expected.zeros, pytest.approx(expected.median, rel=1e-3))


def test_faults_are_one_line(rerank, folder):
    (folder / "w.tsv").write_text("list\tweight\nq0\t1\n")
    (folder / "bad.tsv").write_text("list\tweight\nq0\t-1\n")
    common = ["train", "--data", "train.letor", "--out", "m"]
    for arguments, expected in (
        (["--learner", "ridge", "--list-weights", "w.tsv"], "w.tsv: found no weight of list 'q1'"),
        (["--learner", "ridge", "--list-weights", "bad.tsv"], "bad.tsv:2: found weight '-1'"),
        (["--learner", "ridge", "--list-weights", "none.tsv"], "none.tsv"),
        (["--learner", "prank", "--list-weights", "w.tsv"], "learner prank accepts no list weights"),
        (["--learner", "list-iw", "--list-weights", "w.tsv"], "learner list-iw accepts no list weights"),
        (["--learner", "list-iw"], "learner list-iw needs the lists to be ranked, unlabelled"),
        (["--learner", "ridge", "--unlabelled", "test.letor"], "learner ridge accepts no unlabelled lists"),
    ):
        err = rerank(*common, *arguments, code=2).err
        assert expected in err
        assert err.count("\n") == 1
    for arguments, expected in (
        (["train.letor", "train.letor", "--out", "train.letor"], "--out"),
        (["train.letor", "test.letor", "--out", "w", "-k", "no"], "unknown kernel 'no'"),
        (["-", "-", "--out", "w"], "standard input can be read only once"),
        (["train.letor", "test.letor", "--out", "w", "-k", "list", "--set", "kernel=list"], "also given by"),
        (["train.letor", "test.letor", "--out", "w", "--set", "use=cost"], "unknown setting 'use'"),
    ):
        err = rerank("weigh-lists", *arguments, code=2).err
        assert expected in err


def test_other_lists_than_the_unlabelled_ones_are_noticed(rerank, folder):
    common = ["--set", "base=ridge", "--unlabelled", "test.letor", "--out", "m"]
    err = rerank("train", "--data", "train.letor", "--learner", "list-iw", *common).err
    assert "fitted for 12 unlabelled lists" in err
    assert "effective share of the lists" in err
    assert "unlabelled" not in rerank("predict", "m", "test.letor", "--out", "s").err
    assert "100% of the lists are not among the unlabelled lists that this model of list-iw" in (
        rerank("predict", "m", "train.letor", "--out", "s").err
    )


def test_values_of_weighted_lists_are_marked(rerank, folder):
    rerank("weigh-lists", "train.letor", "test.letor", "--out", "w.tsv")
    common = ["train", "--data", "train.letor", "--learner", "mert", "--metric", "label@1", "--out", "m"]
    assert "train label@1 of the weighted lists " in rerank(*common, "--list-weights", "w.tsv").err
    assert "weighted" not in rerank(*common).err


def test_features_are_ablated_with_the_same_weights_and_unlabelled_lists(rerank, folder):
    package.save(lists_of(2), "dev.letor", "svmlight")
    rerank("weigh-lists", "train.letor", "test.letor", "--out", "w.tsv")
    common = ["importance", "ablate", "--data", "train.letor", "--dev", "dev.letor", "--metric", "AP"]
    for more in (
        ("--learner", "ridge", "--list-weights", "w.tsv"),
        ("--learner", "list-iw", "--set", "base=ridge", "--unlabelled", "test.letor"),
    ):
        out = rerank(*common, *more).out
        assert len([line for line in out.splitlines() if line[:1] in "123"]) >= 3


def test_lists_without_ids_are_matched_by_position_and_number_of_items(rerank, folder):
    text = "2 1:1 2:0\n1 1:2 2:1\n0 1:0 2:3\n"
    (folder / "one.txt").write_text(text)
    rerank("weigh-lists", "one.txt", "test.letor", "--out", "w.tsv", "--basis", "kernel")
    assert (folder / "w.tsv").read_text() == "list\titems\tweight\n1\t3\t1.0\n"
    (folder / "other.txt").write_text(text + "1 1:4 2:4\n")
    common = ["--learner", "ridge", "--list-weights", "w.tsv", "--out", "m"]
    rerank("train", "--data", "one.txt", *common)
    assert "w.tsv:2: found '3' items of list '1', expected 4" in (
        rerank("train", "--data", "other.txt", *common, code=2).err
    )
