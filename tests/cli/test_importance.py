"""``rerank importance``: tables, JSON and TSV of feature analyses."""

import json

import pytest
from command_line import tsv

from rerank.models.base import load_model

NAMES = ("--feature-names", "features.txt")


@pytest.fixture
def model(rerank, work):
    rerank("train", "--data", "train.letor", *NAMES, "--out", "model")
    return "model"


def test_weights(rerank, model):
    found = rerank("importance", "weights", model, "test.letor", *NAMES, "--top", "3", "--out", "w.tsv")
    lines = found.out.splitlines()
    assert lines[0].split() == ["feature", "weight", "sd", "in", "lists", "weight", "*", "sd", "share"]
    assert len(lines) == 6
    names = load_model(model).feature_names
    assert lines[5] == f"... and {len(names) - 3} more (--top, --out)"
    rows = json.loads(rerank("importance", "weights", model, "test.letor", *NAMES, "--as", "json").out)
    assert [row["feature"] for row in rows] == names
    assert [row["feature"] for row in tsv("w.tsv")] == names
    assert float(tsv("w.tsv")[0]["standardised"]) == rows[0]["standardised"]
    assert sum(row["share"] for row in rows) == pytest.approx(1)


def test_permute(rerank, model):
    base = ("importance", "permute", model, "test.letor", *NAMES, "-m", "RR", "--repeats", "3")
    plain = rerank(*base, "--out", "p.tsv")
    assert plain.out.splitlines()[0].split() == ["feature", "features", "loss", "interval", "sd"]
    assert "seed 1; sd: between permutations" in plain.out
    found = json.loads(rerank(*base, "--jobs", "2", "--as", "json").out)
    assert found["permutation"] == {"repeats": 3, "seed": 1}
    assert [one["feature"] for one in found["features"]] == load_model(model).feature_names
    for row, one in zip(tsv("p.tsv"), found["features"], strict=True):
        assert (float(row["loss"]), float(row["low"])) == (one["loss"], one["ci"][0])
    one = json.loads(rerank(*base, "--group", "*_letters", "--as", "json").out)["features"]
    assert [(group["feature"], group["columns"] > 1) for group in one] == [("*_letters", True)]
    assert "no feature matches" in rerank(*base, "--group", "x*", code=2).err
    assert "no metric: give one" in rerank("importance", "permute", model, "test.letor", *NAMES, code=2).err


def test_ablate(rerank, work):
    work.joinpath("c.yaml").write_text(
        "data: {train: train.letor, dev: dev.letor, feature_names: features.txt}\n"
        "learner: {name: perceptron, epochs: 3}\nselect: {metric: RR, keep: best}\n"
    )
    groups = ("--group", "*_letters", "--group", "distance*")
    plain = rerank("importance", "ablate", "c.yaml", "--test", "test.letor", *groups, "--out", "a.tsv")
    assert "of test" in plain.out
    assert "Holm: corrected for 2 comparisons" in plain.out
    found = json.loads(
        rerank("importance", "ablate", "c.yaml", "--test", "test.letor", *groups, "--as", "json").out
    )
    assert [one["feature"] for one in found["features"]] == ["*_letters", "distance*"]
    assert [float(row["holm"]) for row in tsv("a.tsv")] == [one["holm"] for one in found["features"]]
    rerank("train", "c.yaml", "--features", "-distance*", "--out", "m")
    rerank("predict", "m", "test.letor", *NAMES, "--out", "s")
    value = json.loads(rerank("eval", "test.letor", "s", "-m", "RR", "--as", "json").out)["systems"][0][
        "metrics"
    ]["RR"]
    assert found["features"][1]["value"] == value["value"]
    on_dev = rerank("importance", "ablate", "c.yaml", *groups).out
    assert "of dev; models may have been chosen on them" in on_dev
    assert "--test-refs: not used" in rerank("importance", "ablate", "c.yaml", "--test-refs", "x", code=2).err


@pytest.mark.parametrize("kind", ["weights", "permute"])
def test_an_output_is_no_input(rerank, model, kind):
    more = ("-m", "RR") if kind == "permute" else ()
    err = rerank("importance", kind, model, "test.letor", *NAMES, *more, "--out", "test.letor", code=2).err
    assert "test.letor" in err
    assert err.count("\n") == 1
