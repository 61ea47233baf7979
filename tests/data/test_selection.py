"""Columns selected by name, number, range or glob, and how selected columns are matched to others."""

import re
import warnings
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import LAYOUTS, features, freeze, full_lists
from small_training import saved

import rerank
from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.data.alignment import aligned
from rerank.data.joining import joined
from rerank.data.lists import CandidateLists
from rerank.data.names import Columns, match
from rerank.data.reading import Reading, ReadOptions
from rerank.data.selection import columns_matching, selected
from rerank.data.store import write_store
from rerank.data.store_reader import read_store
from rerank.models.linear import LinearModel
from rerank.models.weights import initial_for, weights_of

NAMES = ["prm1", "prm2", "length", "Prm3", "a[1]", "2", "len*"]


def meant(names, text):
    """The names that a selection includes, one item after the other."""
    items = text.split(",")
    found = list(names) if items[0].startswith("-") else []
    numbers = all(name.isdecimal() for name in names)
    for item in items:
        body = item.removeprefix("-")
        bounds = re.fullmatch(r"(\d+)-(\d+)", body)
        if body in names:
            some = [body]
        elif bounds and numbers:
            some = [name for name in names if int(bounds[1]) <= int(name) <= int(bounds[2])]
        else:
            some = [name for name in names if fnmatchcase(name, body)]
        assert some, item
        found = [name for name in found if name not in some] + ([] if item.startswith("-") else some)
    return [name for name in names if name in found]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (NAMES, "prm*"),
        (NAMES, "prm*,-length"),
        (NAMES, "-length"),
        (NAMES, "-prm*,prm2"),
        (NAMES, "*,-?rm*,prm1"),
        (NAMES, "length,prm2,length"),
        (NAMES, "a[1]"),  # a name before a glob
        (NAMES, "len*"),
        (NAMES, "-len*"),
        (NAMES, "[Pp]rm?"),
        (NAMES, "2"),
        (None, "1-10,25"),
        (None, "-3-5"),
        (None, "2?"),
        (None, "1-25,-1*,12"),
        (None, "20-99"),
        (["3", "1000", "20"], "3-20"),
        (["0", "1", "2", "3"], "0,2-3"),
        (["1", "3", "x"], "3,x"),
    ],
)
def test_items_apply_from_left_to_right(names, text):
    n = 25 if names is None else len(names)
    plain = [str(j + 1) for j in range(n)] if names is None else names
    chosen = columns_matching(Columns(names, n), [text], "set")
    assert [name for name, one in zip(plain, chosen, strict=True) if one] == meant(plain, text)
    np.testing.assert_array_equal(chosen, columns_matching(Columns(names, n), text.split(","), "set"))


def test_names_of_the_same_columns_with_and_without_names_select_the_same():
    for text in ("1-3", "1*", "-5", "2?,-24"):
        unnamed, named = (columns_matching(Columns(names, 25), [text], "") for names in (None, numbers(25)))
        np.testing.assert_array_equal(unnamed, named)


def numbers(n):
    return [str(j + 1) for j in range(n)]


@pytest.mark.parametrize(
    ("names", "text", "message"),
    [
        (NAMES, "prm3", "set: no feature matches 'prm3'; did you mean 'Prm3'[?] known: "),
        (NAMES, "-lenght", "set: no feature matches 'lenght'; did you mean 'length'[?]"),
        (NAMES, "prm*,x*", "set: no feature matches 'x\\*'"),
        (NAMES, "1-2", "no feature matches '1-2'; numbers are for features without names; .*known: "),
        (None, "26", "set: no feature matches '26'; features have the numbers 1 to 25"),
        (None, "03", "no feature matches '03'"),
        (None, "26-30", "no feature matches '26-30'; features have the numbers 1 to 25"),
        (["0", "1"], "2", "features have the numbers 0 to 1"),
        (NAMES, "-*", "set: '-\\*' selects no feature"),
        (NAMES, "length,-len*,-length", "selects no feature"),
        ([], "a", "set: no feature 'a': there are no features"),
    ],
)
def test_an_item_that_matches_nothing_is_an_error(names, text, message):
    with pytest.raises(DataError, match=message):
        columns_matching(Columns(names, 25 if names is None else len(names)), [text], "set")


@pytest.mark.parametrize("text", ["", ",", "a,,b", "-", "a,-", " "])
def test_an_empty_item_is_an_error(text):
    with pytest.raises(ConfigError, match=r"^features: found .*, expected names, ranges and globs"):
        Reading(features=text)


def test_values_of_the_option():
    assert Reading(features="1-3,-2").features == ("1-3,-2",)
    assert Reading(features=[3, "a"]).features == ("3", "a")
    assert Reading(features=25).features == ("25",)
    assert "features" not in ReadOptions.settings  # so every format has it
    for value in (True, [True], 1.5, [None], {"a": 1}):
        with pytest.raises(ConfigError, match="features: found"):
            Reading(features=value)
    with pytest.raises(ConfigError, match=r"^features: found the range .5-3., expected the smaller"):
        Reading(features="5-3")


@pytest.mark.parametrize("layout", LAYOUTS)
@given(st.data())
def test_selected_features_have_the_values_they_had(layout, data):
    lists = freeze(full_lists(layout, n_features=7, seed=data.draw(st.integers(0, 9))))
    chosen = data.draw(st.lists(st.booleans(), min_size=7, max_size=7).filter(any))
    names = [f"f{j}" for j in range(7) if chosen[j]]
    some = selected(lists, names)
    assert some.names() == names
    assert some.features.layout == lists.features.layout
    assert some.features.dtype == lists.features.dtype
    some.features.check(nan_allowed=False)
    np.testing.assert_array_equal(some.features.to_dense(), lists.features.to_dense()[:, chosen])
    np.testing.assert_array_equal(some.labels, lists.labels)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_select_moves_drops_and_adds_columns(layout):
    X = full_lists(layout, n_features=6).features
    places = np.array([3, -1, 0, 5, -1, 1])
    expected = np.zeros((X.n_items, 7))
    expected[:, [3, 0, 5, 1]] = X.to_dense()[:, [0, 2, 3, 5]]
    moved = X.select(places, 7)
    moved.check(nan_allowed=False)
    np.testing.assert_array_equal(moved.to_dense(), expected)


def test_missing_values_stay_missing():
    X = np.array([[1.0, np.nan, 2.0], [3.0, 4.0, np.nan]])
    lists = CandidateLists.from_arrays(X)
    assert not selected(lists, ["1"]).has_missing
    assert selected(lists, ["2-3"]).has_missing


def test_unnamed_columns_are_named_by_their_numbers():
    lists = CandidateLists.from_arrays(np.arange(10.0).reshape(2, 5))
    some = selected(lists, ["2-3,5"])
    assert some.feature_names == ["2", "3", "5"]
    assert some.selection == "2-3,5"
    assert selected(some, ["-3"]).names() == ["2", "5"]
    assert selected(lists, ["*"]).feature_names is None


def model_of(names, weights, selection):
    model = LinearModel(names, np.array(weights, dtype=np.float64))
    model.training.data = model.training.data.with_fields(features=selection or None)
    return model


@pytest.mark.parametrize("layout", ["dense", "sparse", "mixed"])
@pytest.mark.parametrize("names", [None, ["0", "1", "2", "3", "4"], ["a", "b", "c", "d", "e"]])
def test_a_model_of_selected_features_scores_the_same_columns_of_the_whole_set(layout, names):
    X = np.random.default_rng(0).normal(size=(6, 5))
    whole = CandidateLists.from_arrays(features(layout, X), feature_names=names)
    for chosen in ([1, 3], [0, 1], [2], [3, 4]):
        mine = selected(whole, [whole.names()[j] for j in chosen])
        model = model_of(mine.names(), range(1, len(chosen) + 1), mine.selection)
        expected = X[:, chosen] @ np.arange(1, len(chosen) + 1)
        with pytest.warns(DataNote, match=f"{5 - len(chosen)} features that the model does not know"):
            np.testing.assert_allclose(model.score(whole), expected, atol=1e-12)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_allclose(model.score(mine), expected, atol=1e-12)


def test_selected_columns_are_never_matched_by_position():
    unnamed = CandidateLists.from_arrays(np.ones((2, 5)), source="unnamed")
    named = CandidateLists.from_arrays(np.ones((2, 5)), feature_names=list("abcde"), source="named")
    for lists, model in (
        (unnamed, model_of(["b", "d"], [1.0, 2.0], "b,d")),
        (named, model_of(["1", "2"], [1.0, 2.0], "1-2")),
        (selected(named, ["c*"]), model_of(["1", "2", "3"], [1.0, 2.0, 3.0], "")),
        (selected(unnamed, ["2-3"]), model_of(["x", "y"], [1.0, 2.0], "")),
    ):
        with pytest.raises(DataError, match=r"found features .*, expected those of the model"):
            model.score(lists)
    with pytest.warns(DataNote, match="matched by position"):  # as before without a selection
        model_of(list("abcde"), np.ones(5), "").score(unnamed)


def test_a_model_that_shares_no_number_is_refused():
    lists = CandidateLists.from_arrays(np.ones((2, 20)), source="set")
    with pytest.raises(DataError, match=r"set: found features 1, 2, .*, expected those of the model"):
        model_of(["24", "25"], [1.0, 2.0], "24-25").score(lists)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_features_that_a_selection_took_from_a_model_are_reported(layout):
    lists = CandidateLists.from_arrays(features(layout, np.ones((2, 5))), source="set")
    full = model_of(numbers(5), np.ones(5), "")
    with pytest.warns(DataNote, match="set: 3 of 5 features of the model are absent"):
        full.score(selected(lists, ["2-3"]))


def test_development_lists_with_the_same_selection_lack_nothing_by_nature_if_sparse():
    train = selected(CandidateLists.from_arrays(features("sparse", np.ones((2, 5)))), ["2,5"])
    dev = selected(CandidateLists.from_arrays(features("sparse", np.ones((2, 4)))), ["2,5"], lenient=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ready = aligned(dev, train.names(), "the training lists", selection=train.selection)
    np.testing.assert_array_equal(ready.features.to_dense(), [[1, 0], [1, 0]])
    dense = selected(CandidateLists.from_arrays(np.ones((2, 4))), ["2,5"], lenient=True)
    with pytest.warns(DataNote, match="1 of 2 features of the training lists is absent"):
        aligned(dense, train.names(), "the training lists", selection=train.selection)


def test_initial_weights_of_selected_features_go_to_the_same_features():
    whole = CandidateLists.from_arrays(np.ones((2, 4)), feature_names=["0", "1", "2", "3"])
    named = weights_of(model_of(["1", "3"], [5.0, 7.0], "1,3"), "model")
    with pytest.warns(DataNote, match="2 features without a weight"):
        assert initial_for(named, whole, None).tolist() == [0.0, 5.0, 0.0, 7.0]
    mine = selected(whole, ["1,3"])
    with pytest.warns(DataNote, match="2 weights without a feature"):
        found = initial_for(
            weights_of(model_of(whole.names(), [1.0, 2.0, 3.0, 4.0], ""), "model"), mine, None
        )
    assert found.tolist() == [2.0, 4.0]


@given(st.data())
def test_matching_of_selected_columns_is_by_equal_names(data):
    pools = [numbers(6), ["0", *numbers(5)], list("abcdef"), [*"abc", "1", "2", "3"]]

    def side():
        pool = data.draw(st.sampled_from(pools))
        if data.draw(st.booleans()) and pool == numbers(6):
            return Columns(None, 6), pool
        names = data.draw(st.lists(st.sampled_from(pool), unique=True, min_size=1))
        return Columns(names, len(names), "some"), names

    (mine, my_names), (theirs, their_names) = side(), side()
    if not (mine.selection or theirs.selection):
        return
    found = match(mine, theirs)
    expected = [their_names.index(name) if name in their_names else -1 for name in my_names]
    assert found.places.tolist() == expected
    assert found.known.tolist() == [place >= 0 for place in expected]
    assert not found.by_position


def test_joined_sets_of_selected_features_stay_selected():
    whole = CandidateLists.from_arrays(np.ones((2, 5)), group=[2])
    parts = [selected(whole, ["2-3"]), selected(whole, ["2-3"])]
    both = joined(parts)
    assert (both.names(), both.selection) == (["2", "3"], "2-3")
    assert joined([whole, whole]).selection == ""


@pytest.mark.parametrize("name", ["1", "a", "\udcff"])
def test_a_store_and_a_model_keep_the_selection(tmp_path, name):
    whole = CandidateLists.from_arrays(np.ones((2, 3)), [0, 1], feature_names=["0", "1", "a"])
    some = replace(selected(whole, ["1,a"]), selection=f"1,{name}")
    write_store(some, tmp_path / "some.store")
    again = read_store(tmp_path / "some.store")
    assert (again.names(), again.selection) == (["1", "a"], f"1,{name}")
    model = rerank.train(again, "perceptron", epochs=1)
    assert saved(model, tmp_path).training.data.features == f"1,{name}"
    write_store(whole, tmp_path / "whole.store")
    assert "selection" not in (tmp_path / "whole.store" / "meta.json").read_text()
    meta = tmp_path / "some.store" / "meta.json"
    meta.write_text(re.sub(r'"selection": "[^"]*"', '"selection": [1]', meta.read_text()))
    assert read_store(tmp_path / "some.store").selection == ""


def test_a_selection_that_no_file_can_hold_is_refused(tmp_path):
    write_store(selected(CandidateLists.from_arrays(np.ones((2, 3))), ["1"]), tmp_path / "some.store")
    meta = tmp_path / "some.store" / "meta.json"
    meta.write_text(meta.read_text().replace('"selection": "1"', '"selection": "\\ud800"'))
    with pytest.raises(FormatError, match="lone surrogate"):
        read_store(tmp_path / "some.store")
