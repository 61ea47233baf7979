#!/usr/bin/env python3
"""Tuners side by side: weights learnt on the dev lists, judged on the test lists, with intervals and tests.

    RERANK_DATA=... python scripts/tuners_table.py [--sets syscomb-wmt10 ...] [--seeds N] [--samples N]

Every learner has its default settings, as with scripts/tuning.mk: mira the features as they are, the others
z-scores. Its values are means over seeds, sd their standard deviation on test, CPU the seconds of one fit.
"initial" are the weights that mert starts from. "mert+margin" learns from every other dev list and tunes a
keep margin on the rest; its dev value is of all of them.

Intervals are of resampled test lists. p is the two-sided paired bootstrap's, of means over seeds, over the
same resampled lists; Holm's correction is for all tests of a set. Seeds are not resampled: see sd.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from text_lists.sets import TASKS, Task, load_part, print_rows, spread

import rerank
from rerank import CandidateLists, Model, RerankError
from rerank.data.judge import corpus_value
from rerank.data.scaling import fit_scaling
from rerank.data.types import Floats
from rerank.evaluation.significance import SEED, bootstrap_p, bootstrap_sums, holm
from rerank.experiment import make_learner
from rerank.learners.base import FitInputs
from rerank.learners.initial import initial_weights
from rerank.metrics.base import parse
from rerank.metrics.judges import ReportJudge
from rerank.metrics.selecting import SelectingJudge
from rerank.models.keep_margin import tune_margin
from rerank.models.linear import LinearModel
from rerank.text import count

SCALINGS = {"perceptron": "zscore", "pro": "zscore", "mira": "none", "mert": "zscore"}
FIRST, MERT = "first-best", "mert"
LEVEL = 0.05


@dataclass(frozen=True)
class Row:
    """Rankings of one name: for each seed a value on dev and statistics on test; CPU seconds of one fit."""

    dev: list[float]
    test: list[Floats]
    seconds: float | None = None


def fitted(name: str, lists: CandidateLists, metric: str, seed: int) -> Model:
    """The model of a learner with its default settings."""
    scaling = None if SCALINGS[name] == "none" else fit_scaling(SCALINGS[name], lists)
    scaled = lists if scaling is None else scaling.apply(lists)
    model = make_learner(name, {"seed": seed}).fit(scaled, judge=parse(metric).prepare(scaled))
    model.scaling = scaling
    return model


def with_margin(lists: CandidateLists, metric: str, seed: int) -> Model:
    """mert on every other list, and the keep margin that is best on the rest."""
    places = np.arange(lists.n_lists)
    model = fitted(MERT, lists.subset(places[::2]), metric, seed)
    rest = lists.subset(places[1::2])
    judge = parse(metric).prepare(rest)
    assert isinstance(judge, SelectingJudge)
    model.keep_margin = tune_margin(rest, judge, model.score_items(rest))
    return model


def rows_of(task: Task, dev: CandidateLists, test: CandidateLists, seeds: int) -> dict[str, Row]:
    """Every ranking of a set by name; first-best is the first."""
    judges = [parse(task.metric).prepare(part) for part in (dev, test)]

    def judged(models: Sequence[Model], seconds: float | None = None) -> Row:
        on_dev, on_test = (
            [judge.per_list(model.score_items(part)) for model in models]
            for judge, part in zip(judges, (dev, test), strict=True)
        )
        return Row([corpus_value(judges[0], rows) for rows in on_dev], on_test, seconds)

    def learnt(fit: Callable[[int], Model]) -> Row:
        started = time.process_time()
        models = [fit(seed) for seed in range(1, seeds + 1)]
        return judged(models, (time.process_time() - started) / seeds)

    first = [judge.first_best() for judge in judges]
    assert first[0] is not None  # lists of text have an order of their own
    assert first[1] is not None
    weights, how = initial_weights(dev, FitInputs(), "auto")
    found = {
        FIRST: Row([corpus_value(judges[0], first[0])], [first[1]]),
        f"initial ({how})": judged([LinearModel(dev.names(), weights)]),
    }
    for name in SCALINGS:
        found[name] = learnt(partial(fitted, name, dev, task.metric))
    found["mert+margin"] = learnt(partial(with_margin, dev, task.metric))
    return found


@dataclass(frozen=True)
class Outcome:
    """Values on test: mean and deviation over seeds, the mean's resamples, corrected p by the other name."""

    value: float
    sd: float | None
    resampled: Floats
    p: dict[str, float | None]


def tested(judge: ReportJudge, rows: dict[str, Row], samples: int) -> dict[str, Outcome]:
    """Every ranking against first-best and mert over the same resampled lists."""
    runs = [statistics for row in rows.values() for statistics in row.test]
    sums = bootstrap_sums(np.concatenate(runs, axis=1), samples, SEED)
    parts = iter(np.split(sums, len(runs), axis=1))
    values: dict[str, float] = {}
    sd: dict[str, float | None] = {}
    resampled: dict[str, Floats] = {}
    for name, row in rows.items():
        own = [corpus_value(judge, statistics) for statistics in row.test]
        values[name], sd[name] = float(np.mean(own)), float(np.std(own, ddof=1)) if len(own) > 1 else None
        resampled[name] = np.mean([np.asarray(judge.score_from_sums(next(parts))) for _ in row.test], axis=0)
    pairs = [(name, against) for against in (FIRST, MERT) for name in rows if name not in (FIRST, against)]
    found = holm([bootstrap_p(resampled[a], resampled[b], values[a] - values[b]) for a, b in pairs])
    p = dict(zip(pairs, found, strict=True))
    return {
        name: Outcome(values[name], sd[name], resampled[name], {b: p[a, b] for a, b in pairs if a == name})
        for name in rows
    }


def print_table(rows: dict[str, Row], results: dict[str, Outcome], oracles: Sequence[float]) -> None:
    """The table of one set."""
    table: list[tuple[str, ...]] = [
        ("", "dev", "test", "95 % interval", "sd", "CPU s", "p first-best", "p mert")
    ]
    for name, row in rows.items():
        result = results[name]
        values = (f"{np.mean(row.dev):.2f}", f"{result.value:.2f}", spread(result.resampled))
        spent = tuple("" if number is None else f"{number:.2f}" for number in (result.sd, row.seconds))
        table.append((name, *values, *spent, *(p_cell(result.p, against) for against in (FIRST, MERT))))
    table.insert(2, ("oracle", *(f"{value:.2f}" for value in oracles), *[""] * 5))
    print_rows(table)


def p_cell(p: dict[str, float | None], against: str) -> str:
    """A corrected p, with a star if it is significant."""
    value = p.get(against)
    if value is None:
        return "-" if against in p else ""
    return f"{value:.3f}" + ("*" if value < LEVEL else " ")


def claims(results: dict[str, Outcome], better: int) -> str:
    """What is significant and what is not, in a sentence."""
    parts = []
    for against in (FIRST, MERT):
        groups: dict[str, list[str]] = {
            "better than": [],
            "worse than": [],
            "not significantly different from": [],
        }
        for name, result in results.items():
            if against not in result.p:
                continue
            p, up = result.p[against], better * (result.value - results[against].value) > 0
            sure = p is not None and p < LEVEL
            groups[
                ("better than" if up else "worse than") if sure else "not significantly different from"
            ].append(name)
        parts += [f"{how} {against}: {', '.join(names)}" for how, names in groups.items() if names]
    return f"On test, at {LEVEL}, " + "; ".join(parts) + "."


def run(task: Task, folder: Path, seeds: int, samples: int) -> None:
    """Table and sentence of one set."""
    dev, test = (load_part(folder, part, task) for part in ("dev", "test"))
    judges = [parse(task.metric).prepare(part) for part in (dev, test)]
    rows = rows_of(task, dev, test, seeds)
    results = tested(judges[1], rows, samples)
    way = "larger" if judges[1].better > 0 else "smaller"
    print(f"{task.name}: {task.metric} ({way} is better), {dev.n_lists} dev and {test.n_lists} test lists")
    print()
    print_table(rows, results, [judge.oracle() for judge in judges])
    print()
    print(claims(results, judges[1].better))


def legend(seeds: int, samples: int) -> list[str]:
    """What the columns are."""
    return [
        f"values: means over {count(seeds, 'seed')}; sd: between them, on test; CPU s: of one fit",
        f"p: two-sided paired bootstrap of these means, {count(samples, 'resample')} of the test lists;",
        f"   Holm's correction for all tests of the set; * p < {LEVEL}",
        "mert+margin: learnt from every other dev list, keep margin tuned on the rest",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=os.environ.get("RERANK_DATA"), help="folder of the sets")
    parser.add_argument("--sets", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=5, help="runs of each learner [5]")
    parser.add_argument("--samples", type=int, default=5000, help="resamplings of the lists [5000]")
    asked = parser.parse_args(arguments)
    if asked.data is None:
        parser.error("RERANK_DATA is not set: it names the folder of the sets (or give --data)")
    if asked.seeds < 1 or asked.samples < 1:
        parser.error("--seeds and --samples are at least 1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rerank.DataNote)
            for i, name in enumerate(asked.sets):
                print("\n" * (i > 0), end="")
                run(TASKS[name], Path(asked.data) / name, asked.seeds, asked.samples)
            print("\n" + "\n".join(legend(asked.seeds, asked.samples)))
    except (RerankError, OSError) as error:
        print(f"tuners_table.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
