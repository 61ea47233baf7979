"""What every kernel on lists promises, walked over the registry."""

import warnings

import numpy as np
import pytest

from rerank import CandidateLists
from rerank.core.errors import DataNote
from rerank.core.workers.pool import packed, run_task, unpacked
from rerank.similarity import gram, spectrum
from rerank.similarity.base import KERNELS
from rerank.similarity.compare import list_similarity
from rerank.similarity.gram_matrices import filled

NAMES = KERNELS.names()


def some_lists():
    """Ordinary lists, one item, equal items, two items, more items than features, one-hot features."""
    rng = np.random.default_rng(7)
    parts = [rng.standard_normal((n, 4)) * [3, 2, 1, 0.5] for n in (6, 9, 1, 2, 30, 5)]
    parts += [np.ones((3, 4)), np.eye(4), np.zeros((2, 4))]
    return CandidateLists.from_arrays(np.concatenate(parts), group=[len(part) for part in parts])


@pytest.fixture
def lists():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        yield some_lists()


@pytest.mark.parametrize("name", NAMES)
def test_values_are_similarities(name, lists):
    K = gram(lists, kernel=name)
    assert np.array_equal(K, K.T)
    assert K.min() >= 0
    assert K.max() <= 1
    assert set(K.diagonal()) <= {0.0, 1.0}
    assert (np.outer(K.diagonal(), K.diagonal()) - K**2 > -1e-12).all()
    if KERNELS.get(name).definite:
        assert spectrum(K).n_negative == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_value_depends_on_its_two_lists_alone(name, lists):
    K = gram(lists, kernel=name)
    assert np.array_equal(gram(lists, kernel=name, jobs=3), K)
    np.testing.assert_allclose(gram(lists, lists.subset([4, 0]), name), K[:, [4, 0]], rtol=1e-9, atol=1e-12)
    order = np.array([8, 3, 5, 0, 1, 7, 2, 6, 4])
    np.testing.assert_allclose(gram(lists.subset(order), kernel=name), K[np.ix_(order, order)], atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_prepared_lists_pass_between_processes(name, lists):
    prepared, _ = KERNELS.get(name)().prepare(lists)
    (again,) = unpacked(run_task(packed(list, ([prepared],)))).value
    assert np.array_equal(filled(again, again), filled(prepared, prepared))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_described_and_compares_sets(name, lists):
    kernel = KERNELS.get(name)
    assert kernel.name == name
    assert kernel.summary
    assert kernel.__doc__
    found = list_similarity(lists, name, scaling="none")
    assert np.array_equal(found.gram, gram(lists, kernel=name))
