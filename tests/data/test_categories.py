"""Columns of categories: indicators in training, the same ones at prediction, unknown values counted."""

import warnings

import numpy as np
import pytest

from rerank import CandidateLists, DataNote, load, load_model, predict, train
from rerank.core.errors import ConfigError, DataError
from rerank.data.categories import indicators, wanted
from rerank.data.reading import ReadOptions

TRAIN = "qid,label,x,colour\na,1,1.5,red\na,0,0.5,blue\nb,0,0.25,\nb,1,2,red\n"
TEST = "colour,qid,x\nred,a,1\nteal,a,2\nteal,b,0.5\nred,b,0\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "train.csv").write_text(TRAIN)
    (tmp_path / "test.csv").write_text(TEST)
    return tmp_path


@pytest.fixture(name="cli")
def fixture_cli(rerank):
    return rerank


def reading(*columns):
    return ReadOptions(categorical=columns)


def test_a_value_is_a_feature_and_a_missing_one_too():
    found = indicators({"c": ["b", None, "a", "b"], "n": [1.0, 2, 1, True]}, "set")
    assert list(found) == ["c=", "c=a", "c=b", "n=1", "n=2", "n=True"]
    np.testing.assert_array_equal(found["c=b"], [1, 0, 0, 1])
    np.testing.assert_array_equal(found["n=1"], [1, 0, 1, 0])


def test_ids_are_no_categories():
    assert len(indicators({"c": range(1000)}, "set")) == 1000
    with pytest.raises(DataError, match=r"^set: found column 'c' with 1,001 values, expected a category"):
        indicators({"c": range(1001)}, "set")


def test_columns_are_asked_for_by_name():
    assert wanted(["a", "b?", "c?"], ["a", "b", "c?"], "set", "--categorical") == ["a", "b", "c?"]
    assert wanted(["a?"], ["b"], "set", "--categorical") == []
    with pytest.raises(
        ConfigError, match=r"^set: no column 'colur' \(--categorical\); did you mean 'colour'"
    ):
        wanted(["colur"], ["colour"], "set", "--categorical")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_has_the_features_of_a_frame(files, suffix):
    path = str(files / "train.csv")
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(path)
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
        path = str(files / "train.parquet")
        frame.to_parquet(path)
    with pytest.warns(DataNote):
        lists = load(path, options=reading("colour"))
    same = CandidateLists.from_frame(frame, categorical="colour")
    assert lists.feature_names == same.feature_names == ["x", "colour=", "colour=blue", "colour=red"]
    expected = [[1.5, 0, 0, 1], [0.5, 0, 1, 0], [0.25, 1, 0, 0], [2, 0, 0, 1]]
    np.testing.assert_array_equal(lists.features.to_dense(), expected)
    np.testing.assert_array_equal(same.features.to_dense(), expected)


def test_rows_of_a_list_far_apart_keep_their_values(tmp_path):
    (tmp_path / "a.csv").write_text("qid,colour\na,red\nb,blue\na,green\n")
    with pytest.warns(DataNote):
        lists = load(str(tmp_path / "a.csv"), options=reading("colour"))
    assert lists.feature_names == ["colour=blue", "colour=green", "colour=red"]
    np.testing.assert_array_equal(lists.features.to_dense(), [[0, 0, 1], [0, 1, 0], [1, 0, 0]])


def test_the_model_keeps_the_categories_and_counts_unknown_ones(files, cli):
    model, data, test = str(files / "m"), str(files / "train.csv"), str(files / "test.csv")
    done = cli("train", "--data", data, "--categorical", "colour", "--learner", "ranksvm", "--out", model)
    done = cli("predict", model, test, "--out", str(files / "s"))
    assert "1 feature that the model does not know (colour=teal: 2 items), ignored" in done.err
    assert "absent" not in done.err
    known = load_model(model)
    assert known.input_names == ["x", "colour=", "colour=blue", "colour=red"]
    scores = [float(line) for line in (files / "s").read_text().split()]
    assert scores[0] != scores[3]
    frame = {"qid": ["a", "a", "b", "b"], "x": [1, 2, 0.5, 0], "colour": ["red", "teal", "teal", "red"]}
    with pytest.warns(DataNote, match="teal: 2 items"):
        np.testing.assert_allclose(predict(known, frame, "scores"), scores)


def test_a_lost_column_is_reported(files, cli):
    model, data = str(files / "m"), str(files / "train.csv")
    cli("train", "--data", data, "--categorical", "colour", "--learner", "ranksvm", "--out", model)
    (files / "other.csv").write_text(TEST.replace("colour", "farbe"))
    done = cli("predict", model, str(files / "other.csv"))
    assert "left out: 'farbe'" in done.err
    assert "3 of 4 features of the model are absent (colour=, colour=blue, colour=red)" in done.err
    assert ": colour not read as categories (--categorical)" in done.err


@pytest.mark.filterwarnings("ignore:.*by the header", "ignore:.*left out")
def test_lists_made_without_the_categories_of_the_model_are_reported(files):
    model = train(load(files / "train.csv", categorical=["colour"]), "ridge")
    bare = load(files / "test.csv")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.score(bare)
    assert any(": colour not read as categories (" in str(one.message) for one in found)


def test_indicators_that_are_no_whole_set_are_reported(files):
    """A lost indicator of a column whose rows are not one-hot is a lost feature."""
    lists = CandidateLists.from_arrays([[1.0, 0], [0, 1]], [1, 0], qid=[1, 1], feature_names=["c=a", "c=b"])
    model = train(lists, learner="ranksvm")
    whole = CandidateLists.from_arrays([[1.0], [1.0]], qid=[1, 1], feature_names=["c=a"])
    part = CandidateLists.from_arrays([[1.0], [0.0]], qid=[1, 1], feature_names=["c=a"])
    with pytest.warns(DataNote, match=r"1 of 2 features of the model is absent \(c=b\)"):
        model.score(part)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.score(whole)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("colur", "no column 'colur' (--categorical); did you mean 'colour'"),
        ("qid", "expected the name of the list's column"),
    ],
)
def test_faults(files, cli, column, message):
    path = str(files / "train.csv")
    done = cli(
        "train", "--data", path, "--categorical", column, "--learner", "ranksvm", "--out", path + "m", code=2
    )
    assert message in done.err


def test_one_column_has_one_role(files):
    with pytest.raises(ConfigError, match=r"column 'colour' \(\S+ has another role, expected one"):
        load(
            str(files / "train.csv"),
            options=ReadOptions(categorical=("colour",), text_column="colour"),
        )
    frame = {"qid": [1, 1], "label": [0, 1], "colour": ["a", "b"]}
    with pytest.raises(ConfigError, match=r"column 'colour' \(\S+ has another role, expected one"):
        CandidateLists.from_frame(frame, categorical=["colour"], text_column="colour")
