"""Every configuration of the repository is read, and trains."""

from __future__ import annotations

import numpy as np
import pytest

from rerank import CandidateLists, load_model
from rerank.config import read_config
from rerank.experiment import learner_of, train_from
from rerank.formats import FORMATS

from .conftest import ROOT

CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))


def write_long_lists(path, *, graded):
    """Two lists of 720 items: every relation of the configurations has pairs in them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1440, 3))
    y = np.repeat([0.0, 1.0, 2.0], 480) + (0 if graded else np.arange(1440) / 2000)
    lists = CandidateLists.from_arrays(X, rng.permutation(y), group=[720, 720])
    FORMATS.get("svmlight")().write(lists, str(path))


def test_there_are_configurations():
    assert len(CONFIGS) >= 9


@pytest.mark.parametrize("path", CONFIGS, ids=[path.stem for path in CONFIGS])
def test_a_configuration_is_read(path, monkeypatch):
    monkeypatch.setenv("RERANK_DATA", "/data")
    config = read_config(str(path))
    assert learner_of(config).name == config.learner["name"]


@pytest.mark.parametrize("path", CONFIGS, ids=[path.stem for path in CONFIGS])
def test_a_configuration_trains(path, rerank, tmp_path, monkeypatch):
    monkeypatch.setenv("RERANK_DATA", "/data")
    config = read_config(str(path))
    long_lists = tmp_path / "long.letor"
    write_long_lists(long_lists, graded=config.learner["name"] != "perceptron")
    given = ["train", path, "--data", long_lists, "--set", "rounds=2", "--out", tmp_path / "model"]
    if config.data.dev is not None:
        given += ["--dev", long_lists]
    if config.data.feature_names is not None:
        names = tmp_path / "names"
        names.write_text("a\nb\nc\n")
        given += ["--feature-names", names]
    rerank(*given)
    assert load_model(str(tmp_path / "model")).training.settings["rounds"] == 2


def test_ohsumed_with_the_configuration(shared_data, monkeypatch):
    monkeypatch.setenv("RERANK_DATA", str(shared_data))
    result = train_from(read_config(str(ROOT / "configs" / "ohsumed-perceptron.yaml")))
    assert result.model.training.rounds["dev"] > 0.46
