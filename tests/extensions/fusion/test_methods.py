"""Every method against its twin in tests/reference, on ties, missing items and lists that a run lacks."""

import warnings

import numpy as np
import pytest
from reference import fusion_methods as slow

import rerank
from rerank.core.errors import DataNote, FitError
from rerank.extensions.fusion.methods import METHODS
from rerank.extensions.fusion.model import Fused
from rerank.learners.base import LEARNERS

NAN = np.nan
# By method: settings of the learner, and what the twin gets after the rows.
PLAIN = {
    "combanz": ({}, ()),
    "combmed": ({}, ()),
    "combmin": ({}, ()),
    "combmax": ({}, ()),
    "combgmnz": ({"gamma": 0.7}, (0.7,)),
    "isr": ({}, ()),
    "log_isr": ({}, ()),
    "logn_isr": ({"sigma": 0.2}, (0.2,)),
    "rbc": ({"phi": 0.8}, (0.8,)),
    "bordafuse": ({}, ()),
    "condorcet": ({}, ()),
}
WEIGHTED = {
    "wsum": (),
    "wmnz": (),
    "mixed": (),
    "wrrf": (10.0,),
    "w_bordafuse": (),
    "w_condorcet": (),
}
ESTIMATED = {
    "posfuse": ({}, ()),
    "slidefuse": ({"window": 2}, (2,)),
    "probfuse": ({"segments": 3}, (3,)),
    "segfuse": ({}, (False,)),
    "segfuse ends": ({"segments": "ends"}, (True,)),
    "bayesfuse": ({}, ()),
}


def some(seed, longest=12):
    """Lists with tied scores, items that no run returned, and lists that a run lacks."""
    rng = np.random.default_rng(seed)
    group = rng.integers(1, longest, rng.integers(1, 6))
    X = rng.integers(-3, 6, (group.sum(), int(rng.integers(1, 5)))) / 2
    X[rng.random(X.shape) < 0.3] = NAN
    X[: group[0], 0] = rng.choice([NAN, 1.5])
    labels = rng.integers(0, 3, group.sum()).astype(float)
    labels[rng.random(len(labels)) < 0.2] = NAN
    labels[np.cumsum(group) - 1] = 1.0
    return X, labels, group


def lists_of(X, labels, group):
    return rerank.CandidateLists.from_arrays(X, labels, group=group, source="runs")


def parts(values, group):
    found = np.split(values, np.cumsum(group)[:-1])
    return [[list(map(float, row)) if np.ndim(row) else float(row) for row in part] for part in found]


def close(found, twins):
    np.testing.assert_allclose(found, np.concatenate(twins), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", PLAIN)
def test_fusion_without_judgements(name, seed):
    settings, more = PLAIN[name]
    X, _, group = some(seed)
    lists = lists_of(X, None, group)
    found = rerank.train(lists, name, scaling="none", missing="nan", **settings).score(lists)
    close(found, [getattr(slow, name)(rows, *more) for rows in parts(X, group)])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", WEIGHTED)
def test_weights(name, seed):
    X, _, group = some(seed)
    weights = np.random.default_rng(seed).integers(0, 5, X.shape[1]) / 4
    parameter = WEIGHTED[name]
    lists = lists_of(X, None, group)
    found = Fused(lists.names(), name, weights, *parameter).score_aligned(lists)
    twin = getattr(slow, name.removeprefix("w_"))
    close(found, [twin(rows, weights.tolist(), *parameter) for rows in parts(X, group)])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", ESTIMATED)
def test_estimated_probabilities(name, seed):
    settings, more = ESTIMATED[name]
    name = name.split()[0]
    X, labels, group = some(seed, 30)
    Z, _, others = some(seed + 100)
    Z = np.resize(Z, (len(Z), X.shape[1]))
    train, test = lists_of(X, labels, group), lists_of(Z, None, others)
    model = rerank.train(train, name, scaling="none", missing="nan", **settings)
    known = parts(X, group), parts(labels, group)
    close(model.score(test), [getattr(slow, name)(rows, *known, *more) for rows in parts(Z, others)])


@pytest.mark.parametrize("seed", range(6))
def test_mapfuse_takes_the_average_precision_of_each_run(seed):
    X, labels, group = some(seed)
    lists = lists_of(X, labels, group)
    model = rerank.train(lists, "mapfuse", missing="nan")
    warnings.simplefilter("ignore", DataNote)
    means = [rerank.evaluate(lists, X[:, j], ["AP"], missing="nan")["AP"] for j in range(X.shape[1])]
    close(model.score(lists), [slow.mapfuse(rows, means) for rows in parts(X, group)])


def test_wrrf_with_equal_weights_is_rrf():
    X, _, group = some(3)
    lists = lists_of(X, None, group)
    rrf = rerank.train(lists, "rrf", missing="nan").score(lists)
    found = Fused(lists.names(), "wrrf", np.ones(X.shape[1]), 60.0).score_aligned(lists)
    np.testing.assert_allclose(found, rrf, rtol=1e-13)


@pytest.mark.parametrize("search", ["coordinate", "grid"])
@pytest.mark.parametrize("name", ["wsum", "wrrf", "w_condorcet"])
def test_tuned_weights_are_no_worse_than_equal_ones(name, search):
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 120).astype(float)
    X = np.column_stack([labels + rng.normal(0, 0.5, 120), rng.normal(0, 1, 120), labels - rng.random(120)])
    lists = lists_of(X, labels, [12] * 10)
    model = rerank.train(lists, name, metric="AP", search=search, step=0.25)
    equal = Fused(lists.names(), name, np.ones(3), model.parameter).score_aligned(model.prepared(lists))
    values = [rerank.evaluate(lists, s, ["AP"])["AP"] for s in (model.score(lists), equal)]
    assert values[0] >= values[1]
    assert model.weights.sum() == pytest.approx(1.0)
    assert model.training.rounds.train == pytest.approx(values[0])


def test_a_large_grid_is_refused():
    X, labels, group = some(1)
    lists = lists_of(np.tile(X, 10)[:, :9], labels, group)
    with pytest.raises(FitError, match="use search=coordinate or a larger step"):
        rerank.train(lists, "wsum", metric="AP", search="grid", step=0.01, missing="nan")


def test_condorcet_does_not_depend_on_the_order_of_items():
    X, _, _ = some(8)
    order = np.random.default_rng(0).permutation(len(X))
    a, b = (
        rerank.train(one, "condorcet", missing="nan").score(one)
        for one in (lists_of(X, None, [len(X)]), lists_of(X[order], None, [len(X)]))
    )
    assert sorted(a) == sorted(b)


def test_ranx_names_are_known():
    names = (
        "anz gmnz max med min mnz sum condorcet w_condorcet bordafuse w_bordafuse isr log_isr logn_isr rrf "
        "mapfuse mixed posfuse probfuse rbc segfuse slidefuse bayesfuse wmnz wsum"
    )
    for name in names.split():
        assert LEARNERS.get(name).accepts_nan
    assert set(METHODS) <= set(LEARNERS.names())
