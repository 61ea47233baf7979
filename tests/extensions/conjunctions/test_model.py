"""Models with conjunctions: files, damage, what is shown, exports, importance, dev lists, command line."""

import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from small_conjunctions import SETTINGS, drawn, found_steps

import rerank as package
from rerank.core.errors import ConfigError, DataError
from rerank.data.lists import CandidateLists
from rerank.extensions.conjunctions.learner import BoostingConjunctions
from rerank.extensions.conjunctions.model import ConjunctionModel
from rerank.models.base import load_model
from rerank.models.exchange.portable import portable


def named(seed):
    """Lists with names of features."""
    lists = drawn(seed, base=False)
    return lists.with_features(lists.features, list("abcdef"))


LISTS, NEW = named(1), named(11)
LEARNER = {"min_lists": 1, **SETTINGS, "rounds": 60, "conjunctions": 12}


def trained(**more):
    return package.train(LISTS, "boosting-conjunctions", **{**LEARNER, **more})


def test_a_saved_model_builds_its_conjunctions_itself(tmp_path):
    model = trained()
    assert len(model.weight) > 0
    path = str(tmp_path / "m")
    model.save(path)
    again = load_model(path)
    assert isinstance(again, ConjunctionModel)
    assert found_steps(again) == found_steps(model)
    assert again.as_file().getvalue() == model.as_file().getvalue() == trained().as_file().getvalue()
    np.testing.assert_array_equal(again.score(NEW), model.score(NEW))
    shuffled = NEW.with_features(
        NEW.features.select(np.array([3, 0, 5, 1, 4, 2]), 6), ["b", "d", "f", "a", "e", "c"]
    )
    np.testing.assert_array_equal(again.score(shuffled), model.score(NEW))


def test_what_is_shown_are_steps_and_conjunctions():
    model = trained()
    rows = dict(model.explain())
    names = model.conjunctions.names(model.feature_names)
    assert all(rows[name] == value for name, value in zip(names, model.weight.tolist(), strict=True))
    assert all(" >= 1 & " in name for name in names)
    assert abs(next(iter(rows.values()))) == max(map(abs, rows.values()))
    assert model.described() == {"conjunctions": len(model.weight)}
    assert model.step_shares() == []
    assert model.n_weighted() <= 6
    with pytest.raises(ConfigError, match="train fewer rounds"):
        model.prefix(3)


@pytest.mark.parametrize("values", [(0, 1), (-1.5, 0.25, 7.0), (-2, -1, 0, 1)])
@pytest.mark.parametrize("scaling", ["none", "zscore"])
def test_exports_have_the_scores_of_the_model(values, scaling):
    used = 0
    for seed in range(1, 5):
        lists, new = (drawn(s, values=values, base=False) for s in (seed, seed + 20))
        model = package.train(lists, "boosting-conjunctions", **LEARNER, scaling=scaling)
        scorer = portable(model, "model")
        X = new.features.to_dense()
        found = scorer.scores(X)
        difference = found - model.score(new)  # a scaling shifts all scores by the same number
        np.testing.assert_allclose(difference, difference[0], atol=1e-9)
        X[0, 0] = np.nan
        assert np.isnan(scorer.scores(X)[0]) == (0 in scorer.used())
        used += len(model.weight)
    assert used > 0


def test_exports_as_files(tmp_path):
    model = trained()
    out = tmp_path / "m.py"
    package.export(model, str(out), "python", name="score")
    names: dict = {}
    exec(out.read_text(), names)
    found = [names["score"](row) for row in NEW.features.to_dense().tolist()]
    np.testing.assert_allclose(found, model.score(NEW), atol=1e-12)


@pytest.mark.parametrize("to", ["json", "lightgbm", "xgboost", "ranklib"])
@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
def test_other_programs_send_values_at_a_threshold_the_same_way(to, tmp_path):
    """Values are thresholds, and no numbers of single precision."""
    used = 0
    for seed in range(1, 4):
        lists, new = (drawn(s, values=(0, 0.1, 0.7), base=False, layout="sparse") for s in (seed, seed + 20))
        model = package.train(lists, "boosting-conjunctions", **LEARNER)
        path = str(tmp_path / f"m{seed}")
        package.export(model, path, to)
        again = package.import_model(path, str(tmp_path / "again"), to)
        difference = again.score(new) - model.score(new)
        np.testing.assert_allclose(difference, difference[0], atol=1e-4)
        used += len(model.weight)
    assert used > 0


def test_importance_permutes_features_of_conjunctions():
    model = trained()
    model.step = model.step * 0  # conjunctions alone
    found = package.permutation_importance(model, LISTS, "nDCG@5", repeats=3)
    literals = {model.feature_names[j] for j in model.conjunctions.literals.feature.tolist()}
    changed = {drop.feature for drop in found.drops if drop.loss != 0}
    assert changed
    assert changed <= literals


def damaged(**arrays):
    """The arrays of a model, some of them changed."""
    model = trained()
    found = {name: array.copy() for name, array in model.arrays().items()}
    for name, change in arrays.items():
        key = name.replace("__", ".")
        found[key] = change(found[key])
    return ConjunctionModel.from_arrays(model.feature_names, found)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("literal__feature", lambda a: a + 6),
        ("literal__feature", lambda a: a - 1),
        ("literal__feature", lambda a: a[::-1].copy()),
        ("literal__feature", lambda a: a[1:]),
        ("literal__threshold", lambda a: a * np.nan),
        ("conjunction__bounds", lambda a: a[:0]),
        ("conjunction__bounds", lambda a: a[::-1].copy()),
        ("conjunction__bounds", lambda a: a // 2),
        ("conjunction__literals", lambda a: a + 100),
        ("conjunction__literals", lambda a: a - 1),
        ("conjunction__literals", lambda a: a * 0),
        ("conjunction__weight", lambda a: a[1:]),
        ("conjunction__weight", lambda a: a * np.inf),
    ],
)
def test_damaged_models_are_refused(name, change):
    with np.errstate(invalid="ignore"), pytest.raises(DataError):
        damaged(**{name: change})


def test_the_metric_of_dev_lists_after_each_round_is_that_of_the_model():
    dev = named(11)
    model = trained(dev=dev, metric="label@1", keep="best")
    kept = model.training.rounds.kept
    curve = [row["dev"] for row in model.curve]
    assert curve[kept - 1] == max(curve)
    for rounds in (kept, 20, 60):
        again = trained(rounds=rounds)
        chosen = [
            float(part.labels[int(np.argmax(again.score(part)))])
            for part in (dev.subset([i]) for i in range(dev.n_lists))
            if not np.isnan(part.labels).any()
        ]
        n = dev.n_lists - len(chosen)
        if n == 0 and rounds <= len(curve):
            assert np.mean(chosen) == pytest.approx(curve[rounds - 1])


def test_missing_values_are_refused_or_filled():
    X = LISTS.features.to_dense().copy()
    X[3, 2] = np.nan
    lists = CandidateLists.from_arrays(X, LISTS.labels, group=LISTS.lengths)
    with pytest.raises(package.RerankError, match="missing"):
        BoostingConjunctions(**LEARNER).fit(lists)
    model = package.train(lists, "boosting-conjunctions", **LEARNER, missing="mean")
    assert np.isfinite(model.score(lists)).all()


def test_a_base_score_has_its_weight():
    lists = replace(LISTS, base_scores=np.arange(LISTS.n_items, dtype=float) % 5)
    model = package.train(lists, "boosting-conjunctions", **LEARNER)
    assert model.base_weight == model.training.notes["alpha0"] > 0
    again = load_model_of(model)
    np.testing.assert_array_equal(again.score(lists), model.score(lists))


def load_model_of(model):
    """The model of a model's file."""
    content = model.as_file()
    assert zipfile.is_zipfile(io.BytesIO(content.getvalue()))
    return package.models.base.model_of_file(content.getvalue(), "model")
