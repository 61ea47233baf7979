#!/usr/bin/env python3
"""Workers: seconds to start two, seconds of an empty task, and the speed-up of two on training.

    python scripts/bench/workers.py [--data FILE --dev FILE] [--quick]

Worker processes, and a cluster of two processes on this machine if distributed is installed. With --data,
such as OHSUMED's training file, eight perceptrons with consecutive seeds are trained by one job and by two.
Times are of the wall clock, so the machine must be idle; the least of three is printed. --quick: fewer tasks,
one try.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from common import arguments, installed

from rerank.core.workers import parallel
from rerank.training.config import read_config
from rerank.training.train import train_files

WORKERS = 2


def seconds(work: Callable[[], object], tries: int) -> float:
    """Return the least time of some tries."""
    found = []
    for _ in range(tries):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def overhead(name: str, n: int, tries: int, cluster: str | None) -> None:
    """Print what starting or connecting costs, and what a further empty task costs."""

    def tasks(n: int) -> None:
        with parallel.using(None if cluster else WORKERS, cluster):
            list(parallel.as_completed(os.getpid, [()] * n))

    first, all_ = seconds(lambda: tasks(WORKERS), tries), seconds(lambda: tasks(n), tries)
    print(f"{name:<18} start {first:6.2f} s   empty task {1e3 * (all_ - first) / (n - WORKERS):6.2f} ms")


@contextmanager
def local_cluster() -> Iterator[str | None]:
    """Yield the address of a cluster of this machine, None without distributed."""
    if not installed("distributed"):
        yield None
        return
    from distributed import LocalCluster

    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as made:
        yield made.scheduler_address


def training(data: str, dev: str, tries: int, **workers: object) -> float:
    """Return the seconds of eight fits."""
    base = {"data.train": [data], "data.dev": [dev], "select.metric": "NDCG@10", "seeds": 8, **workers}
    config = read_config(None, ["rounds=300"], base)
    return seconds(lambda: train_files(config), tries)


def main() -> None:
    """Print a row for each kind of worker, and one for training."""
    parser = arguments(__doc__ or "", quick="fewer tasks, one try")
    parser.add_argument("--data", metavar="FILE", help="training lists")
    parser.add_argument("--dev", metavar="FILE", help="development lists")
    asked = parser.parse_args()
    tries, n = (1, 50) if asked.quick else (3, 1000)
    overhead("processes", n, tries, None)
    with local_cluster() as address:
        if address is not None:
            overhead("cluster", n, tries, address)
        if asked.data and asked.dev:
            one = training(asked.data, asked.dev, tries, jobs=1)
            print(f"8 fits, 1 job      {one:6.2f} s")
            for name, workers in (("2 jobs", {"jobs": 2}), ("cluster", {"cluster": address})):
                if None not in workers.values():
                    taken = training(asked.data, asked.dev, tries, **workers)
                    print(f"8 fits, {name:<10} {taken:6.2f} s   {one / taken:.2f} times as fast")


if __name__ == "__main__":
    main()
