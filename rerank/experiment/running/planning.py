"""The table of cells of an experiment, with keys that change with everything that decides a result."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rerank.config import TrainConfig
from rerank.experiment.running.config import SPELLING, ExperimentConfig
from rerank.experiment.running.folder import DATA, Cell, ExperimentRecord, RunFolder
from rerank.experiment.running.parts import Parts, code_digest, digest_of, digest_of_file, parts_of
from rerank.experiment.running.work import Share, TestLists, Work, plain
from rerank.experiment.sources import check_inputs
from rerank.experiment.training import learner_of
from rerank.reading import DataSection


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

    def work(self, folder: RunFolder, cell: Cell, keep_model: bool = False) -> Work:
        """Return the work of a cell."""
        stored = self.parts.folds[cell.fold]
        train = tuple(folder.file(DATA, one.name) for one in stored.train)
        dev = () if stored.dev is None else (folder.file(DATA, stored.dev.name),)
        test = folder.file(DATA, stored.test.name)
        given = self.config.data.training(cell.fold)
        own = {key: getattr(given, key) for key in ("features", "quantise", "init")}
        data = DataSection(train=train, dev=dev, **own)
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
            test=TestLists(test, self.config.metrics, config.data.features),
            files=files,
            names=names,
            keep_model=keep_model,
        )


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
    for fold in config.fold_names:
        check_inputs([*config.data.training(fold).files(), *config.data.judging(fold).files()])
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
        shares=config.ablation,
        tests={fold: of_fold.test.name for fold, of_fold in parts.folds.items()},
        config=plain(config.model_dump()),
        cells=tuple(cells),
    )
    return Plan(config, parts, record)


def _cells(config: ExperimentConfig, parts: Parts) -> Iterator[tuple[str, str, int | None, int, str]]:
    """Row, fold, seed, share and key of each cell."""
    for row in config.learners:
        first = config.first_seed(row)
        for share in config.ablation:
            start = first if first is not None else config.seed if share < 100 else None
            seeds = [None] if start is None else range(start, start + config.seeds)
            for seed in seeds:
                for fold in config.fold_names:
                    data = config.data.training(fold)
                    trained = config.train_config(row, data, seed if first is not None else None)
                    key = digest_of(_decisive(trained, parts, fold, seed, share))
                    yield row, fold, seed, share, key


def _decisive(config: TrainConfig, parts: Parts, fold: str, seed: int | None, share: int) -> Any:
    """Everything that decides the result of a cell, without paths."""
    learner, stored, data = learner_of(config), parts.folds[fold], config.data
    scheme, _, model = (data.quantise or "").partition("=")
    return {
        "learner": {"name": learner.name, **learner.get_params(), "given": sorted(learner.model_fields_set)},
        "select": config.select.get_params(),
        "plan": [config.scaling, config.base_scale, config.grid],
        "features": data.features,
        "label": data.label,
        "quantise": [scheme, digest_of_file(model)] if scheme == "model" else data.quantise,
        "init": data.init if data.initial_file is None else digest_of_file(data.initial_file),
        "train": [one.name for one in stored.train],
        "dev": None if stored.dev is None else stored.dev.name,
        "test": stored.test.name,
        "seed": seed,
        "share": share,
        "code": code_digest(),
    }


def open_folder(plan: Plan, path: str) -> RunFolder:
    """Return the folder of results as the plan has it, which need not exist."""
    return RunFolder(os.path.normpath(path), plan.record)
