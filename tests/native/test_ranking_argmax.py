"""Predtron's argmax over rankings beside enumeration and scipy, on random and degenerate lists."""

import itertools

import numpy as np
import pytest
from reference.ranking_argmax import largest_by_enumeration, largest_by_scipy, profits, total

from rerank.native.learners import _ranking_argmax

F = {"-i": lambda p: -p, "-i^1.1": lambda p: -(p**1.1), "-i^2": lambda p: -(p**2), "1/i": lambda p: 1 / p}
DISCOUNTS = {
    "log": lambda p: 1 / np.log2(1 + p),
    "log@3": lambda p: np.where(p <= 3, 1 / np.log2(1 + p), 0),
    "linear": lambda p: np.arange(len(p), 0, -1.0),
    "constant": np.ones_like,
    "zero": np.zeros_like,
}
LABELS = {
    "letor": lambda rng, m: rng.choice(5, m, p=[0.55, 0.3, 0.1, 0.04, 0.01]),
    "two": lambda rng, m: rng.integers(0, 2, m),
    "three": lambda rng, m: rng.integers(0, 3, m),
    "equal": lambda rng, m: np.full(m, 2),
    "all": lambda rng, m: rng.permutation(m) % 30,
}


def trained(rng, labels):
    return labels + rng.normal(0, 0.5, len(labels))


SCORES = {
    "random": lambda rng, labels: rng.standard_normal(len(labels)),
    "zero": lambda rng, labels: np.zeros(len(labels)),
    "tied": lambda rng, labels: rng.integers(0, 3, len(labels)).astype(float),
    "trained": trained,
    "margin": lambda rng, labels: 0.01 * trained(rng, labels),
    "near": lambda rng, labels: 1e-9 * rng.standard_normal(len(labels)),
    "reversed": lambda rng, labels: -trained(rng, labels),
    "large": lambda rng, labels: 1e6 * trained(rng, labels),
    "huge": lambda rng, labels: 1e300 * rng.uniform(-1, 1, len(labels)),
    "wide": lambda rng, labels: rng.standard_normal(len(labels)) * 10.0 ** rng.integers(-12, 6, len(labels)),
    "tiny": lambda rng, labels: 1e-310 * rng.integers(-3, 4, len(labels)),
}


def problem(rng, m, scores, labels, discounts, f):
    """Scores, gains, discounts and f of one list, and the two scales."""
    p = np.arange(1.0, m + 1)
    grades = LABELS[labels](rng, m)
    gains = 2.0**grades - 1
    found = DISCOUNTS[discounts](p), F[f](p)
    ideal = float(np.sort(gains)[::-1] @ found[0])
    scales = [1 / ideal if ideal else 0.0, 1 / float(np.linalg.norm(found[1]))]
    return SCORES[scores](rng, grades), gains, np.array(found), scales


def ranked(scores, gains, by_position, scales, lengths=None):
    """Positions and items of lists."""
    offsets = np.concatenate([[0], np.cumsum([len(scores)] if lengths is None else lengths)])
    out = np.full((2, len(scores)), -1, dtype=np.int32)
    scales = np.atleast_2d(np.array(scales, dtype=float))
    assert _ranking_argmax.argmax(offsets, scores, gains, by_position, scales, out[0], out[1]) == -1
    return out


def check(rng, m, largest, *kinds):
    scores, gains, by_position, scales = problem(rng, m, *kinds)
    position_of, item_at = ranked(scores, gains, by_position, scales)
    profit = profits(scores, gains, by_position[0] * scales[0], by_position[1] * scales[1])
    found = total(profit, position_of)
    assert abs(found - largest(profit)) <= 1e-15 * np.abs(profit).max(axis=1).sum() + 1e-322
    assert np.array_equal(position_of[item_at], np.arange(m))
    for gain in np.unique(gains):
        items = np.flatnonzero(gains == gain)
        order = items[np.argsort(-scores[items], kind="stable")]
        assert (np.diff(position_of[order]) > 0).all()


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("scores", SCORES)
def test_enumeration(scores, labels):
    rng = np.random.default_rng(7)
    for discounts, f, m in itertools.product(DISCOUNTS, F, (1, 2, 3, 4, 5)):
        check(rng, m, largest_by_enumeration, scores, labels, discounts, f)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("scores", SCORES)
def test_scipy(scores, labels):
    rng = np.random.default_rng(8)
    for discounts, f, m in itertools.product(DISCOUNTS, F, (2, 7, 19, 26, 60, 100)):
        check(rng, m, largest_by_scipy, scores, labels, discounts, f)


@pytest.mark.parametrize("f", F)
def test_seven_items(f):
    rng = np.random.default_rng(9)
    for scores in ("random", "tied", "margin"):
        for labels in ("letor", "two", "all"):
            check(rng, 7, largest_by_enumeration, scores, labels, "log", f)


def test_lists_in_one_call_are_as_alone():
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 40, 60)
    by_position = problem(rng, int(lengths.max()), "random", "letor", "log", "-i")[2]
    parts = [problem(rng, int(m), "margin", "letor", "log", "-i") for m in lengths]
    whole = ranked(
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        by_position,
        [part[3] for part in parts],
        lengths,
    )
    alone = [ranked(*part) for part in parts]
    assert np.array_equal(whole, np.concatenate(alone, axis=1))


@pytest.mark.parametrize("f", F)
def test_long_lists(f):
    rng = np.random.default_rng(10)
    for scores, labels in itertools.product(("margin", "tied", "wide"), ("letor", "three", "all")):
        check(rng, 333, largest_by_scipy, scores, labels, "log", f)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e301])
@pytest.mark.parametrize("which", [0, 1])
def test_out_of_range(value, which):
    rng = np.random.default_rng(2)
    scores, gains, by_position, scales = problem(rng, 30, "random", "letor", "log", "-i")
    (scores, gains)[which][17] = value
    out = np.full((2, 30), -1, dtype=np.int32)
    offsets = np.array([0, 10, 20, 30])
    scales = np.array([scales] * 3) if which == 0 else np.ones((3, 2))
    assert _ranking_argmax.argmax(offsets, scores, gains, by_position, scales, out[0], out[1]) == 1
    assert (out[:, 10:20] == np.arange(10)).all()
    assert (np.sort(out[:, :10]) == np.arange(10)).all()


def test_no_list():
    nothing = np.empty(0)
    none = np.empty(0, dtype=np.int32)
    assert (
        _ranking_argmax.argmax(
            np.zeros(1, dtype=np.int64), nothing, nothing, np.empty((2, 0)), np.empty((0, 2)), none, none
        )
        == -1
    )
