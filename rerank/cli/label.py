"""``rerank label``: a metric of each candidate as its label, and a table of several."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import OUTPUTS, Jobs, Verb, Writes, inform, verb
from rerank.core.settings import setting


class Label(Writes, Jobs, Verb):
    """Options of ``rerank label``."""

    reads: ClassVar = True

    data: str = setting(
        ..., "lists with texts, parses or structures; - is standard input", argument=True, metavar="DATA"
    )
    metric: tuple[str, ...] = setting(
        ...,
        "sBLEU, WER, TER, chrF, PARSEVAL.score, GDT-TS ... Repeatable: the first makes the labels",
        flags=("--metric", "-m"),
        metavar="METRIC",
    )
    out: str | None = setting(
        None,
        "file of lists to write; - is standard output. Without it a table of values is printed",
        flags=("--out", "-o"),
        metavar="OUT",
    )
    per_item: str | None = setting(
        None, "write every metric of each item (TSV); - is standard output", metavar="FILE", group=OUTPUTS
    )


@verb(Label)
def label(given: Label) -> None:
    """Make labels of candidates from references, gold trees or native structures.

    Error rates are negated in labels, not in tables of values. Lists without a native are unjudged.

    \b
    rerank label dev.nbest --refs dev.ref --metric sBLEU --out dev.store
    rerank label dev.parses --metric PARSEVAL.score --out dev.store
    rerank label models/T0953 --native T0953.pdb --metric GDT
    rerank label models/T0953 --native T0953.pdb -m GDT-TS -m TM --per-item values.tsv --out T0953.store
    """
    from rerank.metrics import labelling

    per_item = "-" if given.out is None and given.per_item is None else given.per_item
    made = labelling.label(
        given.data,
        given.metric,
        given.out,
        given.to,
        per_item=per_item,
        jobs=given.jobs,
        reading=given.reading,
    )
    inform(labelling.spread_of(made, given.metric[0]))
