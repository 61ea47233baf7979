"""``rerank compare``: every system against every other."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rerank.cli.common import verb
from rerank.cli.evaluate import Html, with_page
from rerank.cli.options import judges, reads
from rerank.cli.output_format import As, write
from rerank.data.reading import Reading


@verb
@reads
@judges("baseline")
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
    html: Html = None,
    as_: As = "text",
    *,
    settings: dict[str, Any],
    reading: Reading,
) -> None:
    """Test every two systems: bootstrap, randomisation, Wilcoxon, t, McNemar, Holm's correction.

    \b
    rerank compare test.txt a.scores b.scores c.scores --metric AP
    rerank compare a.run b.run --qrels qrels.txt --metric AP
    """
    from rerank.evaluation.evaluate import compare_files

    with with_page(html, data, reading, systems, {}) as show:
        found = compare_files(data, systems, reading=reading, **settings)
        show(found)
    write(as_, found.print, found.as_json, found.sheets)
