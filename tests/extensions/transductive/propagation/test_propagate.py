"""Ranker propagation against dense linear algebra, and what it must not depend on."""

import dataclasses
import warnings

import numpy as np
import pytest
from make import LAYOUTS
from reference import propagation as dense
from small_training import fit

from rerank.core.errors import ConfigError, DataError, FitError
from rerank.data.lists import CandidateLists, without_labels
from rerank.extensions.transductive.propagation.ranked import merge_sets
from rerank.learners.base import LEARNERS
from rerank.metrics.base import parse
from rerank.models.importance import standardised_weights
from rerank.models.linear import LinearModel

METHODS = [
    {},
    {"neighbours": 2},
    {"neighbours": 3, "graph": "mutual"},
    {"neighbours": "all", "components": 2},
    {"kernel": "angles", "components": 2, "neighbours": 3},
    {"kernel": "angles-subspace", "components": 1},
    {"kernel": "bhattacharyya", "ridge": 0.5, "neighbours": 4},
    {"normalise": "l1", "neighbours": 1},
    {"normalise": "none", "neighbours": 1, "graph": "mutual"},
    {"base": {"name": "ridge"}, "neighbours": 5},
]


def method(**settings):
    return LEARNERS.get("propagate")(**settings)


def text_of(settings):
    return ",".join(f"{name}={value}" for name, value in settings.items()) or "defaults"


@pytest.mark.parametrize("settings", METHODS, ids=text_of)
@pytest.mark.parametrize("layout", ["dense", "sparse", "mixed"])
def test_scores_are_those_of_dense_linear_algebra(settings, layout, make_lists):
    lists, test, learner = make_lists(1, layout), make_lists(2, layout), method(**settings)
    model = fit(learner, lists)
    found, ready = model.adapt(test), model.prepared(test)
    scores, own, parts = dense.transductive(model.prepared(lists), ready, learner)
    np.testing.assert_allclose(found.scores, scores, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found.facts["smoothness"], np.nansum(parts), rtol=1e-7, atol=1e-12)
    theirs = [row.diagnostics["smoothness_part"] for row in found.rows]
    np.testing.assert_allclose(theirs, parts[lists.n_lists :], rtol=1e-6, atol=1e-12)
    reached = ~np.isnan(own).any(axis=1)
    assert [row.adapted for row in found.rows] == reached.tolist()
    assert found.facts["reached"] == reached.sum()
    assert {row.reason for row in found.rows if not row.adapted} <= {"not reached: mean ranker"}
    norms = [row.diagnostics["norm"] for row in found.rows]
    np.testing.assert_allclose(norms, np.linalg.norm(own, axis=1), rtol=1e-7)
    np.testing.assert_array_equal(model.score(test), found.scores)


@pytest.mark.parametrize("merge", ["borda", "mean"])
@pytest.mark.parametrize(
    "settings", [{}, {"neighbours": 2}, {"kernel": "bhattacharyya", "neighbours": "all"}]
)
def test_the_inductive_form_merges_the_rankings_of_the_nearest_lists(settings, merge, make_lists):
    lists, test = make_lists(1), make_lists(2)
    learner = method(form="inductive", merge=merge, **settings)
    model = fit(learner, lists)
    expected = dense.inductive(model.prepared(lists), model.prepared(test), learner)
    np.testing.assert_allclose(model.score(test), expected, rtol=1e-7, atol=1e-8)


def test_a_kemeny_ranking_says_whether_it_is_exact(make_lists):
    model = fit(method(form="inductive", merge="kemeny", neighbours=3), make_lists(1))
    found = model.adapt(make_lists(2))
    assert all(row.diagnostics["exact"] == 1.0 for row in found.rows)


def test_the_smoothness_is_the_sum_of_its_parts_and_less_than_that_of_the_mean(make_lists):
    lists, test = make_lists(1), make_lists(2)
    found = fit(method(neighbours=4), lists).adapt(test)
    everything = fit(method(neighbours=4), lists).adapt(test)
    assert found.facts == everything.facts
    assert 0 < found.facts["smoothness"] < found.facts["smoothness by the mean ranker"]
    parts = [row.diagnostics["smoothness_part"] for row in found.rows if row.adapted]
    assert 0 < sum(parts) < found.facts["smoothness"]  # the rest is that of the training lists
    names = {tuple(row.diagnostics) for row in found.rows}
    assert names == {("degree", "labelled_share", "nearest", "norm", "smoothness_part")}


def test_in_the_inductive_form_and_for_controls_other_lists_do_not_matter(make_lists):
    test = make_lists(2)
    alone = [{"form": "inductive"}, *({"control": name} for name in ("random", "mean", "global", "oracle"))]
    for settings in alone:
        model = fit(method(**settings), make_lists(1))
        assert not model.jointly
        scores = model.score(test)
        for i in range(test.n_lists):
            np.testing.assert_array_equal(
                model.score(test.subset([i])), scores[test.offsets[i] : test.offsets[i + 1]]
            )
    model = fit(method(), make_lists(1))
    assert model.jointly
    assert model.adapt(test).jointly
    assert not np.allclose(model.score(test.subset([1])), model.score(test)[1:7])


@pytest.mark.parametrize("labels", [None, "zeros", "permuted"])
@pytest.mark.parametrize("settings", [{}, {"form": "inductive"}, {"control": "random"}, {"control": "mean"}])
def test_labels_of_the_lists_to_be_ranked_change_no_byte(settings, labels, make_lists):
    test, rng = make_lists(2), np.random.default_rng(0)
    other = {"zeros": np.zeros(test.n_items), "permuted": rng.permutation(test.labels)}.get(labels)
    model = fit(method(**settings), make_lists(1))
    assert model.score(test).tobytes() == model.score(test.replace_labels(other)).tobytes()


def crossed(seeds, directions):
    """Lists along single directions: those of different directions have the similarity 0."""
    X, y = [], []
    for seed, direction in zip(seeds, directions, strict=True):
        values = np.random.default_rng(seed).normal(0, 1, 5)
        rows = np.zeros((5, 6))
        rows[:, direction] = values
        X.append(rows)
        y.append(np.round(values * 10))
    return CandidateLists.from_arrays(np.concatenate(X), np.concatenate(y), group=[5] * len(seeds))


def test_a_list_in_a_part_of_its_own_gets_the_mean_ranker():
    lists, test = crossed([1, 2, 3], [0, 1, 1]), crossed([4, 5, 6, 7], [1, 2, 2, 0])
    model = fit(method(neighbours="all"), lists, scaling="none")
    found = model.adapt(test)
    assert [row.reason for row in found.rows] == ["", *["not reached: mean ranker"] * 2, ""]
    unreached = slice(5, 15)
    mean = model.nodes.rankers.mean(axis=0)
    np.testing.assert_allclose(found.scores[unreached], (test.features.to_dense() @ mean)[unreached])
    own = model.nodes.rankers[0]  # the only one along the first direction
    np.testing.assert_allclose(found.scores[15:], (test.features.to_dense() @ own)[15:])
    nan = [np.isnan(row.diagnostics["norm"]) for row in found.rows]
    assert nan == [False, True, True, False]


@pytest.mark.filterwarnings("ignore:.*learnt nothing")
def test_rankers_that_cancel_rank_by_the_mean_and_are_reported():
    X = np.array([[0.0, 0], [1, 0], [2, 0], [0.0, 0], [1, 0], [2, 0], [0, 0], [1, 0], [0, 3]])
    lists = CandidateLists.from_arrays(X, [0, 1, 2, 2, 1, 0, 0, 0, 1], group=[3, 3, 3])
    model = fit(method(kernel="angles", components=1, neighbours="all"), lists.subset([0, 1]), scaling="none")
    test = lists.subset([0])
    found = model.adapt(test)
    assert found.rows[0].reason == "weights of neighbours cancel: mean ranker"
    np.testing.assert_array_equal(found.scores, 0.0)  # the mean cancels too: no order by rounding
    assert found.facts["reached"] == 1


def test_unlabelled_training_lists_are_nodes(make_lists):
    lists, test = make_lists(1), make_lists(2)
    model = fit(method(neighbours=2), lists)
    assert model.nodes.trained.tolist() == [False, True, True, True, False, True, True, True]
    assert not model.nodes.known[0]
    several = fit(method(neighbours=2, form="inductive"), lists)
    assert several.nodes.known.tolist() == [False, *[True] * 7]  # a list of one item has no neighbour
    np.testing.assert_array_equal(several.nodes.weights[1], model.nodes.weights[1])
    fewer = fit(method(neighbours=2), lists.subset(np.flatnonzero(model.nodes.trained)), scaling="none")
    assert not np.allclose(fewer.score(test), fit(method(neighbours=2), lists, scaling="none").score(test))


def test_unlabelled_lists_join_the_nearest_lists_of_the_inductive_form(make_lists):
    lists, more, test = make_lists(1), make_lists(3), make_lists(2)
    learner = method(form="inductive", neighbours=3)
    model = fit(learner, lists, unlabelled=more)
    both = (
        without_labels(model.prepared(lists), labels=True),
        without_labels(model.prepared(more), labels=True),
    )
    labels = np.concatenate([lists.labels, np.full(more.n_items, np.nan)])
    whole = dataclasses.replace(merge_sets(both), labels=labels)
    expected = dense.inductive(whole, model.prepared(test), learner)
    np.testing.assert_allclose(model.score(test), expected, rtol=1e-7, atol=1e-8)
    assert not np.allclose(model.score(test), fit(learner, lists).score(test))
    permuted = more.replace_labels(np.random.default_rng(0).permutation(more.labels))
    assert fit(learner, lists, unlabelled=permuted).score(test).tobytes() == model.score(test).tobytes()
    assert model.described()["rankers"]["without"]["unlabelled"] == more.n_lists
    for settings in ({}, {"control": "mean"}):
        with pytest.raises(FitError, match="unlabelled lists are for form=inductive"):
            fit(method(**settings), lists, unlabelled=more)


def test_controls_rank_by_the_rankers_that_they_name(make_lists):
    lists, test = make_lists(1), make_lists(2)
    models = {name: fit(method(control=name), lists) for name in ("random", "mean", "global", "oracle")}
    ready, rankers = models["mean"].prepared(test), models["mean"].nodes.rankers
    X = ready.features.to_dense()
    np.testing.assert_allclose(models["mean"].score(test), X @ rankers.mean(axis=0))
    of_all = LEARNERS.get("ranksvm")().fit(models["mean"].prepared(lists)).weights
    np.testing.assert_allclose(models["global"].score(test), X @ of_all / np.linalg.norm(of_all))
    for first, last in zip(test.offsets[:-1], test.offsets[1:], strict=True):
        every = X[first:last] @ rankers.T
        drawn = models["random"].score(test)[first:last, None]
        assert np.isclose(every, drawn).all(axis=0).any()
    oracle = models["oracle"].adapt(test)
    assert [row.reason for row in oracle.rows] == [
        "one item: global ranker", "", "", "", "no pair: global ranker", "", "", "",
    ]  # fmt: skip
    for i, row in enumerate(oracle.rows):
        items = slice(test.offsets[i], test.offsets[i + 1])
        own = of_all if row.reason else LEARNERS.get("ranksvm")().fit(ready.subset([i])).weights
        np.testing.assert_allclose(oracle.scores[items], X[items] @ own / np.linalg.norm(own))
    bare = models["oracle"].adapt(test.replace_labels(None))
    assert {row.reason for row in bare.rows} == {"no labels: global ranker"}
    np.testing.assert_array_equal(bare.scores, bare.unadapted)
    assert [models[name].uses_test_labels for name in models] == [False, False, False, True]


def test_features_of_small_global_weight_leave_the_kernel_alone(make_lists):
    lists, test, learner = make_lists(1), make_lists(2), method(neighbours=3, drop_below=0.1)
    model = fit(learner, lists)
    weights = LEARNERS.get("ranksvm")().fit(model.prepared(lists)).weights
    kept = np.flatnonzero(np.abs(weights) >= 0.1)
    assert 0 < len(kept) < lists.n_features
    assert model.dropped.tolist() == np.flatnonzero(np.abs(weights) < 0.1).tolist()
    scores, *_ = dense.transductive(model.prepared(lists), model.prepared(test), learner, kept)
    np.testing.assert_allclose(model.score(test), scores, rtol=1e-7, atol=1e-8)
    assert not np.allclose(model.score(test), fit(method(neighbours=3), lists).score(test))
    largest = f"{np.abs(weights).max():g}"
    with pytest.raises(FitError, match=f"no feature to the kernel: the largest weight is {largest}"):
        fit(method(drop_below=100), lists)


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@pytest.mark.parametrize(
    "base", ["mert", {"name": "coordinate-ascent", "passes": 1, "restarts": 1}, "perceptron"]
)
def test_bases_that_optimise_a_metric_or_not(base, make_lists):
    lists, test = make_lists(1), make_lists(2)
    model = fit(method(base=base), lists)
    if base != "mert":
        with_metric = fit(method(base=base), lists, metric="nDCG@3")
        np.testing.assert_array_equal(model.nodes.weights, with_metric.nodes.weights)
    assert np.isfinite(model.score(test)).all()
    judge = parse("label@1").prepare(model.prepared(lists))
    base = method(base=base).base_learner
    by_hand = base.fit(model.prepared(lists), judge=judge if base.needs_judge else None).weights
    np.testing.assert_allclose(model.unadapted.weights, by_hand / np.linalg.norm(by_hand))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"control": "mean", "kernel": "angles"}, "kernel=angles would have no effect: control=mean uses no"),
        ({"control": "global", "neighbours": 3}, "neighbours=3 would have no effect: control=global"),
        ({"control": "oracle", "form": "inductive"}, "form=inductive would have no effect"),
        ({"control": "random", "drop_below": 0.1}, "drop_below=0.1 would have no effect"),
        ({"merge": "kemeny"}, "merge=kemeny would have no effect: only form=inductive merges"),
        ({"ridge": 1.0}, "ridge=1.0 would have no effect: kernel=list has no such setting"),
        ({"kernel": "bhattacharyya", "components": 3}, "components=3 would have no effect"),
        ({"neighbours": "all", "graph": "mutual"}, "graph=mutual would have no effect"),
        ({"neighbours": 0}, "neighbours: found 0, expected all or a number of at least 1"),
        ({"neighbours": True}, "neighbours: found true, expected all or a number of at least 1"),
        ({"kernel": "lists"}, "unknown kernel 'lists'; did you mean 'list'"),
        ({"base": "iw"}, "it has a base itself"),
        ({"base": {"name": "ranksvm", "C": "dev"}}, "it chooses by development lists"),
        ({"base": {"name": "perceptron", "keep": "best"}}, "it chooses by development lists"),
        ({"drop_below": -0.1}, "drop_below"),
    ],
)
def test_settings_that_would_have_no_effect_or_are_wrong_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        method(**settings)


def test_what_cannot_be_fitted_is_refused_in_one_line(make_lists):
    lists = make_lists(1)
    with pytest.raises(FitError, match=r"rankboost.*stumps.*linear"):
        fit(method(base={"name": "rankboost", "rounds": 2}), lists)
    flat = lists.replace_labels(np.ones(lists.n_items))
    with pytest.raises(FitError, match="no list has two different labels"):
        fit(method(), flat)


def test_missing_features_are_refused_with_advice(make_lists):
    lists, test = make_lists(1), make_lists(2)
    X = test.features.to_dense().copy()
    X[3, 2] = np.nan
    missing = test.with_features(type(test.features)(X), test.feature_names)
    with pytest.raises(DataError, match=r"lists 2: missing \(NaN\) values of 1 feature \(f2\).*--features"):
        fit(method(), lists).score(missing)
    with pytest.raises(DataError, match=r"lists 2: the score of .* 'f2' is missing"):
        fit(method(control="mean"), lists).score(missing)
    with pytest.raises(FitError, match=r"missing \(NaN\), of 1 feature;.* learner propagate accepts none"):
        fit(method(), dataclasses.replace(missing, labels=lists.labels))


def test_a_base_weight_and_a_keep_margin_are_those_of_any_model(make_lists):
    model, test = fit(method(), make_lists(1)), make_lists(2)
    scores = model.score(test)
    based = dataclasses.replace(test, base_scores=np.arange(test.n_items, dtype=float))
    model.base_weight = 0.5
    np.testing.assert_allclose(model.score(based), scores + 0.5 * based.base_scores)
    np.testing.assert_array_equal(model.adapt(based).scores, model.score(based))
    model.base_weight, model.keep_margin = None, np.inf
    kept = model.score(test.with_first_best("f1"))
    best = [int(np.argmax(kept[a:b])) for a, b in zip(test.offsets, test.offsets[1:], strict=False)]
    first = test.features.column(1)
    assert best == [int(np.argmax(first[a:b])) for a, b in zip(test.offsets, test.offsets[1:], strict=False)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_identical_lists_and_lists_of_equal_items(layout, make_lists):
    lists = make_lists(1, layout, sizes=(4, 6, 5))
    double = lists.subset([0, 0, 1, 1, 2, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fit(method(neighbours=2), double, scaling="none").adapt(double)
    assert np.isfinite(found.scores).all()
    for i in range(3):
        a, b = (found.scores[double.offsets[j] : double.offsets[j + 1]] for j in (2 * i, 2 * i + 1))
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8)
    equal = lists.subset([0]).features.take(np.zeros(3, dtype=np.int64))
    same = CandidateLists.from_arrays(equal, feature_names=lists.feature_names)
    found = fit(method(), lists, scaling="none").adapt(same)
    assert found.rows[0].reason == "not reached: mean ranker"
    assert len(set(found.scores.tolist())) == 1


def test_the_model_is_linear_at_heart(make_lists):
    model = fit(method(), make_lists(1))
    assert isinstance(model.unadapted, LinearModel)
    assert model.explain() == model.unadapted.explain()
    with pytest.raises(ConfigError, match="no weight of each feature"):
        standardised_weights(model, make_lists(2))
