"""Tasks over workers: the order and the errors are those of one worker."""

import os
import threading

import pytest

from rerank import parallel
from rerank.errors import ConfigError, DataError, RerankError


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


def test_a_worker_that_is_killed_is_a_one_line_error():
    with parallel.using(2), pytest.raises(RerankError, match="one of 2 worker processes was killed"):
        parallel.each(os._exit, [(3,), (3,)])
