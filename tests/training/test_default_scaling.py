"""Which scaling a learner gets if none is named, and the note on features of very different ranges."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from small_training import saved

import rerank
from rerank.core.errors import DataNote
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Mixed, as_features
from rerank.training.config import read_config
from rerank.training.train import train_files

NOTE = (
    "uneven.letor: ranges within lists are 0.001 (feature '2') to 5e+04 (feature '1'); no scaling is "
    "applied, but learner perceptron depends on it (--scaling zscore)"
)


def uneven(factor: float = 1e7) -> CandidateLists:
    """Forty lists of five, ranked by the second of two features; the first is noise in large units."""
    rng = np.random.default_rng(3)
    good, noise = rng.permuted(np.tile(np.arange(5.0), (40, 1)), axis=1).ravel(), rng.random(200)
    noise[:5] = 0, 1, 0.5, 0.5, 0.5
    X = np.column_stack([noise * 0.005 * factor, np.where(good == 2, 1.9, good) * 0.00025])
    return CandidateLists.from_arrays(X, good, group=[5] * 40, source="uneven.letor")


def quality(model: rerank.Model) -> float:
    return rerank.evaluate(uneven(), model.score(uneven()), ["nDCG@5"])["nDCG@5"]


def test_the_default_finds_a_feature_in_small_units_and_none_warns_that_it_does_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = rerank.train(uneven())
    assert model.scaling_name == "zscore"
    assert quality(model) > 0.99
    with pytest.warns(DataNote, match=re.escape(NOTE)):
        raw = rerank.train(uneven(), scaling="none")
    assert quality(raw) < 0.9


def test_ranges_that_differ_less_are_no_reason_to_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rerank.train(uneven(factor=100), scaling="none")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ([], "zscore"),
        (["scaling=auto"], "zscore"),
        (["scaling=none"], "none"),
        (["scaling=minmax"], "minmax"),
    ],
)
def test_a_named_scaling_wins(asked, found, tmp_path):
    path = tmp_path / "train.letor"
    path.write_text("".join(f"{i % 3} qid:{i // 6} 1:{i % 5} 2:{i % 7}\n" for i in range(30)))
    config = read_config(None, asked, {"data.train": str(path)})
    assert train_files(config).model.scaling_name == found
    yaml = tmp_path / "config.yaml"
    yaml.write_text("\n".join(text.replace("=", ": ") for text in ["data: {train: train.letor}", *asked]))
    assert train_files(read_config(str(yaml))).model.scaling_name == found


def test_sparse_features_are_not_scaled_and_warned_of():
    lists = uneven()
    sparse = CandidateLists.from_arrays(
        csr_array(lists.features.values), lists.labels, group=[5] * 40, source="uneven.letor"
    )
    with pytest.warns(DataNote, match=re.escape(NOTE)):
        assert rerank.train(sparse).scaling_name == "none"


@pytest.mark.parametrize("scaling", ["minmax", "zscore", "list-minmax", "list-zscore"])
def test_a_model_of_scaled_columns_beside_indicators_is_saved(scaling, tmp_path):
    rng = np.random.default_rng(1)
    rows = as_features(csr_array(np.pad(rng.integers(0, 2, (40, 3)), ((0, 0), (1, 0)))))
    mixed = Mixed(rng.normal(-50, 9, (40, 1)), np.array([0], dtype=np.int32), replace(rows, data=None))
    lists = CandidateLists.from_arrays(mixed, rng.integers(0, 3, 40), group=[5] * 8)
    model = rerank.train(lists, scaling=scaling, epochs=3)
    again = saved(model, tmp_path)
    np.testing.assert_array_equal(again.score(lists), model.score(lists))
