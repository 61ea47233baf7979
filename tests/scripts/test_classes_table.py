"""The table of Predtron's losses, on small data."""

import numpy as np
import pytest

pytest.importorskip("sklearn")
from classes_table import one_split, table


def test_every_learner_is_judged_by_its_measures(capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    found = one_split(X, (X[:, 0] > 0).astype(int), {"multiclass": {"task": "multiclass"}}, 0)
    assert {name: len(values) for name, values in found.items()} == {
        "multiclass": 2,
        "LogisticRegression": 2,
        "Perceptron": 2,
    }
    assert found["multiclass"][0] == found["multiclass"][1] < 0.3
    table("sets", X, X > 0, {"ranked": {"task": "multilabel-ranking"}, "sets": {"task": "multilabel"}}, 2)
    head, *rows = capsys.readouterr().out.strip().splitlines()
    assert head.split() == ["sets", "zero-one", "Hamming", "error-set", "nDCG"]
    assert [row.split()[0] for row in rows] == ["ranked", "sets", "LogisticRegression", "Perceptron"]
    assert [row.count("±") for row in rows] == [1, 4, 4, 4]
