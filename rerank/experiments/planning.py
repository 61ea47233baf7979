"""The table of cells of an experiment, with keys that change with everything that decides a result."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rerank.core.errors import ConfigError
from rerank.experiments.config import SPELLING, ExperimentConfig, read_experiment
from rerank.experiments.folder import DATA, Cell, ExperimentRecord, RunFolder
from rerank.experiments.parts import Parts, code_digest, digest_of, digest_of_file, parts_of
from rerank.experiments.work import Share, TestLists, Work, plain
from rerank.formats.sources import check_inputs
from rerank.metrics.base import parse, parse_all
from rerank.training.options import TrainOptions, learner_of


@dataclass(frozen=True, eq=False)
class Plan:
    """All cells of an experiment, and what is needed to do them.

    Attributes
    ----------
    config : the experiment.
    parts : the stores of each fold.
    record : what ``experiment.json`` holds.
    """

    config: ExperimentConfig
    parts: Parts
    record: ExperimentRecord

    def inputs(self) -> list[str]:
        """Return the paths of all input files."""
        return inputs_of(self.config)

    def tuned_metrics(self) -> list[str]:
        """Return the names of the metrics by which rows choose."""
        config, fold = self.config, self.config.fold_names[0]
        rows = [config.train_config(row, config.training(row, fold)) for row in config.learners]
        typed = [one.select.metric for one in rows]
        return list(dict.fromkeys(parse(name).name for name in typed if name is not None))

    def metric_names(self) -> list[str]:
        """Return the canonical names of the metrics of the test lists."""
        return [metric.name for metric in parse_all(self.config.metrics).values()]

    def work(self, folder: RunFolder, cell: Cell, keep_model: bool = False, wait: bool = False) -> Work:
        """Return the work of a cell."""
        stored = self.parts.folds[cell.fold]
        train = tuple(folder.file(DATA, one.name) for one in stored.train)
        dev = () if stored.dev is None else (folder.file(DATA, stored.dev.name),)
        test = folder.file(DATA, stored.test.name)
        data = self.config.stored(cell.row, cell.fold, train, dev, test)
        config = self.config.train_config(cell.row, data, seed_of(self.config, cell))
        names = {" + ".join(train): "train", **dict.fromkeys(train, "train"), test: "test"}
        files = {"train": stored.train[0].files, "test": stored.test.files}
        if stored.dev is not None:
            files["dev"] = stored.dev.files
            names |= dict.fromkeys(dev, "dev")
        return Work(
            folder=folder.path,
            key=cell.key,
            seed=cell.seed,
            config=config,
            share=Share(cell.share, cell.seed or 0),
            test=TestLists(test, self.config.metrics, data.features),
            files=files,
            names=names,
            keep_model=keep_model,
            wait=wait,
        )


def inputs_of(config: ExperimentConfig) -> list[str]:
    """Return the paths of all input files, and that of the configuration."""
    files = []
    for fold in config.fold_names:
        for row in config.learners:
            files += config.train_config(row, config.training(row, fold)).files()
        files += [] if config.drawn is not None else config.data.judging(fold).files()
    own = [config.path] if os.path.exists(config.path) else []
    return list(dict.fromkeys([*own, *files]))


def seed_of(config: ExperimentConfig, cell: Cell) -> int | None:
    """Return the seed of a cell's learner, None if it has none."""
    return None if config.first_seed(cell.row) is None else cell.seed


def plan_of(config: ExperimentConfig) -> Plan:
    """Return the cells of an experiment.

    Raises
    ------
    RerankError
        If an input file is missing or a setting of a row is wrong.
    """
    check_inputs(inputs_of(config))
    parts = parts_of(config)
    cells = [
        Cell(number=number, key=key, row=row, fold=fold, seed=seed, share=share)
        for number, (row, fold, seed, share, key) in enumerate(_cells(config, parts), 1)
    ]
    record = ExperimentRecord(
        name=config.name,
        metrics=config.metrics,
        baseline=SPELLING.get(config.baseline or "", config.baseline),
        rows=tuple(config.learners),
        folds=config.fold_names,
        shares=config.train_fractions,
        tests={fold: of_fold.test.name for fold, of_fold in parts.folds.items()},
        config=plain(config.as_dict()),
        cells=tuple(cells),
    )
    return Plan(config, parts, record)


def _cells(config: ExperimentConfig, parts: Parts) -> Iterator[tuple[str, str, int | None, int, str]]:
    """Row, fold, seed, share and key of each cell."""
    for row in config.learners:
        first = config.first_seed(row)
        for share in config.train_fractions:
            start = first if first is not None else config.seed if share < 100 else None
            once = share == 100 and not config.draws(row)
            seeds = [None] if start is None else range(start, start + (1 if once else config.seeds))
            for seed in seeds:
                for fold in config.fold_names:
                    data = config.training(row, fold)
                    trained = config.train_config(row, data, seed if first is not None else None)
                    key = digest_of(_decisive(trained, parts, fold, seed, share))
                    yield row, fold, seed, share, key


def _decisive(config: TrainOptions, parts: Parts, fold: str, seed: int | None, share: int) -> Any:
    """Everything that decides the result of a cell, without paths."""
    learner, stored, data = learner_of(config), parts.folds[fold], config.data
    scheme, _, model = (data.quantise or "").partition("=")
    return {
        "learner": {"name": learner.name, **learner.get_params(), "given": sorted(learner.settings_given)},
        "select": config.select.get_params(),
        "plan": [config.scaling, config.base_scale, config.grid],
        "features": data.features,
        "texts": [config.features_from, config.texts.with_digests(digest_of_file)],
        "label": data.label,
        "missing": data.missing,
        "unjudged": data.unjudged,
        "quantise": [scheme, digest_of_file(model)] if scheme == "model" else data.quantise,
        "init": data.init if data.initial_file is None else digest_of_file(data.initial_file),
        "train": [one.name for one in stored.train],
        "dev": None if stored.dev is None else stored.dev.name,
        "test": stored.test.name,
        "seed": seed,
        "share": share,
        "code": code_digest(),
    }


def planned(
    config: str | os.PathLike[str] | ExperimentConfig, out: str | os.PathLike[str] | None
) -> tuple[Plan, RunFolder]:
    """Return the cells of an experiment, and the folder of its results, which need not exist.

    Parameters
    ----------
    config : a YAML file, or what ``read_experiment`` returns.
    out : the folder; None = ``runs/NAME``.
    """
    experiment = config if isinstance(config, ExperimentConfig) else read_experiment(os.fspath(config))
    plan = plan_of(experiment)
    path = os.fspath(out) if out is not None else os.path.join("runs", experiment.name)
    return plan, RunFolder(os.path.normpath(path), plan.record)


def chosen(cells: Sequence[Cell], task: int | None, shard: str | None) -> list[Cell]:
    """Return the cells that one process does.

    Parameters
    ----------
    cells : all of them.
    task : the number of one, from 1.
    shard : "I/N": every N-th cell from the I-th on.

    Raises
    ------
    ConfigError
        If both are given, or one is out of range.
    """
    if task is None and shard is None:
        return list(cells)
    if task is not None and shard is not None:
        raise ConfigError("--task and --shard: give one of both")
    if task is not None:
        if not 1 <= task <= len(cells):
            raise ConfigError(f"--task: found {task}, expected 1 to {len(cells)}")
        return [cells[task - 1]]
    match = re.fullmatch("([0-9]{1,9})/([0-9]{1,9})", str(shard))
    at, n = (int(group) for group in match.groups()) if match else (0, 0)
    if not 1 <= at <= n:
        raise ConfigError(f"--shard: found {shard!r}, expected I/N, such as 1/4 to 4/4")
    return list(cells[at - 1 :: n])
