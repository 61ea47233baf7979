"""Real-valued labels quantised by ``rerank train`` and ``rerank pairs``."""

import dataclasses
import json

import numpy as np
import pytest
from small_training import all_runs

from rerank import CandidateLists, load, load_model, train
from rerank.data.labels import parse_quantiser, quantised
from rerank.data.pairs import PairRelation, make_pairs
from rerank.formats.base import save
from rerank.learners.base import LEARNERS
from rerank.training.data import SideInputs
from rerank.training.out_of_fold import folds_of

WAYS = ("best", "above=0.4", "top=30%", "kmeans=3", "list-kmeans=2")


@pytest.fixture
def real(tmp_path, monkeypatch):
    """real.letor and real.dev.letor: 30 and 10 lists of 8 items whose labels lie in 0 to 1."""
    rng = np.random.default_rng(11)
    for name, n in (("real.letor", 30), ("real.dev.letor", 10)):
        X = rng.standard_normal((8 * n, 3))
        y = 1 / (1 + np.exp(-X @ [1.0, -0.5, 0.2] + rng.standard_normal(8 * n)))
        save(CandidateLists.from_arrays(X, y, group=[8] * n), str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("way", WAYS)
def test_a_model_of_quantised_labels_is_that_of_lists_with_such_labels(rerank, real, way):
    result = rerank("train", "--data", "real.letor", "--quantise", way, "--out", "model")
    few = quantised(load("real.letor"), parse_quantiser(way))
    expected = train(few)
    found = load_model("model")
    assert dict(found.explain()) == dict(expected.explain())
    assert found.training.data.quantise == way
    assert f"{make_pairs(few, PairRelation()).n_pairs} pairs" in result.err
    assert f"quantise {way}" in " ".join(rerank("show", "model").out.split())


def test_labels_of_dev_lists_stay(rerank, real):
    asked = ("train", "--data", "real.letor", "--dev", "real.dev.letor", "--metric", "label@1")
    rerank(*asked, "--set", "data.quantise=best", "--curve", "curve.tsv", "--out", "model")
    header, *rows = (line.split("\t") for line in (real / "curve.tsv").read_text().splitlines())
    last = dict(zip(header, map(float, rows[-1]), strict=True))
    dev = load("real.dev.letor")
    chosen = [
        a + int(np.argmax(load_model("model").score(dev)[a : a + 8])) for a in dev.offsets[:-1].tolist()
    ]
    assert last["dev"] == pytest.approx(dev.labels[chosen].mean())


def test_out_of_fold_scores_are_judged_by_the_labels_as_they_are(rerank, real):
    lists = load("real.letor")
    few = quantised(lists, parse_quantiser("best"))
    scores = np.empty(lists.n_items)
    for fold in folds_of(lists, 5, 0):
        model = train(few.subset(fold.train), "ranksvm", scaling="none")
        items = np.concatenate([np.arange(8 * i, 8 * i + 8) for i in fold.test])
        scores[items] = model.score(lists.subset(fold.test))
    chosen = lists.labels[8 * np.arange(30) + scores.reshape(30, 8).argmax(axis=1)]
    asked = ("train", "--data", "real.letor", "--quantise", "best", "-m", "label", "--learner", "ranksvm")
    asked += ("--scaling", "none", "--select", "cv", "--grid", "C=10,0.001", "--out", "model")
    rerank(*asked)
    assert load_model("model").training.choice.cells[0].value == pytest.approx(chosen.mean(), rel=1e-12)

    based = dataclasses.replace(few, base_scores=lists.features.column(0))
    svm = LEARNERS.get("ranksvm")()
    given = {"metric": "label", "scaling": "none", "tune_base": "folds"}
    found = all_runs(svm, based, side=SideInputs(labels=lists.labels), **given).model.training.tune_base
    assert found.before == pytest.approx(chosen.mean(), rel=1e-12)


def test_a_models_choice_as_the_border(rerank, real):
    rerank("train", "--data", "real.letor", "--learner", "best-feature", "-m", "label@1", "--out", "first")
    (real / "c.yaml").write_text("data: {train: real.letor, quantise: model=first}\n")
    rerank("train", real / "c.yaml", "--out", "model")
    lists = load("real.letor")
    scores = load_model("first").score(lists).reshape(-1, 8)
    labels = lists.labels.reshape(-1, 8)
    border = labels[np.arange(len(labels)), scores.argmax(axis=1)]
    few = dataclasses.replace(lists, labels=(labels > border[:, None]).astype(float).ravel())
    assert dict(load_model("model").explain()) == dict(train(few).explain())


def test_pairs_has_a_row_for_each_quantiser(rerank, real):
    given = [part for way in WAYS for part in ("--quantise", way)]
    rows = json.loads(rerank("pairs", "real.letor", "-r", "pairs=ordinal", *given, "--as", "json").out)
    assert [row["quantise"] for row in rows] == [None, *WAYS]
    lists = load("real.letor")
    for row in rows:
        few = lists if row["quantise"] is None else quantised(lists, parse_quantiser(row["quantise"]))
        assert row["pairs"] == make_pairs(few, PairRelation()).n_pairs
    table = rerank("pairs", "real.letor").out.splitlines()
    assert sum(line.startswith("quantise=") for line in table) == 3


@pytest.mark.parametrize(
    "verb", [("pairs", "real.letor"), ("train", "--data", "real.letor", "--out", "model")]
)
def test_wrong_quantisers(rerank, real, verb):
    assert "did you mean 'kmeans'" in rerank(*verb, "--quantise", "kmean=3", code=2).err
    assert "no such file" in rerank(*verb, "--quantise", "model=absent", code=2).err
