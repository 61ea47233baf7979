"""The learner select-features, its models and files, folds, and ``rerank features select``."""

import numpy as np
import pytest
from make import lists as some_lists

import rerank as package
from rerank.core.errors import ConfigError, DataError, FitError
from rerank.extensions.feature_selection.learner import SelectedModel, SelectFeatures
from rerank.extensions.feature_selection.methods import narrowed, select
from rerank.extensions.feature_selection.options import Selecting
from rerank.learners.base import LEARNERS
from rerank.models.base import load_model
from rerank.models.linear import LinearModel

TREES = {"name": "lambdamart", "min_leaf": 2, "rounds": 3}
METHODS = ("boosting", "filter", "backward", "l1")
LISTS = some_lists(seed=1, d=10, sizes=(9, 12, 7, 10, 15, 6))
NEW = some_lists(seed=2, d=10, sizes=(5, 8))


@pytest.mark.parametrize("base", ["ranksvm", "perceptron", "rankboost", TREES, "coordinate-ascent"])
@pytest.mark.parametrize("method", METHODS)
def test_the_base_is_fitted_to_what_is_selected_and_scores_all_features(base, method, tmp_path):
    learner = base if isinstance(base, str) else LEARNERS.get("lambdamart")(min_leaf=2, rounds=3)
    metric = "nDCG@5" if base == "coordinate-ascent" else None
    model = package.train(
        LISTS, "select-features", base=base, method=method, n_features=3, scaling="none", metric=metric
    )
    columns = np.sort(select(LISTS, 3, Selecting(method=method)).columns)
    alone = package.train(narrowed(LISTS, columns), learner, scaling="none", metric=metric)
    expected = alone.score_prepared(narrowed(NEW, columns))
    np.testing.assert_array_equal(model.score_items(NEW), expected)
    path = str(tmp_path / "m")
    model.save(path)
    again = load_model(path)
    np.testing.assert_array_equal(again.score_items(NEW), expected)
    assert again.as_file().getvalue() == model.as_file().getvalue()
    names = {LISTS.names()[j] for j in columns}
    assert {name.partition(" ")[0] for name, _ in again.explain()} <= names
    assert model.training_lines()[-1].startswith("3 of 10 features kept, by ")


def test_a_linear_model_is_one_of_all_features():
    model = package.train(LISTS, "select-features", n_features=4, method="filter")
    assert isinstance(model, LinearModel)
    assert np.count_nonzero(model.weights) <= 4
    assert len(model.weights) == 10


def test_folds_select_on_their_own_training_lists():
    """A feature that copies the labels of one fold's lists helps no other fold."""
    seen = []

    class Spy(SelectFeatures):
        def _fit(self, lists, inputs):
            seen.append(lists.n_lists)
            return super()._fit(lists, inputs)

    package.cross_validate(LISTS, Spy(n_features=2), "AP", folds=3)
    assert seen == [4, 4, 4]


def test_labels_of_dev_lists_select_nothing():
    other = NEW.replace_labels(-NEW.labels)
    settings = {"base": {"name": "perceptron", "epochs": 3}, "n_features": 3, "metric": "nDCG@5"}
    notes = [
        package.train(LISTS, "select-features", dev=dev, **settings).training.notes["selected"]
        for dev in (NEW, other)
    ]
    assert notes[0] == notes[1]


def test_the_number_is_chosen_on_a_grid():
    model = package.train(
        LISTS, "select-features", grid={"n_features": [1, 3, 10]}, select="cv", metric="nDCG@5", folds=3
    )
    assert len(model.training.choice.cells) == 3


def test_more_than_there_are_is_an_error():
    with pytest.raises(FitError, match="11 features to keep, expected 1 to 10"):
        package.train(LISTS, "select-features", n_features=11)
    with pytest.raises(ConfigError, match="learner mbr is no base of learner select-features"):
        SelectFeatures(base="mbr")


def test_a_damaged_model_is_refused():
    base = package.train(narrowed(LISTS, np.array([1, 3])), "rankboost", rounds=2)
    names = LISTS.names()
    for columns in ([3, 1], [1, 10], [-1, 3], [], [1, 2]):
        with pytest.raises(DataError):
            SelectedModel(names, np.array(columns, dtype=np.int64), base)


def test_the_verb_writes_the_lists_with_what_is_kept(rerank, tmp_path):
    whole, out = tmp_path / "all.jsonl", tmp_path / "few.jsonl"
    package.save(LISTS, str(whole))
    found = rerank("features", "select", whole, "--keep", "3", "--method", "l1", "--out", out)
    made = package.select_features(LISTS, 3, method="l1")
    assert "3 of 10 features kept, by weight times deviation" in found.err
    few = package.load(str(out))
    assert few.names() == made.lists.names() == [n for n in LISTS.names() if n in made.names]
    np.testing.assert_array_equal(few.features.to_dense(), made.lists.features.to_dense())
    rerank("features", "select", whole, "--keep", "11", "--out", tmp_path / "x.jsonl", code=2)
    assert not (tmp_path / "x.jsonl").exists()


@pytest.mark.parametrize("method", METHODS)
def test_features_without_names_keep_their_numbers_in_a_file(method, rerank, tmp_path):
    whole, few, new = tmp_path / "all.letor", tmp_path / "few.letor", tmp_path / "new.letor"
    for path, seed in ((whole, 4), (new, 5)):
        package.save(some_lists(seed=seed, d=9, sizes=(9, 12, 7, 10), unjudged=0.0), str(path))
    rerank("features", "select", whole, "--keep", "2", "--method", method, "--out", few)
    kept = package.select_features(package.load(str(whole)), 2, method=method)
    again = package.load(str(few))
    used = np.flatnonzero(np.abs(again.features.to_dense()).any(axis=0)) + 1
    assert sorted(kept.names) == [str(j) for j in used]
    rerank("train", "--data", few, "--learner", "ranksvm", "--scaling", "none", "--out", tmp_path / "m")
    rerank("predict", tmp_path / "m", new, "--out", tmp_path / "s")
    alone = package.train(kept.lists, "ranksvm", scaling="none")
    expected = alone.score(narrowed(package.load(str(new)), kept.found.columns))
    np.testing.assert_allclose(np.loadtxt(tmp_path / "s"), expected, rtol=1e-6, atol=1e-9)


def test_names_that_a_format_would_lose_are_refused(rerank, tmp_path):
    named = some_lists(seed=6, d=3)
    store = tmp_path / "s.jsonl"
    package.save(named.with_features(named.features, ["a", "b", "c"]), str(store))
    err = rerank("features", "select", store, "--keep", "2", "--out", tmp_path / "x.letor", code=2).err
    assert "svmlight holds no names of features" in err
    assert not (tmp_path / "x.letor").exists()
