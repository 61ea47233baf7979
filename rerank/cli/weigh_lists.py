"""``rerank weigh-lists``: training lists weighted for the lists to be ranked."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli import completing
from rerank.cli.common import Jobs, verb
from rerank.cli.options import reads
from rerank.cli.output_format import As, write
from rerank.data.reading import Reading


@verb
@reads
def weigh_lists(
    train: Annotated[str, typer.Argument(metavar="TRAIN", help="Training lists; - is standard input.")],
    test: Annotated[
        str, typer.Argument(metavar="TEST", help="The lists to be ranked; their labels are not used.")
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Weights to write (TSV: list, items, weight).")
    ],
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            "-k",
            autocompletion=completing.completion("kernels"),
            metavar="NAME",
            help="See 'rerank list kernels' [list].",
        ),
    ] = None,
    components: Annotated[
        int | None, typer.Option("--components", "-c", metavar="N", help="Principal axes of each list [5].")
    ] = None,
    basis: Annotated[
        str | None,
        typer.Option(
            "--basis",
            metavar="gaussian|kernel",
            autocompletion=completing.choices("gaussian|kernel"),
            help="Weights are made of Gaussians of 2 - 2 K, or of K itself [gaussian].",
        ),
    ] = None,
    centres: Annotated[
        int | None,
        typer.Option("--centres", metavar="N", help="Lists of TEST that they are centred at [100]."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            "-s",
            metavar="KEY=VALUE",
            help="A setting: the ones above, ridge, widths or folds, as of the learner list-iw. Repeatable.",
        ),
    ] = None,
    scaling: Annotated[
        str,
        typer.Option(
            "--scaling",
            autocompletion=completing.completion("scalings"),
            metavar="NAME",
            help="See 'rerank list scalings'; auto = zscore if dense.",
        ),
    ] = "auto",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of centres and of parts for widths.")] = 1,
    as_: As = "text",
    jobs: Jobs = None,
    *,
    reading: Reading,
) -> None:
    """Weigh training lists by how much they look like the lists to be ranked (KLIEP with a kernel on lists).

    \b
    rerank weigh-lists train.txt test.txt --kernel list --out weights.tsv
    rerank train --data train.txt --list-weights weights.tsv --learner mert --metric label@1 --out model
    """
    from rerank.training import list_weights
    from rerank.training.config import settings_of

    own = {"kernel": kernel, "components": components, "basis": basis, "centres": centres}
    settings = settings_of(set_ or [], own)
    found = list_weights.weigh_lists(
        train, test, out, settings=settings, scaling=scaling, seed=seed, jobs=jobs, reading=reading
    )
    write(as_, found.lines, found.as_json, lambda: found.sheets()[:1])
