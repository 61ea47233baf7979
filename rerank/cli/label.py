"""``rerank label``: a metric of each candidate as its label."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import say, verb
from rerank.cli.convert import To
from rerank.cli.options import Reading, reads


@verb
@reads
def label(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="Lists with texts or parses; - is standard input.")
    ],
    metric: Annotated[
        str,
        typer.Option("--metric", "-m", metavar="M", help="sBLEU, WER, TER, chrF, PARSEVAL.score ..."),
    ],
    out: Annotated[str, typer.Option("--out", "-o", metavar="OUT", help="Where to; - is standard output.")],
    to: To = None,
    *,
    reading: Reading,
) -> None:
    """Write the lists with labels made from references or gold trees; errors count negative.

    \b
    rerank label dev.nbest --refs dev.ref --metric sBLEU --out dev.store
    rerank label dev.parses --metric PARSEVAL.score --out dev.store
    """
    from rerank.experiment import derive
    from rerank.formats.saving import format_for, save
    from rerank.text import count

    target = to or format_for(out)
    lists = derive.labelled(reading.load(data), metric)
    save(lists, out, target)
    labels = lists.labels
    assert labels is not None
    spread = f"{labels.min():.4g} to {labels.max():.4g}, mean {labels.mean():.4g}"
    say(f"{metric} of {count(lists.n_items, 'item')}: {spread}")
