"""``rerank pairs``: how many pairs each relation gives."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import verb
from rerank.cli.options import Reading, reads


@verb
@reads
def pairs(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Judged lists; - is standard input.")],
    relation: Annotated[
        list[str] | None,
        typer.Option(
            "--relation",
            "-r",
            metavar="SETTINGS",
            help="Only these: learner settings such as 'pairs=split split_top=5'; may be repeated.",
        ),
    ] = None,
    quantise: Annotated[
        list[str] | None,
        typer.Option(
            "--quantise",
            metavar="HOW",
            help="Also the pairs of labels made few: best, above=T, model=FILE, top=P%, kmeans=K, "
            "list-kmeans=K; may be repeated.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON in place of the table.")] = False,
    *,
    reading: Reading,
) -> None:
    """Count the pairs that pair relations give, of the labels as they are and quantised.

    \b
    rerank pairs train.txt -r pairs=ordinal -r 'pairs=all label_gap=1' --quantise top=30%
    """
    import sys

    from rerank.data.labels import parse_quantiser
    from rerank.data.pairs import PairRelation
    from rerank.experiment import derive
    from rerank.report import pair_counts, record

    relations = [pair_counts.parse_relation(text) for text in relation or []]
    quantisers = [parse_quantiser(text) for text in quantise or []]
    lists = reading.load(data)
    if not quantisers and not relations:
        quantisers = pair_counts.standard_quantisers(lists)
    schemes = [
        pair_counts.Scheme(lists, relation) for relation in relations or pair_counts.standard_relations(lists)
    ]
    for quantiser in quantisers:
        few = derive.with_quantised(lists, quantiser)
        schemes += [
            pair_counts.Scheme(few, relation, quantiser) for relation in relations or [PairRelation()]
        ]
    if json:
        sys.stdout.write(record.to_json([scheme.row() for scheme in schemes]))
    else:
        print("\n".join(pair_counts.pair_lines(schemes)))
