"""Fragments of whole models: one table for each tree kernel that stands alone."""

import json
import math
from collections import defaultdict

import numpy as np
import pytest
from reference import tree_kernels, trees
from reference.fragments import bare, plain
from typer.testing import CliRunner

from rerank import CandidateLists, ConfigError
from rerank.cli.app import app
from rerank.data.names import numbered
from rerank.extensions.parsing.fragments import HeavyFragments, ModelFragments, has_fragments, model_fragments
from rerank.models.describe import model_lines, model_record
from rerank.models.linear import LinearModel
from rerank.models.preference import PreferenceModel
from rerank.similarity.expression import ItemKernel

TREES = ["(S (NP a) (VP b))", "(S (NP b) (VP b))", "", "(S (NP (NP a) c))", "(S (NP a) (VP b))"]
QUESTIONS = ["(Q who)", "(Q (W what))", "(Q what)", "", "(Q who)"]
LISTS = CandidateLists.from_arrays(
    [[1.0], [2.0], [0.5], [0.0], [3.0]], trees=TREES, structures={"question": QUESTIONS}
)
COEFFICIENTS = np.array([1.0, -0.5, 2.0, 0.25, -1.0])


def model(expression):
    return PreferenceModel.of_items(ItemKernel.parse(expression), LISTS, np.arange(5), COEFFICIENTS)


def test_weights_of_all_kernels_make_the_score():
    made = model("2 * (sst(tree) + .5 * ptk(question)) + ptk(question) + st(tree, normalise=false)")
    found = model_fragments(made, 10_000)
    assert list(found.kernels) == ["2 * sst(tree)", "2 * ptk(question)", "st(tree, normalise=false)"]
    assert found.products == []
    scores = np.zeros(5)
    parts = (("sst", TREES), ("ptk", QUESTIONS), ("st", TREES))
    for (name, texts), some in zip(parts, found.kernels.values(), strict=True):
        weights = defaultdict(float, {bare(one.text): one.weight for one in some.found})
        for i, text in enumerate(texts):
            components = tree_kernels.fragments(name, trees.parse(text))
            root = 1.0 if name == "st" else math.hypot(*components.values()) or 1.0
            scores[i] += sum(weights[plain(one)] * value for one, value in components.items()) / root
    assert made.score(LISTS) == pytest.approx(scores, abs=1e-12)


def test_products_have_no_fragments():
    made = model("ptk(tree) * gaussian + 3 * (1 + linear) * sst(question) + st(question) + linear")
    found = model_fragments(made, 2)
    assert list(found.kernels) == ["st(question)"]
    assert found.products == ["ptk(tree) * gaussian", "3 * (1 + linear) * sst(question)"]
    lines = model_lines(made, 0, found)
    assert (
        "no fragments of ptk(tree) * gaussian: trees within a product have no weights of their own" in lines
    )


def test_text_and_json():
    made = model("sst(question)")
    found = model_fragments(made, 2)
    title, heads, *rows = model_lines(made, 0, found)[-4:]
    assert title == "fragments of sst(question), the 2 heaviest"
    assert heads.split() == ["weight", "for", "against", "fragment"]
    for row, one in zip(rows, found.kernels["sst(question)"].found, strict=True):
        assert row.split(maxsplit=3) == [f"{one.weight:.6g}", str(one.raising), str(one.lowering), one.text]
        assert row.index(one.text) == heads.index("fragment")
    record = model_record(made, 0, found)
    assert record["products"] == []
    assert record["fragments"][0]["proved"] == 2
    assert record["fragments"][0]["heaviest"][0].keys() == {"fragment", "weight", "for", "against"}
    assert "fragments" not in model_record(made)


@pytest.mark.parametrize(
    ("some", "line", "missed"),
    [
        (HeavyFragments([], 0, 0.0), "fragments of ptk, none has a weight", 0),
        (HeavyFragments([], 0, 1.5), "fragments of ptk, none was found before the search gave up", 1.5),
        (
            HeavyFragments(model_fragments(model("ptk(tree)"), 3).kernels["ptk(tree)"].found, 1, 0.5),
            "fragments of ptk, found by a search that gave up: the first 1 are surely the heaviest, no other "
            "weighs more than 0.5",
            0.5,
        ),
        (HeavyFragments([], 0, math.inf), "fragments of ptk, none was found before the search gave up", None),
    ],
)
def test_what_is_not_proved_is_said(some, line, missed):
    found = ModelFragments({"ptk": some}, [])
    made = model("ptk(tree)")
    assert line in model_lines(made, 0, found)
    assert model_record(made, 0, found)["fragments"][0]["missed"] == missed


def test_models_without_trees():
    none = PreferenceModel(["1"], ItemKernel.parse("linear"), None, np.empty(0))
    for other, kind in ((none, "kernel linear"), (LinearModel(numbered(1), np.ones(1)), "kind linear")):
        assert not has_fragments(other)
        with pytest.raises(ConfigError, match=f"found a model of {kind}, expected one with a tree kernel"):
            model_fragments(other)
    empty = PreferenceModel([], ItemKernel.parse("sst(tree)"), None, np.empty(0))
    assert has_fragments(empty)
    assert model_fragments(empty).kernels["sst(tree)"].found == []


def test_the_command_line(tmp_path):
    path = str(tmp_path / "model")
    model("sst(question)").save(path)

    def run(*arguments):
        return CliRunner().invoke(app, ["show", path, *arguments], standalone_mode=False)

    assert "fragments of sst(question), the 4 heaviest" in run().output
    assert "the 2 heaviest" in run("--fragments", "2").output
    assert "fragments" not in run("--fragments", "0").output
    shown = json.loads(run("--as", "json", "--min-nodes", "3").output)["fragments"][0]["heaviest"]
    assert [one["fragment"] for one in shown] == ["(Q (W what))"]
    assert run("--fragments", "0", "--min-nodes", "3").return_value == 2
    LinearModel(numbered(1), np.ones(1)).save(path)
    assert not run().return_value
    assert run("--fragments", "2").return_value == 2
