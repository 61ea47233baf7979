"""Pseudo-margins with a share of tied pairs, against all pairs; no round raises the loss."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import drawn
from reference import pseudo_margin as pairs_of_lists
from reference import tied_ratio as slow

from rerank.core.errors import ConfigError
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation
from rerank.extensions.transductive.lists import single
from rerank.extensions.transductive.tied_ratio import RatioPairs, TiedRatio, tied_share
from rerank.learners.rankboost import RankBoost

some_lists = partial(drawn, sizes=(1, 6, 5, 7), grades=(0, 3))


def every_pair(n):
    return list(itertools.combinations(range(n), 2))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.75, 1.0])
@pytest.mark.parametrize("base", [{}, {"step": "exact"}, {"weak": "raw"}, {"list_balance": True}])
def test_rounds_are_those_of_every_pair(base, share):
    method = TiedRatio(base={"rounds": 8, **base}, tied=share, gamma=2.0)
    lists, test = some_lists(1), some_lists(51)
    for i in (1, 3):
        one = single(test, i, labels=False)
        found = method.adapter(lists).adapt(one, np.random.default_rng(0))
        X = one.features.to_dense().astype(float)
        expected, F = pairs_of_lists.rounds(
            method,
            lists,
            PairRelation(method.base_learner.pairs),
            X,
            every_pair(one.n_items),
            slow.signed_of(share),
            slow.losses_of(share),
        )
        losses = [loss for *_, loss in expected]
        assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(losses))
        if found.model is None:
            assert np.ptp(F[lists.n_items :]) == pytest.approx(0, abs=1e-9)
            continue
        own = F[lists.n_items :]
        scores = found.model.score_aligned(one)
        np.testing.assert_allclose(scores - scores[0], own - own[0], atol=1e-7)
        np.testing.assert_array_equal(found.model.feature, [f for (f, *_), *_ in expected])
        figures = found.diagnostics
        weight = figures["unlabelled_weight"] * figures["unlabelled_pairs"] / method.gamma
        total = weight * (figures["labelled_loss"] + method.gamma * figures["unlabelled_loss"])
        assert total == pytest.approx(losses[-1], rel=1e-7)


@given(
    st.lists(st.integers(-3, 3), min_size=2, max_size=7).map(lambda x: [v / 2 for v in x]),
    st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]),
    st.data(),
)
def test_potentials_splits_and_the_loss_are_sums_over_pairs(scores, share, data):
    n = len(scores)
    pairs = RatioPairs(np.array(scores), share)
    known, log = pairs.potentials()
    signed = slow.signed_of(share)(None, 1.0, every_pair(n), scores)
    total = math.fsum(w for *_, w in signed)
    assert pairs.loss() == pytest.approx(slow.loss_of(share, every_pair(n), scores))
    if total == 0:
        assert log == -np.inf
        return
    expected = np.zeros(n)
    for a, b, w in signed:
        expected[a] += w / total
        expected[b] -= w / total
    np.testing.assert_allclose(known, expected, atol=1e-12)
    assert math.exp(log) == pytest.approx(total)
    h = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    right = math.fsum(w for a, b, w in signed if h[a] > h[b]) / total
    wrong = math.fsum(w for a, b, w in signed if h[a] < h[b]) / total
    assert pairs.split(np.array(h, dtype=float)) == pytest.approx((right, wrong), abs=1e-12)


@pytest.mark.parametrize("n_tied", range(7))
def test_the_pairs_that_are_tied_are_the_best_choice(n_tied):
    scores = [0.0, 0.4, 1.5, 3.1]
    found = RatioPairs(np.array(scores), n_tied / 6).loss()
    assert found == pytest.approx(slow.least_loss(n_tied, every_pair(4), scores))


def test_the_share_is_the_mean_over_labelled_lists():
    y = [0, 0, 1, 2, np.nan, 1, 1, 3]
    lists = CandidateLists.from_arrays(np.arange(8.0)[:, None], y, group=[5, 2, 1])
    # 1 of 6 pairs of the first list, 1 of 1 of the second one.
    assert tied_share(lists, RankBoost()) == pytest.approx((1 / 6 + 1) / 2)
    # Labels differ by more than 1: 2 of the 6 pairs of the first list.
    assert tied_share(lists, RankBoost(label_gap=1.0)) == pytest.approx((4 / 6 + 1) / 2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tied": 1.5}, "tied: found 1.5, expected labelled or a number from 0 to 1"),
        ({"tied": -0.5}, "tied: found -0.5"),
        ({"tied": True}, "tied: found true"),
        ({"tied": "all"}, "tied"),
        ({"base": "ranksvm"}, "learner pm-ratio extends the loss of rankboost: found base ranksvm"),
        ({"gamma": 0.0}, "gamma"),
        ({"warm_up": 300}, "warm_up: found 300"),
    ],
)
def test_wrong_settings_are_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        TiedRatio(**given)


def test_one_item_and_equal_items_keep_the_unadapted_ranking():
    method = TiedRatio(base={"rounds": 5})
    adapter = method.adapter(some_lists(0))
    for n, reason in ((1, "one item"), (4, "all unlabelled pairs are tied")):
        one = single(CandidateLists.from_arrays(np.ones((n, 4))), 0, labels=False)
        assert adapter.adapt(one, np.random.default_rng(0)).reason == reason
