"""One model of the shards of a sharded store: that of all lists in memory, the same bytes on any workers."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make import lists as make_lists
from small_shards import Killing, Watching

import rerank
from rerank.core.checkpoints import CheckpointStore
from rerank.core.errors import ConfigError, DataNote, FitError, FormatError, RerankError
from rerank.core.workers import array_spill, dask, parallel
from rerank.data.lists import CandidateLists
from rerank.data.shards.write import write_shards
from rerank.learners.base import LEARNERS
from rerank.models.base import Model
from rerank.training import checkpoint as checkpointing
from rerank.training.data import NO_SIDE_INPUTS
from rerank.training.options import options_of
from rerank.training.pipeline import pipeline_of
from rerank.training.sums import fit as fitting
from rerank.training.sums.fit import Places, ShardParts, fit_shards, heading_of

# Settings of learners that sum: those whose sums differ.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "ridge": [{}, {"intercept": "list", "scaling": "none"}],
    "logistic": [{"scaling": "minmax"}],
    "loglinear": [{"targets": "soft"}, {"tau": 1.0, "margin": "uneven", "penalty": "l1"}, {"batch": 2}],
    "listnet": [{"scaling": "list-zscore"}],
    "ranksvm": [{"loss": "l1"}, {"margin": "label", "list_balance": False, "pairs": "neighbours"}],
    "ranklda": [{"metric": "NDCG@2"}],
    "mrt": [{"metric": "label@1"}, {"metric": "label@1", "init": "mert", "rounds": 2}],
    "rankboost": [
        {},
        {"thresholds": 3, "step": "exact", "directions": "up", "pairs": "neighbours"},
        {"thresholds": 4, "spacing": "width", "learning_rate": 0.5, "list_balance": True},
        {"thresholds": 255, "margin": "uneven", "tau": 0.5, "metric": "NDCG@2"},
    ],
    "coordinate-ascent": [
        {"metric": "nDCG@3", "restarts": 2},
        {"metric": "label@1", "restarts": 1, "scaling": "none"},
    ],
    "mert": [
        {"metric": "label@1"},
        {"metric": "label@1", "directions": "both", "average": 3, "restarts": 4},
        {"metric": "label@1", "l2": 0.1, "restarts": 3, "directions": "random"},
    ],
}
# Learners whose model depends on the shards.
BY_SHARD = ("mira", "parameter-mixing", "pro")
CASES = [
    (name, one)
    for name in LEARNERS.names()
    if LEARNERS.get(name).sums and name not in BY_SHARD
    for one in SETTINGS.get(name, [{}])
]


def some_lists(layout: str = "dense") -> CandidateLists:
    """Lists with unjudged items and a feature far from 0; eight in a row have equal labels."""
    lists = make_lists(sizes=[5] * 32, d=5, layout=layout, seed=3, grades=(0, 3), ids=True)
    labels = lists.labels.copy()
    labels[40:80] = 1.0
    if layout == "dense":
        lists.features.values[:, 4] = lists.features.values[:, 4] * 1e-3 + 1e3
    return lists.replace_labels(labels)


def stored(lists: CandidateLists) -> int:
    """Write lists in shards of about four, and return how many shards there are."""
    blocks = (lists.subset(np.arange(first, first + 4)) for first in range(0, lists.n_lists, 4))
    return len(write_shards(blocks, "s", 1200).shards)


@pytest.fixture
def lists(tmp_path, monkeypatch) -> CandidateLists:
    """Lists that are in the current directory as the sharded store ``s``."""
    monkeypatch.chdir(tmp_path)
    lists = some_lists()
    assert stored(lists) >= 6
    return lists


def fitted(name: Any, given: dict[str, Any] | None = None, dev: CandidateLists | None = None) -> Model:
    """The model of the shards; ``name`` may be a learner."""
    learner = name if not isinstance(name, str) else None
    pipeline = pipeline_of(options_of(name, given), learner)
    return fit_shards(pipeline, heading_of(pipeline, "s"), dev, NO_SIDE_INPUTS)


@pytest.mark.filterwarnings("ignore:.*ranges within lists")
@pytest.mark.parametrize(("name", "given"), CASES)
def test_the_model_is_that_of_all_lists_in_memory(name, given, lists):
    expected = rerank.train(lists, name, **given)
    with parallel.using(2):
        found = fitted(name, given)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-9, atol=1e-12)
    own, theirs = found.training, expected.training
    assert own.data.with_fields(fingerprint=None) == theirs.data.with_fields(fingerprint=None)
    assert own.unjudged == theirs.unjudged
    assert own.settings == theirs.settings
    assert own.notes == pytest.approx(theirs.notes, rel=1e-9)
    np.testing.assert_allclose(found.score(lists), expected.score(lists), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "given"),
    [("rankboost", {"rounds": 30}), ("parameter-mixing", {"epochs": 9}), ("mira", {"epochs": 9})],
)
def test_the_best_round_on_dev_lists_is_kept(name, given, lists):
    """Also if the setting ``keep`` is not given, as with all lists in memory."""
    dev, metric = some_lists().subset(np.arange(20, 32)), "label@1" if name == "mira" else "nDCG@2"
    found = fitted(name, {"metric": metric, **given}, dev)
    curve = [row["dev"] for row in found.curve]
    assert found.training.settings["keep"] == "best"
    assert found.training.rounds.kept == 1 + int(np.argmax(curve)) < len(curve)
    judged = rerank.evaluate(dev, found.score(dev), [metric])
    assert found.training.rounds.dev == max(curve) == pytest.approx(judged[found.curve.metric], rel=1e-12)


@pytest.mark.parametrize("layout", ["float32", "sparse", "indicators", "mixed"])
def test_other_layouts(layout, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists = some_lists(layout)
    stored(lists)
    tolerance = 1e-6 if layout == "float32" else 1e-9  # means that differ in the last bit, rounded
    for name in ("logistic", "listnet"):
        expected = rerank.train(lists, name)
        np.testing.assert_allclose(fitted(name).weights, expected.weights, rtol=tolerance, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*missing=zero. 0 is above some")
def test_dev_lists_initial_weights_and_missing_values_count(lists):
    dev = some_lists().subset(np.arange(20, 32))
    given = {"penalty": "dev", "metric": "NDCG@2"}
    expected = rerank.train(lists, "ridge", dev=dev, **given)
    found = fitted("ridge", given, dev)
    assert found.training.rounds.penalty == expected.training.rounds.penalty
    assert found.training.rounds.dev == pytest.approx(expected.training.rounds.dev, rel=1e-12)
    assert found.training.rounds.train == pytest.approx(expected.training.rounds.train, rel=1e-12)
    assert (found.curve.metric, len(found.curve)) == (expected.curve.metric, len(expected.curve))
    values = lists.features.values.copy()
    values[7, 2] = np.nan
    gone = CandidateLists.from_arrays(values, lists.labels, group=lists.lengths)
    stored(gone)
    with pytest.raises(
        FitError, match=r"s/00000\.store: 1 of \d+ values are missing .*learner ridge accepts none"
    ):
        fitted("ridge")
    expected = rerank.train(gone, "ridge", missing="zero")
    np.testing.assert_allclose(fitted("ridge", {"missing": "zero"}).weights, expected.weights, rtol=1e-9)


@pytest.mark.parametrize("name", ["ridge", "logistic", "listnet"])
def test_what_cannot_be_learnt_from_is_told_of_the_whole_store(name, lists):
    stored(lists.replace_labels(np.full(lists.n_items, 2.0)))
    with pytest.raises(FitError, match=r"^s: (every judged item|no list has two different labels)"):
        fitted(name)
    stored(lists.replace_labels(np.full(lists.n_items, np.nan)))
    with pytest.raises(FitError, match="s: no judged item"):
        fitted(name)


@pytest.mark.parametrize(
    ("data", "name", "given", "expected"),
    [
        (["some.letor"], "ridge", {}, "one fit is spread over the shards of one sharded store: write one"),
        (["s", "s"], "ridge", {}, "one fit is spread over the shards of one sharded store: write one"),
        (
            "s",
            "perceptron",
            {},
            "learner perceptron cannot be fitted shard by shard; those that can: .*ridge",
        ),
        ("s", "ridge", {"missing": "mean"}, "missing=mean: not used by a fit over shards"),
        ("s", "ridge", {"scaling": "rank"}, "scaling=rank: not used by a fit over shards"),
        ("s", "ridge", {"base_scale": 2.0}, "base_scale: not used by a fit over shards"),
        ("s", "ridge", {"unjudged": "negative"}, "data.unjudged: not used by a fit over shards"),
        ("s", "ridge", {"keep_margin": 1.0}, "keep_margin: not used by a fit over shards"),
        ("s", "mrt", {"keep": "train"}, "keep=train: not used by a fit over shards"),
        ("s", "loglinear", {"init": "base"}, "init=base: not used by a fit over shards"),
    ],
)
def test_what_needs_all_lists_is_refused(data, name, given, expected, lists):
    with pytest.raises(ConfigError, match=expected):
        heading_of(pipeline_of(options_of(name, given)), data)


def test_a_metric_is_asked_for(lists):
    with pytest.raises(FitError, match=r"^learner mrt needs a metric of single candidates .*; give one"):
        fitted("mrt")


def test_pro_draws_in_each_shard(lists):
    found, expected = fitted("pro", {"samples": 400}), rerank.train(lists, "pro", samples=400)
    own, theirs = found.training, expected.training  # of 25 pairs of a list all are drawn
    assert own.data.lists_without_pair == theirs.data.lists_without_pair
    assert own.rounds.threshold == theirs.rounds.threshold
    assert np.corrcoef(found.score(lists), expected.score(lists))[0, 1] > 0.9
    with parallel.using(2):
        assert fitted("pro", {"samples": 400}).weights.tobytes() == found.weights.tobytes()


def test_parameter_mixing_learns_apart_from_each_shard(lists):
    n = len(list(Path("s").glob("*.store")))
    found = fitted("parameter-mixing", {"epochs": 3})
    expected = rerank.train(lists, "perceptron", epochs=1).training.data
    own = found.training
    assert own.notes["parts"] == n - 2  # two shards have equal labels alone
    assert own.data.with_fields(fingerprint=None) == expected.with_fields(fingerprint=None)
    with pytest.raises(ConfigError, match="parts: not used by a fit over shards"):
        fitted("parameter-mixing", {"parts": 3})


def test_a_shard_that_changes_in_training_is_named(lists):
    places = sorted(Path("s").glob("*.store"))
    shutil.copytree(places[6], "whole")

    def touched() -> None:
        (file,) = places[5].glob("labels.npy")
        file.write_bytes(file.read_bytes())

    for act, expected in (
        (
            touched,
            r"00005\.store: found files that changed, expected the shard as it was when training began",
        ),
        (
            lambda: shutil.rmtree(places[6], ignore_errors=True),
            r"00006\.store: found no store, expected shard 7 of",
        ),
    ):
        Watching.act = staticmethod(act)
        with pytest.raises(FormatError, match=expected):
            fitted(Watching())
    shutil.copytree("whole", places[6])
    labels = places[6] / "labels.npy"
    labels.write_bytes(labels.read_bytes()[:-1] + b"?")
    with pytest.raises(FormatError, match=r"00006\.store: found other contents, expected shard 7 of"):
        fitted("ridge")


def bits(model: Any) -> bytes:
    """What two models must share; those of thresholds have no weights."""
    return b"".join(array.tobytes() for array in model.arrays().values())


def test_bytes_do_not_depend_on_the_workers(cluster, lists, monkeypatch):
    cases = [
        ("ridge", {"tolerance": 0.1}),
        ("logistic", {"tolerance": 0.1}),
        ("mert", {"metric": "label@1", "restarts": 2, "passes": 2}),
        ("coordinate-ascent", {"metric": "nDCG@3", "restarts": 1, "passes": 1}),
        ("mira", {"metric": "label@1", "epochs": 3}),
        ("rankboost", {"rounds": 5, "step": "exact"}),
    ]
    alone = [bits(fitted(name, given)) for name, given in cases]
    seen: set[int] = set()
    all_workers = dask.Cluster.workers
    third = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        cluster,
        "--nthreads",
        "1",
        "--no-dashboard",
    ]
    with ExitStack() as stack, parallel.using(None, cluster):
        stack.callback(stack.enter_context(subprocess.Popen(third, stderr=subprocess.DEVNULL)).kill)
        with distributed_client(cluster) as client:
            client.wait_for_workers(3, timeout=60)
        for n in (1, 2, 3):

            def some(self: dask.Cluster, n: int = n) -> list[str]:
                found = all_workers(self)[:n]
                seen.add(len(found))
                return found

            monkeypatch.setattr(dask.Cluster, "workers", some)
            for k in {1: (0, 2), 2: (1, 3, 5), 3: (2, 3, 4, 5)}[n]:
                assert bits(fitted(*cases[k])) == alone[k]
    assert seen == {1, 2, 3}


def distributed_client(address: str) -> Any:
    """A client that is no other's default."""
    import distributed

    return distributed.Client(address, timeout=60, set_as_default=False)


def test_workers_that_are_killed_change_no_byte(cluster, lists, monkeypatch):
    monkeypatch.setattr(dask, "_PATIENCE", 60.0)  # until the cluster has started other ones
    os.mkdir("calls")
    with warnings.catch_warnings(record=True) as caught, parallel.using(None, cluster):
        warnings.simplefilter("always")
        found = fitted(Killing(tolerance=1e-3))
    notes = [str(one.message) for one in caught if issubclass(one.category, DataNote)]
    assert sum("is gone" in note for note in notes) == 2
    assert sorted(Path().glob("call[0-9]*")) == [Path("call15"), Path("call3")]
    assert found.weights.tobytes() == fitted("listnet", {"tolerance": 1e-3}).weights.tobytes()


def test_a_scheduler_that_is_lost_is_one_line(cluster, lists, monkeypatch):
    def gone(*_: Any) -> None:
        raise OSError("no answer")

    with parallel.using(None, cluster):
        Watching.act = None
        there = parallel._cluster.get()
        calls = iter(range(20))
        asked = there._client.nthreads
        monkeypatch.setattr(there._client, "nthreads", lambda: asked() if next(calls) < 9 else gone())
        with pytest.raises(RerankError, match=r"^tcp://127.0.0.1:\d+: the scheduler is gone \(no answer\)$"):
            fitted("listnet")


# At a question.
LOST = {
    "listnet": 6,
    "parameter-mixing": 6,
    "mira": 8,
    "mert": 30,
    "coordinate-ascent": 30,
    "rankboost": 9,
}
GIVEN: dict[str, dict[str, Any]] = {
    "listnet": {"tolerance": 1e-3},
    "parameter-mixing": {"epochs": 4},
    "mert": {"metric": "label@1", "restarts": 3, "passes": 2, "perturbations": 1},
    "coordinate-ascent": {"metric": "nDCG@3", "restarts": 1, "passes": 1},
    "mira": {"metric": "label@1", "epochs": 4},
    "rankboost": {"rounds": 20, "step": "exact"},
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_fit_goes_on_after_its_scheduler_was_lost(name, cluster, lists, monkeypatch):
    given, lost = GIVEN[name], LOST[name]
    alone = fitted(name, given)
    monkeypatch.setattr(checkpointing, "CheckpointStore", partial(CheckpointStore, least=0.0))
    asked = ShardParts.each
    calls: list[int] = []

    def each(self: ShardParts, *question: Any) -> list[Any]:
        calls.append(1)
        if len(calls) == lost:
            raise RerankError("tcp://there: the scheduler is gone")
        return asked(self, *question)

    monkeypatch.setattr(ShardParts, "each", each)
    task = partial(rerank.train, "s", name, cluster=cluster, checkpoint="c", **given)
    with pytest.raises(RerankError, match=r"^tcp://there: .* is gone; kept in c: the same command continues"):
        task()
    with pytest.raises(ConfigError, match="c: is of another training"):
        rerank.train("s", name, cluster=cluster, checkpoint="c", **given, scaling="minmax")
    with pytest.warns(DataNote, match="c: training continues"):
        found = task()
    assert bits(found) == bits(alone)
    assert found.curve == alone.curve
    whole = len(calls) - lost
    calls.clear()
    calls.extend([1] * lost)
    task()
    assert whole < len(calls) - lost
    assert not os.path.exists("c")


@contextmanager
def scheduler(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A scheduler and a worker in processes of their own."""
    pytest.importorskip("distributed", reason="the extra rerank[dask] is not installed")
    address = f"tcp://127.0.0.1:{port}"
    own = {
        "scheduler": ["--host", "127.0.0.1", "--port", str(port)],
        "worker": [address, "--nthreads", "1", "--no-nanny", "--death-timeout", "30"],
    }
    with ExitStack() as stack:
        started = []
        for kind, words in own.items():
            command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--no-dashboard", *words]
            started.append(stack.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL)))
            stack.callback(started[-1].kill)
        with distributed_client(address) as client:
            client.wait_for_workers(1, timeout=60)
        yield started[0]


def test_a_fit_goes_on_after_its_scheduler_was_killed(lists, monkeypatch):
    pytest.importorskip("threadpoolctl", reason="the extra rerank[dask] is not installed")
    given = GIVEN["listnet"]
    alone = fitted("listnet", given)
    monkeypatch.setattr(checkpointing, "CheckpointStore", partial(CheckpointStore, least=0.0))
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    task = partial(rerank.train, "s", "listnet", cluster=address, checkpoint="c", **given)
    asked = ShardParts.each
    monkeypatch.setattr(dask, "_PATIENCE", 4.0)
    with scheduler(port) as process:
        calls = itertools.count()

        def each(self: ShardParts, *question: Any) -> list[Any]:
            if next(calls) == 5:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
            return asked(self, *question)

        monkeypatch.setattr(ShardParts, "each", each)
        expected = rf"^{address}: the scheduler is gone \(.*\); kept in c: the same command continues$"
        with pytest.raises(RerankError, match=expected):
            task()
    with scheduler(port), pytest.warns(DataNote, match="c: training continues"):
        found = task()
    assert found.weights.tobytes() == alone.weights.tobytes()
    assert not os.path.exists("c")


def test_a_full_disk_is_one_line(cluster, lists, monkeypatch):
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(array_spill, "_LARGE", 1)
    with parallel.using(None, cluster):
        monkeypatch.setattr(array_spill, "open", full, raising=False)
        with pytest.raises(RerankError, match=r"^/.*: no space left on device$"):
            fitted("ridge")


def test_shards_stay_where_they_are(monkeypatch):
    workers = ["a", "b"]
    monkeypatch.setattr(fitting.parallel, "remote", lambda: True)
    monkeypatch.setattr(fitting.parallel, "workers", lambda: list(workers))
    places = Places([5, 4, 3, 2, 2])
    shards = range(5)
    first = [some for some, _ in places.groups(shards)]
    assert sorted(k for some in first for k in some) == list(shards)
    assert abs(sum([5, 4, 3, 2, 2][k] for k in first[0]) - 8) <= 1
    workers[:] = ["c", "b"]  # a was lost, and another came
    (of_c, _), (of_b, _) = places.groups(shards)
    assert (of_c, of_b) == (first[0], first[1])
    workers[:] = ["b"]
    assert places.groups(shards) == [(list(shards), list(shards))]
