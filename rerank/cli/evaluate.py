"""``rerank eval``: scores in, numbers that can be cited out."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import verb
from rerank.cli.options import Reading, reads


@verb
@reads
def evaluate(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Judged lists; - is standard input.")],
    scores: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCORES", help="Score files, one number an item line; each is a system."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", metavar="M", help="AP, nDCG@10, BLEU, WER ...; may be repeated."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            "-b",
            metavar="FILE",
            help="The system (a score file) that others are tested against.",
        ),
    ] = None,
    ties: Annotated[
        str | None,
        typer.Option(
            "--ties",
            metavar="trec|expected|input",
            help="Ties: as trec_eval (default with item ids), the mean over their orders, or by input order.",
        ),
    ] = None,
    no_relevant: Annotated[
        str,
        typer.Option(
            "--no-relevant", metavar="zero|skip|one", help="The value of a list without a relevant item."
        ),
    ] = "zero",
    replicas: Annotated[
        bool,
        typer.Option(
            "--replicas",
            help="The score files are runs of one system with other seeds: say how far apart they are.",
        ),
    ] = False,
    per_list: Annotated[
        str | None, typer.Option("--per-list", metavar="FILE", help="Write every list's values (TSV).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON in place of the table.")] = False,
    samples: Annotated[
        int, typer.Option("--samples", metavar="N", min=1, help="Bootstrap samples of the lists.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the bootstrap.")] = 12345,
    *,
    reading: Reading,
) -> None:
    """Judge score files on judged lists, beside first-best, random and oracle, with significance.

    \b
    rerank eval test.txt scores.txt --metric AP --metric nDCG@10
    """
    import sys

    from rerank import experiment
    from rerank.files import write_lines
    from rerank.report import record, tables

    lists = reading.load(data)
    result = experiment.evaluate_files(
        lists,
        scores or [],
        metric or experiment.default_metrics(lists),
        baseline=baseline,
        ties=ties,
        no_relevant=no_relevant,
        samples=samples,
        seed=seed,
        replicas=replicas,
    )
    if per_list is not None:
        write_lines(per_list, (line.rstrip("\n") for line in record.per_list_tsv(result.per_list())))
    if json:
        sys.stdout.write(record.to_json(result.as_json()))
    else:
        tables.print_table(result)
