"""Weights of whole lists against KLIEP's definition, and on lists without a sensible ratio of densities."""

import itertools

import numpy as np
import pytest
from make import features
from reference import list_weights as slow

from rerank.core.errors import ConfigError, DataError
from rerank.core.workers import parallel
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.weighting.lists import ListWeighting


def some_lists(seed, sizes=(4, 6, 1, 3, 5, 7, 2, 4), layout="dense", width=4, equal=()):
    """Lists of different shapes; those in ``equal`` have equal items."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(n, width)) * rng.gamma(1, 1, width) for n in sizes])
    X = X.astype(np.float32).astype(float)
    first = np.concatenate([[0], np.cumsum(sizes)])
    for i in equal:
        X[first[i] : first[i + 1]] = X[first[i]]
    return CandidateLists.from_arrays(features(layout, X), group=sizes, source=f"set {seed}")


def rows(lists):
    X = lists.features.to_dense().astype(float)
    return [X[a:b] for a, b in zip(lists.offsets[:-1], lists.offsets[1:], strict=True)]


def weigh(train, test, seed=0, **settings):
    return ListWeighting(**settings).weigh_lists(train, test, seed)


@pytest.mark.parametrize("layout", ["dense", "float32", "sparse", "mixed"])
@pytest.mark.parametrize("kernel", ["list", "angles", "bhattacharyya"])
def test_the_basis_of_kernels_is_kliep(kernel, layout):
    train, test = some_lists(0, layout=layout, equal=(3,)), some_lists(1, layout=layout, equal=(0,))
    found = weigh(train, test, kernel=kernel, basis="kernel")
    ranked = [X for X in rows(test) if kernel == "bhattacharyya" or len(np.unique(X, axis=0)) > 1]
    similar, tests = slow.table(kernel, rows(train), ranked), slow.table(kernel, ranked, ranked)
    expected, likelihood = slow.weights(similar, tests)
    np.testing.assert_allclose(found.weights, expected, atol=1e-4)
    assert found.weights.mean() == pytest.approx(1)
    assert found.figures["likelihood"] == pytest.approx(likelihood, abs=1e-6)
    if kernel != "bhattacharyya":
        assert found.weights[2] == found.weights[3] == 0
        assert found.figures["equal_items"] == 2
        assert found.figures["equal_items_unlabelled"] == 2


@pytest.mark.parametrize("kernel", ["list", "angles", "bhattacharyya"])
def test_the_basis_of_gaussians_is_kliep_with_the_best_held_out_width(kernel):
    train, test = some_lists(2), some_lists(3, sizes=(4, 5, 3, 6, 4, 7, 3))
    widths = (1.0, 0.5, 0.25)
    found = weigh(train, test, kernel=kernel, widths=widths, folds=3, seed=5)
    similar, tests = slow.table(kernel, rows(train), rows(test)), slow.table(kernel, rows(test), rows(test))
    squared = np.maximum(2 - 2 * tests, 0)
    unit = np.sqrt(np.median(squared[squared > 1e-12]))
    order = np.random.default_rng(5).permutation(7)
    bounds = np.linspace(0, 7, 4).astype(int)
    parts = [order[a:b].tolist() for a, b in itertools.pairwise(bounds)]
    values = [slow.held_out(similar, tests, unit * width, parts) for width in widths]
    best = unit * widths[int(np.argmax(values))]
    assert found.figures["width"] == pytest.approx(best)
    assert found.figures["held_out"] == pytest.approx(max(values), abs=1e-3)
    expected, likelihood = slow.weights(slow.gaussians(similar, best), slow.gaussians(tests, best))
    np.testing.assert_allclose(found.weights, expected, atol=1e-3)
    assert found.figures["likelihood"] == pytest.approx(likelihood, abs=1e-6)


def test_lists_like_those_to_be_ranked_count_more():
    rng = np.random.default_rng(0)

    def shaped(scales, n):
        X = np.vstack([rng.normal(size=(8, 3)) * scales[i % len(scales)] for i in range(n)])
        return CandidateLists.from_arrays(X, group=[8] * n)

    flat, tall = [9.0, 1.0, 1.0], [1.0, 1.0, 9.0]
    train, test = shaped([flat, tall], 40), shaped([tall], 30)
    for basis in ("gaussian", "kernel"):
        weights = weigh(train, test, basis=basis).weights
        assert weights[1::2].min() > weights[::2].max()
        assert weights.mean() == pytest.approx(1)


def test_centres_are_drawn_by_seed_and_jobs_change_nothing():
    train, test = some_lists(0, sizes=[5] * 30), some_lists(1, sizes=[5] * 30)
    found = {}
    for jobs in (1, 3):
        with parallel.using(jobs):
            found[jobs] = weigh(train, test, seed=3, centres=10)
    np.testing.assert_array_equal(found[1].weights, found[3].weights)
    assert found[1].figures["centres"] == 10
    assert not np.array_equal(found[1].weights, weigh(train, test, seed=4, centres=10).weights)


@pytest.mark.parametrize("basis", ["gaussian", "kernel"])
def test_training_lists_may_be_few_or_of_equal_items(basis):
    test = some_lists(1)
    one = some_lists(0, sizes=(4,))
    np.testing.assert_allclose(weigh(one, test, basis=basis).weights, [1.0])
    mixed = weigh(some_lists(0, sizes=(4, 3), equal=(1,)), test, basis=basis)
    assert mixed.weights.mean() == pytest.approx(1)
    assert mixed.weights[1] < mixed.weights[0]
    assert (mixed.weights[1] == 0) >= (basis == "kernel")
    with pytest.raises(DataError, match="set 1: no list of set 0 has a similarity to these lists"):
        weigh(some_lists(0, sizes=(4, 3), equal=(0, 1)), test, basis=basis)


@pytest.mark.parametrize("basis", ["gaussian", "kernel"])
def test_lists_without_an_axis_or_a_feature_in_common_are_refused(basis):
    train = some_lists(0)
    with pytest.raises(DataError, match="set 1: every list has equal items; kernel list finds no axis"):
        weigh(train, some_lists(1, sizes=(1, 3), equal=(1,)), basis=basis)
    X = np.zeros((6, 4))
    X[:, 0] = np.arange(6)
    Y = X[:, ::-1].copy()
    left, right = (CandidateLists.from_arrays(V, group=[3, 3], source=s) for V, s in ((X, "x"), (Y, "y")))
    with pytest.raises(DataError, match="y: no list of x has a similarity to these lists"):
        weigh(left, right, basis=basis)


def test_lists_that_are_all_alike_have_no_width():
    train, test = some_lists(0), some_lists(1, sizes=(4,))
    with pytest.raises(DataError, match=r"set 1: there is one list, so no width .* basis=kernel needs"):
        weigh(train, test)
    same = test.subset(np.zeros(5, dtype=np.int64))
    with pytest.raises(DataError, match="set 1: all 5 lists are equal, so no width"):
        weigh(train, same)
    found = weigh(train, same, basis="kernel").weights
    similar = slow.table("list", rows(train), rows(test))[:, 0]
    np.testing.assert_allclose(found, similar / similar.mean(), rtol=1e-9)
    np.testing.assert_allclose(weigh(train, test, basis="kernel").weights, found, rtol=1e-9)


def test_lists_that_no_training_list_is_like_are_left_out_by_the_basis_of_kernels():
    X = np.zeros((9, 2))
    X[:6, 0] = X[6:, 1] = 1.0
    X *= np.arange(9)[:, None]
    test = CandidateLists.from_arrays(X, group=[3, 3, 3])
    train = CandidateLists.from_arrays(X[:6], group=[3, 3])
    found = weigh(train, test, basis="kernel")
    np.testing.assert_allclose(found.weights, [1, 1])
    assert found.figures["unlike"] == 1


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"kernel": "lists"}, "unknown kernel 'lists'; did you mean 'list'"),
        ({"ridge": 1.0}, "kernel list: unknown setting 'ridge'"),
        ({"kernel": "bhattacharyya", "components": 2}, "kernel bhattacharyya: unknown setting 'components'"),
        ({"widths": "0,1"}, r"widths: found \[0.0, 1.0\], expected numbers above 0"),
        ({"basis": "kernel", "widths": (2.0,)}, "widths is for basis=gaussian"),
        ({"basis": "kernel", "folds": 3}, "folds is for basis=gaussian"),
        ({"centres": 0}, "centres: found 0, expected 1 or more"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, expected):
    with pytest.raises(ConfigError, match=expected):
        ListWeighting(**settings)


def test_missing_features_are_refused():
    test = CandidateLists.from_arrays([[1.0, np.nan, 0, 0], [2.0, 1.0, 0, 0]], group=[2], source="gaps")
    with pytest.raises(DataError, match="gaps: missing"):
        weigh(some_lists(0), test)
