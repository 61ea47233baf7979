"""Every verb with --cluster: the same bytes as here. Of several workers here see the tests of each verb."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import rerank
from rerank.cli.app import app
from rerank.core.workers import array_spill as sending
from rerank.core.workers import parallel
from rerank.core.workers.dask import Cluster
from rerank.data.columns.forests import Forest
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.extensions.parsing.feature_stores import parse_features
from rerank.models.importance import permutation_importance
from rerank.models.predict import predict
from rerank.similarity import gram as gram_of
from rerank.similarity.compare import list_similarity
from rerank.training.ablation import ablation
from rerank.training.config import read_config
from rerank.training.train import train_files


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current directory, with two sets of lists; all values go to a cluster by path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sending, "_LARGE", 32)
    for name, seed in (("train", 1), ("dev", 2), ("test", 3)):
        draw = np.random.default_rng(seed)
        X = draw.normal(size=(120, 4))
        y = (X @ [1.0, -0.5, 0.2, 0.0] + 0.3 * draw.normal(size=120) > 0.5).astype(float)
        rerank.save(CandidateLists.from_arrays(X, y, group=[6] * 20), f"{name}.letor", "svmlight")
    return tmp_path


def content(folder):
    """The bytes of all files of a folder but those of times and the machine."""
    found = {}
    for above, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(above, name)
            if "timing" not in path and name != ".locks":
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = file.read()
    return found


def train(out, workers, *, settings):
    base = {"data.train": ["train.letor"], "select.metric": "NDCG@3", **settings, **workers}
    chosen = settings.get("select.by", "none")
    grid_out = None if chosen == "none" else os.path.join(out, "cells.tsv")
    name = "model{seed}" if "seeds" in settings else "model"
    train_files(read_config(None, [], base), os.path.join(out, name), grid_out=grid_out)


def seeds(out, workers):
    settings = {"seeds": 3, "learner.name": "perceptron", "learner.epochs": 3, "data.dev": ["dev.letor"]}
    train(out, workers, settings=settings)


def stumps(out, workers):
    grid = {"grid.rounds": [3, 5], "grid.scaling": ["none", "minmax"], "select.by": "dev"}
    train(out, workers, settings={"learner.name": "boosting", "data.dev": ["dev.letor"], **grid})


def grid_on_folds(out, workers):
    grid = {"grid.tau": [0.1, 1.0], "select.by": "cv", "select.folds": 3}
    train(out, workers, settings={"learner.name": "perceptron", "learner.epochs": 4, **grid})


def gram(out, workers, kernel):
    list_similarity(["train.letor", "dev.letor"], kernel, os.path.join(out, "gram"), **workers)


def items(out, workers):
    lists = rerank.load("dev.letor")
    trees = [f"(S (NP (NN dog{i % 7})) (VP (V{i % 5} x{i % 3})))" for i in range(lists.n_items)]
    rerank.save(replace(lists, structures={"passage": Forest.from_strings(trees)}), "trees.jsonl")
    list_similarity(["trees.jsonl"], "ptk(passage) + linear", os.path.join(out, "gram"), **workers)


def parses(out, workers, values):
    trees = [
        "(S (NP (PRP it)) (VP (VBD knew)))",
        "(S (NP (PRP it)) (ADJP (VBD knew)))",
        "(S (PRP it) (VBD knew))",
    ]
    with open("train.nbest", "w") as file:
        for sentence in range(12):
            some = [tree.replace("it", f"it{sentence % 5}") for tree in trees]
            file.write("".join([f"{some[0]}\n", *(f"-{n}.5\t{tree}\n" for n, tree in enumerate(some)), "\n"]))
    settings = {"cutoff": 2, "values": values}
    reading = Reading(format="parses")
    parse_features(
        ["train.nbest"], os.path.join(out, "parses"), settings=settings, reading=reading, **workers
    )


def permute(out, workers):
    lists = rerank.load("train.letor")
    model = rerank.train(lists, learner="boosting", metric="AP", rounds=5)
    found = permutation_importance(model, lists, "AP", repeats=3, samples=50, **workers)
    write(os.path.join(out, "found.json"), found.as_json())


def adapt(out, workers):
    base = {"name": "rankboost", "rounds": 5}
    rerank.train(rerank.load("train.letor"), learner="fg", base=base).save("adapting")
    report = os.path.join(out, "timing.tsv")
    scores = os.path.join(out, "scores")
    predict("adapting", "test.letor", out=scores, transductive_report=report, **workers)
    with open(report) as file:
        write(os.path.join(out, "lists.json"), [line.split("\t")[:-1] for line in file])


def ablate(out, workers):
    base = {"data.train": ["train.letor"], "data.dev": ["dev.letor"], "select.metric": "AP", **workers}
    found = ablation(None, read_config(None, ["epochs=3"], base), judging={"samples": 50})
    write(os.path.join(out, "found.json"), found.as_json())


def experiment(out, workers):
    with open("small.yaml", "w") as file:
        file.write(
            "data: {train: train.letor, dev: dev.letor, test: test.letor}\n"
            "metrics: [AP, NDCG@3]\nselect: {metric: AP}\nseeds: 2\n"
            "learners: {perceptron: {epochs: 3}, mert: {restarts: 2}}\n"
        )
    rerank.run("small.yaml", os.path.join(out, "run"), **workers)


def write(path, value):
    with open(path, "w") as file:
        json.dump(value, file)


VERBS = {
    "seeds": seeds,
    "grid": stumps,
    "folds": grid_on_folds,
    **{name: lambda *given, name=name: gram(*given, name) for name in ("list", "bhattacharyya")},
    "items": items,
    **{values: lambda *given, values=values: parses(*given, values) for values in ("indicators", "counts")},
    "permute": permute,
    "predict": adapt,
    "ablation": ablate,
    "run": experiment,
}


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@pytest.mark.parametrize("name", VERBS)
def test_every_verb_gives_the_same_bytes(name, here, cluster, monkeypatch):
    before, sent = set(os.listdir(here)), []
    submitted = Cluster.submitted
    monkeypatch.setattr(Cluster, "submitted", lambda *given: sent.append(given) or submitted(*given))
    found = {}
    two = [{"jobs": 2}] if name == "ablation" else []  # which has no test of its own
    for workers in ({"jobs": 1}, *two, {"cluster": cluster}):
        out = here / f"{name}-{next(iter(workers.values()))}".replace("/", "")
        out.mkdir()
        VERBS[name](str(out), workers)
        found[str(workers)] = content(out)
        assert bool(sent) == ("cluster" in workers)
    one, *others = found.values()
    assert one
    assert all(other == one for other in others)
    assert not [left for left in set(os.listdir(here)) - before if left.startswith(".")]


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "--data", "train.letor", "--out", "m", "--seeds", "2", "--metric", "AP"],
        ["similarity", "train.letor"],
        ["predict", "adapting", "test.letor"],
        ["features", "parse", "train.letor", "--out", "m"],
        ["importance", "permute", "m", "train.letor", "--metric", "AP"],
        ["importance", "ablate", "--data", "train.letor", "--dev", "dev.letor", "--metric", "AP"],
    ],
)
def test_wrong_addresses_and_both_options_are_one_line(arguments, here):
    rerank.train(rerank.load("train.letor"), epochs=2).save("m")
    rerank.train(rerank.load("train.letor"), learner="fg", base={"rounds": 2}).save("adapting")
    for more, expected in (
        (["--cluster", "here"], "cluster: found 'here', expected an address such as tcp://host:8786"),
        (["--cluster", "tcp://a:1", "--jobs", "2"], "jobs=2: cannot be combined with a cluster"),
    ):
        ran = CliRunner().invoke(app, [*arguments, *more], standalone_mode=False)
        assert ran.return_value == 2
        assert expected in ran.stderr
        assert len(ran.stderr.splitlines()) == 1


def test_one_fit_on_a_cluster_needs_shards(here):
    arguments = ["train", "--data", "train.letor", "--out", "m", "--cluster", "tcp://a:1"]
    ran = CliRunner().invoke(app, arguments, standalone_mode=False)
    assert (ran.return_value, len(ran.stderr.splitlines())) == (2, 1)
    assert "cluster: one fit is spread over the shards of one sharded store" in ran.stderr


@pytest.mark.parametrize("kernel", ["list", "bhattacharyya"])
def test_two_sets_are_compared_as_here_also_if_they_are_equal(kernel, here, cluster):
    lists, others = (rerank.load(f"{name}.letor") for name in ("train", "dev"))
    for second in (lists, others):
        with parallel.using(None, cluster):
            found = gram_of(lists, second, kernel)
        assert found.tobytes() == gram_of(lists, second, kernel).tobytes()


def test_learners_use_the_workers_here_alone(cluster, here):
    """Restarts of MERT are threads that share arrays."""
    lists = rerank.load("train.letor")
    with parallel.using(None, cluster):
        found = rerank.train(lists, learner="mert", metric="label@1", restarts=3)
    alone = rerank.train(lists, learner="mert", metric="label@1", restarts=3)
    assert found.weights.tobytes() == alone.weights.tobytes()
