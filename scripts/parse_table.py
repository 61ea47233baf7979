#!/usr/bin/env python3
"""Reranking of parses: every learner of configs/parse-*.yaml on two sets of features, with paired tests.

    RERANK_DATA=... python scripts/parse_table.py --out DIR [--features our bllip] [--learners top-label ...]
                                                  [--cv 10] [--jobs 1]

Features are those of Collins & Koo (2005) with the log probability ("our"), and BLLIP's. Without --cv models
of train.store are judged on the test lists. With --cv N the sentences of all parts are divided into N folds,
and each is judged by the model of the others. In both cases settings, the round and the factor of the log
probability's weight are chosen as the configurations say: on out-of-fold scores of the training lists. (The
features themselves are those that occur in five sentences of train.nbest, whatever their labels are.)

DIR/cells keeps what each model chose; cells that are there are not run again. Tables are made of the learners
whose cells are all there: values, pairs (paired tests with Holm's correction) and claims, as TSV in DIR.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from parse_lists.report import tables
from parse_lists.sets import FEATURES, make_stores
from table_cells.runs import run_cells

SCRIPTS = Path(__file__).resolve().parent
CONFIGS = SCRIPTS.parent / "configs"


def learners() -> list[str]:
    """The names of the configurations."""
    return sorted(path.stem.removeprefix("parse-") for path in CONFIGS.glob("parse-*.yaml"))


def command(name: str, stores: Path, part: str, out: Path) -> list[str]:
    """The arguments of Python that run one cell."""
    script = SCRIPTS / "parse_lists" / "cells.py"
    return [str(script), str(CONFIGS / f"parse-{name}.yaml"), str(stores), part, str(out)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of stores, cells and tables")
    parser.add_argument("--features", nargs="+", choices=FEATURES, default=FEATURES)
    parser.add_argument("--learners", nargs="+", choices=learners(), default=learners())
    parser.add_argument("--cv", type=int, default=0, help="folds over all sentences; 0 = train and test")
    parser.add_argument("--jobs", type=int, default=1, help="cells at once, of about 1.5 GB each")
    asked = parser.parse_args()
    if "RERANK_DATA" not in os.environ:
        parser.error("RERANK_DATA is not set: it names the folder with parse-nbest/ and parse-bllip/")
    stores = asked.out / "stores"
    make_stores(Path(os.environ["RERANK_DATA"]), stores)
    parts = [f"{k + 1}/{asked.cv}" for k in range(asked.cv)] or ["test"]
    commands = {}
    for part in parts:
        for name in asked.learners:
            for features in asked.features:
                cell = asked.out / "cells" / features / name / f"{part.replace('/', '-')}.json"
                commands[cell] = command(name, stores / features, part, cell)
    run_cells(commands, asked.jobs)
    tables(asked.out, asked.features, asked.learners, asked.cv)


if __name__ == "__main__":
    main()
