"""The model of transductive methods: adapting, saving, what a stranger's file may not do."""

import dataclasses
import json

import numpy as np
import pytest
from make import LAYOUTS
from reference.nearest_lists import NearestLists
from small_training import fit, rewritten, saved

from rerank.core.errors import DataError, DataNote, FitError, FormatError
from rerank.core.workers import parallel
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS
from rerank.models.base import load_model
from rerank.models.embedded_model import packed_model, unpacked_model
from rerank.models.linear import LinearModel

QUICK = {"name": "rankboost", "rounds": 4}


def method(**settings):
    return NearestLists(**{"base": QUICK, "noise": 0.5, **settings})


def test_each_list_has_the_scores_of_its_own_ranker(make_lists):
    lists, test = make_lists(1), make_lists(2)
    model = fit(method(), lists)
    found = model.adapt(test)
    ready = model.prepared(test)
    for i, row in enumerate(found.rows):
        items = slice(test.offsets[i], test.offsets[i + 1])
        ranker = model.ranker(test, i)
        assert row.adapted == (ranker.model is not None) == (row.items > 1)
        assert (row.list_id, row.items) == (str(i + 1), test.lengths[i])
        own = (model.unadapted if ranker.model is None else ranker.model).score_aligned(ready.subset([i]))
        np.testing.assert_array_equal(found.scores[items], own)
        np.testing.assert_equal(row.diagnostics["largest"], ranker.diagnostics["largest"])
    assert found.rows[0].reason == "one item"
    np.testing.assert_array_equal(model.score(test), found.scores)
    assert not np.array_equal(found.scores, model.unadapted.score_aligned(ready))


@pytest.mark.parametrize("jobs", [2, 3])
def test_scores_are_the_same_for_any_number_of_jobs(jobs, make_lists):
    lists, test = make_lists(1), make_lists(2)
    model = fit(method(), lists)
    alone = model.adapt(test)
    done = []
    with parallel.using(jobs):
        several = model.adapt(test, advance=done.append)
    np.testing.assert_array_equal(several.scores, alone.scores)
    strip = [dataclasses.replace(row, seconds=0.0, diagnostics={}) for row in several.rows]
    assert list(map(str, strip)) == [
        str(dataclasses.replace(row, seconds=0.0, diagnostics={})) for row in alone.rows
    ]
    assert sum(done) == test.n_lists


def test_neither_order_nor_company_of_lists_matters(make_lists):
    model, test = fit(method(), make_lists(1)), make_lists(2)
    scores = model.score(test)
    order = [4, 1, 5, 0]
    expected = np.concatenate([scores[test.offsets[i] : test.offsets[i + 1]] for i in order])
    np.testing.assert_array_equal(model.score(test.subset(order)), expected)
    one = model.score(test.subset([3]))
    np.testing.assert_array_equal(one, scores[test.offsets[3] : test.offsets[4]])


@pytest.mark.parametrize("labels", [None, "zeros", "permuted"])
def test_labels_of_test_lists_are_not_seen_unless_the_method_uses_them(labels, make_lists):
    test, rng = make_lists(2), np.random.default_rng(0)
    other = {"zeros": np.zeros(test.n_items), "permuted": rng.permutation(test.labels)}.get(labels)
    honest, oracle = (fit(method(oracle=oracle), make_lists(1)) for oracle in (False, True))
    np.testing.assert_array_equal(honest.score(test), honest.score(test.replace_labels(other)))
    if other is not None:
        assert not np.array_equal(oracle.score(test), oracle.score(test.replace_labels(other)))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_note_about_many_lists_is_issued_once(jobs, make_lists):
    model = fit(method(does="warns"), make_lists(1))
    with parallel.using(jobs), pytest.warns(DataNote) as notes:
        model.score(make_lists(2))
    assert [str(note.message) for note in notes] == ["a note"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_names_the_list(jobs, make_lists):
    with parallel.using(jobs):
        model = fit(method(does="fails"), make_lists(1))
        with pytest.raises(FitError, match=r"^lists 2: list '2': no pair$"):
            model.score(make_lists(2))
        model = fit(method(does="overflows"), make_lists(1))
        with pytest.raises(
            DataError, match=r"list '2', item .* the ranker that was made for its list gives no"
        ):
            model.score(make_lists(2))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_saved_model_adapts_as_before(layout, make_lists, tmp_path):
    lists, test = make_lists(1, layout), make_lists(2, layout)
    lists = dataclasses.replace(lists, base_scores=np.arange(lists.n_items, dtype=float))
    model = fit(method(abstain=-0.5), lists)
    again = saved(model, tmp_path)
    np.testing.assert_array_equal(again.score(test), model.score(test))
    assert again.training == model.training
    assert again.threshold == -0.5
    assert (again.method, again.labelled.fingerprint()) == (model.method, model.labelled.fingerprint())
    assert type(again.labelled.features) is type(lists.features)


def test_missing_features_are_stored(make_lists, tmp_path):
    model = fit(method(), make_lists(1, missing=True))
    again, test = saved(model, tmp_path), make_lists(2, missing=True)
    assert again.labelled.has_missing
    np.testing.assert_array_equal(again.score(test), model.score(test))


@pytest.mark.parametrize("layout", ["dense", "mixed"])
def test_a_base_scale_multiplies_the_column_of_test_lists(layout, make_lists, tmp_path):
    lists, test = make_lists(1, layout), make_lists(2, layout)
    lists = dataclasses.replace(lists, base_scores=lists.features.column(1))
    model = fit(method(), lists, scaling="none", base_scale=4)
    model.save(str(tmp_path / "m"))
    seen, other = (
        some.with_features(some.features.multiplied(1, 4.0), some.feature_names) for some in (lists, test)
    )
    expected = fit(method(), seen, scaling="none").score(other)
    np.testing.assert_array_equal(model.score(test), expected)
    np.testing.assert_array_equal(load_model(str(tmp_path / "m")).score(test), expected)


def test_the_keep_margin_and_the_callers_rows_are_those_of_any_model(make_lists):
    model, test = fit(method(), make_lists(1)), make_lists(2)
    model.keep_margin = 0.2
    order = np.argsort(np.arange(test.n_items) % 3, kind="stable")
    qid = test.list_index[order]
    mixed = CandidateLists.from_arrays(
        test.features.take(order), qid=qid, feature_names=test.feature_names
    ).with_first_best("f1")
    np.testing.assert_array_equal(model.score(mixed), model.adapt(mixed).scores)
    np.testing.assert_array_equal(model.score_items(mixed), model.score(mixed)[mixed.rows])


def text(**changes):
    """The bytes of a method."""
    whole = {"name": "nearest-lists", "settings": {}, "threshold": None, **changes}
    return np.frombuffer(json.dumps(whole).encode(), dtype=np.uint8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": np.zeros(3, dtype=np.uint8)}, "a damaged model .method: "),
        ({"method": np.full(1 << 21, 32, dtype=np.uint8)}, "method: found 2,097,152 bytes"),
        ({"method": text(name="rankboost")}, "learner rankboost is not transductive"),
        ({"method": text(name="no-such")}, "unknown learner 'no-such'"),
        ({"method": text(settings={"base": {"name": "nearest-lists"}})}, "has a base itself"),
        ({"method": text(settings={"widht": 1})}, "unknown setting 'widht'"),
        ({"method": text(threshold=-2.0)}, "threshold: found -2.0"),
        ({"method": text(more=1)}, "more is unknown"),
        ({"labels": np.full(32, np.inf)}, "labels holds an infinite value"),
        ({"labels": np.zeros(5)}, "labels has 5 entries, expected 32"),
        ({"offsets": np.array([0, 40])}, "the lists hold 40 items"),
        ({"offsets": np.array([0, 3, 3, 32])}, "list 1 is empty"),
        ({"features": np.full((32, 6), np.inf)}, "value is inf"),
        ({"features": None}, "not one layout of features"),
        ({"indptr": np.zeros(33, dtype=np.int64)}, "not one layout of features"),
        ({"factors": np.full(6, np.nan)}, "a factor that is not finite"),
        ({"unadapted": np.zeros(50, dtype=np.uint8)}, "unadapted: found something else"),
        ({"unadapted": np.zeros(50_000_000, dtype=np.uint8)}, "bytes that inflate to"),
        ({"unadapted": packed_model(LinearModel(["a"], np.ones(1)))}, "1 features of the unadapted model"),
    ],
)
def test_a_strangers_file_is_refused_in_one_line(changes, message, make_lists, tmp_path):
    fit(method(), make_lists(1)).save(str(tmp_path / "m"))
    path = rewritten(tmp_path / "m", tmp_path / "n", **changes)
    with pytest.raises(FormatError, match=message) as error:
        load_model(path)
    assert str(error.value).startswith(path)


def test_models_are_not_inside_each_other_without_end(make_lists, tmp_path):
    lists = make_lists(1)
    model = fit(method(), lists)
    model.save(str(tmp_path / "m"))
    for _ in range(3):
        inner = np.frombuffer((tmp_path / "m").read_bytes(), dtype=np.uint8)
        rewritten(tmp_path / "m", tmp_path / "m", unadapted=inner)
        with pytest.raises(FormatError, match=r"of kind transductive|models inside each oth") as error:
            load_model(str(tmp_path / "m"))
    assert "more than 2 models inside each oth" in str(error.value)


def test_a_model_inside_another_is_the_same(make_lists):
    model = fit(LEARNERS.get("ridge")(), make_lists(1), scaling="zscore")
    again = unpacked_model(packed_model(model), "inner")
    np.testing.assert_array_equal(again.score(make_lists(2)), model.score(make_lists(2)))
    with pytest.raises(DataError, match="inner: found something else"):
        unpacked_model(np.zeros(9, dtype=np.uint8), "inner")
