"""Losses and updates of Predtron's tasks on examples with classes against the trial of every prediction."""

import numpy as np
import pytest
from reference import predtron_classes as slow

from rerank.native.learners import _predtron_sets, _predtron_tasks


def class_offsets(labels):
    """The labels, a class or a set each, as offsets and codes."""
    sets = [sorted(y) if isinstance(y, frozenset) else [y] for y in labels]
    codes = np.array([c for y in sets for c in y], dtype=np.int32)
    return np.concatenate([[0], np.cumsum([len(y) for y in sets])]).astype(np.int64), codes


def places(m, f):
    """The arguments of ClassRankings."""
    p = np.arange(1, m + 1)
    values = np.array([1 / np.log2(1 + p), [f(i) for i in p.tolist()]])
    return values, 1 / np.linalg.norm(values[1])


def made_task(kind, m, labels, loss_driven=False):
    """The native task and its twin."""
    given = (*class_offsets(labels), loss_driven)
    weights, reject = np.arange(1.0, m + 1) / 2, np.linspace(0.2, 0.6, m)
    values = np.arange(m) ** 2.0
    if kind == "binary":
        return _predtron_tasks.TwoClasses(*given, weights), slow.binary(weights)
    if kind in _predtron_sets.LOSSES:
        return _predtron_sets.ClassSets(*given, m, _predtron_sets.LOSSES[kind]), slow.sets(m, kind)
    if kind in ("power", "reciprocal"):
        f = (lambda i: -(i**1.5)) if kind == "power" else lambda i: 1 / i
        return _predtron_sets.ClassRankings(*given, *places(m, f)), slow.rankings(m, f)
    plain = {
        "classes": (np.ones(m), None, None),
        "weighted": (weights, None, None),
        "ordinal": (np.ones(m), values, None),
        "reject": (weights, None, reject),
        "ordinal reject": (np.ones(m), values, reject),
    }[kind]
    return _predtron_tasks.OneClass(*given, *plain), slow.classes(m, *plain)


def all_labels(kind, m):
    if kind in _predtron_sets.LOSSES or kind in ("power", "reciprocal"):
        return slow.sets(m, "zero-one").predictions
    return [*range(m)]


ONE = ("classes", "weighted", "ordinal", "reject", "ordinal reject")
KINDS = [
    *(
        (kind, m)
        for kind in ("classes", "weighted", "ordinal", "reject", "ordinal reject")
        for m in (1, 2, 3, 5)
    ),
    ("binary", 2),
    *((kind, m) for kind in _predtron_sets.LOSSES for m in (1, 2, 3, 4, 5)),
    *((kind, m) for kind in ("power", "reciprocal") for m in (1, 2, 3, 4)),
]


def scores(rng, d):
    """Random scores, whole and tied ones, large ones, and all equal ones."""
    draws = [rng.normal(size=d) * scale for scale in (0.1, 1.0, 5.0) for _ in range(4)]
    draws += [rng.integers(-2, 3, d).astype(float) for _ in range(12)]
    return [*draws, np.zeros(d), np.full(d, 2.0), np.full(d, -1.0), rng.normal(size=d) * 1e250]


@pytest.mark.parametrize("loss_driven", [False, True])
@pytest.mark.parametrize(("kind", "m"), KINDS)
def test_loss_and_update_are_those_of_enumeration(kind, m, loss_driven):
    labels = all_labels(kind, m)
    fast, task = made_task(kind, m, labels, loss_driven)
    rng = np.random.default_rng(m)
    for t in scores(rng, task.d):
        if np.abs(t).max() > 1e9 and kind in ("power", "reciprocal"):
            continue  # the twin's sums of such values are not exact enough
        for i, y in enumerate(labels):
            loss, change = fast.tried(i, t)
            assert loss == pytest.approx(slow.loss_of(task, t, y), abs=1e-12)
            if loss == 0:
                continue
            right = task.rep(slow.target(task, t, y))
            if loss_driven or kind not in ("power", "reciprocal"):
                wrong = (slow.predicted if loss_driven else slow.rival)(task, t, y)
                np.testing.assert_allclose(change, right - task.rep(wrong), rtol=0, atol=1e-12)
                continue
            near = [
                s for s in task.predictions if np.allclose(right - change, task.rep(s), rtol=0, atol=1e-12)
            ]
            assert len(near) == 1  # the rival is one of the best, whichever
            value = slow.surrogate(task, t, y, near[0])
            assert value == pytest.approx(slow.surrogate(task, t, y), abs=1e-9)


def test_all_examples_of_a_task_are_apart():
    fast, task = made_task("Hamming", 3, [frozenset({0, 2}), frozenset(), frozenset({1})])
    t = np.array([0.5, -0.1, 3.0])
    for i, y in enumerate([frozenset({0, 2}), frozenset(), frozenset({1})]):
        assert fast.tried(i, t)[0] == slow.loss_of(task, t, y)


@pytest.mark.parametrize("m", [17, 40])
def test_of_many_classes_the_largest_error_set_is_that_of_every_size(m):
    rng = np.random.default_rng(m)
    for _ in range(50):
        own = rng.random(m) < rng.random()
        t = rng.normal(size=m) * rng.choice([0.1, 1.0, 5.0])
        task = _predtron_sets.ClassSets(
            *class_offsets([frozenset(np.flatnonzero(own).tolist())]),
            False,
            m,
            _predtron_sets.LOSSES["error-set"],
        )
        loss, change = task.tried(0, t)
        drops, adds = np.sort(t[own]), np.sort(-t[~own])
        gains = [
            a * b - 2 * (drops[:a].sum() + adds[:b].sum()) / np.sqrt(m)
            for a in range(len(drops) + 1)
            for b in range(len(adds) + 1)
        ]
        missed, extra = own & (change != 0), ~own & (change != 0)
        assert loss == (t[own] <= 0).sum() * (t[~own] >= 0).sum()
        if loss > 0:
            assert missed.sum() * extra.sum() - change @ t == pytest.approx(max(gains), abs=1e-9)
