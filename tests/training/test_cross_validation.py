"""``rerank.cross_validate`` against the loop that it replaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rerank
from rerank.core.errors import ConfigError, DataError
from rerank.data.folds import folds


@pytest.fixture
def frame() -> dict[str, Any]:
    """Lists whose rows are not contiguous."""
    rng = np.random.default_rng(0)
    n = 80
    x = rng.standard_normal((n, 2))
    return {
        "qid": rng.permutation(np.repeat(np.arange(10), 8)).tolist(),
        "label": (x[:, 0] + rng.standard_normal(n) > 0).astype(float),
        "x": x[:, 0],
        "z": x[:, 1],
    }


def test_scores_are_those_of_models_of_the_other_folds(frame):  # type: ignore[no-untyped-def]
    lists = rerank.CandidateLists.from_frame(frame)
    found = rerank.cross_validate(lists, {"a": "ridge", "b": "perceptron"}, ["AP", "nDCG@3"], folds=4, seed=5)
    ids = [lists.list_id(i) for i in range(lists.n_lists)]
    for name, learner in (("a", "ridge"), ("b", "perceptron")):
        scores = np.empty(len(frame["qid"]))
        for fold in folds(lists, 4, 5):
            unseen = np.isin(np.array(frame["qid"]).astype(str), [ids[i] for i in fold.test])
            part = {key: np.array(column)[~unseen].tolist() for key, column in frame.items()}
            model = rerank.train(rerank.CandidateLists.from_frame(part), learner)
            rest = {key: np.array(column)[unseen].tolist() for key, column in frame.items()}
            scores[unseen] = model.score(rerank.CandidateLists.from_frame(rest))
        values = rerank.evaluate(lists, scores, ["AP", "nDCG@3"])
        for metric in ("AP", "nDCG@3"):
            assert found.systems[name][metric].value == pytest.approx(values[metric], abs=1e-9)


def test_settings_reach_learners_and_judging(frame):  # type: ignore[no-untyped-def]
    found = rerank.cross_validate(
        frame, "perceptron", "AP", folds=2, epochs=3, scaling="none", judging={"samples": 50, "ties": "input"}
    )
    assert list(found.systems) == ["perceptron"]
    assert found.judging.samples == 50
    assert "ties:input" in found.metrics["AP"].signature


def test_lists_of_one_key_stay_together(frame):  # type: ignore[no-untyped-def]
    """With two keys and two folds no model sees its own key: labels that the key decides cannot be learnt."""
    lists = rerank.CandidateLists.from_frame(frame)
    key = [i % 2 for i in range(lists.n_lists)]
    kept = rerank.cross_validate(lists, "ridge", "AP", folds=2, key=key)
    assert kept.n_lists == lists.n_lists
    with pytest.raises(DataError, match="3 folds of 2 keys"):
        rerank.cross_validate(lists, "ridge", "AP", folds=3, key=key)


def test_mistakes(frame):  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError, match="found none"):
        rerank.cross_validate(frame, {}, "AP")
    with pytest.raises(ConfigError, match="1 folds"):
        rerank.cross_validate(frame, "ridge", "AP", folds=1)
    with pytest.raises(ConfigError, match="unknown learner 'rigde'"):
        rerank.cross_validate(frame, "rigde", "AP")
    del frame["label"]
    with pytest.raises(DataError, match="label"):
        rerank.cross_validate(frame, "ridge", "AP")
