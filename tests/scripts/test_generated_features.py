"""What generated features are like, on small lists."""

import gzip
import sys

import generated_features
import numpy as np


def test_determination_is_the_squared_correlation():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(12, 2)), np.column_stack([rng.normal(size=(12, 2)), np.ones(12)])
    found = generated_features.determination(a, b)
    expected = np.corrcoef(a.T, b[:, :2].T)[:2, 2:] ** 2
    np.testing.assert_allclose(found[:, :2], expected)
    np.testing.assert_array_equal(found[:, 2], 0)
    np.testing.assert_allclose(generated_features.determination(a, -3 * a).diagonal(), 1)


def test_kinds_are_those_of_generated_names():
    names = ["linear#1", "gaussian:1#2"]
    assert generated_features.kind_of("linear#1", names) == "linear"
    assert generated_features.kind_of("gaussian:1#2", names) == "gaussian:1"
    assert generated_features.kind_of("bm25#1", names) == "original"


def test_the_tables_have_every_kind_and_every_list(monkeypatch, capsys, tmp_path):
    rng = np.random.default_rng(0)
    for part in ("train", "test"):
        X = rng.normal(size=(40, 3))
        labels = (X[:, 0] + rng.normal(size=40) > 0).astype(int)
        with gzip.open(tmp_path / f"{part}.txt.gz", "wt", encoding="utf-8") as file:
            for i, (x, label) in enumerate(zip(X, labels, strict=True)):
                file.write(f"{label} qid:{i // 8 + 1} 1:{x[0]:.3f} 2:{x[1]:.3f} 3:{x[2]:.3f}\n")
    given = ["generated_features.py", str(tmp_path), "--rounds", "5", "--top", "2"]
    monkeypatch.setattr(sys, "argv", given)
    generated_features.main()
    like, chosen = capsys.readouterr().out.split("\n\n")
    rows = [line.split() for line in like.splitlines()[1:]]
    assert [row[0] for row in rows] == ["poly2", "gaussian:1", "diffusion:1", "diffusion:10", "linear"]
    assert all(0 <= float(row[2]) <= float(row[3]) <= 1 for row in rows)
    assert sum(int(line.split()[0]) for line in chosen.splitlines()[1:]) == 5
