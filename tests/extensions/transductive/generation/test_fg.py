"""The learner fg: a ranker for each list from original and generated features, and the control."""

import numpy as np
import pytest
from small_training import fit, saved

from rerank.core.errors import ConfigError, DataError, FitError
from rerank.core.tables.data import to_json
from rerank.data.scaling import Scaling
from rerank.extensions.transductive.generation import GeneratedModel
from rerank.extensions.transductive.generation.projection import KernelFeatures, Projection
from rerank.extensions.transductive.space import Points
from rerank.learners.base import LEARNERS
from rerank.learners.discriminants import discriminant_vectors
from rerank.models.base import load_model
from rerank.models.describe import model_lines, model_record

LAYOUTS = ("dense", "float32", "sparse", "mixed", "indicators")
QUICK = {"name": "rankboost", "rounds": 5}
BASES = {
    "rankboost": QUICK,
    "raw": {"name": "rankboost", "rounds": 5, "weak": "raw"},
    "ranksvm": {"name": "ranksvm"},
    "perceptron": {"name": "perceptron", "epochs": 2},
}


def fg(**settings):
    return LEARNERS.get("fg")(**{"base": QUICK, "components": 2, **settings})


@pytest.mark.parametrize("layout", ["dense", "float32", "sparse", "mixed"])
@pytest.mark.parametrize("base", BASES)
def test_the_ranker_of_a_list_is_the_base_learner_on_the_columns_of_its_projection(base, layout, make_lists):
    lists, test = make_lists(1, layout), make_lists(2, layout)
    learner = fg(base=BASES[base])
    model = fit(learner, lists)
    found = model.ranker(test, 3)
    labelled, one = model.labelled, model.prepared(test).subset([3])
    settings = KernelFeatures(components=2)
    projection = Projection(settings, Points(one))
    names = settings.generated_names()

    def wide(some):
        return some.with_added(dict(zip(names, projection.columns(Points(some)).T, strict=True)))

    expected = learner.base_learner.fit(wide(labelled))
    np.testing.assert_array_equal(found.model.score_aligned(one), expected.score_aligned(wide(one)))
    assert found.diagnostics["components"] == sum(projection.counts.values())
    assert 0 <= found.diagnostics["generated_share"] <= 1
    scores = expected.score_aligned(wide(labelled))
    right = total = 0
    for first, last in zip(labelled.offsets[:-1], labelled.offsets[1:], strict=True):
        for i in range(first, last):
            for j in range(first, last):
                if labelled.labels[i] > labelled.labels[j]:
                    total += 1
                    right += 0.5 * (1 + np.sign(scores[i] - scores[j]))
    np.testing.assert_allclose(found.diagnostics["train_accuracy"], right / total)


def test_share_of_generated_features(make_lists):
    model, test = fit(fg(), make_lists(1)), make_lists(2)
    found = model.ranker(test, 3)
    inner = found.model.inner
    sizes = np.zeros(len(inner.feature_names))
    np.add.at(sizes, inner.feature, np.abs(inner.step))
    np.testing.assert_allclose(found.diagnostics["generated_share"], sizes[6:].sum() / sizes.sum())
    model = fit(fg(base={"name": "ranksvm"}), make_lists(1))
    found = model.ranker(test, 3)
    columns = found.model.columns(model.labelled)
    values = np.hstack([model.labelled.features.to_dense(), columns])
    sizes = np.abs(found.model.inner.weights * values.std(axis=0))
    np.testing.assert_allclose(found.diagnostics["generated_share"], sizes[6:].sum() / sizes.sum())


@pytest.mark.parametrize("project", ["test", "own"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_lists_of_few_or_equal_items_keep_the_unadapted_ranking_with_a_reason(layout, project, make_lists):
    lists = make_lists(1, layout, sizes=(1, 2, 3, 6, 5, 4))
    model = fit(fg(project=project), lists)
    scores = model.score(lists)
    assert np.isfinite(scores).all()
    if project == "own":
        return
    rows = model.adapt(lists).rows
    assert (rows[0].adapted, rows[0].reason) == (False, "one item")
    assert [row.adapted for row in rows[1:]] == [True] * 5
    same = lists.with_features(
        lists.features.take(np.repeat(lists.offsets[:-1], lists.lengths)), lists.names()
    )
    found = model.adapt(same)
    assert [row.reason for row in found.rows] == ["one item"] + ["equal items"] * 5
    assert all(row.diagnostics.keys() == rows[2].diagnostics.keys() for row in found.rows)


@pytest.mark.parametrize("base", ["rankboost", "ranksvm"])
@pytest.mark.parametrize("layout", ["dense", "float32", "sparse", "mixed"])
def test_models_are_saved(layout, base, make_lists, tmp_path):
    lists, test = make_lists(1, layout), make_lists(2, layout)
    own, adapted = (fit(fg(project=project, base=BASES[base]), lists) for project in ("own", "test"))
    path = str(tmp_path / "model")
    for model in (own, adapted):
        model.save(path)
        np.testing.assert_array_equal(load_model(path).score(test), model.score(test))
        assert model_lines(load_model(path)) == model_lines(model)
        assert to_json(model_record(load_model(path))) == to_json(model_record(model))
    one = adapted.prepared(test).subset([3])
    ranker = adapted.ranker(test, 3).model
    ranker.save(path)
    again = load_model(path)
    assert isinstance(again, GeneratedModel)
    np.testing.assert_array_equal(again.score_aligned(one), ranker.score_aligned(one))
    assert again.as_file().getvalue() == ranker.as_file().getvalue()


def test_show_explains_shares_by_kernel(make_lists):
    model = fit(fg(project="own"), make_lists(1))
    lines = "\n".join(model_lines(model))
    assert "kernel PCA of each list: poly2,gaussian:1" in lines
    shares = model.described()["shares of steps"]
    np.testing.assert_allclose(sum(shares.values()), 1)
    assert shares.keys() <= {"original", "poly2", "gaussian:1", "diffusion:1", "diffusion:10", "linear"}
    assert 0 < model.n_weighted() <= 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dual": np.zeros((2, 10))}, "components of"),
        ({"shift": np.zeros(3)}, "components of"),
        ({"sizes": np.full(10, -1.0)}, "negative size"),
        ({"dual": None}, "no array dual"),
        ({"features": None}, "not one layout"),
        ({"inner": np.zeros(9, dtype=np.uint8)}, "inner"),
        ({"generation": np.frombuffer(b"[]", dtype=np.uint8)}, "generation"),
        ({"generation": np.frombuffer(b'{"kernels": "cubic"}', dtype=np.uint8)}, "cubic"),
        ({"generation": np.frombuffer(b'{"components": 3}', dtype=np.uint8)}, "expected 15 of 9 items"),
    ],
)
def test_damaged_models_are_refused(change, message, make_lists):
    ranker = fit(fg(), make_lists(1)).ranker(make_lists(2), 3).model
    arrays = {**ranker.arrays(), **change}
    kept = {name: array for name, array in arrays.items() if array is not None}
    with pytest.raises((DataError, ConfigError), match=message):
        GeneratedModel.from_arrays(ranker.feature_names, kept)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"project": "own", "abstain": 0.5}, "abstain is for project=test"),
        ({"kernels": "linear", "neighbours": 4}, "neighbours is for diffusion kernels"),
        ({"base": {"name": "rankboost", "keep": "best"}}, "keep=best"),
        ({"base": "fg"}, "has a base itself"),
        ({"project": "train"}, "project"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        fg(**settings)


def test_a_feature_with_the_name_of_a_generated_one_is_an_error(make_lists):
    lists = make_lists(1)
    lists = lists.with_features(lists.features, ["linear#1", *lists.names()[1:]])
    for project in ("test", "own"):
        with pytest.raises(FitError, match="lists 1: feature 'linear#1' has the name of a generated one"):
            fit(fg(project=project), lists)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("project", ["test", "own"])
def test_discriminants_of_the_labelled_lists_are_further_features(project, layout, make_lists, tmp_path):
    lists, test = make_lists(1, layout), make_lists(2, layout)
    model = fit(fg(project=project, lda=1), lists)
    labelled = Scaling("list-minmax" if layout == "dense" else "none", 6).apply(lists)
    w = discriminant_vectors(labelled, 1)
    one = model.prepared(test).subset([3])
    ranker = model if project == "own" else model.ranker(test, 3).model
    assert ranker.inner.feature_names[-2:] == ["linear#2", "ranklda#1"]
    np.testing.assert_allclose(ranker.columns(one)[:, -1], one.features.to_dense() @ w[:, 0], atol=1e-12)
    np.testing.assert_array_equal(saved(model, tmp_path).score(test), model.score(test))
    again = saved(ranker, tmp_path)
    np.testing.assert_array_equal(again.score_aligned(one), ranker.score_aligned(one))


def test_more_discriminants_than_there_are_is_an_error(make_lists):
    for project in ("test", "own"):
        with pytest.raises(FitError, match="so there are no 7 discriminants"):
            fit(fg(project=project, lda=7), make_lists(1))


def test_a_list_without_components_says_so(make_lists):
    # one step between two items is as likely as none, so the walk forgets where it began
    model = fit(fg(kernels="diffusion:1"), make_lists(1))
    (row,) = model.adapt(make_lists(2, sizes=(2,))).rows
    assert (row.adapted, row.reason) == (False, "no component")
