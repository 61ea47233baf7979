#!/usr/bin/env python3
"""Learners and other tools on the same lists: quality with intervals, paired tests, CPU seconds of training.

    [RANKLIB_JAR=...] python scripts/bench/ranking.py [CONFIG...] [--out DIR] [--peers lightgbm ...]

CONFIG is an experiment of `rerank run` with dev lists, such as configs/ohsumed.yaml; its missing cells are
trained in DIR. Without one it is that of a few learners on lists that are drawn. Further
experiments on the same test lists add rows: learners that take no missing values, with `missing: zero`,
where the first one has `missing: nan`. Tools have the grids of scripts/ranked_lists/peers.py; their best cell
on dev by select.metric is judged on test. A tool that is not installed is named.

Seconds are CPU time of one thread, summed over folds, of a fit with the settings that were chosen, dev lists
watched, and of all fits of the choice; reading is not counted but for RankLib.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from common import arguments
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ranked_lists.peers import JAR, PEERS, run_peer

import rerank
from rerank import CandidateLists, DataNote, FitError, RerankError
from rerank.core.tables.text import lined_up, show
from rerank.core.workers.parallel import each, using
from rerank.evaluation.judged import Judged
from rerank.evaluation.results import Run
from rerank.experiments.config import ExperimentConfig, read_experiment
from rerank.experiments.folder import RunFolder
from rerank.experiments.reporting import results_of
from rerank.experiments.run import run
from rerank.training.pipeline import pipeline_of
from rerank.training.select import select
from rerank.training.train import load_part, read_inputs

DRAWN = """\
data: {train: train.letor, dev: dev.letor, test: test.letor}
select: {metric: nDCG-exp@10}
metrics: [nDCG-exp@10, AP]
baseline: perceptron
learners:
  perceptron: {grid: {margin: [even, uneven], tau: [0, 1]}}
  ranksvm: {C: dev}
  rankboost: {rounds: 300}
"""
Costs = dict[str, tuple[float, float]]  # CPU seconds of one fit and of the choice, by row


def drawn_config(place: Path) -> Path:
    """An experiment on lists of 15 items with grades 0 to 2, which three features of ten know."""
    rng = np.random.default_rng(1)
    for first, part in ((0, "train"), (300, "dev"), (400, "test")):
        X = rng.standard_normal((1500, 10)).round(4)
        y = np.clip(np.round(X[:, :3].sum(axis=1) + rng.standard_normal(1500)), 0, 2)
        qid = [f"q{first + i}" for i in np.repeat(np.arange(100), 15)]
        rerank.save(CandidateLists.from_arrays(X, y, qid=qid), str(place / f"{part}.letor"), "svmlight")
    (place / "drawn.yaml").write_text(DRAWN)
    return place / "drawn.yaml"


def lists_of(config: ExperimentConfig, fold: str) -> tuple[CandidateLists, CandidateLists, CandidateLists]:
    """Training, dev and test lists of a fold."""
    training, judging = config.data.training(fold), config.data.judging(fold)
    return load_part(training, "train"), load_part(training, "dev"), load_part(judging, "train")


def fitted_again(config: ExperimentConfig, folder: RunFolder, row: str) -> tuple[float, float]:
    """CPU seconds of fits with the settings that a row chose, and of its cells; scores must be the same."""
    once = whole = 0.0
    for cell in [cell for cell in folder.cells if cell.row == row and cell.share == 100]:
        record, timing = folder.record(cell), folder.timing(cell)
        if record is None or timing is None:
            raise FitError(f"{row}, fold {cell.fold}: not trained")
        trained = config.train_config(row, config.data.training(cell.fold), record.seed)
        chosen = {} if record.choice is None else dict(record.choice.settings)
        update = {key: chosen.pop(key) for key in ("scaling", "base_scale") if key in chosen}
        section = trained.select.with_settings(by="none")
        learner = trained.learner | chosen
        again = trained.with_settings(**update, learner=learner, select=section, grid={})
        pipeline = pipeline_of(again)
        lists, dev, side = read_inputs(pipeline)
        started = time.process_time()
        model = select(pipeline, lists, dev, side).model
        once += time.process_time() - started
        whole += timing.cpu
        if not np.array_equal(model.score(folder.test(cell.fold)), folder.scores(cell)):
            raise FitError(f"{row}, fold {cell.fold}: a second fit with the chosen settings differs")
    return once, whole


def peer_outcome(path: str, fold: str, name: str) -> tuple[Run, tuple[float, float]]:
    """A tool on a fold, and its CPU seconds."""
    config = read_experiment(path)
    found = run_peer(name, PEERS[name].grid, str(config.select.metric), lists_of(config, fold))
    outcome = Run(np.array(found["scores"]), chosen=found["settings"], dev=found["chosen_by"])
    return outcome, (found["seconds"], found["with_choosing"])


def with_peers(path: str, names: Sequence[str], results: Judged, costs: Costs) -> Judged:
    """The results with a row for each tool that can run; the others are named, and costs are added."""
    systems = dict(results.runs)
    for name in names:
        absent = PEERS[name].absent()
        if absent:
            print(f"{name}: absent ({absent})")
            continue
        found = each(peer_outcome, [(path, part.name, name) for part in results.parts])
        systems[name] = {100: tuple((outcome,) for outcome, _ in found)}
        costs[name] = tuple(np.sum([cost for _, cost in found], axis=0).tolist())
        if PEERS[name].note:
            print(f"{name}: {PEERS[name].note}")
    return replace(results, runs=systems)


def compare(paths: Sequence[str], out: Path, peers: Sequence[str]) -> None:
    """Run what is missing, and print the tables."""
    results, costs = None, Costs()
    for path in paths:
        config = read_experiment(path)
        folder = run(config, out / config.name).folder
        of_config = results_of(folder)
        costs |= {row: fitted_again(config, folder, row) for row in of_config.runs}
        if results is None:
            results = of_config
        results = replace(results, runs={**of_config.runs, **results.runs})
    assert results is not None
    results = with_peers(paths[0], peers, results, costs)
    rows = [(row, f"{once:.2f}", f"{whole:.2f}") for row, (once, whole) in costs.items()]
    show([*results.shown(), "", lined_up(("", "CPU s", "with choosing"), rows)], sys.stdout)


def main() -> None:
    """Command line."""
    parser = arguments(__doc__ or "")
    parser.add_argument("configs", nargs="*", metavar="CONFIG")
    parser.add_argument("--out", type=Path, help="folder of results")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--jobs", type=int, default=1, help="cells at once")
    asked = parser.parse_args()
    os.environ.setdefault(JAR, "")
    try:
        with tempfile.TemporaryDirectory() as name, using(asked.jobs), warnings.catch_warnings():
            warnings.simplefilter("ignore", DataNote)
            configs = asked.configs or [str(drawn_config(Path(name)))]
            compare(configs, asked.out or Path(name), asked.peers)
    except RerankError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
