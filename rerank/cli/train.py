"""``rerank train``: lists in, a model out."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import CHOICE, OUTPUTS, Verb, inform, verb
from rerank.core.errors import ConfigError
from rerank.core.settings import Settings, setting
from rerank.training.options import TrainOptions


class Configured(Settings):
    """A configuration, and settings put over it."""

    config: str | None = setting(
        None,
        "a YAML file, - is standard input; options override it",
        argument=True,
        metavar="CONFIG",
    )
    learner: str | None = setting(
        None, "learner to train; see 'rerank list learners'", flags=("--learner", "-l"), metavar="NAME"
    )
    set_: tuple[str, ...] = setting(
        (),
        "a setting of the learner, or a key of the YAML file",
        flags=("--set", "-s"),
        metavar="KEY=VALUE",
        key="set",
    )


class Train(Configured, Verb):
    """Options of ``rerank train``."""

    configures: ClassVar = TrainOptions

    out: str | None = setting(None, "model file to write", flags=("--out", "-o"), metavar="MODEL")
    grid: tuple[str, ...] = setting(
        (),
        "hyperparameter grid: values of a setting of the learner, of scaling or base_scale",
        metavar="KEY=V1,V2,...",
        group=CHOICE,
    )
    grid_out: str | None = setting(None, "write the cells of the grid (TSV)", metavar="FILE", group=OUTPUTS)
    curve: str | None = setting(
        None,
        "write the learning curve or the restarts (TSV); times go to timing.NAME next to it",
        metavar="FILE",
        group=OUTPUTS,
    )
    checkpoint: str | None = setting(
        None,
        "keep the state of the training here every 30 seconds and at Ctrl-C; the same command continues"
        " from it, to the same model",
        metavar="FILE",
    )


@verb(Train)
def train(given: Train) -> None:
    """Train a model on lists with judged candidates.

    \b
    rerank train --data train.txt --dev vali.txt --metric AP --keep best --out model
    """
    from rerank.training.config import grid_of, read_config
    from rerank.training.train import train_files

    base = given.typed if given.learner is None else {**given.typed, "learner.name": given.learner}
    base |= {f"grid.{key}": values for key, values in grid_of(given.grid or []).items()}
    settings = read_config(given.config, given.set_ or [], base)
    if not given.out:
        raise ConfigError("no model file to write: give --out MODEL")
    for line in train_files(settings, given.out, given.curve, given.grid_out, given.checkpoint).summary():
        inform(line)
