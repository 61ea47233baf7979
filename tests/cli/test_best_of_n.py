"""Best of N, from the configuration to the table: data/best-of-n as it lies in the repository."""

import json
import math

import numpy as np
import pytest
from command_line import ROOT

from rerank import load, load_model

TEST = ROOT / "data" / "best-of-n" / "test.jsonl"


@pytest.fixture
def judged(rerank, tmp_path):
    """What eval prints for best and pass at 2, 4, 8 after training by the configuration, and the messages."""
    rerank("train", ROOT / "configs" / "best-of-n.yaml", "--out", tmp_path / "model")
    printed = rerank("predict", tmp_path / "model", TEST, "--out", tmp_path / "scores").err
    metrics = [part for name in ("best", "pass") for k in (2, 4, 8) for part in ("-m", f"{name}@{k}")]
    result = rerank("eval", TEST, tmp_path / "scores", *metrics, "--as", "json")
    return json.loads(result.out), printed + result.err


def test_learnt_weights_are_better_than_the_first_answer_and_than_each_score(judged):
    found, _ = judged
    (system,) = found["systems"]
    value = system["metrics"]["best@8"]["value"]
    lists = load(TEST)
    labels = lists.labels.reshape(-1, 8)
    assert found["metrics"]["best@8"]["first_best"] == pytest.approx(labels[:, 0].mean())
    for name in lists.names():
        chosen = lists.features.column(lists.column_of(name)).reshape(-1, 8).argmax(axis=1)
        assert value > labels[np.arange(len(labels)), chosen].mean(), name
    assert value > found["metrics"]["best@8"]["first_best"]


def test_the_bounds_of_best_are_a_random_answer_and_the_unbiased_estimator_of_pass(judged):
    found, _ = judged
    lists = load(TEST)
    right = lists.labels.reshape(-1, 8).sum(axis=1).astype(int)
    for k in (2, 4, 8):
        expected = [1 - math.comb(8 - c, k) / math.comb(8, k) for c in right.tolist()]
        info, passed = found["metrics"][f"best@{k}"], found["metrics"][f"pass@{k}"]
        assert info["random"] == pytest.approx(lists.labels.mean())
        assert info["oracle"] == pytest.approx(np.mean(expected))
        assert (
            passed["random"] == passed["oracle"] == passed["first_best"] == pytest.approx(np.mean(expected))
        )
    (system,) = found["systems"]
    values = [system["metrics"][f"best@{k}"]["value"] for k in (2, 4, 8)]
    assert values == sorted(values)


def test_nothing_in_the_files_is_ignored(judged, tmp_path):
    _, printed = judged
    assert "note:" not in printed
    assert set(load_model(str(tmp_path / "model")).feature_names) == {"logprob", "n_tokens", "orm", "prm"}
