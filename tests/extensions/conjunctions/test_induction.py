"""Conjunctions made during boosting against loops over all pairs; what is refused; memory."""

import numpy as np
import pytest
from make import features
from reference import boosting as slow
from reference import conjunctions as twin
from small_conjunctions import SETTINGS, drawn, found_steps

import rerank
from rerank.core.errors import ConfigError, FitError, RerankError
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Sparse
from rerank.extensions.conjunctions.features import widened
from rerank.extensions.conjunctions.learner import BoostingConjunctions
from rerank.learners.boosting import Boosting


def expected(lists, model, loss="exp", **settings):
    """The twin's steps by indicator, and its conjunctions as tuples of (feature, threshold)."""
    X = lists.features.to_dense().astype(float)
    pairs = slow.pairs_of(lists, loss == "exp")
    used = sorted({item for _, a, b, _ in pairs for item in (a, b)})
    stumps = slow.stumps_of(X[used])
    alpha = model.training.notes["alpha0"]
    L = np.zeros(len(X)) if alpha == "none" else alpha * lists.base_scores
    margins = [L[a] - L[b] for _, a, b, _ in pairs]
    numbers = sorted({i for i, *_ in pairs})
    groups = [
        (min(places), max(places) + 1)
        for i in numbers
        for places in [[p for p, pair in enumerate(pairs) if pair[0] == i]]
    ]
    rounds, made = twin.rounds(X, pairs, stumps, groups, margins, settings, loss)
    steps = {}
    for k, step in rounds:
        key = (stumps[k],) if k < len(stumps) else tuple(stumps[m] for m in made[k - len(stumps)])
        steps[key] = steps.get(key, 0.0) + step
    return steps, made, stumps, rounds


@pytest.mark.parametrize("values", [(0, 1), (0, 1, 2), (-2, -1, 0, 1), (-1.5, 0.25, 7.0)])
@pytest.mark.parametrize("loss", ["exp", "log"])
@pytest.mark.parametrize("base", [True, False])
def test_the_rounds_are_those_of_the_twin(values, loss, base):
    used = 0
    for seed in range(4):
        lists = drawn(seed, values=values, base=base)
        min_lists = 1 + seed % 2
        learner = BoostingConjunctions(loss=loss, bins=None, min_lists=min_lists, **SETTINGS)
        model = learner.fit(lists)
        steps, made, _, rounds = expected(lists, model, loss, min_lists=min_lists, **SETTINGS)
        assert model.training.notes["conjunctions made"] == len(made)
        assert model.training.rounds.run == len(rounds)
        found = found_steps(model)
        assert set(found) == {key for key, step in steps.items() if len(key) == 1 or step != 0}
        np.testing.assert_allclose([found[key] for key in found], [steps[key] for key in found], atol=1e-11)
        used += len(model.weight)
    assert used > 0


@pytest.mark.parametrize("values", [(0, 1), (-1.5, 0.25, 7.0)])
@pytest.mark.parametrize("seed", range(1, 4))
def test_scores_are_sums_of_steps(values, seed):
    lists, new = drawn(seed, values=values), drawn(seed + 10, values=values)
    settings = {**SETTINGS, "rounds": 80, "conjunctions": 20}
    model = BoostingConjunctions(bins=None, min_lists=1, **settings).fit(lists)
    assert len(model.weight)
    expected_scores = new.base_scores * model.training.notes["alpha0"]
    for i, row in enumerate(new.features.to_dense()):
        for literals, step in found_steps(model).items():
            held = all(twin.literal(row[f], t) for f, t in literals)
            # A single stump of a threshold of 0 or less is 1 where its literal does not hold.
            expected_scores[i] += step * held * (-1 if len(literals) == 1 and literals[0][1] <= 0 else 1)
    np.testing.assert_allclose(model.score(new), expected_scores, atol=1e-9)


@pytest.mark.parametrize("loss", ["exp", "log"])
def test_without_conjunctions_it_is_boosting(loss):
    lists = drawn(3, values=(-1, 0, 1, 2))
    plain = Boosting(loss=loss, rounds=30).fit(lists)
    model = BoostingConjunctions(loss=loss, rounds=30, conjunctions=0).fit(lists)
    np.testing.assert_array_equal(model.step, plain.step)
    np.testing.assert_array_equal(model.feature, plain.feature)
    np.testing.assert_array_equal(model.score(lists), plain.score(lists))
    assert [row["loss"] for row in model.curve] == [row["loss"] for row in plain.curve]


@pytest.mark.parametrize("layout", ["float32", "sparse", "mixed", "indicators"])
@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_layouts_and_engines_give_the_same_bytes(layout, engine):
    settings = {**SETTINGS, "min_lists": 1}
    dense = BoostingConjunctions(**settings).fit(drawn(1))
    other = BoostingConjunctions(engine=engine, **settings).fit(drawn(1, layout=layout))
    assert found_steps(dense) == found_steps(other)
    assert len(dense.weight) > 0


def test_a_conjunction_that_boosting_cannot_express_is_learnt():
    """Whether the item with both features is best, or that with none, depends on a feature of the list."""
    kinds = np.tile([1.0, 1.0, 0.0], 4)
    X = np.column_stack([np.tile([[1, 1], [1, 0], [0, 1], [0, 0]], (12, 1)), np.repeat(kinds, 4)])
    y = np.concatenate([[kind, 0.0, 0.0, 1.0 - kind] for kind in kinds])
    lists = CandidateLists.from_arrays(X, y, group=[4] * 12, feature_names=list("abq"))
    test = lists.subset(np.arange(6))
    plain = rerank.train(lists, "boosting", rounds=60)
    model = rerank.train(lists, "boosting-conjunctions", rounds=60, every=2, add=4)
    wrong = []
    for one in (plain, model):
        scores = one.score(test).reshape(-1, 4)
        wrong.append(sum(np.argmax(scores, axis=1) != np.argmax(test.labels.reshape(-1, 4), axis=1)))
    assert wrong == [2, 0]
    assert any(name.count("q >= 1") and " & " in name for name, _ in model.explain())


def test_conjunctions_are_not_made_twice_nor_of_what_adds_nothing():
    lists = drawn(2)
    X = lists.features.to_dense()
    wide = np.column_stack([X, X[:, 1], np.ones(len(X))])  # a copy, and a feature of all items
    model = BoostingConjunctions(min_lists=1, **{**SETTINGS, "frequent": 50, "conjunctions": 40}).fit(
        lists.with_features(features("dense", wide), None)
    )
    rows = model.conjunctions.rows(features("dense", wide)).to_dense()
    assert len(np.unique(rows, axis=1).T) == rows.shape[1] > 0
    assert not np.isin(model.conjunctions.literals.feature, [7]).any()


def test_classification_has_conjunctions_too():
    rng = np.random.default_rng(1)
    X = (rng.random((200, 5)) < 0.5).astype(float)
    y = ((X[:, 0] + X[:, 1]) == 1).astype(float)  # neither feature tells anything alone
    lists = CandidateLists.from_arrays(X, y, group=[200])
    settings = {"task": "classification", "rounds": 60}
    model = BoostingConjunctions(every=3, add=5, min_lists=1, **settings).fit(lists)
    plain = Boosting(**settings).fit(lists)
    wrong = [np.mean((m.score(lists) > 0) != (y > 0)) for m in (plain, model)]
    assert wrong[1] < 0.5 * wrong[0]


@pytest.mark.parametrize("layout", ["dense", "float32", "sparse", "indicators", "mixed"])
def test_widened_features_have_the_rows_side_by_side(layout):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((7, 5)) < 0.5, 0.0, 1.0 if layout == "indicators" else 2.5)
    more = (rng.random((7, 3)) < 0.5).astype(float)
    rows = features("indicators", more)
    assert isinstance(rows, Sparse)
    found = widened(features(layout, X), rows)
    found.check(nan_allowed=False)
    np.testing.assert_array_equal(found.to_dense(), np.hstack([X, more]))


def test_memory_is_asked_for(monkeypatch):
    rng = np.random.default_rng(0)
    X = (rng.random((400, 1500)) < 0.2).astype(float)
    lists = CandidateLists.from_arrays(features("indicators", X), rng.integers(0, 2, 400), group=[20] * 20)
    learner = BoostingConjunctions(rounds=2000, every=1990, min_lists=1, frequent=1500)
    monkeypatch.setattr("rerank.core.memory.SMALL", 1000)
    monkeypatch.setattr("rerank.core.memory.available", lambda: 6_000_000)
    with pytest.raises(RerankError, match=r"conjunctions of .* frequent indicators; .* a smaller 'frequent'"):
        learner.fit(lists)


@pytest.mark.parametrize(
    ("settings", "pattern"),
    [
        ({"loss": "log", "engine": "reference"}, "engine=reference is not for conjunctions with loss=log"),
        ({"every": 0}, "every: found 0, expected 1 or more"),
        ({"frequent": 0}, "frequent: found 0"),
        ({"conjunctions": -1}, "conjunctions: found -1"),
    ],
)
def test_wrong_settings_are_refused(settings, pattern):
    with pytest.raises(ConfigError, match=pattern):
        BoostingConjunctions(**settings)


def test_an_infinite_step_names_the_conjunction():
    X = np.array([[1, 1], [1, 0], [0, 1], [0, 0]] * 6, dtype=float)
    lists = CandidateLists.from_arrays(X, [1, 0, 0, 0] * 6, group=[4] * 6, feature_names=["a", "b"])
    with pytest.raises(FitError, match="points the same way on every pair"):
        BoostingConjunctions(epsilon=0.0, every=1, rounds=50).fit(lists)
