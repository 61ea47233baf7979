"""``rerank compare``: every system against every other."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import verb
from rerank.cli.options import Reading, reads


@verb
@reads
def compare(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Judged lists; - is standard input.")],
    scores: Annotated[
        list[str], typer.Argument(metavar="SCORES", help="Two or more score files, one number an item line.")
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", metavar="M", help="AP, RR, P@5, nDCG@10 ...; may be repeated."),
    ] = None,
    ties: Annotated[
        str | None, typer.Option("--ties", metavar="trec|expected|input", help="As in 'rerank eval'.")
    ] = None,
    no_relevant: Annotated[
        str, typer.Option("--no-relevant", metavar="zero|skip|one", help="As in 'rerank eval'.")
    ] = "zero",
    json: Annotated[bool, typer.Option("--json", help="JSON in place of the table.")] = False,
    samples: Annotated[int, typer.Option("--samples", metavar="N", min=1, help="Samples.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the tests.")] = 12345,
    *,
    reading: Reading,
) -> None:
    """Test every two systems: bootstrap, randomisation, Wilcoxon, t, Holm's correction.

    \b
    rerank compare test.txt a.scores b.scores c.scores --metric AP
    """
    import sys

    from rerank import experiment
    from rerank.report import comparisons, record

    lists = reading.load(data)
    found = experiment.compare_files(
        lists,
        scores,
        metric or experiment.default_metrics(lists),
        ties=ties,
        no_relevant=no_relevant,
        samples=samples,
        seed=seed,
    )
    sys.stdout.write(record.to_json(found.as_json()) if json else comparisons.comparison_text(found))
