"""Models of kind preference: sums of a kernel on items over support items, their files, the command line."""

import dataclasses
import json

import numpy as np
import pytest
from make import LAYOUTS, features
from small_training import saved
from typer.testing import CliRunner

from rerank.cli.app import app
from rerank.core.errors import DataError
from rerank.data.columns.forests import Forest
from rerank.data.lists import CandidateLists
from rerank.models.base import load_model
from rerank.models.dual import support_rows
from rerank.models.preference import PreferenceModel
from rerank.similarity import item_sums
from rerank.similarity.expression import ItemKernel
from rerank.similarity.gram_matrices import item_gram

TREES = ["(S (A a) (B b))", "(S (A a))", "", "(S (B b) (A (C a)))", "(S (A a) (B b))"]
QUESTIONS = ["(Q who)", "(Q (W who))", "(Q who)", "(Q who)", "(Q who)"]
KERNEL = "ptk(tree) + sst(question) * linear"


def some_lists(seed=3, n=7, layout="dense"):
    """Lists with trees and questions."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, 4)).astype(float)
    if layout == "indicators":
        X = (X != 0).astype(float)
    names = list("abcd")
    lists = CandidateLists.from_arrays(features(layout, X), group=[n - 3, 3], feature_names=names)
    trees, questions = ([kind[i] for i in rng.integers(5, size=n)] for kind in (TREES, QUESTIONS))
    forests = {
        "trees": Forest.from_strings(trees),
        "structures": {"question": Forest.from_strings(questions)},
    }
    return dataclasses.replace(lists, **forests)


def some_model(kernel=KERNEL, scale=None, n=5):
    lists = some_lists(2)
    rows = np.array([6, 0, 3, 1, 2])[:n]
    coefficients = np.random.default_rng(4).standard_normal(n)
    model = PreferenceModel.of_items(ItemKernel.parse(kernel), lists, rows, coefficients)
    model.scale = scale
    return model, item_gram(kernel, some_lists(), lists)[:, rows] @ coefficients


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", [KERNEL, "bow(tree)", "gaussian(a, b)"])
def test_scores_are_the_sums_of_the_definition_and_a_file_keeps_them(layout, kernel, tmp_path):
    model, expected = some_model(kernel)
    scores = model.score(some_lists())
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    again = saved(model, tmp_path)
    np.testing.assert_array_equal(again.score(some_lists()), scores)
    assert again.kernel == model.kernel
    lists = some_lists(layout=layout)
    dense = some_lists(layout="indicators" if layout == "indicators" else "dense")
    np.testing.assert_array_equal(model.score(lists), model.score(dense))


def test_scores_do_not_depend_on_blocks_and_other_items(monkeypatch):
    model, _ = some_model()
    lists = some_lists(5, 30)
    scores = model.score(lists)
    np.testing.assert_array_equal(model.score(lists.subset([1])), scores[-3:])
    monkeypatch.setattr(item_sums, "_BLOCK", 40)
    monkeypatch.setattr(item_sums, "_ROWS", 1)
    np.testing.assert_array_equal(model.score(lists), scores)


def test_trees_are_kept_once_and_only_the_symbols_that_occur():
    model, _ = some_model("ptk(question) + ptk(tree)", n=4)
    arrays = model.arrays()
    assert arrays["which"].shape == (2, 4)
    distinct = {tree for name in ("question", "tree") for tree in model.support.forest(name).to_strings()}
    assert len(arrays["offsets"]) - 1 == len(distinct)
    assert len(arrays["vocabulary.offsets"]) - 1 == len(np.unique(arrays["symbols"]))


def test_a_model_without_support_scores_0(tmp_path):
    model, _ = some_model(n=0)
    again = saved(model, tmp_path)
    assert not again.score(some_lists()).any()
    assert (again.n_weighted(), again.explain()) == (0, [])


def test_probabilities_are_shares_within_lists_in_the_order_of_rows(tmp_path):
    model, _ = some_model(scale=0.75)
    model.save(str(tmp_path / "model"))
    lists = some_lists().regrouped(list("abababa"))
    scores = lists.from_input_order(model.score(lists))
    shares = np.exp(0.75 * scores)
    expected = shares / np.repeat(np.add.reduceat(shares, lists.offsets[:-1]), lists.lengths)
    found = load_model(str(tmp_path / "model")).probabilities(lists)
    np.testing.assert_allclose(found, lists.input_order(expected), rtol=1e-12)
    model.scale = 1e300
    assert set(model.probabilities(lists)) <= {0.0, 0.5, 1.0}
    model.scale = None
    with pytest.raises(DataError, match="the model has no probabilities; train it with probability=true"):
        model.probabilities(lists)


def test_scores_that_overflow_are_an_error():
    model, _ = some_model("polynomial(degree=5)")
    model.coefficients[:] = 1e308
    with pytest.raises(DataError, match="the sum over support items overflows"):
        model.score(some_lists())


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("kernel", lambda a: a[:-1], "5 characters|character|damaged text of a kernel"),
        ("kernel", lambda a: a * 0 + 255, "damaged text of a kernel"),
        ("kernel", lambda a: np.frombuffer(b"ptk + linear", np.uint8), "does not name its trees"),
        (
            "kernel",
            lambda a: np.frombuffer(b"ptk(x)", np.uint8),
            "trees of 5 items in 2 columns and 4 features",
        ),
        ("kernel", lambda a: np.zeros(200_000, np.uint8), "a kernel of 200,000 characters"),
        ("kernel", lambda a: np.frombuffer(b"ptk(tree)*ptk(x)", np.uint8), "and 4 features for the kernel"),
        ("coefficients", lambda a: a[1:], "in 2 columns"),
        ("coefficients", lambda a: a * np.inf, "a coefficient that is not finite"),
        ("which", lambda a: a + 100, "a support item with a tree beyond the"),
        ("which", lambda a: a - 100, "a support item with a tree beyond the"),
        ("which", lambda a: a[:1], "trees of 5 items in 1 columns"),
        ("sizes", lambda a: a + np.int32(1), "not a tree"),
        ("offsets", lambda a: a[::-1].copy(), "offsets must rise"),
        ("symbols", lambda a: a + np.int32(100), "not a tree"),
        ("vocabulary.offsets", lambda a: a + 1, "offsets must rise"),
        ("indptr", lambda a: a[::-1].copy(), "indptr must run from 0"),
        ("indices", lambda a: a + np.int32(9), "indices of item"),
        ("data", lambda a: a * np.nan, "value is nan"),
        ("scale", lambda a: a * np.nan, "a scale of probabilities of nan"),
        ("scale", lambda a: -a, "a scale of probabilities of -0.5"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, change, message):
    model, _ = some_model(scale=0.5)
    arrays = model.arrays()
    arrays[name] = change(arrays[name])
    with pytest.raises(DataError, match=message):
        PreferenceModel.from_arrays(list("abcd"), arrays)


def test_a_tree_that_all_support_items_claim_cannot_exhaust_memory(monkeypatch):
    monkeypatch.setenv("RERANK_MEMORY", "1M")
    model, _ = some_model("ptk(tree)", n=1)
    arrays = model.arrays()
    deep = Forest.from_strings(["(S " * 5000 + "(A b)" + ")" * 5000])
    n = 3000
    arrays |= {**deep.arrays(), "which": np.zeros((1, n), np.int64), "coefficients": np.ones(n)}
    arrays["indptr"] = np.zeros(n + 1, np.int64)
    with pytest.raises(Exception, match="nodes of the trees of support items"):
        PreferenceModel.from_arrays([], arrays)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Lists of passages with questions, and models of them."""
    folder = tmp_path_factory.mktemp("preference")
    rng = np.random.default_rng(0)
    with (folder / "data.jsonl").open("w") as out:
        for q in range(8):
            cells = []
            for i in range(3):
                word = "cat" if rng.random() < (0.8 if i == 0 else 0.2) else "dog"
                trees = {"question": "(Q (W who))", "passage": f"(S (N {word}) (V runs))"}
                cells.append({"label": int(i == 0), "trees": trees})
            out.write(json.dumps({"id": f"q{q}", "candidates": cells}) + "\n")
    for name, more in (
        ("plain", []),
        ("sure", ["--set", "probability=true", "--set", "probability_folds=4"]),
    ):
        learner = ["--learner", "preference-svm", "--out", str(folder / name)]
        given = ["train", "--data", str(folder / "data.jsonl"), *learner]
        result = CliRunner().invoke(app, [*given, *more])
        assert result.exit_code == 0, result.output
    return {name: str(folder / name) for name in ("data.jsonl", "plain", "sure")}


def test_the_command_line_prints_a_probability_for_each_line(files):
    result = CliRunner().invoke(app, ["predict", files["sure"], files["data.jsonl"], "--as", "probabilities"])
    assert result.exit_code == 0, result.output
    found = np.array(list(map(float, result.stdout.split()))).reshape(8, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (found[:, 0] > 1 / 3).sum() > 4


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("plain", [], "--as probabilities: the model has none; train it with probability=true"),
        (
            "sure",
            ["--keep-margin", "1"],
            "--keep-margin changes which item is chosen, not the probabilities of --as probabilities",
        ),
    ],
)
def test_probabilities_that_are_not_there_are_refused_in_one_line(files, name, more, message):
    given = ["predict", files[name], files["data.jsonl"], "--as", "probabilities", *more]
    result = CliRunner().invoke(app, given, standalone_mode=False)
    assert (result.return_value, result.stdout, result.stderr) == (2, "", f"rerank: {message}\n")


def test_show_prints_the_kernel_and_how_exact_the_minimum_is(files):
    lines = CliRunner().invoke(app, ["show", files["sure"]]).stdout
    for part in ("ptk(question) + ptk(passage)", "support_pairs", "gap", "softmax of", "--items lists them"):
        assert part in lines


def test_show_lists_support_items_if_asked_to(files):
    def shown(*more):
        return CliRunner().invoke(app, ["show", files["sure"], *more]).stdout

    assert "[support item" not in shown()
    assert shown("--items").count("[support item") == shown("--as", "csv").count("[support item") == 2
    assert shown("--top", "1").count("[support item") == 1
    assert "of the scaled features" not in shown("--items")


def test_support_items_of_rounding_are_not_listed():
    one, two, four = (f"[support item {i}]" for i in (1, 2, 4))
    assert support_rows(np.array([1.0, -3e-19, 0.0, -2.0])) == [(four, -2.0), (one, 1.0)]
    assert support_rows(np.array([3e-19, -1e-19])) == [(one, 3e-19), (two, -1e-19)]
    assert support_rows(np.empty(0)) == []
