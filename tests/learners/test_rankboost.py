"""RankBoost against every pair and every weak ranker; both engines choose the same; missing values."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make import features
from reference import rankboost as slow

from rerank.core.errors import ConfigError, DataNote, FitError
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation, make_pairs
from rerank.learners.rankboost import RankBoost
from rerank.learners.rankboost.rankers import Grouping, counted_values, cuts, weak_rankers
from rerank.learners.rankboost.rounds import ExplicitPairs, PairRanges
from rerank.metrics.base import parse
from rerank.models.describe import model_lines, model_record

SETTINGS = [
    {},
    {"step": "exact"},
    {"step": "exact", "epsilon": 1e-6, "directions": "up"},
    {"directions": "up"},
    {"thresholds": 3},
    {"thresholds": 5, "spacing": "width"},
    {"thresholds": 2, "spacing": "width", "directions": "up"},
    {"weak": "raw"},
    {"weak": "both", "thresholds": 2, "step": "exact"},
    {"pairs": "neighbours"},
    {"label_gap": 1.0, "list_balance": True},
    {"learning_rate": 0.1},
    {"learning_rate": 0.5, "step": "exact", "thresholds": 2},
    {"margin": "uneven", "tau": 2.0},
    {"margin": "uneven", "margin_power": 0.5, "tau": 1.0, "list_balance": True},
    {"margin": "label", "tau": 0.7, "pairs": "neighbours"},
]


def test_margins_need_tau_and_may_not_overflow():
    lists = random_lists(0)
    for wrong in ({"margin": "uneven"}, {"tau": 1.0}):
        with pytest.raises(ConfigError, match="tau is for margins that are not even"):
            RankBoost(**wrong).fit(lists)
    with pytest.raises(FitError, match="drawn lists: margins overflow"):
        RankBoost(margin="label", tau=1e308).fit(lists)
    flat = RankBoost(margin="label", tau=1e-300, rounds=5).fit(lists)
    np.testing.assert_array_equal(found_rounds(flat), found_rounds(RankBoost(rounds=5).fit(lists)))


def test_steps_too_small_to_count_end_the_rounds():
    with pytest.warns(DataNote, match="learnt nothing"):
        model = RankBoost(learning_rate=1e-12).fit(random_lists(0))
    assert model.n_rounds == 0
    assert model.training.rounds.converged


def random_lists(seed=0, *, missing=0.0, layout="dense", n_features=5, sizes=(1, 6, 5, 9, 4, 7), labels=4):
    """Lists with ties in features and labels, one of one item, one without a pair and an unjudged item."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    X = np.round(rng.normal(0, 1.5, (n, n_features))) / 2
    X[:, 0] = X[:, 0] > 0
    y = np.round(np.clip(X[:, 1] - X[:, 3 % n_features] + rng.normal(0, 1, n), 0, labels - 1))
    y[1:7] = 2.0
    y[10 % n] = np.nan
    X[rng.random(X.shape) < missing] = np.nan
    return CandidateLists.from_arrays(features(layout, X), y, group=list(sizes), source="drawn lists")


def found_rounds(model):
    """(feature, threshold, step, raw, h of missing values) of every round."""
    n = model.n_rounds
    raw = np.zeros(n) if model.raw is None else model.raw
    missing = np.full(n, np.nan) if model.missing is None else model.missing
    return np.column_stack([model.feature, model.threshold, model.step, raw, missing])


def expected_rounds(lists, found):
    """The same of the twin's rounds."""
    X, out = lists.features.to_dense().astype(float), []
    judged, paired = ~np.isnan(lists.labels), make_pairs(lists, PairRelation("all")).items
    for (f, t, q), step, _ in found:
        values = X[judged, f]
        low, high = np.nanmin(values), np.nanmax(values)
        lacking = np.isnan(X[paired, f]).any()
        if t is None:
            out.append((f, high - low, step / (high - low), 1, (high if q else low) if lacking else math.nan))
        else:
            out.append((f, t, step, 0, q if lacking else math.nan))
    return np.array(out).reshape(-1, 5)


def relation_of(learner):
    return PairRelation(learner.pairs, label_gap=learner.label_gap)


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("more", SETTINGS)
def test_rounds_are_those_of_the_definition(engine, missing, more):
    for seed in range(2):
        lists = random_lists(seed, missing=missing)
        learner = RankBoost(engine=engine, rounds=12, **more)
        model = learner.fit(lists)
        found, scores = slow.rounds(lists, relation_of(learner), learner)
        np.testing.assert_allclose(found_rounds(model), expected_rounds(lists, found), rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(
            [row["loss"] for row in model.curve], [loss for *_, loss in found], rtol=1e-8
        )
        assert model.training.rounds.converged == (len(found) < 12)
        own = model.score(lists)
        shift = own - scores  # scores of an item of zeros are 0 in models
        np.testing.assert_allclose(shift, shift[0], atol=1e-7)


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_lists_are_weighted(engine):
    lists = random_lists(3, missing=0.1)
    weights = np.array([1.0, 2.0, 0.0, 0.5, 3.0, 1.0])
    for balance in (False, True):
        learner = RankBoost(engine=engine, rounds=10, list_balance=balance)
        model = learner.fit(lists, list_weights=weights)
        found, _ = slow.rounds(lists, relation_of(learner), learner, list_weights=weights)
        np.testing.assert_allclose(found_rounds(model), expected_rounds(lists, found), rtol=1e-8, atol=1e-8)
    with pytest.raises(FitError, match="the weight of every list with a pair is 0"):
        RankBoost(engine=engine).fit(lists, list_weights=np.zeros(6))


def test_pairs_are_weighted_in_the_order_of_explicit():
    lists = random_lists(4)
    pairs = make_pairs(lists, PairRelation("all"))
    better, worse = (pairs.items[positions] for positions in pairs.explicit())
    twin = [(a, b) for _, a, b in slow.pairs_of(lists, PairRelation("all"))]
    assert sorted(zip(better.tolist(), worse.tolist(), strict=True)) == sorted(twin)
    weights = np.random.default_rng(0).random(len(better))
    by_pair = dict(zip(zip(better.tolist(), worse.tolist(), strict=True), weights, strict=True))
    for balance in (False, True):
        learner = RankBoost(engine="reference", rounds=10, list_balance=balance)
        model = learner.fit(lists, pair_weights=weights)
        found, _ = slow.rounds(
            lists, relation_of(learner), learner, pair_weights=[by_pair[pair] for pair in twin]
        )
        np.testing.assert_allclose(found_rounds(model), expected_rounds(lists, found), rtol=1e-8, atol=1e-8)
    with pytest.raises(FitError, match="pair weights need engine=reference"):
        RankBoost().fit(lists, pair_weights=weights)
    for wrong in (weights[1:], -weights, 0 * weights, weights * np.nan):
        with pytest.raises(FitError, match=rf"pair weights must be {len(weights)} finite numbers"):
            RankBoost(engine="reference").fit(lists, pair_weights=wrong)


@pytest.mark.parametrize("more", [{}, {"step": "exact"}, {"weak": "raw"}, {"list_balance": True}])
def test_adacost_is_rankboost_but_for_the_change_of_weights(more):
    for seed in range(3):
        lists = random_lists(seed, missing=0.1)
        learner = RankBoost(rounds=15, **more)
        presorted = learner.presorted(lists)
        better, worse = (presorted.pairs.items[at] for at in presorted.pairs.explicit())
        w = np.random.default_rng(seed).choice(np.array([0.0, 1.0, 0.2, 0.7]), len(better))
        costs = np.array([0.5 - 0.5 * w, 0.5 + 0.5 * w])
        model = learner.fit_presorted(presorted, costs=costs)
        of_pairs = dict(zip(zip(better.tolist(), worse.tolist(), strict=True), costs.T, strict=True))
        found, _ = slow.rounds(lists, relation_of(learner), learner, costs=of_pairs)
        np.testing.assert_allclose(found_rounds(model), expected_rounds(lists, found), rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(
            [row["loss"] for row in model.curve], [loss for *_, loss in found], rtol=1e-8
        )
        same = learner.fit_presorted(presorted, costs=np.ones_like(costs))
        np.testing.assert_array_equal(found_rounds(same), found_rounds(learner.fit(lists)))
        for wrong in (costs[:, 1:], costs[0], -costs, costs + np.inf):
            with pytest.raises(FitError, match=rf"costs of pairs must be 2 x {len(w)} finite numbers"):
                learner.fit_presorted(presorted, costs=wrong)


def test_costs_multiply_the_change_of_right_and_of_wrong_pairs():
    better, worse = np.array([0, 0, 1]), np.array([1, 2, 2])
    costs = np.array([[0.5, 1.0, 2.0], [3.0, 4.0, 5.0]])
    pairs = ExplicitPairs(better, worse, 3, np.array([1.0, 2.0, 3.0]), costs)
    pairs.advance(np.array([1.0, 0.0, 1.0]), 0.5)  # right, equal, wrong
    pairs.advance(np.array([1.0, 0.0, 0.0]), -1.0)  # wrong, wrong, equal
    expected = np.array([math.exp(-0.25 + 3), 2 * math.exp(4), 3 * math.exp(2.5)])
    total = expected.sum()
    found, log_sum = pairs.potentials()
    a, b, c = expected / total
    np.testing.assert_allclose(found, [a + b, c - a, -b - c])
    assert log_sum == pytest.approx(math.log(total))
    assert pairs.split(np.array([0.0, 1.0, 0.0])) == pytest.approx((c, a))


@pytest.mark.filterwarnings("ignore:drawn lists. rankboost learnt nothing")
@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from(SETTINGS),
    st.sampled_from([0.0, 0.0, 0.2, 0.9]),
    st.sampled_from([2, 4, 50]),
    st.sampled_from(["dense", "sparse", "mixed"]),
)
def test_both_engines_agree_on_any_lists(seed, more, missing, labels, layout):
    rng = np.random.default_rng(seed)
    sizes = (8, *rng.integers(1, 12, 4).tolist())
    lists = random_lists(seed, missing=missing, sizes=sizes, labels=labels, layout=layout)
    weights = rng.choice(np.array([0.5, 1.0, 2.0]), len(sizes))
    found = []
    for engine in ("fast", "reference"):
        try:
            model = RankBoost(engine=engine, rounds=40, **more).fit(lists, list_weights=weights)
        except FitError as error:
            found.append(str(error))
        else:
            found.append(found_rounds(model))
    if isinstance(found[0], str):
        assert found[0] == found[1]
    else:
        np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("scale", [1.0, 50.0, 3000.0, 1e6])
@pytest.mark.parametrize("pairs", ["all", "neighbours"])
def test_weights_of_pairs_agree_whatever_the_range_of_scores_is(scale, pairs):
    """Exponentials of wide ranges overflow; they are summed as logarithms."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        lists = random_lists(seed)
        found = make_pairs(lists, PairRelation(pairs))
        n, of_lists = len(found.items), rng.choice([1.0, 1e-300, 1e300, 0.0], found.n_lists)
        of_lists[rng.integers(found.n_lists)] = 1.0
        both = (
            PairRanges(found, of_lists),
            ExplicitPairs(*found.explicit(), n, np.repeat(of_lists, found.counts)),
        )
        for _ in range(4):
            h = (rng.random(n) < 0.4).astype(float)
            (a, log_a), (b, log_b) = (one.potentials() for one in both)
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-11)
            assert log_a == pytest.approx(log_b, rel=1e-12)
            np.testing.assert_allclose(both[0].split(h), both[1].split(h), rtol=1e-8, atol=1e-11)
            raw = scale * rng.normal(0, 1, n)
            for one in both:
                one.advance(raw, 0.5)


def test_engines_agree_on_separable_lists():
    y = np.tile([1.0, 0, 0, 1], 3)
    lists = CandidateLists.from_arrays(np.column_stack([y, y[::-1] + 2]), y, group=[12])
    for more in ({}, {"step": "exact", "epsilon": 1e-12}, {"weak": "raw"}):
        models = [RankBoost(engine=engine, rounds=400, **more).fit(lists) for engine in ("fast", "reference")]
        np.testing.assert_array_equal(found_rounds(models[0]), found_rounds(models[1]))
        assert np.ptp(models[0].score(lists)) > 2000
        assert [row["loss"] for row in models[0].curve[-3:]] == [0.0] * 3


def test_a_perfect_weak_ranker_has_a_finite_step():
    lists = CandidateLists.from_arrays([[1.0], [0.0], [0.0]], [1, 0, 0])
    for step in ("bound", "exact"):
        model = RankBoost(rounds=3, step=step).fit(lists)
        assert np.isfinite(model.step).all()
        assert model.score(lists)[0] > 0


@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from(["quantile", "width"]))
def test_zeros_that_are_not_stored_are_values_like_others(seed, number, spacing):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.choice(np.array([-2.0, -1, -0.5, 0, 0, 0, 0, 0.5, 1, 2, 3]), rng.integers(1, 12)))
    stored = values[values != 0]
    for n in (number, None) if spacing == "quantile" else (number + 1,):
        found = cuts(*counted_values(stored, len(values) - len(stored)), n, spacing)
        np.testing.assert_array_equal(found, cuts(*counted_values(values, 0), n, spacing))
        np.testing.assert_array_equal(found, slow.cuts(values.tolist(), n, spacing))


def test_labels_of_any_size_give_the_same_rounds():
    lists = random_lists(1)
    models = [
        RankBoost(rounds=30).fit(lists.replace_labels(lists.labels * factor))
        for factor in (1.0, 1e6, 1e300, 1e-300)
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(found_rounds(model), found_rounds(models[0]))


def test_huge_values_are_compared_as_others():
    lists = random_lists(2)
    X = lists.features.to_dense()
    for more in ({}, {"thresholds": 3, "spacing": "width"}, {"weak": "both", "thresholds": 1}):
        huge = CandidateLists.from_arrays(X * 1e300, lists.labels, group=lists.lengths)
        a, b = (RankBoost(rounds=20, **more).fit(some) for some in (lists, huge))
        np.testing.assert_array_equal(a.feature, b.feature)
        assert np.isfinite(b.score(huge)).all()
    far = CandidateLists.from_arrays([[1e308], [-1e308]], [1, 0])
    for more in ({}, {"thresholds": 2, "spacing": "width"}, {"weak": "both", "thresholds": 1}):
        assert np.diff(RankBoost(rounds=2, **more).fit(far).score(far)) < 0
    with pytest.warns(DataNote, match="rankboost learnt nothing"):
        assert RankBoost(weak="raw").fit(far).n_rounds == 0  # the range overflows


def test_a_value_that_training_never_lacked_has_no_default():
    lists = random_lists(2, missing=0.0)
    assert RankBoost(rounds=5).fit(lists).missing is None
    X = lists.features.to_dense().copy()
    X[8, 1] = np.nan
    some = CandidateLists.from_arrays(X, lists.labels, group=lists.lengths)
    model = RankBoost(rounds=30).fit(some)
    np.testing.assert_array_equal(np.isnan(model.missing), model.feature != 1)


def test_a_missing_value_can_be_what_matters():
    X = np.array([[np.nan], [3.0], [1.0], [np.nan], [2.0]])
    lists = CandidateLists.from_arrays(X, [1, 0, 0, 1, 0], group=[3, 2])
    model = RankBoost(rounds=1).fit(lists)
    assert model.explain()[0][0] in ("1 missing", "1 present")
    scores = model.score(lists)
    assert scores[0] > scores[1] == scores[2]
    up = RankBoost(rounds=1, directions="up").fit(lists)
    assert (up.score(lists)[[0, 3]] > up.score(lists)[[2, 4]]).all()


def test_lists_without_a_pair_are_skipped_and_counted():
    lists = random_lists(4)
    model = RankBoost(rounds=5).fit(lists)
    pairs = slow.pairs_of(lists, PairRelation("all"))
    assert model.training.data.pairs == len(pairs)
    assert model.training.data.lists_without_pair == lists.n_lists - len({i for i, *_ in pairs})
    with pytest.raises(FitError, match="no list has a pair under pairs=all"):
        RankBoost().fit(lists.replace_labels(np.ones(lists.n_items)))


def test_features_that_teach_nothing_are_a_note():
    lists = CandidateLists.from_arrays([[1.0], [1.0], [2.0], [2.0]], [1, 0, 0, 1], group=[2, 2])
    with pytest.warns(DataNote, match="arrays: rankboost learnt nothing"):
        model = RankBoost().fit(lists)
    assert (model.n_rounds, model.training.rounds.converged, model.curve) == (0, True, [])
    judge = parse("nDCG@5")
    dev = (lists, judge.prepare(lists))
    with pytest.warns(DataNote):
        model = RankBoost(keep="best").fit(lists, dev=dev)
    np.testing.assert_array_equal(model.score(lists), 0.0)


@pytest.mark.parametrize("layout", ["dense", "sparse", "mixed"])
@pytest.mark.parametrize("more", [{}, {"weak": "raw"}, {"weak": "both", "thresholds": 1}])
def test_the_curve_has_the_values_of_every_prefix(layout, more):
    lists, dev = (random_lists(seed, missing=0.2, layout=layout) for seed in (6, 7))
    metric = parse("nDCG@5")
    judges = metric.prepare(lists), metric.prepare(dev)
    model = RankBoost(rounds=15, **more).fit(lists, judge=judges[0], dev=(dev, judges[1]))
    for n, row in enumerate(model.curve, 1):
        part = model.prefix(n)
        for name, some, judge in (("train", lists, judges[0]), ("dev", dev, judges[1])):
            assert judge.score_from_sums(judge.per_list(part.score(some)).sum(axis=0)) == pytest.approx(
                row[name]
            )


def test_a_feature_itself_gains_no_more_than_the_best_of_its_thresholds():
    """Scaled into [0, 1] it is a mean of its thresholds, so weak=both is refused with all of them."""
    for seed in range(5):
        lists = random_lists(seed, missing=0.2 * (seed % 2))
        pairs = make_pairs(lists, PairRelation("all"))
        potential, _ = PairRanges(pairs, np.ones(pairs.n_lists)).potentials()
        gains = []
        for weak in ("stumps", "raw"):
            features = lists.features.take(pairs.items)
            best = weak_rankers(features, len(pairs.items), Grouping(weak=weak)).best(potential, True)
            gains.append(abs(best.gain))
        assert gains[0] >= gains[1] - 1e-12


def test_the_share_of_each_feature_is_that_of_its_steps():
    lists = random_lists(0)
    for more in ({}, {"weak": "raw"}, {"weak": "both", "thresholds": 1}):
        learner = RankBoost(rounds=12, **more)
        model = learner.fit(lists)
        found, _ = slow.rounds(lists, relation_of(learner), learner)
        sums = np.zeros(5)
        for (f, *_), step, _ in found:
            sums[f] += abs(step)
        shares = dict(model.step_shares())
        np.testing.assert_allclose(
            [shares.get(str(f + 1), 0.0) for f in range(5)], sums / sums.sum(), rtol=1e-6
        )
        assert list(shares.values()) == sorted(shares.values(), reverse=True)
        text = "\n".join(model_lines(model, 1))
        name, share = model.step_shares()[0]
        assert re.search(rf"share of all steps by feature\n{name} +{share:.1%}\n\.\.\. and \d more", text)
        assert model_record(model)["shares"][0] == {"name": name, "share": share}


def test_settings_without_an_effect_are_refused():
    for wrong, message in (
        ({"weak": "both"}, "weak=both is for a number of thresholds"),
        ({"spacing": "width"}, "spacing=width is for 2 thresholds or more"),
        (
            {"spacing": "width", "thresholds": 1},
            "spacing=width is for 2 thresholds or more: found 1",
        ),
        ({"thresholds": 0}, "thresholds: found 0, expected all or a number of at least 1"),
        ({"epsilon": 0.1}, "epsilon is for step=exact"),
        ({"weak": "raw", "thresholds": 3}, "thresholds is for thresholds: weak=raw has none"),
        ({"label_gap": 1, "pairs": "neighbours"}, "label_gap is for pairs=all"),
    ):
        with pytest.raises(ConfigError, match=message):
            RankBoost(**wrong)
