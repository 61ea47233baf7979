"""``rerank label``: a metric of each candidate as its label."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli import completing
from rerank.cli.common import inform, verb
from rerank.cli.convert import To
from rerank.cli.options import reads
from rerank.reading import Reading


@verb
@reads
def label(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="Lists with texts or parses; - is standard input.")
    ],
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            "-m",
            autocompletion=completing.completion("metrics"),
            metavar="METRIC",
            help="sBLEU, WER, TER, chrF, PARSEVAL.score ...",
        ),
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="OUT", help="File to write; - is standard output.")
    ],
    to: To = None,
    *,
    reading: Reading,
) -> None:
    """Write the lists with labels made from references or gold trees; error rates are negated.

    \b
    rerank label dev.nbest --refs dev.ref --metric sBLEU --out dev.store
    rerank label dev.parses --metric PARSEVAL.score --out dev.store
    """
    from rerank.experiment import label_file
    from rerank.text import count

    lists = label_file(data, metric, out, to, reading=reading).lists
    labels = lists.labels
    assert labels is not None
    spread = f"{labels.min():.4g} to {labels.max():.4g}, mean {labels.mean():.4g}"
    inform(f"{metric} of {count(lists.n_items, 'item')}: {spread}")
