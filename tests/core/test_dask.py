"""Tasks on a Dask cluster of two worker processes: the results are those of worker processes here."""

import os
import signal
import subprocess
import sys
import warnings
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

import rerank.core.workers.dask
from rerank.core.errors import ConfigError, DataError, DataNote, RerankError
from rerank.core.workers import array_spill as sending
from rerank.core.workers import parallel
from rerank.core.workers.array_spill import ArraySpill
from rerank.core.workers.dask import connected
from rerank.core.workers.parallel import TaskError
from rerank.core.workers.pool import run_task, unpacked
from rerank.data.lists import CandidateLists

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current directory, where large values go."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def power(base, exponent):
    if base < 0:
        raise DataError(f"base {base}")
    return base**exponent


def remark(n):
    warnings.warn(f"remark {n}", DataNote, stacklevel=1)
    return n


def killed(path, times, value):
    """Kill the worker so many times, then return ``value``."""
    for n in range(times):
        with suppress(FileExistsError):
            (path / str(n)).mkdir(parents=True)
            os.kill(os.getpid(), signal.SIGKILL)
    return value


def facts_of(array):
    return array.flags.aligned, array.flags.writeable, array.strides, type(array).__name__, array.tolist()


def same(a, b):
    return a is b


class Counted:
    """A shared argument with a list of its own, which counts how often a worker reads it."""

    def __init__(self):
        self.values = list(range(50_000))
        self.array = np.arange(50_000)

    def method(self, n):
        return id(self), self.values[n] + int(self.array[n])


def test_results_are_in_the_order_of_the_tasks(cluster):
    with parallel.using(None, cluster):
        assert parallel.each(power, [(n, 2) for n in range(9)], anywhere=True) == [n * n for n in range(9)]
        assert dict(parallel.as_completed(power, [(n, 2) for n in range(9)])) == {n: n * n for n in range(9)}
        assert list(parallel.as_completed(power, [])) == []
        assert (parallel.jobs(), parallel.remote()) == (2, True)
    assert (parallel.jobs(), parallel.remote()) == (1, False)


def test_tasks_that_share_memory_stay_here(cluster):
    with parallel.using(None, cluster):
        assert set(parallel.each(os.getpid, [()] * 4, threads=True)) == {os.getpid()}
        found = set(parallel.each(os.getpid, [()] * 20, threads=True, anywhere=True))
    assert os.getpid() not in found
    assert len(found) == 2


def test_an_error_of_one_task_is_its_result(cluster):
    with parallel.using(None, cluster):
        found = dict(parallel.as_completed(power, [(2, 2), (-1, 2), (3, 2)]))
        with pytest.raises(DataError, match="base -1"):
            parallel.each(power, [(2, 2), (-1, 2)], anywhere=True)
    assert (found[0], found[2]) == (4, 9)
    assert (str(found[1].error), found[1].killed) == ("base -1", False)
    assert found[1].traceback.endswith("rerank.core.errors.DataError: base -1\n")


def test_notes_of_tasks_reach_the_caller_in_the_order_of_the_tasks(cluster):
    with pytest.warns(DataNote) as caught, parallel.using(None, cluster):
        parallel.each(remark, [(n,) for n in range(3)], anywhere=True)
    assert [str(one.message) for one in caught] == ["remark 0", "remark 1", "remark 2"]


def test_a_task_whose_worker_is_killed_is_tried_once_more_and_reported(cluster, here):
    reports = []
    with parallel.using(None, cluster):
        tasks = [(here / str(n), int(n == 2), n) for n in range(5)]
        found = dict(parallel.as_completed(killed, tasks, on_retry=lambda *one: reports.append(one)))
    assert found == {n: n for n in range(5)}
    ((number, end),) = reports
    assert number == 2
    assert end.startswith("tcp://127.0.0.1:")
    assert end.endswith(" is gone")


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
def test_a_task_whose_worker_is_killed_twice_fails_and_no_other_does(cluster, here):
    with parallel.using(None, cluster):
        tasks = [(here / str(n), 9 * int(n == 2), n) for n in range(5)]
        found = dict(parallel.as_completed(killed, tasks))
    failed = found.pop(2)
    assert found == {0: 0, 1: 1, 3: 3, 4: 4}
    assert isinstance(failed, TaskError)
    assert failed.killed
    assert "killed twice while it ran this task" in str(failed.error)
    assert len(os.listdir(here / "2")) == 2  # attempts: the scheduler made none of its own


def test_kernels_have_one_thread_on_workers(cluster):
    with parallel.using(None, cluster):
        threads = parallel.each(_threads, [(), ()], anywhere=True)
    assert {one for some in threads for one in some} == {1}


def _threads():
    from threadpoolctl import threadpool_info

    return [library["num_threads"] for library in threadpool_info()]


def test_large_arrays_come_aligned_and_in_their_order(cluster):
    array = np.arange(20_000.0).reshape(100, 200)
    odd = np.frombuffer(b"x" + array.tobytes(), dtype=np.uint8)[1:].view(np.float64)
    assert not odd.flags.aligned
    with parallel.using(None, cluster):
        c, f, o, every_second = parallel.each(
            facts_of, [(array,), (array.T,), (odd,), (array[::2],)], anywhere=True
        )
        changed = np.arange(20_000.0)
        assert parallel.each(facts_of, [(changed,)], anywhere=True)[0][-1][7] == 7
        changed[7] = -1.0  # the same object with another content
        assert parallel.each(facts_of, [(changed,)], anywhere=True)[0][-1][7] == -1
    assert c == (True, False, array.strides, "ndarray", array.tolist())
    assert f == (True, False, array.T.strides, "ndarray", array.T.tolist())
    assert o[:2] == (True, False)
    assert o[-1] == array.ravel().tolist()
    assert every_second[-1] == array[::2].tolist()


def test_workers_read_shared_arguments_once(cluster):
    shared = Counted()
    with parallel.using(None, cluster):
        found = parallel.each(shared.method, [(n,) for n in range(20)], anywhere=True)
    assert [value for _, value in found] == [2 * n for n in range(20)]
    assert len({one for one, _ in found}) <= 2


def test_what_is_sent_is_small_and_what_is_large_is_written_once(tmp_path):
    lists = CandidateLists.from_arrays(np.random.default_rng(1).normal(size=(20_000, 8)), group=[2] * 10_000)
    sender = ArraySpill(str(tmp_path))
    with sender.call():
        calls = [sender.packed(same, (lists, lists)) for _ in range(3)]
        written = set(os.listdir(tmp_path))
        assert all(len(call) < 2000 for call in calls)
        assert unpacked(run_task(calls[0])).value is True
        size = sum((tmp_path / name).stat().st_size for name in written)
        assert lists.features.arrays()["features"].nbytes < size < 1.2 * 8 * 20_000 * 8
    with sender.call():
        sender.packed(same, (lists, 1))
        assert set(os.listdir(tmp_path)) == written  # nothing anew
    with sender.call():
        sender.packed(same, (1, 1))
    assert os.listdir(tmp_path) == []


def test_equal_arguments_stay_two_objects(tmp_path):
    """A Gram matrix of a set with itself is computed by halves, that of two equal sets is not."""
    a, b = ([0] * 50_000 for _ in range(2))
    sender = ArraySpill(str(tmp_path))
    with sender.call():
        calls = [sender.packed(same, pair) for pair in ((a, a), (a, b), (b, a), (b, b))]
        assert [unpacked(run_task(call)).value for call in calls] == [True, False, False, True]


def test_a_call_within_another_leaves_its_files(tmp_path):
    large = [0] * 50_000
    sender = ArraySpill(str(tmp_path))
    with sender.call():
        first = sender.packed(len, (large,))
        with sender.call():
            sender.packed(len, ([1] * 50_000,))
        assert unpacked(run_task(first)).value == 50_000


def test_the_folder_of_large_values_is_deleted_also_after_an_error(cluster, here, monkeypatch):
    monkeypatch.setattr(sending, "_LARGE", 1)
    with parallel.using(None, cluster):
        parallel.each(power, [(2, 2)], anywhere=True)
        (folder,) = os.listdir(here)
        assert folder.startswith(".rerank-scratch.")
    assert os.listdir(here) == []
    with pytest.raises(DataError), parallel.using(None, cluster):
        parallel.each(power, [(-2, 2)], anywhere=True)
    assert os.listdir(here) == []


def test_the_folder_of_large_values_can_be_chosen(cluster, here, monkeypatch):
    (here / "other").mkdir()
    monkeypatch.setenv("RERANK_SCRATCH", "other")
    with parallel.using(None, cluster):
        assert len(os.listdir(here / "other")) == 1
    monkeypatch.setenv("RERANK_SCRATCH", "missing")
    with pytest.raises(RerankError, match="missing: no such file or folder"), parallel.using(None, cluster):
        pass


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_nothing_stays_after_the_end_of_a_run_and_the_next_one(cluster, here, sent):
    program = (
        "import signal, sys, time, numpy\nfrom rerank.core.workers import parallel\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it\n"
        f"with parallel.using(None, {cluster!r}):\n"
        "    print('begun', flush=True)\n"
        "    parallel.each(numpy.sum, [(numpy.zeros(10**5),)], anywhere=True)\n"
        "    print('written', flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=here
    ) as process:
        assert process.stdout.readline() == b"begun\n"
        assert process.stdout.readline() == b"written\n"
        process.send_signal(sent)
        process.communicate(timeout=30)
    left = os.listdir(here)
    assert len(left) == (0 if sent == signal.SIGINT else 1)
    with parallel.using(None, cluster):
        assert not set(left) & set(os.listdir(here))
    assert os.listdir(here) == []


@pytest.mark.parametrize(
    "address", ["", "here", "tcp://here", "here:8786", "http://here:8786", "tcp://here:x", "tcp://a b:1"]
)
def test_a_malformed_address_is_refused(address):
    with (
        pytest.raises(ConfigError, match=r"cluster: found .*, expected an address such as tcp://host:8786"),
        parallel.using(None, address),
    ):
        pass


def test_jobs_and_a_cluster_are_not_both_used():
    with (
        pytest.raises(ConfigError, match="cannot be combined with a cluster"),
        parallel.using(2, "tcp://here:8786"),
    ):
        pass


def test_a_missing_package_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(ConfigError, match=r'--cluster needs .*: pip install "rerank\[dask\]"'),
        parallel.using(None, "tcp://127.0.0.1:8786"),
    ):
        pass


def test_a_scheduler_that_does_not_answer_is_one_line(monkeypatch):
    pytest.importorskip("distributed", reason="the extra rerank[dask] is not installed")
    monkeypatch.setattr(rerank.core.workers.dask, "_PATIENCE", 0.3)
    with (
        pytest.raises(RerankError, match=r"tcp://127.0.0.1:9: the scheduler does not answer"),
        parallel.using(None, "tcp://127.0.0.1:9"),
    ):
        pass


def test_a_cluster_without_workers_is_one_line(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="the extra rerank[dask] is not installed")
    monkeypatch.setattr(rerank.core.workers.dask, "_PATIENCE", 1.0)
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty:
        address = empty.scheduler_address
        with pytest.raises(RerankError, match="the cluster has no worker"), parallel.using(None, address):
            pass


def test_workers_of_another_version_are_refused(cluster, monkeypatch):
    monkeypatch.setattr(rerank.core.workers.dask, "__version__", "9.9")
    with (
        pytest.raises(RerankError, match=r"the worker has rerank .*, expected 9\.9"),
        parallel.using(None, cluster),
    ):
        pass


def test_workers_that_do_not_see_the_folder_are_refused(cluster, monkeypatch):
    @contextmanager
    def elsewhere(folder):
        yield str(Path(folder) / "of" / "another-machine")

    monkeypatch.setattr(rerank.core.workers.dask, "scratch", elsewhere)
    with (
        pytest.raises(
            RerankError, match=r"does not see .*: work in .*, or name one \(RERANK_SCRATCH=FOLDER\)"
        ),
        parallel.using(None, cluster),
    ):
        pass


def test_workers_that_do_not_see_the_current_directory_are_refused(cluster, monkeypatch):
    monkeypatch.setenv("RERANK_SCRATCH", os.getcwd())
    monkeypatch.setattr(os, "getcwd", lambda: "/home/of/nobody")
    with pytest.raises(RerankError, match="does not see /home/of/nobody: work in a folder that all"):
        parallel.using(None, cluster).__enter__()


def test_tasks_run_in_the_current_directory(cluster, here):
    with parallel.using(None, cluster):
        assert parallel.each(os.getcwd, [()], anywhere=True) == [str(here)]


def test_a_scheduler_that_ends_is_one_line(cluster, monkeypatch):
    def gone():
        raise OSError("no answer")

    with connected(cluster) as there:
        monkeypatch.setattr(there._client, "nthreads", gone)
        with pytest.raises(RerankError, match=r"127.0.0.1:\d+: the scheduler is gone \(no answer\)"):
            list(there.outcomes(power, [(1, 1)], print))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ModuleNotFoundError("No module named 'rerank'", name="rerank"), "cannot import rerank"),
        (ValueError("bad"), "tcp://w:1: ValueError: bad"),
    ],
)
def test_workers_that_cannot_be_asked_are_one_line(cluster, monkeypatch, error, expected):
    with connected(cluster) as there:
        monkeypatch.setattr(there._client, "run", lambda *_, **__: {"tcp://w:1": error})
        with pytest.raises(RerankError, match=expected):
            there._check(["tcp://w:1"])
        monkeypatch.setattr(there._client, "run", lambda *_, **__: {"tcp://w:1": OSError("just ended")})
        there._check(["tcp://w:1"])


def test_a_note_reports_threads_that_stay_idle():
    distributed = pytest.importorskip("distributed", reason="the extra rerank[dask] is not installed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=3, dashboard_address=":0") as made:
        address = made.scheduler_address
        with pytest.warns(DataNote, match="2 threads of workers stay idle"), parallel.using(None, address):
            assert Counter(parallel.each(power, [(1, 1)] * 3, anywhere=True)) == {1: 3}


pytest.importorskip("distributed", reason="the extra rerank[dask] is not installed")
HERE = rerank.core.workers.dask.versions_here()
YEAR = int(HERE["distributed"].partition(".")[0])


@pytest.mark.parametrize(
    ("name", "theirs", "ours"),
    [
        ("python", "3.5.2.final.0", ".".join(map(str, sys.version_info[:3]))),
        ("distributed", f"{YEAR - 2}.1.0", HERE["distributed"]),
        ("distributed", None, HERE["distributed"]),
    ],
)
@pytest.mark.parametrize("of", ["scheduler", "workers"])
def test_versions_that_cannot_work_together_are_refused(cluster, monkeypatch, name, theirs, ours, of):
    found = {**HERE, name: theirs}
    label, shown = name.replace("python", "Python"), str(theirs).removesuffix(".final.0")
    who = r"tcp://127.0.0.1:\d+: the " + of.removesuffix("s")
    if of == "scheduler":
        put_versions(monkeypatch, found)
    else:
        from distributed import Client

        monkeypatch.setattr(Client, "get_versions", lambda *_, **__: {"workers": AnyWorker(found)})
    with pytest.raises(RerankError, match=f"^{who} has {label} {shown}, expected {ours} as here$"):  # noqa: SIM117
        with parallel.using(None, cluster):
            pass


def test_other_versions_are_noted_in_one_line(cluster, monkeypatch):
    other = f"{YEAR}.0.1"
    put_versions(monkeypatch, {**HERE, "distributed": other})
    with pytest.warns(DataNote) as caught, parallel.using(None, cluster):
        assert parallel.each(power, [(2, 2)], anywhere=True) == [4]
    (note,) = caught
    text = f"{cluster}: the scheduler has distributed {other}, here is {HERE['distributed']}"
    assert str(note.message) == text
    monkeypatch.undo()


def test_other_numbers_packages_of_workers_are_noted():
    with pytest.warns(DataNote, match=r"^w has numpy 1.0, here is .*; last digits may differ$"):
        rerank.core.workers.dask._check_versions("w", {**HERE, "numpy": "1.0"}, ("numpy", "scipy"))


class AnyWorker(dict):
    """The same versions for every worker."""

    def __init__(self, versions):
        super().__init__()
        self.versions = versions

    def __contains__(self, address):
        return True

    def __getitem__(self, address):
        return {"packages": self.versions}


def put_versions(monkeypatch, versions):
    async def asked(address):
        return versions

    monkeypatch.setattr(rerank.core.workers.dask, "_asked", asked)
