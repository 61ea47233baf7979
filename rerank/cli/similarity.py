"""``rerank similarity``: which lists or items are alike."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli import completing, groups
from rerank.cli.common import ClusterAddress, Jobs, verb
from rerank.cli.options import reads
from rerank.cli.output_format import As, write
from rerank.data.reading import Reading


@verb
@reads
def similarity(
    data: Annotated[
        list[str],
        typer.Argument(metavar="DATA", help="Files of lists, compared together; - is standard input."),
    ],
    kernel: Annotated[
        str,
        typer.Option(
            "--kernel",
            "-k",
            autocompletion=completing.completion("kernels"),
            metavar="NAME",
            help="See 'rerank list kernels'; or an expression, such as 'ptk(question) + 0.5 * linear'.",
        ),
    ] = "list",
    components: Annotated[
        int | None,
        typer.Option("--components", "-c", metavar="N", help="Principal axes of each list [5]."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="KEY=VALUE", help="A setting of the kernel. Repeatable."),
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
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder for gram.npy, lists.tsv or items.tsv (with a map) and nearest.tsv.",
        ),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            "--figure",
            metavar="FILE",
            help="Draw the map (SVG; needs rerank[report]).",
            rich_help_panel=groups.OUTPUTS,
        ),
    ] = None,
    nearest: Annotated[
        int | None,
        typer.Option(
            "--nearest",
            "-n",
            metavar="N",
            help="Neighbours in nearest.tsv for each list or item [5].",
            rich_help_panel=groups.OUTPUTS,
        ),
    ] = None,
    repair: Annotated[
        str,
        typer.Option(
            "--repair",
            metavar="none|clip|flip",
            autocompletion=completing.choices("none|clip|flip"),
            help="Make gram.npy positive semi-definite.",
            rich_help_panel=groups.OUTPUTS,
        ),
    ] = "none",
    as_: As = "text",
    jobs: Jobs = None,
    cluster: ClusterAddress = None,
    *,
    reading: Reading,
) -> None:
    """Compare every list, or item, with every other: a Gram matrix, the nearest ones, a map.

    \b
    rerank similarity train.txt test.txt --kernel list --components 5 --out alike --figure map.svg
    rerank similarity parses.jsonl --kernel ptk --set decay=0.3 --out alike
    """
    from rerank.similarity.compare import list_similarity
    from rerank.training.config import settings_of

    settings = settings_of(set_ or [], {"components": components})
    found = list_similarity(
        data,
        kernel,
        out,
        figure,
        settings=settings,
        neighbours=nearest,
        repair=repair,  # type: ignore[arg-type]  # checked there
        scaling=scaling,
        jobs=jobs,
        cluster=cluster,
        reading=reading,
    )
    write(as_, found.lines, found.as_json, found.sheets, data=found.alike_sheet)
