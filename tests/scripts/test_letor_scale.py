"""The benchmark of large LETOR sets makes stores that hold what it says."""

from pathlib import Path

import numpy as np
import pytest

from rerank.data.store import read_store

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_store_is_made_block_by_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "bench"))
    import letor_scale

    monkeypatch.setattr(letor_scale, "BLOCK", 200)
    letor_scale.make_store(tmp_path / "a.store", 600, dtype)
    lists = read_store(tmp_path / "a.store")
    assert (lists.n_lists, lists.n_items, lists.n_features) == (6, 600, 136)
    assert lists.features.dtype == dtype
    assert lists.labels is not None
    assert np.bincount(lists.labels[:100].astype(int)).tolist() == [52, 32, 13, 2, 1]
    X = lists.features.to_dense()
    assert len(np.unique(X[:, 0])) > 30
    assert not np.array_equal(X[:200], X[200:400])
