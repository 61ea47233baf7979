"""``rerank train``: lists in, a model out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from rerank.cli.common import say, verb
from rerank.cli.options import Reading, reads

if TYPE_CHECKING:
    from rerank.config import TrainConfig


@verb
@reads
def train(
    config: Annotated[
        str | None, typer.Argument(metavar="CONFIG", help="A YAML file; options below come on top.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="MODEL", help="Model file to write.")
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", "-d", metavar="FILE", help="Training lists; - is standard input.")
    ] = None,
    learner: Annotated[
        str | None, typer.Option("--learner", "-l", metavar="NAME", help="See 'rerank list learners'.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", "-s", metavar="KEY=VALUE", help="A learner's setting, or a path into the YAML."
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="M", help="Make labels by this metric from --refs (sBLEU, ...)."),
    ] = None,
    quantise: Annotated[
        str | None,
        typer.Option(
            "--quantise",
            metavar="HOW",
            help="Few levels in place of the training labels (those of dev stay): best, above=T, model=FILE, "
            "top=P%, kmeans=K, list-kmeans=K.",
        ),
    ] = None,
    dev_refs: Annotated[
        list[str] | None, typer.Option("--dev-refs", metavar="FILE", help="References of the dev lists.")
    ] = None,
    dev: Annotated[
        str | None, typer.Option("--dev", metavar="FILE", help="Development lists, watched by the metric.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option("--metric", "-m", metavar="M", help="Metric to tune for, to watch, to keep a round by."),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep", metavar="last|best|train", help="The last round, or the best on dev or training lists."
        ),
    ] = None,
    keep_margin: Annotated[
        str | None,
        typer.Option(
            "--keep-margin",
            metavar="auto|M|none",
            help="The first-best stays unless led by more than M; auto = tuned on dev.",
        ),
    ] = None,
    scaling: Annotated[
        str | None,
        typer.Option(
            "--scaling", metavar="NAME", help="Scaling of the features; see 'rerank list scalings'."
        ),
    ] = None,
    init: Annotated[
        str | None,
        typer.Option("--init", metavar="FILE", help="Weights to start from: a linear model, a weights file."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", metavar="N", help="Workers; 0 = one a core. The model is the same."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed of all randomness.")] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            metavar="N",
            help="Train with N seeds from this one on; keep the best run on dev, without dev the median "
            "one. {seed} in MODEL writes every run.",
        ),
    ] = None,
    curve: Annotated[
        str | None,
        typer.Option(
            "--curve",
            metavar="FILE",
            help="Write the learning curve or the restarts (TSV); the seconds go to timing.NAME beside it.",
        ),
    ] = None,
    *,
    reading: Reading,
) -> None:
    """Train a model on lists with judged candidates.

    \b
    rerank train --data train.txt --dev vali.txt --metric AP --keep best --out model
    """
    from rerank import experiment
    from rerank.config import read_config
    from rerank.errors import ConfigError

    given = {
        "data.train": data,
        "data.dev": dev,
        "data.dev_refs": dev_refs or None,
        "data.label": label,
        "data.quantise": quantise,
        "data.init": init,
        "data.format": reading.format,
        "data.first_best": reading.first_best,
        **{f"data.{name}": value for name, value in reading.given.items()},
        "learner.name": learner,
        "select.metric": metric,
        "select.keep": keep,
        "select.keep_margin": keep_margin,
        "scaling": scaling,
        "seed": seed,
        "seeds": seeds,
        "jobs": jobs,
    }
    settings = read_config(
        config, set_ or [], {key: value for key, value in given.items() if value is not None}
    )
    if not out:
        raise ConfigError("no model file to write: give --out MODEL")
    _check_outputs(settings, out, curve)
    result = experiment.train_from(settings)
    if curve is not None:
        experiment.write_curve(result, curve)
    experiment.save_models(result, out)
    for line in result.summary():
        say(line)


def _check_outputs(settings: TrainConfig, out: str, curve: str | None) -> None:
    """Refuses outputs that cannot be written, or would take each other's or the lists' place."""
    from rerank.errors import ConfigError
    from rerank.files import check_target

    if "{seed}" in out and settings.seeds < 2:
        raise ConfigError("--out: {seed} is for several runs: give --seeds N, 2 or more")
    if "{seed}" not in os.path.dirname(out):
        check_target(out)
    read = (path for path in settings.data.files() if path != "-")
    taken = {_place(path): f"{path} is one of the input files" for path in read}
    if _place(out) in taken:
        raise ConfigError(f"--out: {taken[_place(out)]}")
    if curve is None:
        return
    if "{seed}" in curve:
        raise ConfigError("--curve: {seed} is for --out alone; the curve is that of the run that is kept")
    check_target(curve)
    timing = os.path.join(os.path.dirname(curve), f"timing.{os.path.basename(curve)}")
    taken |= {_place(out): f"{out} is the model (--out)"}
    for path in (curve, timing):
        if _place(path) in taken:
            raise ConfigError(f"--curve: {taken[_place(path)]}")


def _place(path: str) -> str:
    return path if path == "-" else os.path.realpath(path)
