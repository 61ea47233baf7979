"""Superpositions: against numpy and slow searches, wherever the structures lie, on degenerate ones."""

import numpy as np
import pytest
from reference.metrics import superposition as reference

from rerank.core.errors import DataError
from rerank.data.columns.offsets import offsets_of
from rerank.extensions.proteins.residue_pairs import superpositions


def of_pairs(pairs, lengths=None, **asked):
    """Rows of results for pairs of arrays (n, 3) with matched rows."""
    sizes = [len(a) for a, _ in pairs]
    rows = np.arange(sum(sizes))
    a, b = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    return superpositions(a, b, rows, rows, offsets_of(sizes), lengths or [max(n, 1) for n in sizes], **asked)


def walk(rng, n, lattice=False):
    """A chain of n residues, 3.8 Å apart; on a lattice of that width if asked."""
    steps = np.eye(3)[rng.integers(3, size=n)] * rng.choice([-1, 1], size=(n, 1)) if lattice else None
    if steps is None:
        steps = rng.normal(size=(n, 3))
        steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    return 3.8 * np.cumsum(steps, axis=0)


def bent(rng, x, noise=0.5):
    """x with its second half turned about a residue, and noise."""
    middle = len(x) // 2
    y = x.copy()
    y[middle:] = (y[middle:] - y[middle]) @ turn(rng, 0.6).T + y[middle]
    return y + noise * rng.normal(size=x.shape)


def turn(rng, angle=None):
    """A rotation about a random axis, by any angle unless one is given."""
    w, *axis = rng.normal(size=4)
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = np.pi * w if angle is None else angle
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def moved(rng, x, far=1e4):
    return x @ turn(rng).T + rng.uniform(-far, far, size=3)


def test_deviations_are_those_of_singular_values():
    rng = np.random.default_rng(1)
    pairs = [(walk(rng, n), moved(rng, walk(rng, n), 100)) for n in (1, 2, 3, 4, 5, 8, 50, 300)]
    pairs += [(a, bent(rng, a)) for a, _ in pairs[3:]]
    pairs += [(a, moved(rng, a * [1, 1, -1], 10)) for a, _ in pairs[3:]]
    pairs += [(walk(rng, n, True), walk(rng, n, True)) for n in (3, 4, 5) for _ in range(50)]
    found = of_pairs(pairs, gdt=False, tm=False)
    assert np.isnan(found[:, :6]).all()
    assert found[:, 6] == pytest.approx([reference.rmsd(a, b) for a, b in pairs], abs=1e-9)


def test_slow_searches_find_hardly_more():
    rng = np.random.default_rng(2)
    pairs = [(a, bent(rng, a, noise)) for n in (12, 25) for noise in (0.2, 1.0) for a in [walk(rng, n)]]
    found = of_pairs(pairs)
    for (a, b), row in zip(pairs, found, strict=True):
        counts, tm = reference.best_of(a, b, len(a), reference.fragments(len(a)))
        assert (row[:5] >= np.array(counts) - 1).all()
        assert row[5] >= tm - 1e-6


def test_no_place_or_position_matters_and_ties_are_stable():
    rng = np.random.default_rng(3)
    chains = [walk(rng, n, lattice) for n in (5, 20, 60) for lattice in (False, True)]
    pairs = [(a, bent(rng, a)) for a in chains] + [(a, walk(rng, len(a), True)) for a in chains]
    for n in (4, 6, 50, 100):  # pairs that rounding once led to other counts
        a, t = walk(rng, n, True), np.arange(n)
        half = a.copy()
        half[n // 2 :] = (half[n // 2 :] - half[n // 2]) @ [[0, -1, 0], [1, 0, 0], [0, 0, 1]] + half[n // 2]
        helix = np.stack([2.3 * np.cos(1.745 * t), 2.3 * np.sin(1.745 * t), 1.5 * t], axis=1)
        zigzag = a + np.where(t % 2, 2, -2)[:, None] * [0, 1, 0]
        pairs += [(a, half), (a, zigzag), (a, a * [1, 1, -1]), (helix, helix * [0, 0, 1])]
    for asked in ({}, {"thorough": False}):
        expected = of_pairs(pairs, **asked)
        for _ in range(6):
            again = of_pairs([(moved(rng, a), moved(rng, b)) for a, b in pairs], **asked)
            assert (again[:, :5] == expected[:, :5]).all()
            assert again[:, 5:] == pytest.approx(expected[:, 5:], abs=1e-9)
        swapped = of_pairs([(b, a) for a, b in pairs], **asked)
        assert (swapped[:, :6] == expected[:, :6]).all()


def test_no_value_depends_on_what_else_is_asked_for():
    rng = np.random.default_rng(6)
    pairs = [(a, bent(rng, a, 2)) for a in (walk(rng, 30), walk(rng, 90), walk(rng, 50, True))]
    both = of_pairs(pairs)
    assert (of_pairs(pairs, tm=False)[:, :5] == both[:, :5]).all()
    assert (of_pairs(pairs, gdt=False)[:, 5] == both[:, 5]).all()
    assert (of_pairs(pairs, thorough=False)[:, 5] == both[:, 5]).all()
    assert np.abs(of_pairs(pairs, thorough=False)[:, :5] - both[:, :5]).max() <= 5


def test_copies_are_complete_and_mirror_images_are_not():
    rng = np.random.default_rng(4)
    x = walk(rng, 40)
    found = of_pairs([(x, moved(rng, x)), (x, moved(rng, x * [1, 1, -1]))])
    assert found[0] == pytest.approx([40] * 5 + [1, 0], abs=1e-9)
    assert found[1, 2] < 40


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_small_and_degenerate_pairs(n):
    rng = np.random.default_rng(n)
    point, line = np.ones((n, 3)), np.outer(np.arange(n), [1.0, 2, 2])
    others = walk(rng, n)
    for a in (point, line, others):
        assert of_pairs([(a, moved(rng, a))])[0] == pytest.approx([n] * 5 + [1, 0], abs=1e-6)
    for a, b in ((point, line), (point, others), (line, others)):
        one, two = of_pairs([(a, b), (moved(rng, b), moved(rng, a))])
        assert one == pytest.approx(two, abs=1e-9)
        assert (one[:6] > 0).all()


def test_nothing_matched():
    found = of_pairs([(np.zeros((0, 3)), np.zeros((0, 3))), (np.ones((2, 3)), np.ones((2, 3)))])
    assert found[0, :6].tolist() == [0] * 6
    assert np.isnan(found[0, 6])
    assert found[1] == pytest.approx([2] * 5 + [1, 0])


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"rows_a": [0, 3]}, "rows must be 0 to 2"),
        ({"b": np.full((3, 3), np.nan)}, "finite"),
        ({"offsets": [0, 3]}, "offsets must run"),
        ({"lengths": [0]}, "positive length"),
    ],
)
def test_arrays_that_do_not_fit(changed, match):
    given = {
        "a": np.eye(3),
        "b": np.eye(3),
        "rows_a": [0, 1],
        "rows_b": [0, 1],
        "offsets": [0, 2],
        "lengths": [2],
    }
    with pytest.raises(DataError, match=match):
        superpositions(**(given | changed))
