"""``rerank predict``: a model and lists in, scores or rankings out."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import say, verb
from rerank.cli.options import Reading, reads


@verb
@reads
def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file written by 'rerank train'.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Lists to score; - is standard input.")],
    as_: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="scores|grades|table|run|nbest|best",
            help="One score an input line; one predicted label an input line; list, item, rank and score; "
            "a TREC run; the file reordered; the best candidate of each list.",
        ),
    ] = "scores",
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Where to; - is standard output.")
    ] = "-",
    tag: Annotated[
        str, typer.Option("--tag", metavar="NAME", help="Name of the run, for --as run.")
    ] = "rerank",
    keep_margin: Annotated[
        str | None,
        typer.Option(
            "--keep-margin",
            metavar="M|none",
            help="In place of the model's: the first-best stays unless led by more than M.",
        ),
    ] = None,
    *,
    reading: Reading,
) -> None:
    """Score lists with a model.

    \b
    rerank predict model test.txt > scores.txt
    """
    from rerank.data.leads import margin_of, switched
    from rerank.errors import ConfigError
    from rerank.files import write_lines
    from rerank.formats import format_of
    from rerank.models.base import load_model
    from rerank.models.predicting import grader, predicted
    from rerank.report import predictions
    from rerank.text import count

    writer = predictions.writer(as_)
    format = reading.format or format_of(data)
    scorer = load_model(model)
    grades = as_ == "grades"
    if keep_margin is not None:
        if grades:
            raise ConfigError("--keep-margin changes which item is chosen, not the labels of --as grades")
        scorer.keep_margin = margin_of(keep_margin)
    if grades:
        grader(scorer)  # refuses models without grades before the data is read
    lists = reading.load(data)
    scores = predicted(scorer, lists, strict=bool(reading.given.get("strict")), grades=grades)
    if scorer.keep_margin is not None and not grades:
        many = int(switched(lists, scores).sum())
        say(f"keep margin {scorer.keep_margin:.6g}: {many} of {count(lists.n_lists, 'list')} switch")
    if as_ == "nbest":
        predictions.write_reordered(lists, scores, format, out)
    else:
        write_lines(out, writer(lists, scores, tag))
