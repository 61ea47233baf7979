"""``rerank importance``: what models owe to their features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rerank.cli import completing, groups
from rerank.cli.common import ClusterAddress, Commands, Jobs, verb
from rerank.cli.options import configures, judges, reads
from rerank.cli.output_format import As, write
from rerank.cli.train import Config, LearnerName, Set
from rerank.data.reading import Reading
from rerank.training.config import TrainConfig

if TYPE_CHECKING:
    from rerank.core.tables.sheet import Sheet

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file written by 'rerank train'.")]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="ITEMS",
        help="Features that go together, as for --features: 'prm*,-prm7'; default: each alone. Repeatable.",
    ),
]
Top = Annotated[int, typer.Option("--top", "-n", metavar="N", min=1, help="Rows of the table.")]
Out = Annotated[
    str | None,
    typer.Option(
        "--out", "-o", metavar="FILE", help="Write all rows as well, in the order of features (TSV)."
    ),
]
app = Commands("What models owe to their features: weights, permutations, ablation.")


@app.callback()
def root() -> None:
    """What models owe to their features: weights, permutations, ablation."""


@app.add("weights")
@verb
@reads
def weights(
    model: Model,
    data: Annotated[str, typer.Argument(metavar="DATA", help="Lists; - is standard input.")],
    top: Top = 50,
    out: Out = None,
    as_: As = "text",
    *,
    reading: Reading,
) -> None:
    """Print the weights of a linear model times the features' standard deviations within lists.

    \b
    rerank importance weights model dev.txt
    """
    from rerank.formats.sources import check_outputs, inputs_of
    from rerank.models.importance import standardised_weights

    check_outputs({} if out is None else {"--out": out}, inputs_of(data, reading, model))
    found = standardised_weights(model, data, reading=reading)
    _print(as_, found.sheets(top), found.as_json)
    _write(found.tsv(), out)


@app.add("permute")
@verb
@reads
@judges("metrics", "baseline", "missing_lists", "level")
def permute(
    model: Model,
    data: Annotated[str, typer.Argument(metavar="DATA", help="Judged lists; - is standard input.")],
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            "-m",
            autocompletion=completing.completion("metrics"),
            metavar="METRIC",
            help="What a permutation changes.",
        ),
    ] = None,
    group: Groups = None,
    repeats: Annotated[
        int,
        typer.Option(
            "--repeats", metavar="N", min=1, help="Permutations of each list.", rich_help_panel=groups.TESTS
        ),
    ] = 10,
    permutation_seed: Annotated[
        int,
        typer.Option(
            "--permutation-seed",
            metavar="N",
            min=0,
            help="Seed of the permutations.",
            rich_help_panel=groups.TESTS,
        ),
    ] = 1,
    top: Top = 50,
    out: Out = None,
    as_: As = "text",
    jobs: Jobs = None,
    cluster: ClusterAddress = None,
    *,
    settings: dict[str, Any],
    reading: Reading,
) -> None:
    """Permute each feature, or group of features, within each list: what the metric loses, with intervals.

    \b
    rerank importance permute model test.txt --metric AP
    rerank importance permute model test.store --metric PARSEVAL --group 'Rule*' --group 'Heads*'
    """
    from rerank.core.errors import ConfigError
    from rerank.formats.sources import check_outputs, inputs_of
    from rerank.models.importance import permutation_importance

    if metric is None:
        raise ConfigError("no metric: give one (--metric)")
    check_outputs({} if out is None else {"--out": out}, inputs_of(data, reading, model))
    found = permutation_importance(
        model,
        data,
        metric,
        groups=group or [],
        repeats=repeats,
        permutation_seed=permutation_seed,
        **settings,
        jobs=jobs,
        cluster=cluster,
        reading=reading,
    )
    _print(as_, found.sheets(top), found.as_json)
    _write(found.tsv(), out)


@app.add("ablate")
@verb
@configures(TrainConfig)
@judges("metrics", "baseline", "missing_lists", "level", "seed")
def ablate(
    config: Config = None,
    learner: LearnerName = None,
    set_: Set = None,
    test: Annotated[
        str | None,
        typer.Option("--test", metavar="FILE", help="Lists on which models are compared; default: dev."),
    ] = None,
    test_refs: Annotated[
        list[str] | None, typer.Option("--test-refs", metavar="FILE", help="Their references. Repeatable.")
    ] = None,
    group: Groups = None,
    top: Top = 50,
    out: Out = None,
    as_: As = "text",
    resampling_seed: Annotated[
        int,
        typer.Option(
            "--resampling-seed", metavar="N", min=0, help="Seed of the tests.", rich_help_panel=groups.TESTS
        ),
    ] = 12345,
    *,
    settings: dict[str, Any],
    given: dict[str, Any],
) -> None:
    """Train without each feature, or group of features: what the metric loses on test or development lists.

    \b
    rerank importance ablate --data train.txt --dev vali.txt --test test.txt --metric AP --keep best
    """
    from rerank.formats.sources import check_outputs
    from rerank.training.ablation import ablation_files
    from rerank.training.config import read_config

    trained = read_config(
        config, set_ or [], given if learner is None else {**given, "learner.name": learner}
    )
    inputs = [*trained.files(), *(test_refs or []), *([] if test is None else [test])]
    check_outputs({} if out is None else {"--out": out}, inputs)
    found = ablation_files(
        trained,
        test,
        test_refs=test_refs or [],
        groups=group or [],
        seed=resampling_seed,
        **settings,
    )
    _print(as_, found.sheets(top), found.as_json)
    _write(found.tsv(), out)


def _print(form: str, sheets: Sequence[Sheet], record: Callable[[], Any]) -> None:
    from rerank.core.tables.text import sheet_lines

    write(form, lambda: sheet_lines(sheets[0]), record, lambda: sheets)


def _write(rows: Iterator[str], out: str | None) -> None:
    from rerank.core.files.write import write_lines

    if out is not None:
        write_lines(out, rows)
