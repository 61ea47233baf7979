"""``rerank features``: features computed from the candidates themselves."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import say, verb
from rerank.cli.convert import To
from rerank.cli.options import Reading, reads
from rerank.cli.parse_features import parse


@verb
@reads
def consensus(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Lists; - is standard input.")],
    by: Annotated[
        list[str],
        typer.Option("--by", "-b", metavar="WHAT", help="ngram1 .. ngram4, sBLEU, WER, or a feature."),
    ],
    out: Annotated[str, typer.Option("--out", "-o", metavar="OUT", help="Where to; - is standard output.")],
    statistic: Annotated[
        str, typer.Option("--statistic", metavar="mean|median", help="Over the other candidates.")
    ] = "mean",
    to: To = None,
    *,
    reading: Reading,
) -> None:
    """Add how much each candidate is like the others of its list (minimum Bayes risk as a feature).

    \b
    rerank features consensus dev.nbest --by ngram1 --by WER --out dev.store
    """
    from rerank.experiment import derive
    from rerank.formats.saving import format_for, save
    from rerank.text import count

    target = to or format_for(out)
    lists = derive.with_consensus(reading.load(data), by, statistic)
    save(lists, out, target)
    say(f"{count(lists.n_items, 'item')} with {count(len(by), 'feature')} more to {out} ({target})")


app = typer.Typer(
    help="Features computed from the candidates themselves.", no_args_is_help=True, rich_markup_mode=None
)
app.command("consensus")(consensus)
app.command("parse")(parse)


@app.callback()
def root() -> None:
    """Features computed from the candidates themselves."""
