"""Results in notebooks, at prompts and as data frames."""

import sys

import numpy as np
import pytest
from small_judging import evaluate

import rerank
from rerank.core.errors import ConfigError
from rerank.formats.sources import validate
from rerank.models.describe import model_lines
from rerank.models.importance import permutation_importance, standardised_weights
from rerank.similarity.compare import list_similarity

EVIL = "<script>alert('x')</script>"
X = np.random.default_rng(0).normal(size=(12, 2))
LISTS = rerank.CandidateLists.from_arrays(
    X,
    np.tile([1.0, 0.0, np.nan, 0.0], 3),
    qid=np.repeat([EVIL, "b", "c"], 4),
    feature_names=["f", EVIL],
    texts=[EVIL] * 12,
)
MODEL = rerank.train(LISTS, epochs=2)
SYSTEMS = {"a": MODEL.score(LISTS), EVIL: X[:, 0]}
RESULTS = {
    "values": lambda: rerank.evaluate(LISTS, SYSTEMS["a"], ["RR", "P@1"]),
    "evaluation": lambda: evaluate(LISTS, SYSTEMS, ["RR", "P@1"], samples=20),
    "comparisons": lambda: rerank.compare(LISTS, SYSTEMS, ["RR"], samples=20),
    "contents": lambda: validate(LISTS),
    "model": lambda: MODEL,
    "weights": lambda: standardised_weights(MODEL, LISTS),
    "permutation": lambda: permutation_importance(MODEL, LISTS, "RR", repeats=2, samples=20),
    "similarity": lambda: list_similarity([LISTS]),
    "list weights": lambda: rerank.weigh_lists(LISTS, LISTS.subset([0, 1]), settings={"basis": "kernel"}),
}
COLUMNS = {
    "values": ["metric", "value", "signature"],
    "evaluation": ["system", "metric", "value", "low", "high"],
    "model": ["feature", "weight", "shift", "divisor", "raw_weight"],
    "contents": ["fact", "text"],
    "weights": ["feature", "weight", "deviation", "standardised", "share"],
    "permutation": ["feature", "columns", "loss", "sd", "low", "high"],
    "similarity": ["list", EVIL, "b", "c"],
    "list weights": ["list", "weight"],
}


@pytest.mark.filterwarnings("ignore::rerank.DataNote")
@pytest.mark.parametrize("name", RESULTS)
def test_results_are_tables_in_notebooks_and_data_frames(name):
    found = RESULTS[name]()
    html = found._repr_html_()
    assert html.startswith("<div>\n<table>")
    assert "<script" not in html
    frame = found.to_dataframe()
    assert list(frame.columns) == COLUMNS.get(name, list(frame.columns))
    assert len(frame)
    assert list(found.to_dataframe("polars").columns) == list(frame.columns)
    assert repr(found.summary()) == str(found.summary()) != ""
    if name not in ("values", "model"):
        assert repr(found) == found.summary()


def test_texts_are_those_of_the_command_line():
    found = RESULTS["evaluation"]()
    assert str(found) + "\n" == found.text()
    found = RESULTS["comparisons"]()
    assert f"{found}\n" == found.text()
    assert MODEL.summary() == "\n".join(model_lines(MODEL))
    assert LISTS.summary() == repr(validate(LISTS))
    assert repr(MODEL) == "LinearModel(perceptron, 2 features)"
    values = RESULTS["values"]()
    assert repr(values) == repr(dict(values))


def test_frames_hold_raw_values():
    found = RESULTS["evaluation"]()
    frame = found.to_dataframe()
    one = frame[(frame["system"] == "a") & (frame["metric"] == "RR")].iloc[0]
    result = found.systems["a"]["RR"]
    assert (one["value"], (one["low"], one["high"])) == (result.value, result.ci)
    gram = list_similarity([LISTS]).gram
    assert np.array_equal(RESULTS["similarity"]().to_dataframe().to_numpy()[:, 1:].astype(float), gram)


def test_lists_show_their_first_items():
    html = LISTS._repr_html_()
    assert "<script" not in html
    assert html.count("<tr>") == 11
    assert "3 lists, 12 items" in html
    assert LISTS[1]._repr_html_().count("<tr>") == 5
    wide = rerank.CandidateLists.from_arrays(np.ones((1, 30)))
    assert "22 more features" in wide._repr_html_()


def test_a_library_that_is_not_there_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ConfigError, match="a data frame needs polars: pip install polars"):
        MODEL.to_dataframe("polars")
    with pytest.raises(ConfigError, match="unknown library 'panda'; did you mean 'pandas'"):
        MODEL.to_dataframe("panda")
