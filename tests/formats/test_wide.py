"""Width follows the features present, not the largest index: every format, every pair of model and data."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_training import saved

import rerank
from rerank.core.errors import RerankError
from rerank.data.matrix import Dense, Sparse
from rerank.data.names import numbers_in
from rerank.formats import load
from rerank.formats.base import save
from rerank.formats.feature_columns import WIDE, columns_to_keep, narrowed
from rerank.formats.weights import read_weights
from rerank.training.config import read_config

FAR = "1 qid:1 1:1 20000000:1\n0 qid:1 1:0.5 7:3\n1 qid:2 7:1\n0 qid:2 20000000:2\n"
NEAR = "1 qid:1 1:1 3:1\n0 qid:1 2:0.5 7:3\n1 qid:2 7:1\n0 qid:2 3:2\n"
BLLIP = "S=1\nG=7 N=2 P=7 W=7 0=2 14=2 99999998, P=7 W=6 3,\n"


@pytest.fixture(autouse=True)
def no_notes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def read(folder: Path, text: str, name: str = "set.txt", **options):
    path = folder / name
    path.write_text(text)
    return load(path, **options)


def columns_of(lists):
    return dict(zip(lists.names(), lists.features.to_dense().T.tolist(), strict=True))


def test_only_the_features_present_have_columns(tmp_path):
    lists = read(tmp_path, FAR)
    assert columns_of(lists) == {"1": [1, 0.5, 0, 0], "7": [0, 3, 1, 0], "20000000": [1, 0, 0, 2]}


@pytest.mark.parametrize("layout", ["dense", "sparse", "auto"])
def test_every_layout_has_the_same_columns(tmp_path, layout):
    lists = read(tmp_path, FAR, layout=layout)
    assert columns_of(lists) == columns_of(read(tmp_path, FAR))
    assert isinstance(lists.features, {"dense": Dense, "sparse": Sparse}.get(layout, Dense | Sparse))


def test_absent_values_may_be_missing(tmp_path):
    lists = read(tmp_path, FAR + "0 qid:2 1:0\n", missing="nan", dtype="float32", layout="dense")
    assert lists.features.dtype == np.float32
    assert np.isnan(lists.features.to_dense()).tolist()[1] == [False, False, True]
    assert lists.features.to_dense()[4, 0] == 0


def test_narrow_sets_are_unnamed(tmp_path):
    assert read(tmp_path, "1 qid:1 1:1 900000:1\n").feature_names is None
    assert read(tmp_path, "1 qid:1 1:1 900000:1\n").n_features == 900000


def test_a_set_that_fills_its_columns_keeps_them_all(tmp_path):
    indptr, n = np.array([0, WIDE], dtype=np.int64), WIDE + 1
    features = Sparse(indptr, np.arange(WIDE, dtype=np.int32), None, n)
    assert columns_to_keep(features, np.empty(0, dtype=np.int64), zeros=False) is None


def test_values_in_columns_left_out_are_dropped():
    features = Sparse(np.array([0, 2, 3]), np.array([1, 5, 3], dtype=np.int32), np.array([0.0, 2, 3]), 9)
    kept = narrowed(features, np.array([3, 5, 8]))
    assert kept.to_dense().tolist() == [[0, 2, 0], [3, 0, 0]]
    assert kept.check(nan_allowed=False) is False


@pytest.mark.parametrize("index", [1_000_001, 2**31 - 1])
def test_the_largest_index_is_kept_even_if_its_value_is_zero(tmp_path, index):
    lists = read(tmp_path, f"1 qid:1 1:1 {index}:0\n0 qid:1 1:2\n")
    assert lists.names() == ["1", str(index)]


def test_an_index_beyond_32_bits_is_one_line(tmp_path):
    with pytest.raises(
        RerankError, match=r"set.txt:1: found index '2147483648', expected an index of at most"
    ):
        read(tmp_path, "1 qid:1 1:1 2147483648:1\n")


def test_indices_from_0_name_columns_like_unnamed_ones(tmp_path):
    far = read(tmp_path, "1 qid:1 0:1 20000000:1\n0 qid:1 0:2\n", zero_based=True)
    assert far.names() == ["1", "20000001"]


@pytest.mark.parametrize("suffix", ["txt", "store", "jsonl", "csv"])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_indices_survive_every_way_back_to_svmlight(tmp_path, suffix, layout):
    lists = read(tmp_path, FAR, layout=layout)
    save(lists, str(tmp_path / f"copy.{suffix}"))
    with warnings.catch_warnings(action="ignore"):
        copy = load(tmp_path / f"copy.{suffix}", layout=layout)
    assert columns_of(copy) == columns_of(lists)
    save(replace(copy, first_best=None), str(tmp_path / "back.txt"))
    back = load(tmp_path / "back.txt", layout=layout)
    assert columns_of(back) == columns_of(lists)
    rows = [line.split()[2:] for line in (tmp_path / "back.txt").read_text().splitlines()]
    assert [[pair for pair in row if not pair.endswith(":0")] for row in rows] == [
        ["1:1", "20000000:1"],
        ["1:0.5", "7:3"],
        ["7:1"],
        ["20000000:2"],
    ]


def test_an_added_column_follows_the_largest_index(tmp_path):
    lists = read(tmp_path, FAR, layout="sparse").with_added({"lm": np.arange(1.0, 5.0)})
    with pytest.warns(UserWarning, match="feature names; left out"):
        save(lists, str(tmp_path / "more.txt"))
    assert (tmp_path / "more.txt").read_text().splitlines()[0] == "1 qid:1 1:1 20000000:1 20000001:1"


def trained(lists):
    return rerank.train(lists, epochs=3, scaling="none")  # the default depends on the layout


def dense_twin(lists, names):
    """The scores that a model of the columns ``names`` should give."""
    columns = columns_of(lists)
    return np.array([columns.get(name, [0] * lists.n_items) for name in names]).T


@pytest.mark.parametrize("model_of", [FAR, NEAR])
@pytest.mark.parametrize("data_of", [FAR, NEAR])
@pytest.mark.parametrize("form", ["txt", "store", "model"])
def test_models_and_data_match_by_index(tmp_path, model_of, data_of, form):
    model = trained(read(tmp_path, model_of))
    data = read(tmp_path, data_of, "data.txt")
    if form == "store":
        save(data, str(tmp_path / "data.store"))
        data = load(tmp_path / "data.store")
    if form == "model":
        model = saved(model, tmp_path)
    X = dense_twin(data, model.feature_names)
    context = warnings.catch_warnings()
    if (model_of, data_of) == (NEAR, FAR):
        context = pytest.warns(
            UserWarning, match=r"1 feature that the model does not know \(20000000\), ignored"
        )
    with context:
        np.testing.assert_array_equal(model.score(data), X @ model.weights)


def test_dev_lists_match_by_index(tmp_path):
    train, dev = read(tmp_path, FAR), read(tmp_path, NEAR.replace("3:", "20000000:"), "dev.txt")
    model = rerank.train(train, dev=dev, metric="AP", epochs=2)
    assert model.feature_names == ["1", "7", "20000000"]


def test_old_stores_of_unnamed_wide_columns_are_narrowed(tmp_path):
    lists = read(tmp_path, FAR.replace("20000000", str(WIDE + 1)), layout="sparse")
    places = numbers_in(lists.names())
    wide = lists.with_features(lists.features.select(places, WIDE + 1), None)
    save(wide, str(tmp_path / "old.store"))
    assert columns_of(load(tmp_path / "old.store")) == columns_of(lists)


def test_files_of_names_may_name_far_columns(tmp_path):
    (tmp_path / "names").write_text("100000000\tx\n1\tfirst\n")
    lists = read(tmp_path, FAR, feature_names=str(tmp_path / "names"))
    assert lists.names() == ["first", "7", "20000000", "x"]


def test_bllip_files_have_the_features_present_and_feature_0(tmp_path):
    lists = read(tmp_path, BLLIP, "set.bllip")
    assert lists.names() == ["0", "3", "14", "99999998"]
    save(lists, str(tmp_path / "copy.bllip"))
    assert "99999998" in (tmp_path / "copy.bllip").read_text()
    assert columns_of(load(tmp_path / "copy.bllip")) == columns_of(lists)
    read(tmp_path, BLLIP.replace("0=2 ", ""), "set.bllip")
    assert load(tmp_path / "set.bllip").names() == ["0", "3", "14", "99999998"]


def test_bllip_weights_have_the_features_present(tmp_path):
    (tmp_path / "w").write_text("99999999=1\n7=2\n")
    names, weights = read_weights(str(tmp_path / "w"), "bllip")
    assert (names, weights.tolist()) == (["0", "7", "99999999"], [0, 2, 1])
    model = rerank.import_model(str(tmp_path / "w"), str(tmp_path / "m"), "bllip")
    lists = read(tmp_path, BLLIP.replace("14=2", "7=2"), "set.bllip")
    assert model.score(lists).tolist() == [4.0, 0.0]


def test_files_with_and_without_far_columns_are_joined(tmp_path):
    (tmp_path / "far.txt").write_text(FAR)
    (tmp_path / "near.txt").write_text(NEAR.replace("qid:1", "qid:3").replace("qid:2", "qid:4"))
    config = {"data.train": [str(tmp_path / "far.txt"), str(tmp_path / "near.txt")]}
    model = rerank.train_files(read_config(None, [], config), str(tmp_path / "m")).model
    assert model.feature_names == ["1", "2", "3", "4", "5", "6", "7", "20000000"]
