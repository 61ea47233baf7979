"""Lists that training read itself are scaled in place, to the same model; those of callers never change."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.core.errors import DataNote
from rerank.data.lists import CandidateLists
from rerank.data.scaling import SCALINGS, Scaling, fit_scaling
from rerank.formats import load
from rerank.formats.base import save

WATCHED = {"dev": "dev", "metric": "nDCG@5", "keep": "best"}
CASES: dict[str, dict[str, Any]] = {
    **{f"perceptron {name}": {"learner": "perceptron", "epochs": 3, "scaling": name} for name in SCALINGS},
    "ridge": {"learner": "ridge"},
    "dev": {"learner": "predtron", "epochs": 4, **WATCHED},
    "missing": {"learner": "logistic", "missing": "indicator"},
    "coordinate ascent": {"learner": "coordinate-ascent", "restarts": 1, "metric": "nDCG@5"},
    "choice": {"learner": "predtron", "select": "dev", "grid": {"epochs": [1, 2]}, **WATCHED},
}


@pytest.fixture(params=["float64", "float32"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    rng = np.random.default_rng(11)
    names = {}
    for name, n in (("train", 400), ("dev", 200)):
        X = (rng.standard_normal((n, 6)) * 10.0 ** np.arange(6) + 5.0).astype(request.param)
        y = np.clip(np.rint(X @ (10.0 ** -np.arange(6)) / 3), 0, 4)
        lists = CandidateLists.from_arrays(X, y, group=np.full(n // 10, 10))
        for suffix in ("txt", "store"):
            names[f"{name}.{suffix}"] = str(tmp_path / f"{name}.{suffix}")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataNote)
                save(lists, names[f"{name}.{suffix}"], format="svmlight" if suffix == "txt" else "store")
    return names


def trained(data: Any, dev: Any, case: dict[str, Any], out: Path) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        model = rerank.train(data, **{**case, **({"dev": dev} if "dev" in case else {})})
    model.save(str(out))
    return out.read_bytes()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_files_give_the_model_of_lists_and_lists_stay(
    files: dict[str, str], tmp_path: Path, case: dict[str, Any]
) -> None:
    for suffix in ("txt", "store"):
        paths = files[f"train.{suffix}"], files[f"dev.{suffix}"]
        on_disk = Path(paths[0], "features.npy").read_bytes() if suffix == "store" else b""
        data, dev = (load(path) for path in paths)
        before = data.features.to_dense().tobytes(), dev.features.to_dense().tobytes()
        expected = trained(data, dev, case, tmp_path / "lists")
        assert (data.features.to_dense().tobytes(), dev.features.to_dense().tobytes()) == before
        assert trained(*paths, case, tmp_path / "files") == expected
        assert trained(paths[0], dev, case, tmp_path / "mixed") == expected
        assert dev.features.to_dense().tobytes() == before[1]
        if on_disk:
            assert Path(paths[0], "features.npy").read_bytes() == on_disk


def test_an_array_of_training_is_scaled_where_it_is(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the tests above would compare one copy with another."""
    seen = []
    apply = Scaling.apply

    def watched(self: Scaling, lists: CandidateLists, *, overwrite: bool = False) -> CandidateLists:
        array = lists.features.to_dense()
        scaled = apply(self, lists, overwrite=overwrite)
        seen.append((overwrite, np.shares_memory(array, scaled.features.to_dense())))
        return scaled

    monkeypatch.setattr(Scaling, "apply", watched)
    rerank.train(files["train.txt"], learner="ridge")
    rerank.train(files["train.store"], learner="ridge")
    rerank.train(load(files["train.txt"]), learner="ridge")
    assert seen == [(True, True), (True, False), (False, False)]


@pytest.mark.parametrize("name", sorted(set(SCALINGS) - {"none"}))
def test_given_up_features_are_nan_not_scaled_ones(files: dict[str, str], name: str) -> None:
    lists, copy = load(files["train.txt"]), load(files["train.txt"])
    fitted = fit_scaling(name, lists)
    expected = fitted.apply(copy).features.to_dense()
    scaled = fitted.apply(lists, overwrite=True)
    assert scaled.features.to_dense().tobytes() == expected.tobytes()
    assert (lists.n_items, lists.n_features) == (scaled.n_items, scaled.n_features)
    assert np.isnan(lists.features.to_dense()).all()
    with pytest.raises(ValueError, match="contiguous"):
        lists.features.scores(np.ones(lists.n_features))


@pytest.mark.parametrize("name", ["list-minmax", "list-zscore"])
def test_indicators_in_dense_columns_keep_their_values_in_place(files: dict[str, str], name: str) -> None:
    lists, copy = load(files["train.txt"]), load(files["train.txt"])
    fitted = Scaling(name, lists.n_features, False, {"places": np.array([0])})
    expected = fitted.apply(copy).features.to_dense()
    assert np.array_equal(expected[:, 1:], copy.features.to_dense()[:, 1:])
    assert fitted.apply(lists, overwrite=True).features.to_dense().tobytes() == expected.tobytes()
