"""``rerank label``: a metric of each candidate as its label, and a table of several."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli import completing, groups
from rerank.cli.common import Jobs, inform, verb
from rerank.cli.convert import To
from rerank.cli.options import reads
from rerank.data.reading import Reading


@verb
@reads
def label(
    data: Annotated[
        str,
        typer.Argument(metavar="DATA", help="Lists with texts, parses or structures; - is standard input."),
    ],
    metric: Annotated[
        list[str],
        typer.Option(
            "--metric",
            "-m",
            autocompletion=completing.completion("metrics"),
            metavar="METRIC",
            help="sBLEU, WER, TER, chrF, PARSEVAL.score, GDT-TS ... Repeatable: the first makes the labels.",
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="OUT",
            help="File of lists to write; - is standard output. Without it a table of values is printed.",
        ),
    ] = None,
    to: To = None,
    per_item: Annotated[
        str | None,
        typer.Option(
            "--per-item",
            metavar="FILE",
            help="Write every metric of each item (TSV); - is standard output.",
            rich_help_panel=groups.OUTPUTS,
        ),
    ] = None,
    jobs: Jobs = None,
    *,
    reading: Reading,
) -> None:
    """Make labels of candidates from references, gold trees or native structures.

    Error rates are negated in labels, not in tables of values. Lists without a native are unjudged.

    \b
    rerank label dev.nbest --refs dev.ref --metric sBLEU --out dev.store
    rerank label dev.parses --metric PARSEVAL.score --out dev.store
    rerank label models/T0953 --native T0953.pdb --metric GDT
    rerank label models/T0953 --native T0953.pdb -m GDT-TS -m TM --per-item values.tsv --out T0953.store
    """
    from rerank.metrics import labelling

    if out is None and per_item is None:
        per_item = "-"
    made = labelling.label(data, metric, out, to, per_item=per_item, jobs=jobs, reading=reading)
    inform(labelling.spread_of(made, metric[0]))
