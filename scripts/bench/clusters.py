"""The cost of a fit over shards: CPU of an item and a question, of a task on a cluster, and larger fits.

    python scripts/bench/clusters.py [--quick]          the cost model and its check
    python scripts/bench/clusters.py --cluster N        clock and CPU of two workers, and of one process
    python scripts/bench/clusters.py --memory N         a fit whose memory is limited, and one in memory

The one in memory is left out if the set has more than a quarter of this machine's memory.

Sets are drawn: float32 features, lists of 100 items with 136 features and labels 0 to 4, or N-best lists of
1,000 with 20 features. Fits run here, shard by shard, at 1/10,000 and at 1/1,000 of 10^9 items. The CPU
seconds of the larger fit are predicted from those of the smaller one. From the larger one the minutes of 10^9
items on 10, 100 and 1,000 workers of one core are computed, and the number of workers at which a question
takes as long for this process as for the workers.
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import arguments, need

from rerank.core.workers import parallel
from rerank.data.lists import CandidateLists
from rerank.data.shards.write import write_shards
from rerank.training.data import NO_SIDE_INPUTS
from rerank.training.options import options_of
from rerank.training.pipeline import pipeline_of
from rerank.training.sums.fit import ShardParts, fit_shards, heading_of

Learners = dict[str, dict[str, Any]]
LETOR: Learners = {
    "lda": {},
    "ridge": {},
    "logistic": {},
    "listnet": {},
    "loglinear": {},
    "ranksvm": {},
    "parameter-mixing": {"epochs": 10},
    "rankboost": {"thresholds": 255, "rounds": 100},
    "coordinate-ascent": {"metric": "nDCG@10", "restarts": 1, "passes": 1},
}
NBEST: Learners = {
    "loglinear": {},
    "mrt": {"metric": "label@1"},
    "parameter-mixing": {"epochs": 10, "rivals": "top"},
    "mert": {"metric": "label@1", "restarts": 2},
    "mira": {"metric": "label@1", "epochs": 10},
}
# Items of a list, features, grades, shards, learners.
SHAPES: dict[str, tuple[int, int, int, int, Learners]] = {
    "letor": (100, 136, 5, 8, LETOR),
    "nbest": (1000, 20, 100, 4, NBEST),
}
WHOLE = 10**9
SHARD = 256 << 20  # bytes of a shard
WORKERS = (10, 100, 1000)


def blocks(shape: str, n_items: int) -> Iterator[CandidateLists]:
    """Yield drawn lists, some at a time."""
    length, d, grades, _, _ = SHAPES[shape]
    step, rng, done = max(1, 20_000 // length), np.random.default_rng(1), 0
    truth = rng.standard_normal(d) / np.sqrt(d)
    while done < n_items // length:
        n = min(step, n_items // length - done)
        X = rng.standard_normal((n * length, d)).astype(np.float32)
        y = X @ truth + rng.standard_normal(len(X))
        labels = np.clip(np.floor((y + 3) / 6 * grades), 0, grades - 1)
        yield CandidateLists.from_arrays(X, labels, group=np.full(n, length))
        done += n


def stored(folder: Path, shape: str, n_items: int, shards: int) -> Path:
    """Write a set as so many shards."""
    d = SHAPES[shape][1]
    path = folder / f"{shape}-{n_items}"
    if not path.exists():
        write_shards(blocks(shape, n_items), str(path), n_items * d * 4 // shards)
    return path


class Costs(NamedTuple):
    """CPU seconds of a fit.

    Attributes
    ----------
    items, shards, questions : how many.
    reading, asking, central : surveys and reading, answers to questions, the rest.
    answer : bytes of the answers of one shard to all questions.
    """

    items: int
    shards: int
    questions: int
    reading: float
    asking: float
    central: float
    answer: int

    @property
    def total(self) -> float:
        """Return all CPU seconds."""
        return self.reading + self.asking + self.central


def n_bytes(value: Any) -> int:
    """Return about how many bytes an answer has."""
    if isinstance(value, tuple | list):
        return sum(map(n_bytes, value))
    return value.nbytes if isinstance(value, np.ndarray) else 8


@contextlib.contextmanager
def watched() -> Iterator[dict[str, list[Any]]]:
    """Note the CPU seconds and the bytes of all questions within the block."""
    found: dict[str, list[Any]] = {"reading": [], "asking": [], "bytes": []}
    each = ShardParts.each

    def noting(self: ShardParts, function: Any, *given: Any) -> list[Any]:
        started = time.process_time()
        answers = each(self, function, *given)
        of_learner = self._work.learner is not None and getattr(function, "__name__", "") != "_why_nothing"
        found["asking" if of_learner else "reading"].append(time.process_time() - started)
        if of_learner:
            found["bytes"].append(max(map(n_bytes, answers)))
        return answers

    ShardParts.each = noting  # type: ignore[method-assign]
    try:
        yield found
    finally:
        ShardParts.each = each  # type: ignore[method-assign]


def fitted(path: Path, name: str, given: dict[str, Any]) -> bytes:
    """Return the arrays of a model that is fitted over shards."""
    pipeline = pipeline_of(options_of(name, given))
    model: Any = fit_shards(pipeline, heading_of(pipeline, str(path)), None, NO_SIDE_INPUTS)
    return b"".join(array.tobytes() for array in model.arrays().values())


def costs_of(path: Path, name: str, given: dict[str, Any], n_items: int, shards: int) -> Costs:
    """Return what a fit costs."""
    started = time.process_time()
    with watched() as found:
        fitted(path, name, given)
    total = time.process_time() - started
    reading, asking = sum(found["reading"]), sum(found["asking"])
    central = total - reading - asking
    return Costs(n_items, shards, len(found["asking"]), reading, asking, central, sum(found["bytes"]))


def task_seconds(workers: int = 2, times: int = 40) -> float:
    """Return the CPU seconds of this process, with the scheduler in it, of one task of a small question."""
    with local_cluster(workers) as address, parallel.using(None, address):
        tasks = [(k,) for k in range(workers)]
        parallel.each(_nothing, tasks, threads=True, anywhere=True)
        started = time.process_time()
        for _ in range(times):
            parallel.each(_nothing, tasks, threads=True, anywhere=True)
        return (time.process_time() - started) / (times * workers)


def _nothing(k: int) -> int:
    return k


@contextlib.contextmanager
def local_cluster(workers: int) -> Iterator[str]:
    """Yield the address of a scheduler in this process, with workers of one thread."""
    need("distributed")
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as there:
        yield there.scheduler_address


def minutes(cost: Costs, d: int, task: float, workers: int) -> float:
    """Return the minutes of 10^9 items with ``d`` features on so many workers."""
    share = WHOLE / cost.items / workers
    rounds = cost.questions * task * workers
    adding = cost.central * (WHOLE * d * 4 / SHARD) / cost.shards
    return ((cost.reading + cost.asking) * share + rounds + adding) / 60


def model(folder: Path, shape: str, task: float, quick: bool) -> None:
    """Print costs, their check, and the minutes of 10^9 items."""
    length, d, _, shards, learners = SHAPES[shape]
    sizes = (10**4, 10**5) if quick else (10**5, 10**6)
    print(f"\n{shape}: lists of {length}, {d} features, {shards} shards, {sizes[0]:,} and {sizes[1]:,} items")
    for name, given in learners.items():
        small, large = (costs_of(stored(folder, shape, n, shards), name, given, n, shards) for n in sizes)
        guess = small.asking / small.items / small.questions * large.items * large.questions
        guess += small.reading / small.items * large.items
        done = large.reading + large.asking
        asked = large.asking / large.items / large.questions
        on = " / ".join(f"{minutes(large, d, task, workers):.1f}" for workers in WORKERS)
        print(
            f"{name}: reads {1e6 * large.reading / large.items:.2f} us an item, {large.questions} questions"
            f" of {1e9 * asked:.0f} ns an item, {large.answer / large.questions:,.0f} bytes a shard, here"
            f" {large.central:.2f} s; predicted {guess:.2f}, measured {done:.2f} CPU s;"
            f" 10^9 items: {on} minutes on {WORKERS} workers; {np.sqrt(asked * WHOLE / task):,.0f} at most",
            flush=True,
        )


def two_workers(folder: Path, n_items: int) -> None:
    """Print clock and CPU of one process and of two workers."""
    path = stored(folder, "letor", n_items, 8)
    print(f"load {os.getloadavg()[0]:.1f}; {n_items:,} items of 136 features")
    with local_cluster(2) as address:
        for name in ("ridge", "logistic", "listnet", "loglinear", "ranksvm"):
            started, used = time.perf_counter(), time.process_time()
            alone = fitted(path, name, {})
            one, cpu = time.perf_counter() - started, time.process_time() - used
            with parallel.using(None, address):
                started, used = time.perf_counter(), time.process_time()
                same = fitted(path, name, {}) == alone
                two, central = time.perf_counter() - started, time.process_time() - used
            print(
                f"{name:<10} one process {one:6.1f} s ({cpu:.1f} CPU s), two workers {two:6.1f} s"
                f" ({central:.1f} CPU s here): {one / two:.2f} x, same bytes: {same}",
                flush=True,
            )


_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[1]),) * 2)
sys.argv[:2] = ["rerank"]
from rerank.cli import main
main()
"""


# Shape of the set, learner, options.
LARGE = [
    *(("letor", name, ()) for name in ("ridge", "logistic", "listnet", "loglinear", "ranksvm")),
    ("letor", "perceptron", ("--set", "epochs=5")),
    ("nbest", "mert", ("--metric", "label@1")),
]


def memory(folder: Path, n_items: int, limit: int) -> None:
    """Print the peak of anonymous memory and the CPU seconds of fits with and without a limit."""
    fits = n_items * 136 * 4 <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
    print(f"{n_items:,} x 136 float32, {n_items * 136 * 4 / 1e9:.2f} GB; limit {limit >> 20} MB of data")
    for shape, name, options in LARGE:
        path = stored(folder, shape, n_items, 8)
        found = []
        command = ["train", *options, "--data", str(path), "--learner", name, "--out"]
        for how in (1 << 40, limit) if fits else (limit,):
            more = {"RERANK_MEMORY": str(limit)} if how == limit else {}
            model = str(folder / f"{how}.model")
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            child = subprocess.Popen(
                [sys.executable, "-c", _LIMITED, str(how), *command, model],
                env=os.environ | {"TMPDIR": str(folder), "OPENBLAS_NUM_THREADS": "1"} | more,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            peak = _peak(child)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if child.returncode:
                raise SystemExit(f"{name}: {child.communicate()[1].strip()}")
            seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
            found.append((seconds, peak, Path(model).read_bytes()))
        (slow, low, limited) = found[-1]
        text = f"{name}: limited {slow:.1f} CPU s, {low >> 20:,} MB"
        if fits:
            fast, high, whole = found[0]
            text += f"; in memory {fast:.1f} CPU s, {high >> 20:,} MB: {slow / fast:.2f} x"
            text += f"; same bytes: {whole == limited}"
        print(text, flush=True)


def _peak(child: subprocess.Popen[str]) -> int:
    """Return the largest anonymous memory of a process, looked at every 20 ms."""
    peak = 0
    while child.poll() is None:
        with contextlib.suppress(OSError, ValueError, StopIteration):
            status = Path(f"/proc/{child.pid}/status").read_text()
            line = next(one for one in status.splitlines() if one.startswith("RssAnon"))
            peak = max(peak, int(line.split()[1]) << 10)
        time.sleep(0.02)
    return peak


def main() -> None:
    parser = arguments(__doc__ or "", quick="smaller sets")
    parser.add_argument("--cluster", type=int, metavar="N", help="items for two workers")
    parser.add_argument("--memory", type=int, metavar="N", help="items for a fit with limited memory")
    parser.add_argument("--limit", type=int, default=1024, metavar="MB", help="the limit of --memory")
    parser.add_argument("--folder", type=Path, help="where sets are kept; none = they are deleted")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        place = given.folder or Path(folder)
        place.mkdir(exist_ok=True)
        if given.cluster:
            two_workers(place, given.cluster)
        elif given.memory:
            memory(place, given.memory, given.limit << 20)
        else:
            task = task_seconds()
            print(f"a task of a question: {1e3 * task:.2f} ms of this process and the scheduler")
            for shape in SHAPES:
                model(place, shape, task, given.quick)


if __name__ == "__main__":
    main()
