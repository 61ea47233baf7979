"""Tasks over workers: the order and the errors are those of one worker."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError, RerankError
from rerank.core.workers import parallel
from rerank.core.workers.parallel import TaskError
from rerank.core.workers.pool import capture_warnings


def power(base, exponent):
    if base < 0:
        raise DataError(f"base {base}")
    return base**exponent


TASKS = [(n, 2) for n in range(20)]


@pytest.mark.parametrize("threads", [True, False])
@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_results_are_in_the_order_of_the_tasks(jobs, threads):
    with parallel.using(jobs):
        assert parallel.each(power, TASKS, threads=threads) == [n * n for n in range(20)]


@pytest.mark.parametrize("threads", [True, False])
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_is_raised_unchanged(jobs, threads):
    with parallel.using(jobs), pytest.raises(DataError, match="base -1"):
        parallel.each(power, [(2, 2), (-1, 2)], threads=threads)


@pytest.mark.parametrize("threads", [True, False])
def test_of_several_errors_the_first_in_order_is_raised(threads):
    with parallel.using(2), pytest.raises(DataError, match=r"after 0\.3"):
        parallel.each(fail_after, [(0.3,), (0.0,)], threads=threads)


def value_at(arrays, number):
    return id(arrays), arrays[0].flags.writeable, float(arrays[0][number])


def test_shared_arguments_are_read_once_by_each_worker():
    arrays = [np.arange(20_000.0), "x" * (1 << 17)]
    with parallel.using(1):
        found = list(parallel.in_order(value_at, [(arrays, n) for n in range(5)], shared=True))
    assert [value for _, _, value in found] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert len({place for place, _, _ in found}) == 1
    assert not any(writeable for _, writeable, _ in found)


def test_an_error_of_a_process_has_the_traceback_of_the_worker():
    with parallel.using(2), pytest.raises(ZeroDivisionError) as caught:
        parallel.each(divmod, [(1, 1), (1, 0)])
    assert "in run_task" in caught.value.__notes__[0]


def test_threads_work_at_once():
    meeting = threading.Barrier(2, timeout=20)
    with parallel.using(2):
        assert sorted(parallel.each(meeting.wait, [(), ()], threads=True)) == [0, 1]


def test_no_tasks_give_no_results():
    with parallel.using(2):
        assert parallel.each(power, []) == []


def test_the_number_of_workers_applies_only_within_its_block():
    assert parallel.jobs() == 1
    with parallel.using(3):
        assert parallel.jobs() == 3
        with parallel.using(None):
            assert parallel.jobs() == 3
        with parallel.using(0):
            assert parallel.jobs() == parallel.cores() >= 1
    assert parallel.jobs() == 1


def test_a_negative_number_is_refused():
    with (
        pytest.raises(ConfigError, match=r"jobs: found -1, expected 0 \(one per core\) or more"),
        parallel.using(-1),
    ):
        pass


def fail_after(seconds):
    time.sleep(seconds)
    raise DataError(f"after {seconds}")


def process_id():
    return os.getpid()


def once_killed(path, value):
    """Kill the worker the first time, return ``value`` the second."""
    with suppress(FileExistsError):
        path.mkdir()
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def slow(seconds, value):
    time.sleep(seconds)
    return value


def remark(n):
    for _ in range(2):
        warnings.warn(f"remark {n}", DataNote, stacklevel=1)
    return n


def environment_of_kernels():
    import scipy.linalg  # noqa: F401  (its BLAS is another one than numpy's)
    from threadpoolctl import threadpool_info

    return os.environ["OMP_NUM_THREADS"], [library["num_threads"] for library in threadpool_info()]


def unsendable():
    return threading.Lock()


class OddError(Exception):
    """Cannot be pickled: it takes two arguments and has one."""

    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def odd():
    raise OddError(1, 2)


def completed(function, tasks, jobs=2, **options):
    with parallel.using(jobs):
        return dict(parallel.as_completed(function, tasks, **options))


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_results_come_with_the_number_of_their_task(jobs):
    assert completed(power, TASKS, jobs) == {n: n * n for n in range(20)}
    assert completed(power, []) == {}


def test_results_come_as_tasks_end():
    with parallel.using(2):
        assert [n for n, _ in parallel.as_completed(slow, [(2.0, 0), (0.0, 1), (0.0, 2)])] == [1, 2, 0]


def test_workers_are_other_processes_and_are_used_again():
    for jobs in (1, 2):
        found = set(completed(process_id, [()] * 12, jobs).values())
        assert os.getpid() not in found
        assert 1 <= len(found) <= jobs


def test_an_error_of_one_task_is_its_result():
    found = completed(power, [(2, 2), (-1, 2), (3, 2)])
    assert (found[0], found[2]) == (4, 9)
    assert isinstance(found[1], TaskError)
    assert isinstance(found[1].error, DataError)
    assert str(found[1].error) == "base -1"
    assert found[1].traceback.endswith("rerank.core.errors.DataError: base -1\n")
    assert not found[1].killed


def test_errors_keep_their_class_if_they_can_be_sent():
    found = completed(_raise, [(FormatError("a", 3, "x", "y"),), (SystemExit(3),), (KeyboardInterrupt(),)])
    assert [type(one.error) for one in found.values()].count(FormatError) == 1
    assert str(found[1].error) == "SystemExit: 3"
    assert str(completed(odd, [()])[0].error) == "OddError: 1 and 2"
    assert "TypeError" in completed(unsendable, [()])[0].traceback


def _raise(error):
    raise error


def test_a_function_that_a_worker_cannot_find_is_an_error_of_the_task(monkeypatch):
    def here():
        pass

    here.__qualname__ = "here"
    monkeypatch.setattr(sys.modules[__name__], "here", here, raising=False)
    assert "here" in str(completed(here, [()])[0].error)


def test_arguments_that_cannot_be_sent_are_an_error_at_once():
    with pytest.raises(TypeError, match="pickle"):
        completed(power, [(threading.Lock(), 2)])


def test_kernels_have_one_thread_in_workers(monkeypatch):
    pytest.importorskip("threadpoolctl", reason="threadpoolctl counts the threads")
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    variable, threads = completed(environment_of_kernels, [()])[0]
    assert variable == "1"
    assert threads
    assert set(threads) == {1}


@pytest.mark.parametrize("jobs", [1, 2])
def test_notes_of_tasks_reach_the_caller_in_the_order_of_the_tasks(jobs):
    with pytest.warns(DataNote) as caught, parallel.using(jobs):
        parallel.each(remark, [(n,) for n in range(3)])
    assert [str(one.message) for one in caught] == [f"remark {n}" for n in (0, 0, 1, 1, 2, 2)]


def test_notes_of_tasks_obey_the_callers_filters():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        assert completed(remark, [(0,)]) == {0: 0}
    with pytest.raises(DataNote, match="remark 0"):
        completed(remark, [(0,)])


def test_filters_of_the_caller_hold_again_after_tasks_in_this_process():
    with capture_warnings() as notes, capture_warnings() as inner:
        warnings.warn("heard", DataNote, stacklevel=1)
    assert (notes, [text for text, *_ in inner]) == ([], ["heard"])
    with pytest.raises(DataNote, match="not of a task"):  # warnings are errors in tests
        warnings.warn("not of a task", DataNote, stacklevel=1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_task_whose_worker_is_killed_is_tried_once_more_and_reported(jobs, tmp_path):
    reports = []
    tasks = [(tmp_path / str(n % 5), n) for n in range(20)]
    found = completed(once_killed, tasks, jobs, on_retry=lambda *report: reports.append(report))
    assert found == {n: n for n in range(20)}
    assert Counter(end for _, end in reports) == {"SIGKILL, perhaps because memory ran out": 5}
    assert len({number % 5 for number, _ in reports}) == 5


def test_a_retry_is_a_note_if_the_caller_does_not_ask_for_it(tmp_path):
    with pytest.warns(DataNote, match=r"a worker process was killed \(SIGKILL, .*\) while it ran task 2"):
        assert completed(once_killed, [(tmp_path, 0), (tmp_path / "new", 1)]) == {0: 0, 1: 1}


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
def test_a_task_whose_worker_is_killed_twice_fails_and_no_other_does():
    found = completed(_ends, [(0,), (3,), (0,), (3,), (0,), (0,)], 3)
    failed = {number: one for number, one in found.items() if isinstance(one, TaskError)}
    assert sorted(failed) == [1, 3]
    for one in failed.values():
        assert one.killed
        assert str(one.error) == "the worker process was killed twice while it ran this task (exit code 3)"


def _ends(code):
    if code:
        os._exit(code)
    time.sleep(0.05)


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
def test_a_worker_that_is_killed_is_a_one_line_error():
    with parallel.using(2), pytest.raises(RerankError, match=r"killed twice .*exit code 3\)"):
        parallel.each(os._exit, [(3,), (3,)])


def test_workers_that_cannot_start_are_an_error(monkeypatch):
    monkeypatch.setattr("rerank.core.workers.processes._START", "import os; os._exit(7)")
    with pytest.raises(RerankError, match=r"worker processes end before they are ready \(exit code 7\)"):
        completed(power, TASKS)


def test_large_results_and_arguments_pass():
    values = np.arange(1_000_000)
    found = completed(np.negative, [(values,), (values + 1,)])
    assert np.array_equal(found[1], -values - 1)


def alive(process):
    """Whether a process runs; one that ended and waits for its parent does not."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    return False


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def announce(folder, seconds):
    (folder / str(os.getpid())).touch()
    time.sleep(seconds)


def meet(folder, seconds):
    """Announce this worker, wait for another one, then work on."""
    announce(folder, 0)
    wait_for(lambda: len(os.listdir(folder)) == 2)
    time.sleep(seconds)


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


@needs_proc
def test_workers_end_with_the_iterator(tmp_path):
    with parallel.using(2):
        tasks = parallel.as_completed(meet, [(tmp_path, 0), (tmp_path, 600)])
    with closing(tasks):
        assert next(tasks) == (0, None)
        assert len(os.listdir(tmp_path)) == 2
    assert not [one for one in os.listdir(tmp_path) if alive(one)]


@needs_proc
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_workers_end_with_their_parent_whatever_ends_it(sent, tmp_path):
    program = tmp_path / "program.py"
    folder = tmp_path / "workers"
    folder.mkdir()
    program.write_text(
        "import pathlib, signal, sys\nfrom rerank.core.workers import parallel\n"
        "from test_parallel import announce\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it\n"
        "with parallel.using(2):\n"
        "    list(parallel.as_completed(announce, [(pathlib.Path(sys.argv[1]), 600)] * 4))\n"
    )
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(program), str(folder)]
    with subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE, start_new_session=True
    ) as parent:
        try:
            assert wait_for(lambda: len(os.listdir(folder)) == 2)
            if sent == signal.SIGINT:  # as the terminal does: to the whole group
                os.killpg(parent.pid, sent)
            else:
                os.kill(parent.pid, sent)
            _, errors = parent.communicate(timeout=20)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(parent.pid, signal.SIGKILL)
    assert wait_for(lambda: not [one for one in os.listdir(folder) if alive(one)])
    assert errors.count(b"Traceback") == (1 if sent == signal.SIGINT else 0)  # none of a worker


def test_a_script_needs_no_guard(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from rerank.core.workers import parallel\n"
        "with parallel.using(2):\n    print(parallel.each(divmod, [(7, 2)] * 3))\n"
    )
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("[(3, 1), (3, 1), (3, 1)]\n", "")
