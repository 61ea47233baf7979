"""What learners get besides training and development lists: the lists to be ranked, unlabelled."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from make import features
from small_training import fit

import rerank
from rerank.core.errors import DataError, DataNote, FitError
from rerank.core.settings import setting
from rerank.data.columns.strings import StringColumn
from rerank.data.folds import folds
from rerank.data.lists import CandidateLists
from rerank.data.overlap import sketch, strangers
from rerank.learners.base import FitInputs, Learner
from rerank.models.base import Model, load_model
from rerank.models.linear import LinearModel
from rerank.models.predict import note_strangers


class MeanOfUnlabelled(Learner):
    """Its weights are the means of the unlabelled lists' features; it remembers what it was given."""

    name = "mean-of-unlabelled"
    summary = "for tests"
    needs_unlabelled = True
    default_scaling = "zscore"
    seen: ClassVar[list[CandidateLists]] = []

    factor: float = setting(1.0, "times this")
    seed: int = setting(0, "draws nothing")

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        assert inputs.unlabelled is not None
        self.seen.append(inputs.unlabelled)
        return LinearModel(lists.names(), self.factor * inputs.unlabelled.features.to_dense().mean(axis=0))


@pytest.fixture(autouse=True)
def _forget():
    MeanOfUnlabelled.seen.clear()


def some(seed=0, n_lists=12, names=("a", "b", "c"), layout="dense"):
    """Lists with labels, texts and references; feature 2 is the base score."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n_lists)
    X = rng.normal(3, 2, (int(sizes.sum()), len(names)))
    lists = CandidateLists.from_arrays(
        features(layout, X),
        rng.integers(0, 3, len(X)),
        group=sizes,
        feature_names=names,
        source=f"set {seed}",
    )
    texts = StringColumn.from_strings([f"t{i}" for i in range(len(X))])
    refs = StringColumn.from_strings([f"r{i}" for i in range(n_lists)])
    base = X[:, min(1, X.shape[1] - 1)].copy()
    return replace(lists, texts=texts, references=(refs,), base_scores=base).with_first_best("input")


def test_learners_see_features_alone_with_the_columns_and_the_scaling_of_the_training_lists():
    train, test = some(0), some(1, names=("c", "a", "new"))
    with pytest.warns(DataNote, match="1 feature that the training lists do not know"):
        model = fit(MeanOfUnlabelled(), train, unlabelled=test, scaling="minmax", base_scale=5.0)
    (seen,) = MeanOfUnlabelled.seen
    assert (seen.labels, seen.texts, seen.references, seen.first_best) == (None, None, (), None)
    assert list(seen.names()) == ["a", "b", "c"]
    X, Z = train.features.to_dense(), test.features.to_dense()
    Z = np.column_stack([Z[:, 1], np.zeros(len(Z)), Z[:, 0]])
    low, high = X.min(axis=0), X.max(axis=0)
    expected = (Z - low) / (high - low) * [1, 5, 1]
    np.testing.assert_allclose(seen.features.to_dense(), expected, atol=1e-12)
    assert model.scaling_name == "minmax"


@pytest.mark.parametrize("layout", ["float32", "sparse", "mixed"])
def test_every_layout_is_seen(layout):
    model = fit(MeanOfUnlabelled(), some(0, layout=layout), unlabelled=some(1, layout=layout), scaling="none")
    np.testing.assert_allclose(model.weights, some(1).features.to_dense().mean(axis=0), rtol=1e-6)


def test_a_fold_has_the_lists_that_it_leaves_out():
    lists = some(2, 20)
    fit(
        MeanOfUnlabelled(),
        lists,
        unlabelled=some(3),
        metric="nDCG@3",
        select="cv",
        grid={"factor": [1.0, -1.0]},
        folds=4,
        scaling="none",
    )
    left_out = [lists.subset(fold.test).features.to_dense() for fold in folds(lists, 4, 0)]
    expected = [*left_out, *left_out, some(3).features.to_dense()]
    for seen, X in zip(MeanOfUnlabelled.seen, expected, strict=True):
        assert seen.labels is None
        np.testing.assert_array_equal(seen.features.to_dense(), X)


def test_dev_cells_and_seeds_have_the_unlabelled_lists():
    lists, dev, test = some(2, 20), some(4), some(3)
    given = {"dev": dev, "metric": "nDCG@3", "scaling": "none"}
    fit(MeanOfUnlabelled(), lists, unlabelled=test, select="dev", grid={"factor": [1.0, -1.0]}, **given)
    fit(MeanOfUnlabelled(), lists, unlabelled=test, seeds=2, **given)
    assert len(MeanOfUnlabelled.seen) == 5
    for seen in MeanOfUnlabelled.seen:
        np.testing.assert_array_equal(seen.features.to_dense(), test.features.to_dense())


def test_they_are_needed_or_refused():
    with pytest.raises(FitError, match="learner mean-of-unlabelled needs the lists to be ranked"):
        fit(MeanOfUnlabelled(), some())
    with pytest.raises(FitError, match="learner perceptron accepts no unlabelled lists"):
        rerank.train(some(), "perceptron", unlabelled=some(1))
    with pytest.raises(FitError, match="set 1: 2 features, but set 0 has 3"):
        MeanOfUnlabelled().fit(some(), unlabelled=some(1, names=("a", "b")))
    with pytest.raises(DataError, match="set 1: found features x"):
        fit(MeanOfUnlabelled(), some(), unlabelled=some(1, names=("x",)))
    X = np.full((3, 3), np.nan)
    missing = CandidateLists.from_arrays(X, group=[3], feature_names=["a", "b", "c"], source="gaps")
    with pytest.raises(FitError, match=r"gaps: 9 of 9 values are missing \(NaN\).*--missing mean"):
        fit(MeanOfUnlabelled(), some(), unlabelled=missing, scaling="none")


def test_labels_change_no_byte_of_the_model(tmp_path):
    test = some(1)
    other = replace(test, labels=test.labels[::-1].copy(), texts=None, references=())
    for name, lists in (("a", test), ("b", other)):
        fit(MeanOfUnlabelled(), some(), unlabelled=lists).save(str(tmp_path / name))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_model_records_them_and_other_lists_are_noticed(tmp_path):
    train, test = some(0), some(1)
    fit(MeanOfUnlabelled(), train, unlabelled=test).save(str(tmp_path / "model"))
    model = load_model(str(tmp_path / "model"))
    record = model.training.unlabelled
    assert (record.lists, record.items) == (test.n_lists, test.n_items)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        note_strangers(model, test)
        note_strangers(model, test.subset(np.array([3, 0])))
    with pytest.warns(DataNote, match="set 5: 100% of the lists are not among the unlabelled lists that"):
        note_strangers(model, some(5))
    plain = rerank.train(train, "ridge")
    assert plain.training.unlabelled is None
    assert "unlabelled" not in plain.training.as_json()


def test_strangers_counts_lists_of_few_items_and_of_more_than_a_sketch_holds():
    rng = np.random.default_rng(0)
    one = CandidateLists.from_arrays(rng.normal(size=(4, 2)), group=[1, 1, 1, 1])
    assert strangers(sketch(one, poor=True), one.names(), one) == 0
    other = CandidateLists.from_arrays(np.vstack([one.features.to_dense()[:3], [[9, 9]]]), group=[1, 1, 1, 1])
    assert strangers(sketch(one, poor=True), one.names(), other) == 0.25
    X = rng.normal(size=(1500, 2))
    many = CandidateLists.from_arrays(X, group=[1] * 1500)
    assert strangers(sketch(many, poor=True), many.names(), many) == 0
    X = X.copy()
    X[::2] += 1
    changed = CandidateLists.from_arrays(X, group=[1] * 1500)
    assert 0.4 < strangers(sketch(many, poor=True), many.names(), changed) < 0.6
