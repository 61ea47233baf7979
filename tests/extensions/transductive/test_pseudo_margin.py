"""Pseudo-margins against every pair and every weak ranker; no round raises the loss."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make import drawn, features
from reference import pseudo_margin as slow

from rerank.core.errors import ConfigError, DataError
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation, make_pairs
from rerank.extensions.transductive.lists import single
from rerank.extensions.transductive.pseudo_margin import PseudoMargin, PseudoPairs
from rerank.learners.rankboost import RankBoost
from rerank.models.stumps import StumpModel

BASES = [
    {},
    {"step": "exact"},
    {"directions": "up", "learning_rate": 0.3},
    {"thresholds": 3},
    {"weak": "raw"},
    {"weak": "both", "thresholds": 2, "spacing": "width"},
    {"pairs": "neighbours", "list_balance": True},
    {"label_gap": 1.0, "engine": "reference"},
]
METHODS = [
    {},
    {"gamma": 20.0},
    {"pairs": "halves"},
    {"pairs": "oracle"},
    {"direction": "minimise"},
    {"direction": "minimise", "pairs": "halves", "gamma": 3.0},
]


some_lists = partial(drawn, sizes=(1, 6, 5, 7), grades=(0, 3), noise=2.0)


def one_of(lists, i, method):
    return single(lists, i, labels=method.uses_test_labels)


def adapted(method, lists, one):
    found = method.adapter(lists).adapt(one, np.random.default_rng(0))
    assert (found.model is None) == bool(found.reason)
    return found


def pairs_of(method, lists, one):
    """The twin's unlabelled pairs."""
    before = method.base_learner.fit(lists)
    if one.has_missing:
        before = before.with_missing_as_zero()
    labels = None if one.labels is None else one.labels.tolist()
    return slow.unlabelled_pairs(method, before.score_aligned(one).tolist(), labels)


def relation_of(learner):
    return PairRelation(learner.pairs, label_gap=learner.label_gap)


@pytest.mark.parametrize("more", METHODS)
@pytest.mark.parametrize("base", BASES)
def test_rounds_are_those_of_every_pair(base, more):
    for seed, missing in ((0, 0.0), (1, 0.2)):
        method = PseudoMargin(base={"rounds": 8, **base}, **more)
        if method.uses_test_labels and base.get("pairs") == "neighbours":
            continue  # the twin has no oracle pairs of neighbours
        lists, test = some_lists(seed, missing=missing), some_lists(seed + 50, missing=missing)
        for i in (1, 2):
            one = one_of(test, i, method)
            found, pairs = adapted(method, lists, one), pairs_of(method, lists, one)
            assert found.diagnostics["unlabelled_pairs"] == len(pairs)
            if found.model is None:
                continue
            X = one.features.to_dense().astype(float)
            expected, F = slow.rounds(method, lists, relation_of(method.base_learner), X, pairs)
            scores = found.model.score_aligned(one)
            own = F[lists.n_items :]
            np.testing.assert_allclose(scores - scores[0], own - own[0], atol=1e-7)
            np.testing.assert_array_equal(found.model.feature, [f for (f, *_), *_ in expected])
            if found.model.raw is None:
                np.testing.assert_array_equal(found.model.threshold, [t for (_, t, _), *_ in expected])
                np.testing.assert_allclose(found.model.step, [step for _, step, _ in expected], atol=1e-8)
            check_figures(method, lists, found, expected[-1][-1], pairs, own)


def check_figures(method, lists, found, loss, pairs, own):
    """The diagnostics are those of all pairs."""
    figures = found.diagnostics
    tied = sum(abs(own[i] - own[j]) <= slow.TIE for i, j in pairs)
    assert figures["tied_share"] == pytest.approx(tied / len(pairs))
    weight = figures["unlabelled_weight"] * len(pairs) / method.gamma  # of the labelled pairs
    total = weight * (figures["labelled_loss"] + method.gamma * figures["unlabelled_loss"])
    assert total == pytest.approx(loss, rel=1e-7)
    assert 0 <= figures["train_accuracy"] <= 1


def test_warm_up_rounds_are_those_of_rankboost():
    lists, test = some_lists(3), some_lists(4)
    method = PseudoMargin(base={"rounds": 12}, warm_up=5)
    one = one_of(test, 3, method)
    model = adapted(method, lists, one).model
    plain = RankBoost(rounds=12).fit(lists)
    np.testing.assert_array_equal(model.feature[:5], plain.feature[:5])
    np.testing.assert_array_equal(model.threshold[:5], plain.threshold[:5])
    np.testing.assert_array_equal(model.step[:5], plain.step[:5])
    assert model.n_rounds == 12
    assert not np.array_equal(model.score(one), plain.score(one))
    first = adapted(PseudoMargin(base={"rounds": 1}), lists, one).model
    np.testing.assert_array_equal(first.step, plain.step[:1])  # without scores no pair has a sign


def test_a_value_that_only_the_list_lacks_counts_as_0_in_warm_up_rounds():
    lists, test = some_lists(3), some_lists(4, missing=0.4)
    for weak in ("stumps", "raw"):
        method = PseudoMargin(base={"rounds": 12, "weak": weak}, warm_up=5)
        one = one_of(test, 3, method)
        model = adapted(method, lists, one).model
        plain = RankBoost(rounds=5, weak=weak).fit(lists)
        zeros = one.with_features(features("dense", np.nan_to_num(one.features.to_dense())), None)
        begun = model.prefix(5).score_aligned(one)
        np.testing.assert_allclose(begun, plain.score(zeros), atol=1e-12)
        assert np.isfinite(model.score_aligned(one)).all()


@pytest.mark.parametrize("more", METHODS)
def test_degenerate_lists_keep_the_unadapted_ranker_or_get_one(more):
    lists = some_lists(0)
    method = PseudoMargin(base={"rounds": 8}, **more)
    adapter = method.adapter(lists)
    for rows in (
        [[1.0, 2, 3, 4]],
        [[1.0, 2, 3, 4]] * 5,
        [[0.5, 1, 0, 0], [1, 0, 0, 2]],
        np.eye(4)[:3] * 1e300,
    ):
        n = len(rows)
        one = CandidateLists.from_arrays(np.array(rows), np.arange(float(n)))
        found = adapter.adapt(single(one, 0, labels=method.uses_test_labels), np.random.default_rng(0))
        if n == 1:
            assert (found.model, found.reason) == (None, "one item")
            assert found.diagnostics == {"unlabelled_pairs": 0}
        elif n == 5:
            expected = (
                "no unlabelled pair" if more.get("pairs") == "halves" else "all unlabelled pairs are tied"
            )
            assert (found.model, found.reason) == (None, expected)
        elif found.model is not None:
            assert np.isfinite(found.model.score_aligned(one)).all()


def test_oracle_pairs_need_labels_and_different_ones():
    lists, test = some_lists(0), some_lists(1)
    method = PseudoMargin(pairs="oracle", base={"rounds": 5})
    assert method.uses_test_labels
    assert not PseudoMargin().uses_test_labels
    same = test.replace_labels(np.ones(test.n_items))
    assert adapted(method, lists, single(same, 2, labels=True)).reason == "no unlabelled pair"
    with pytest.raises(DataError, match="no labels, so no pairs"):
        adapted(method, lists, single(test, 2, labels=False))


def test_oracle_pairs_do_not_tell_which_item_is_better():
    lists, test = some_lists(0), some_lists(1)
    for direction in ("maximise", "minimise"):
        method = PseudoMargin(pairs="oracle", base={"rounds": 20}, direction=direction)
        for i in (1, 2, 3):
            one = single(test, i, labels=True)
            a, b = (adapted(method, lists, some) for some in (one, one.replace_labels(-one.labels)))
            np.testing.assert_allclose(a.model.score(one), b.model.score(one), atol=1e-8)


def test_lists_in_another_layout_than_the_labelled_ones_are_adapted_to():
    lists, test = some_lists(7), some_lists(8)
    method = PseudoMargin(base={"rounds": 15})
    one = one_of(test, 3, method)
    sparse = one.with_features(features("sparse", one.features.to_dense()), None)
    a, b = (adapted(method, lists, some).model for some in (one, sparse))
    np.testing.assert_array_equal(a.score_aligned(one), b.score_aligned(sparse))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": "ranksvm"}, "learner pm extends the loss of rankboost: found base ranksvm"),
        ({"base": {"rounds": 7}, "warm_up": 7}, "warm_up: found 7, expected less than the 7 rounds"),
        ({"warm_up": -1}, "warm_up: found -1"),
        ({"gamma": 0}, "gamma: found 0"),
        ({"pairs": "some"}, "pairs: found 'some'"),
        ({"base": {"keep": "best"}}, "keep=best needs a metric"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        PseudoMargin(**settings)


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.sampled_from([1.0, 30.0, 700.0, 1e5]), st.sampled_from([0.0, 0.5]))
def test_sums_over_pairs_are_those_of_every_pair(seed, scale, unjudged):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    labels = rng.integers(0, 4, n).astype(float)
    labels[rng.random(n) < unjudged] = np.nan
    one = CandidateLists.from_arrays(np.zeros((n, 1)), labels)
    pairs = make_pairs(one, PairRelation("all", label_gap=float(rng.integers(0, 2))))
    if not pairs.n_lists:
        return
    F = np.round(scale * rng.normal(0, 1, len(pairs.items)), 0 if rng.random() < 0.5 else 3)
    found = PseudoPairs(pairs, F)
    h = (rng.random(len(F)) < 0.5).astype(float)
    potential, right, wrong = np.zeros(len(F)), 0.0, 0.0
    total, tied = 0.0, 0
    for a, b in zip(*pairs.explicit(), strict=True):
        i, j = (a, b) if F[a] > F[b] else (b, a)
        if F[i] == F[j]:
            tied += 1
            continue
        weight = math.exp(F[j] - F[i])
        total += weight
        potential[i] += weight
        potential[j] -= weight
        right += weight * (h[i] > h[j])
        wrong += weight * (h[i] < h[j])
    own, log = found.potentials()
    assert found.n_tied() == tied
    if total == 0:
        assert not own.any()
        assert log == -math.inf
        assert found.split(h) == (0.0, 0.0)
    else:
        assert log == pytest.approx(math.log(total), rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(own, potential / total, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.split(h), (right / total, wrong / total), rtol=1e-9, atol=1e-12)


def test_models_one_after_the_other_add_up():
    lists = some_lists(2, missing=0.2)
    plain = some_lists(2)
    for learner in (RankBoost(rounds=6), RankBoost(rounds=6, weak="raw")):
        for a, b in itertools.product((lists, plain), repeat=2):
            first, second = learner.fit(a), RankBoost(rounds=4).fit(b)
            both = first.followed_by(second)
            assert isinstance(both, StumpModel)
            assert both.n_rounds == first.n_rounds + second.n_rounds
            np.testing.assert_allclose(
                both.score_aligned(plain),
                first.score_aligned(plain) + second.score_aligned(plain),
                atol=1e-12,
            )
            assert (both.missing is None) == (first.missing is None and second.missing is None)
