#!/usr/bin/env python3
"""Every supervised learner on the five folds of OHSUMED, beside LETOR's published results.

    RERANK_DATA=... python scripts/ohsumed_table.py --out DIR [--learners perceptron ...] [--folds 1 2 ...]
                                                    [--metric AP] [--spread ranksvm] [--jobs 1]

Learners, grids, folds and metrics are those of configs/ohsumed.yaml (--config). All choices (settings,
scaling, round) are made on the vali lists of a fold by select.metric (--metric) and judged on its test lists.
Printed are means over folds with 95 % intervals of the pooled test lists, the rows that differ significantly
from the baseline (paired bootstrap with Holm's correction), and CPU seconds.

--spread ROW runs each cell of the row's grid as a row of its own, and prints the range of its values on test.

DIR/cells keeps what each row scored; cells of the same settings, files and release are not run again: remove
them if learners have changed since. DIR/values.tsv, pairs.tsv and choices.tsv hold all figures.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ranked_lists.experiment import Experiment, read_experiment
from ranked_lists.published import published
from ranked_lists.report import print_spread, tables
from ranked_lists.running import judged_by, run_tasks, tasks_of

from rerank import RerankError

SCRIPTS = Path(__file__).resolve().parent
CONFIG = SCRIPTS.parent / "configs" / "ohsumed.yaml"


def cells_as_rows(experiment: Experiment, row: str) -> Experiment:
    """The experiment with a row for each cell of the grid of one row."""
    entry = {"name": row} | dict(experiment.learners[row] or {})
    grid = entry.pop("grid", {})
    rows = {}
    for values in itertools.product(*grid.values()):
        cell = dict(zip(grid, values, strict=True))
        rows[" ".join([row, *(f"{key}={value}" for key, value in cell.items())])] = entry | cell
    return experiment.model_copy(update={"learners": rows})


def published_rows(experiment: Experiment) -> dict[str, dict[str, list[float]]]:
    """LETOR's results if their file is beside the folds and all folds are judged."""
    path = Path(experiment.files(1)[0]).parents[1] / "published_results.ods"
    return published(path) if path.is_file() and list(experiment.folds) == [1, 2, 3, 4, 5] else {}


def run(asked: argparse.Namespace) -> None:
    """Run the experiment that was asked for."""
    experiment = read_experiment(asked.config)
    update: dict[str, Any] = {"folds": asked.folds or experiment.folds}
    if asked.metric:
        update["select"] = experiment.select | {"metric": asked.metric}
    experiment = experiment.model_copy(update=update)
    rows = asked.learners or list(experiment.learners)
    experiment.check_rows([*rows, *asked.spread])
    judged = judged_by(experiment)
    folder = asked.out / "cells"
    records = run_tasks(folder, tasks_of(experiment, rows), experiment.folds, asked.jobs)
    tables(asked.out, judged, records, published_rows(experiment))
    for row in asked.spread:
        each = cells_as_rows(experiment, row)
        found = run_tasks(folder, tasks_of(each, list(each.learners)), each.folds, asked.jobs)
        print_spread(row, judged, found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of cells and tables")
    parser.add_argument("--config", type=Path, default=CONFIG)
    parser.add_argument("--learners", nargs="+", help="rows of the configuration")
    parser.add_argument("--folds", nargs="+", type=int)
    parser.add_argument("--metric", help="choose by this metric instead of the configuration's")
    parser.add_argument("--spread", nargs="+", default=[], help="rows whose choices are compared on test")
    parser.add_argument("--jobs", type=int, default=1, help="cells at once")
    try:
        run(parser.parse_args(arguments))
    except RerankError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
