"""Training that is interrupted after any round and goes on from its checkpoint gives the same bytes."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from small_training import make_learner

import rerank
from rerank.core import checkpoints
from rerank.core.checkpoints import CheckpointStore, Slot
from rerank.core.errors import ConfigError, FormatError, Interrupted, RerankError
from rerank.core.workers.parallel import using
from rerank.learners.base import LEARNERS
from rerank.models.archive import read_checkpoint, write_checkpoint
from rerank.training import checkpoint as checkpointing
from rerank.training.select import select
from rerank.training.train import pipeline_from

# Settings that a state depends on; every learner that keeps checkpoints has a line.
CASES = {
    "perceptron": [
        {"epochs": 6, "tau": 1.0, "average": "average", "keep": "best"},
        {"epochs": 6, "tau": 1.0, "average": "voted", "algorithm": 1, "dimension": 0.5},
        {"epochs": 40, "average": "last", "keep": "train"},
    ],
    "winnow": [{"epochs": 5, "learning_rate": 0.01, "keep": "best"}],
    "parameter-mixing": [{"epochs": 5, "parts": 3}],
    "prank": [{"epochs": 5}],
    "oap-bpm": [{"epochs": 5, "rankers": 3, "keep": "best"}],
    "uneven-margin": [{"epochs": 5, "average": "last"}],
    "predtron": [
        {"epochs": 5},
        {"epochs": 4, "norm": "p", "keep": "best"},
        {"epochs": 4, "kernel": "gaussian"},
    ],
    "mira": [{"epochs": 4, "value": "background"}, {"epochs": 4, "value": "sentence"}],
    "boosting": [
        {"rounds": 12},
        {"rounds": 9, "loss": "log"},
        {"rounds": 5, "loss": "log", "engine": "reference"},
    ],
    "boosting-conjunctions": [{"rounds": 12, "every": 4, "add": 3, "min_lists": 1}],
    "rankboost": [{"rounds": 8}, {"rounds": 6, "engine": "reference", "keep": "best"}],
    "mert": [{"restarts": 3}, {"restarts": 2, "perturbations": 0}],
    "coordinate-ascent": [{"restarts": 2, "passes": 3}],
}
METRIC = {"mira": "label@1", "mert": "label@1"}


def lists_of(seed, n=12):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5 * n, 4)).round(2)
    y = (X @ [1.0, -0.5, 0.2, 0.0] + rng.standard_normal(5 * n)).round().clip(-1, 2)
    lists = rerank.CandidateLists.from_arrays(X, y, group=[5] * n)
    return dataclasses.replace(lists, base_scores=X[:, 0].copy())


TRAIN, DEV = lists_of(1), lists_of(2)


class Interrupter:
    """Presses Ctrl-C after every ``n``-th state that is kept."""

    def __init__(self, monkeypatch, n):
        self.n, self.kept = n, 0
        keep = Slot.keep

        def keep_and_stop(place, state):
            keep(place, state)
            self.kept += 1
            if self.n and self.kept % self.n == 0:
                raise KeyboardInterrupt

        monkeypatch.setattr(Slot, "keep", keep_and_stop)
        monkeypatch.setattr(Slot, "due", lambda place: True)
        monkeypatch.setattr("rerank.learners.boosting.rounds._CHUNK", 2)


def trained(tmp_path, learner, settings, **plan):
    """The bytes of a model and its curve; an interrupted training is called again."""
    path, out = str(tmp_path / "checkpoint"), tmp_path / "model"
    made = make_learner(learner, settings)
    pipeline = pipeline_from(made, **{"metric": METRIC.get(learner, "AP")} | plan)
    training = pipeline, TRAIN, DEV, checkpointing.SideInputs()
    times = 0
    while True:
        times += 1
        try:
            with checkpointing.checkpointed(path, *training):
                found = select(pipeline, TRAIN, DEV)
            break
        except Interrupted:
            assert times < 200
    checkpointing.finished(path)
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("checkpoint")] == []
    models = list(found.by_seed.values()) or [found.model]
    parts = []
    for model in models:
        model.save(str(out))
        parts += [out.read_bytes(), repr(model.curve)]
    return parts, times


def test_every_learner_that_keeps_checkpoints_is_tried():
    assert {name for name in LEARNERS.names() if LEARNERS.get(name).resumable} == set(CASES)


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@pytest.mark.parametrize(
    ("learner", "settings"), [(name, one) for name, every in CASES.items() for one in every]
)
def test_the_same_bytes_however_often_it_is_interrupted(tmp_path, monkeypatch, learner, settings):
    expected, _ = trained(tmp_path, learner, settings)
    for n in (1, 3):
        with monkeypatch.context() as patched:
            Interrupter(patched, n)
            found, times = trained(tmp_path, learner, settings)
        assert found == expected
        assert times > 1


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@pytest.mark.parametrize(
    "plan",
    [
        {"seeds": 3},
        {"select": "cv", "grid": {"tau": [0.1, 1.0]}, "folds": 2},
        {"select": "dev", "grid": {"tau": [0.1, 1.0]}},
        {"tune_base": "folds", "folds": 2, "metric": "label@1"},
    ],
)
@pytest.mark.parametrize("jobs", [1, 2])
def test_plans_of_several_fits(tmp_path, monkeypatch, plan, jobs):
    expected, _ = trained(tmp_path, "perceptron", {"epochs": 3}, **plan)
    Interrupter(monkeypatch, 4)
    with using(jobs):
        found, times = trained(tmp_path, "perceptron", {"epochs": 3}, **plan)
    assert found == expected
    assert times > 1


def test_by_time_and_as_a_whole(tmp_path):
    now, written = [0.0], []
    keeper = CheckpointStore("x", {}, lambda states: written.append(dict(states)), clock=lambda: now[0])
    with checkpoints.keeping(keeper):
        place = checkpoints.slot()
        assert place.state is None
        assert place.due()
        place.keep({"a": 1})
        assert not place.due()
        now[0] = 0.6
        assert place.due()
        assert written == []
        now[0] = 31.0
        with checkpoints.within(checkpoints.scopes(2)[1]):
            checkpoints.slot().keep({"b": 2})
        assert written == [{"1": {"a": 1}, "2.2/1": {"b": 2}}]
        keeper.flush()
        assert len(written) == 1
    assert checkpoints.slot() is None


def test_states_come_back_as_they_were(tmp_path):
    state = {
        "numbers": [1, 0.1, float("nan"), -np.inf, 2**70, None, True, np.float64(0.3), "text"],
        "tuple": (1, [2, (3,)]),
        "arrays": [np.arange(6.0).reshape(2, 3), np.array([], dtype=np.int64), np.ones(3, np.uint8)],
    }
    path = str(tmp_path / "c")
    write_checkpoint(path, {"learner": "x"}, {"1": state, "2": {}})
    prints, states = read_checkpoint(path)
    assert prints == {"learner": "x"}
    assert states["2"] == {}
    assert repr(states["1"]) == repr(state).replace("np.float64(0.3)", "0.3")
    assert [one.dtype for one in states["1"]["arrays"]] == [one.dtype for one in state["arrays"]]


def fault_of(path, content):
    """The error for a file; one without has the array that was written."""
    path.write_bytes(content)
    try:
        _, states = read_checkpoint(str(path))
    except RerankError as error:
        return error
    np.testing.assert_array_equal(states["1"]["a"], np.arange(40.0))  # a date of the archive has changed
    return None


def test_damaged_files_are_errors_of_one_line(tmp_path):
    path = tmp_path / "c"
    write_checkpoint(str(path), {"learner": "x"}, {"1": {"a": np.arange(40.0), "b": [1, 2]}})
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    broken = [whole[:n] for n in (0, 3, len(whole) // 2, len(whole) - 1)]
    for at in rng.integers(len(whole), size=60).tolist():
        broken.append(whole[:at] + bytes([whole[at] ^ (1 << int(rng.integers(8)))]) + whole[at + 1 :])
    refused = [str(error) for content in broken if (error := fault_of(path, content)) is not None]
    assert len(refused) > 30
    assert not any("\n" in error for error in refused)


def train(path, learner="perceptron", lists=TRAIN, **settings):
    return rerank.train(lists, learner, dev=DEV, metric="AP", checkpoint=str(path), **settings)


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
def test_another_training_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "c"
    with monkeypatch.context() as patched:
        Interrupter(patched, 2)
        with pytest.raises(Interrupted, match=f"kept in {re.escape(str(path))}; the same command continues"):
            train(path, epochs=4)
    kept = path.read_bytes()
    shorter = DEV.subset(np.arange(6))
    for differing, call in {
        "settings": {"epochs": 5},
        "training lists": {"epochs": 4, "lists": shorter},
        "learner and settings": {"learner": "prank"},
        "options such as metric and scaling": {"epochs": 4, "scaling": "none"},
    }.items():
        with pytest.raises(ConfigError, match=rf"is of another training \({differing} differ\); delete it"):
            train(path, **call)
    assert path.read_bytes() == kept
    prints, states = read_checkpoint(str(path))
    states["1"]["learner"]["own"] = np.zeros(3)
    write_checkpoint(str(path), prints, states)
    with pytest.raises(FormatError, match="c: found a state that does not fit this training"):
        train(path, epochs=4)
    path.write_bytes(kept)
    expected = rerank.train(TRAIN, "perceptron", dev=DEV, metric="AP", epochs=4)
    assert np.array_equal(train(path, epochs=4).weights, expected.weights)
    assert not path.exists()


def test_learners_without_states_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"learner ridge keeps none; those that do: boosting, .*rankboost"):
        train(tmp_path / "c", "ridge")
