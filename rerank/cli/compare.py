"""``rerank compare``: every system against every other."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import verb
from rerank.cli.evaluate import Html, Metrics, MissingLists, NoRelevant, Samples, Seed, Ties
from rerank.cli.options import reads
from rerank.cli.output_format import As, write
from rerank.data.reading import Reading


@verb
@reads
def compare(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="Judged lists, or judgements (qrels); - is standard input.")
    ],
    systems: Annotated[
        list[str],
        typer.Argument(
            metavar="SYSTEMS",
            help="Two or more, as for 'rerank eval'. A run that is DATA is one of them.",
        ),
    ],
    metric: Metrics = None,
    ties: Ties = None,
    no_relevant: NoRelevant = "zero",
    missing_lists: MissingLists = None,
    html: Html = None,
    as_: As = "text",
    samples: Samples = 1000,
    seed: Seed = 12345,
    *,
    reading: Reading,
) -> None:
    """Test every two systems: bootstrap, randomisation, Wilcoxon, t, McNemar, Holm's correction.

    \b
    rerank compare test.txt a.scores b.scores c.scores --metric AP
    rerank compare a.run b.run --qrels qrels.txt --metric AP
    """
    from rerank.experiment.evaluating import compare_files
    from rerank.report import comparisons

    found = compare_files(
        data,
        systems,
        metric,
        html=html,
        reading=reading,
        ties=ties,
        no_relevant=no_relevant,
        missing_lists=missing_lists,
        samples=samples,
        seed=seed,
    )
    write(
        as_,
        lambda: comparisons.print_comparisons(found),
        found.as_json,
        lambda: [comparisons.comparison_sheet(found)],
    )
