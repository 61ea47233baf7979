"""How CPU time grows with the size of lists and with their number, of every metric, statistic and verb.

    python scripts/bench/growth.py [--most 1000000] [--limit 60] [--only TEXT]

Each subject runs in a process of its own, with a limit on its CPU seconds, on sets of growing sizes: one
list whose scores are all equal (tied), all different, or half of them rounded to two digits (rounded); and
lists of one item each (lists). Metrics are those of the registry: judges are prepared, and scores,
first-best, random and oracle are judged. A size is left out if the one before predicts more seconds than
the limit.

A row has the CPU seconds for each size, the exponent of the growth from the smallest size that takes a tenth
of a second, and the longest time in which Ctrl-C would not have been answered: a timer sends signals all the
time, and the CPU time between two that are handled is measured. Exit code 1: an exponent above 1.2 that the
manual does not name, a limit reached, or more than a second without an answer.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments

from rerank.cli import main as command_line
from rerank.core.types import Floats
from rerank.data.classes import Predictions, class_lists
from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.columns.traces import Traces, key_of
from rerank.data.lists import CandidateLists
from rerank.evaluation import by_list, significance
from rerank.metrics.base import FAMILIES, parse, prepare_all
from rerank.metrics.judges import statistics
from rerank.metrics.judging import Judging

EXPONENT = 1.2
ONE_LIST = ("tied", "different", "rounded")
WORK = Callable[[], object]
VERBS = {
    "validate": "validate data.letor",
    "validate run": "validate data.run --qrels data.qrels",
    "pairs": "pairs data.letor",
    "predict": "predict model data.letor --out scores",
    "predict table": "predict model data.letor --as table --out scores",
    "eval": "eval data.letor :1 -m AP -m Kendall -m infAP --samples 100",
    "eval tables": "eval data.letor :1 -m AP --samples 100 --as csv --by-list",
    "eval page": "eval data.letor :1 :2 -m AP -m nDCG@10 --samples 100 --html page.html",
    "eval run": "eval data.qrels data.run -m AP -m infAP --samples 100",
    "compare": "compare data.letor :1 :2 -m AP --samples 100",
    "convert": "convert data.letor --out out.store",
    "report": "report data.experiment --samples 100 --html page.html --out table",
    "train perceptron": "train --data data.letor --learner perceptron --out trained",
    "train ranksvm": "train --data data.letor --learner ranksvm --out trained",
    "train coordinate-ascent": "train --data data.letor --learner coordinate-ascent -m AP --out trained",
}


def column(texts: list[str], n: int) -> StringColumn:
    """Return n strings, the texts in turn."""
    return StringColumn.from_strings((texts * (n // len(texts) + 1))[:n])


def traces(n: int) -> Traces:
    """Return n chains of 3 residues."""
    keys = np.tile(np.array([key_of("A", k) for k in (1, 2, 3)], dtype=np.uint64), n)
    xyz = np.random.default_rng(0).normal(size=(3 * n, 3)) + np.tile(3.8 * np.arange(3), n)[:, None]
    return Traces(np.arange(0, 3 * n + 1, 3), keys, xyz, np.full(3 * n, ord("A"), dtype=np.uint8))


def scores_of(shape: str, n: int) -> Floats:
    """Return scores as the shape has them."""
    scores = np.random.default_rng(1).random(n)
    if shape == "tied":
        return np.full(n, 0.5)
    return np.where(np.arange(n) % 2, np.round(scores, 2), scores) if shape == "rounded" else scores


def lists_of(shape: str, n: int, needs: tuple[str, ...]) -> CandidateLists:
    """Return n items with the columns that a metric needs: labels 0 to 4, a tenth of them unjudged."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 5, n).astype(np.float64)
    labels[rng.random(n) < 0.1] = np.nan
    n_lists = n if shape == "lists" else 1
    columns: dict[str, Any] = {}
    if "texts" in needs:
        columns["texts"] = column(["a b c", "a c", "b d e f"], n)
        columns["references"] = (column(["a b d", "c"], n_lists),)
    if "trees" in needs:
        columns["trees"] = Forest.from_strings(["(S1 (S (NP (D a) (N b)) (V c)))"] * n)
        columns["gold"] = Forest.from_strings(["(S1 (S (D a) (VP (N b) (V c))))"] * n_lists)
    if "traces" in needs:
        columns |= {"traces": traces(n), "natives": traces(n_lists)}
    made = CandidateLists.from_arrays(
        np.zeros((n, 1)), labels, group=np.full(n_lists, n // n_lists, dtype=np.int64)
    )
    if "answers" in needs:
        known = np.nan_to_num(labels, nan=5).astype(int).tolist()
        numbers = [f"{k}-{j % (n // 2 + 1)}" if k < 3 else f"{k}" for j, k in enumerate(known)]
        columns["answers"] = StringColumn.from_strings(numbers)
    first = -np.arange(n, dtype=np.float64)
    return CandidateLists(made.offsets, made.features, labels=labels, first_best=first, **columns)


def metric_work(name: str, shape: str, n: int) -> WORK:
    """Return what a metric has to do."""
    metric = parse(name)
    if metric.of_classes:
        names = [["1"], ["2"], ["3"]] * (n // 3 + 1)
        examples = CandidateLists.from_arrays(np.empty((n, 0)), classes=names[:n])
        predicted = Predictions("system", (["1", "2", "3"] * (n // 3 + 1))[:n])
        lists, systems = class_lists(examples, {"system": predicted}, ranked=False)
        scores = systems["system"]
    else:
        needs = tuple(metric.needs) + tuple(getattr(getattr(metric, "inner", None), "needs", ()))
        lists, scores = lists_of(shape, n, needs), scores_of(shape, n)

    def judge() -> None:
        (made,) = prepare_all(lists, [metric], Judging(ties=None if metric.of_classes else "expected"))
        statistics([made], scores)
        made.first_best()
        made.random()
        made.oracle()

    return judge


def statistic_work(name: str, n: int) -> WORK:
    """Return what a statistic of n lists has to do."""
    rng = np.random.default_rng(3)
    a, b = (np.round(rng.random((n, 1)), 2) for _ in range(2))
    d = (a - b)[:, 0]
    p_values = rng.random(n).tolist()
    return {
        "bootstrap": lambda: significance.bootstrap_sums(np.hstack([a, b]), 100, 1),
        "randomisation": lambda: significance.randomised_sums(a, b, 100, 1),
        "Wilcoxon": lambda: significance.wilcoxon_p(d),
        "t": lambda: significance.paired_t_p(d),
        "Holm": lambda: significance.holm(p_values),
        "McNemar": lambda: significance.mcnemar_p(n // 2, n - n // 2),
        "detectable": lambda: significance.detectable_by_mcnemar(n // 2, n, 0.95),
        "interval": lambda: significance.interval(d, 0.95),
        "bins": lambda: by_list.binned(a[:, 0], d, samples=100, level=0.95, seed=1),
        "extremes": lambda: by_list.extremes(d, 10),
    }[name]


STATISTICS = ("bootstrap", "randomisation", "Wilcoxon", "t", "Holm", "McNemar", "detectable", "interval")


def write_files(shape: str, n: int) -> None:
    """Write a set of n items to the current folder, in the forms that verbs read."""
    rng = np.random.default_rng(4)
    labels, scores, others = rng.integers(0, 5, n).tolist(), scores_of(shape, n).tolist(), rng.random(n)
    rows = list(zip(labels, scores, others.tolist(), strict=True))
    ids = [(i, 0) if shape == "lists" else (0, i) for i in range(n)]
    files = {
        "data.letor": (f"{y} qid:{q} 1:{s} 2:{u:.3f}\n" for (q, _), (y, s, u) in zip(ids, rows, strict=True)),
        "data.run": (f"q{q} Q0 d{j} 1 {s} r\n" for (q, j), (_, s, _) in zip(ids, rows, strict=True)),
        "data.qrels": (f"q{q} 0 d{j} {y - 1}\n" for (q, j), (y, _, _) in zip(ids, rows, strict=True)),
        "weights.tsv": iter(["1\t1\n", "2\t0.5\n"]),
        "data.yaml": iter(
            [
                "data: {train: small.letor, test: data.letor}\nmetrics: AP\n",
                "select: {metric: AP}\nlearners: {best-feature: }\n",
            ]
        ),
        "small.letor": iter(["1 qid:1 1:2 2:1\n", "0 qid:1 1:1 2:3\n", "1 qid:2 1:2 2:1\n"]),
    }
    for name, lines in files.items():
        Path(name).write_text("".join(lines))


def verb_work(name: str, shape: str, n: int) -> WORK:
    """Return a call of the command line."""
    write_files(shape, n)
    run("import weights.tsv --out model")
    if name == "report":
        run("run data.yaml --out data.experiment")
    return lambda: run(VERBS[name])


def run(command: str) -> None:
    """Run a command line in this process, with nothing on standard output."""
    sys.argv = ["rerank", *command.split()]
    shown = os.dup(1)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        try:
            command_line()
        except SystemExit as end:
            if end.code not in (0, 1):
                raise SystemExit(f"{command}: exit code {end.code}") from None
        os.dup2(shown, 1)


def measure(work: WORK) -> tuple[float, float]:
    """Return the CPU seconds of some work, and the longest time without an answer to a signal."""
    beats = [time.process_time()]
    signal.signal(signal.SIGALRM, lambda number, frame: beats.append(time.process_time()))
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    start = time.process_time()
    work()
    end = time.process_time()
    signal.setitimer(signal.ITIMER_REAL, 0)
    return end - start, float(np.diff([start, *beats[1:], end]).max())


def grow(
    kind: str, name: str, shape: str, sizes: list[int], limit: float
) -> Iterator[tuple[int, float, float]]:
    """Yield each size with its seconds and its longest time without an answer."""
    seconds = 0.0
    for n in (20, *sizes):
        if seconds * 13 > limit:
            break
        if kind == "metric":
            work = metric_work(name, shape, n)
        else:
            work = statistic_work(name, n) if kind == "statistic" else verb_work(name, shape, n)
        seconds, deaf = measure(work)
        if n > 20:  # the first call imports what it needs
            yield n, seconds, deaf


def in_child(limit: float, rows: Iterator[tuple[int, float, float]]) -> tuple[list[list[float]], str]:
    """Return the rows as a process of its own finds them, and what went wrong."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as found:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.chdir(folder)
                warnings.simplefilter("ignore")
                resource.setrlimit(resource.RLIMIT_CPU, (int(2.5 * limit) + 30, resource.RLIM_INFINITY))
                for row in rows:
                    print(*row, file=found, flush=True)
                code = 0
            except BaseException as error:
                print(f"{type(error).__name__}: {error}"[:100], file=found, flush=True)
            finally:
                os._exit(code)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        found.seek(0)
        lines = found.read().splitlines()
    wrong = "" if not status else lines.pop() if status > 0 else signal.Signals(-status).name
    return [[float(part) for part in line.split()] for line in lines], wrong


def subjects() -> Iterator[tuple[str, str, str]]:
    """Yield what is measured: kind, name, shape."""
    for family in FAMILIES.entries().values():
        name = family.examples[0]
        metric = parse(name)
        needs = {*metric.needs, *getattr(getattr(metric, "inner", None), "needs", ())}
        lists_only = metric.of_classes or needs & {"texts", "trees", "traces"}
        yield from (("metric", name, shape) for shape in ONE_LIST * (not lists_only))
        yield "metric", name, "lists"
    for name in ("maj(short=all)@4", "wmaj(short=all)@64", "best(short=all)@1000", "pass(short=all)@1000"):
        yield from (("metric", name, shape) for shape in ("different", "lists"))
    yield from (("metric", "ERR(max=10)", shape) for shape in ("tied", "rounded"))
    yield from (("statistic", name, "lists") for name in (*STATISTICS, "bins", "extremes"))
    for name in VERBS:
        shapes = ("rounded",) if name.startswith("train") else ("rounded", "lists")  # lists have no pair
        yield from (("verb", name, shape) for shape in shapes)


def row_of(kind: str, name: str, shape: str, sizes: list[int], limit: float) -> tuple[str, bool]:
    """Return the row of a subject, and whether it is as the manual says."""
    rows, wrong = in_child(limit, grow(kind, name, shape, sizes, limit))
    start = next((row for row in rows if row[1] >= 0.1), None)
    growth = math.nan
    if start is not None and rows[-1][0] > start[0]:
        growth = math.log(rows[-1][1] / start[1]) / math.log(rows[-1][0] / start[0])
    deaf = max((row[2] for row in rows), default=0.0)
    cells = "".join(f"{row[1]:9.2f}" for row in rows) + " " * 9 * (len(sizes) - len(rows))
    shown = "        " if math.isnan(growth) else f"{growth:8.2f}"
    good = not wrong and not growth > EXPONENT and deaf <= 1.0
    return f"{name:28s}{shape:10s}{cells}{shown}{deaf:8.2f}  {wrong}{'' if good else '  <--'}", good


def main() -> None:
    """Print a row for each subject."""
    parser = arguments(__doc__ or "", "sizes up to 10,000")
    parser.add_argument("--most", type=int, default=1_000_000, help="the largest size [1000000]")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds of a subject's size [60]")
    parser.add_argument("--only", default="", help="subjects whose kind, name or shape has this text")
    given = parser.parse_args()
    most = 10_000 if given.quick else given.most
    sizes = [size for size in (most // 100, most // 10, most) if size]
    print(f"{'CPU seconds':38s}{''.join(f'{size:9d}' for size in sizes)}  growth    deaf", flush=True)
    bad = 0
    for subject in subjects():
        if given.only in " ".join(subject):
            row, good = row_of(*subject, sizes, given.limit)
            bad += not good
            print(row, flush=True)
    raise SystemExit(bool(bad))


if __name__ == "__main__":
    main()
