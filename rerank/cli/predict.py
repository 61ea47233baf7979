"""``rerank predict``: a model and lists in, scores or rankings out."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli import completing, groups
from rerank.cli.common import ClusterAddress, Jobs, inform, verb
from rerank.cli.options import reads
from rerank.data.reading import Reading


@verb
@reads
def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file written by 'rerank train'.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Lists to score; - is standard input.")],
    as_: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="scores|grades|probabilities|classes|table|run|nbest|best",
            autocompletion=completing.choices("scores|grades|probabilities|classes|table|run|nbest|best"),
            help="One score per input line; one predicted label per input line; one probability of being the "
            "list's best item per input line; one prediction per example (default of models of classes); "
            "list, item, rank and score; a TREC run; the file reordered; the best candidate of each list.",
        ),
    ] = None,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="File to write; - is standard output.")
    ] = "-",
    tag: Annotated[
        str | None, typer.Option("--tag", metavar="NAME", help="Name of the run (--as run) [rerank].")
    ] = None,
    keep_margin: Annotated[
        str | None,
        typer.Option(
            "--keep-margin",
            metavar="M|none",
            help="In place of the model's: the first-best stays unless another item leads by more than M.",
        ),
    ] = None,
    transductive_report: Annotated[
        str | None,
        typer.Option(
            "--transductive-report",
            metavar="FILE",
            help="Write what a transductive model did to each list (TSV).",
            rich_help_panel=groups.OUTPUTS,
        ),
    ] = None,
    cheating: Annotated[
        bool,
        typer.Option(
            "--cheating", help="Accept a control model that uses the labels of the lists that it ranks."
        ),
    ] = False,
    cache: Annotated[
        str | None,
        typer.Option(
            "--cache",
            metavar="DIR",
            help="Store the ranker that a transductive model makes for each list, and use it again for the "
            "same list.",
            rich_help_panel=groups.RUNNING,
        ),
    ] = None,
    cache_nearest: Annotated[
        int | None,
        typer.Option(
            "--cache-nearest",
            metavar="K",
            min=1,
            help="Make no ranker: rank new lists by those of the K stored lists that are most like them.",
            rich_help_panel=groups.RUNNING,
        ),
    ] = None,
    cache_by: Annotated[
        str | None,
        typer.Option(
            "--cache-by",
            metavar="list-kernel|histogram",
            autocompletion=completing.choices("list-kernel|histogram"),
            help="How lists are compared: by their principal axes, or by their features' distributions "
            "[list-kernel].",
            rich_help_panel=groups.RUNNING,
        ),
    ] = None,
    jobs: Jobs = None,
    cluster: ClusterAddress = None,
    *,
    reading: Reading,
) -> None:
    """Score lists with a model.

    \b
    rerank predict model test.txt > scores.txt
    """
    from rerank.core.text import count
    from rerank.models import predict as predicting

    found = predicting.predict(
        model,
        data,
        as_,
        out=out,
        tag=tag,
        keep_margin=keep_margin,
        transductive_report=transductive_report,
        cheating=cheating,
        cache=cache,
        cache_nearest=cache_nearest,
        cache_by=cache_by,
        jobs=jobs,
        cluster=cluster,
        reading=reading,
    )
    if cheating:
        from rerank.models.base import CHEATS

        inform(CHEATS)
    if found.adaptation is not None:
        from rerank.transductive.adaptation import adaptation_line

        inform(adaptation_line(found.adaptation))
    if found.switched is not None:
        lists = count(found.lists.n_lists, "list")
        inform(f"keep margin {found.model.keep_margin:.6g}: {found.switched} of {lists} switch")
