"""Which features each method keeps, beside loops over pairs and refits."""

from dataclasses import replace

import numpy as np
import pytest
from make import LAYOUTS
from make import lists as some_lists
from reference import boosting as slow_boosting
from reference import feature_selection as slow

from rerank.core.errors import ConfigError, FitError
from rerank.data.lists import CandidateLists
from rerank.extensions.feature_selection.methods import _sizes, evidence, narrowed, select
from rerank.extensions.feature_selection.options import Selecting
from rerank.learners.base import LEARNERS
from rerank.learners.loglinear import LogLoss, target_lists

METHODS = ("boosting", "filter", "backward", "l1")


def chosen(lists, n, method, **settings):
    return select(lists, n, Selecting(method=method, **settings))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(4))
def test_evidence_is_that_of_loops(layout, seed):
    lists = some_lists(seed=seed, layout=layout, d=7, grades=(0, 3))
    np.testing.assert_allclose(evidence(lists), slow.evidence(lists), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("values", [[5, 5, 5], [1e9, 1e9 + 1, 1e9], [-1, 0, 0], [0, 0, 0], [0, -0.0, 2]])
def test_evidence_of_odd_columns(values):
    lists = CandidateLists.from_arrays(np.array([values], dtype=float).T, [2, 1, 1], group=[3])
    np.testing.assert_allclose(evidence(lists), slow.evidence(lists), rtol=1e-9, atol=1e-9)


def test_the_information_gain_is_the_mutual_information_of_pairs():
    lists = some_lists(seed=3, d=6)
    found = chosen(lists, 6, "filter")
    _, right, wrong, *_ = slow.evidence(lists)
    n_pairs = sum(
        a > b
        for first, last in zip(lists.offsets, lists.offsets[1:], strict=False)
        for a in lists.labels[first:last]
        for b in lists.labels[first:last]
    )
    gains = [slow.information_gain(r, w, n_pairs) for r, w in zip(right, wrong, strict=True)]
    np.testing.assert_allclose(found.worth, [gains[j] for j in found.columns], rtol=1e-10)
    assert found.columns.tolist() == sorted(range(6), key=lambda j: -gains[j])[: len(found.columns)]


def test_the_correlation_is_numpys_for_one_list():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    lists = CandidateLists.from_arrays(X, y, group=[40])
    found = chosen(lists, 5, "filter", criterion="correlation")
    np.testing.assert_allclose(
        found.worth, [abs(np.corrcoef(X[:, j], y)[0, 1]) for j in found.columns], rtol=1e-10
    )
    assert np.all(np.diff(found.worth) <= 0)


def test_boosting_keeps_the_features_that_figure_3_chooses_first():
    lists = some_lists(seed=2, d=8, layout="indicators", sizes=(6, 9, 4, 12, 7))
    X = lists.features.to_dense()
    pairs = slow_boosting.pairs_of(lists, True)
    stumps = slow_boosting.stumps_of(X)
    g = slow_boosting.differences(X, stumps, pairs)
    scale = max(s for *_, s in pairs)
    weight = np.array([s / scale for *_, s in pairs])
    order = []
    for _ in range(60):
        k, step = slow_boosting.best_step(g, weight.tolist(), float(weight.sum()), 0.0025)
        if step == 0.0:
            break
        order += [stumps[k][0]] * (stumps[k][0] not in order)
        weight *= np.exp(-step * np.array([row[k] for row in g]))
    found = chosen(replace(lists, base_scores=None), 4, "boosting")
    assert found.columns.tolist() == order[:4]


@pytest.mark.parametrize("ranker", ["ranksvm", "ridge"])
@pytest.mark.parametrize("step", [0.5, 0.2])
def test_backward_refits_what_is_left(ranker, step):
    lists = some_lists(seed=4, d=9, sizes=(9, 12, 7, 10))
    found = chosen(lists, 3, "backward", ranker=ranker, step=step)
    assert sorted(found.columns.tolist()) == slow.backward(LEARNERS.get(ranker)(), lists, 3, step, narrowed)
    assert np.all(np.diff(found.worth) <= 0)
    assert list(_sizes(5, 2, 0.01)) == [4, 3, 2, 2]  # a step always leaves one out


def test_l1_keeps_the_largest_weights_of_a_sparse_minimum():
    lists = some_lists(seed=6, d=9, sizes=(9, 12, 7, 10, 15), noise=0.5)
    found = chosen(lists, 2, "l1")
    strength = float(found.what.split()[-1])
    loss = LogLoss(lists.features, target_lists(lists, "tied", 0.0, None))
    largest = np.abs(loss(np.zeros(9))[1]).max()
    halvings = np.log2(largest / strength)
    assert halvings == pytest.approx(round(halvings), abs=0.01)
    assert {0, 1} >= set(found.columns.tolist())  # the labels are their difference, with noise


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_what_the_labels_are_made_of(method):
    lists = some_lists(seed=7, d=12, sizes=(12,) * 15, noise=0.3, unjudged=0.0)
    assert sorted(chosen(lists, 2, method).columns.tolist()) == [0, 1]


@pytest.mark.parametrize("method", METHODS)
def test_copies_are_tied_and_the_first_one_wins(method):
    X = np.random.default_rng(8).integers(0, 2, (60, 1)).astype(float)
    lists = CandidateLists.from_arrays(np.repeat(X, 4, axis=1), X[:, 0], group=[6] * 10)
    assert chosen(lists, 1, method).columns.tolist() == [0]


@pytest.mark.parametrize("method", METHODS)
def test_features_that_tell_nothing_are_never_kept(method):
    rng = np.random.default_rng(9)
    labels = rng.integers(0, 2, 40)
    X = np.column_stack([np.ones(40), labels, np.repeat(rng.normal(size=5), 8), np.zeros(40)])
    lists = CandidateLists.from_arrays(X.astype(float), labels, group=[8] * 5)
    found = chosen(lists, 4, method)
    assert found.columns.tolist() == [1]
    assert found.line(["a", "b", "c", "d"]).startswith("1 of 4 features kept")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("layout", ["float32", "sparse", "mixed"])
def test_layouts_and_the_order_of_lists_do_not_matter(method, layout):
    dense = some_lists(seed=10, d=8, sizes=(9, 12, 7, 10))
    other = some_lists(seed=10, d=8, sizes=(9, 12, 7, 10), layout=layout)
    assert chosen(dense, 3, method).columns.tolist() == chosen(other, 3, method).columns.tolist()


def test_what_is_refused():
    lists = some_lists(d=4)
    with pytest.raises(FitError, match=r"5 features to keep, expected 1 to 4"):
        chosen(lists, 5, "filter")
    with pytest.raises(FitError, match="no list has two different labels"):
        chosen(lists.replace_labels(np.ones(lists.n_items)), 2, "filter")
    with pytest.raises(FitError, match="missing"):
        chosen(some_lists(d=4, missing=0.2), 2, "filter")
    constant = CandidateLists.from_arrays(np.ones((4, 2)), [0, 1, 0, 1], group=[2, 2])
    for method in ("filter", "backward", "l1"):
        with pytest.raises(FitError, match="no feature tells items of different labels apart"):
            chosen(constant, 1, method)
    with pytest.raises(ConfigError, match="criterion: not used by method boosting, only by filter"):
        Selecting(criterion="gain")
    with pytest.raises(ConfigError, match="step: not used by method l1, only by backward"):
        Selecting(method="l1", step=0.5)
    with pytest.raises(ConfigError, match="ranker rankboost: a model of kind"):
        chosen(lists, 2, "backward", ranker="rankboost")
