"""``rerank pairs``: how many pairs each relation gives."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import Printed, Verb, verb, write
from rerank.core.settings import setting


class Pairs(Printed, Verb):
    """Options of ``rerank pairs``."""

    reads: ClassVar = True

    data: str = setting(..., "judged lists; - is standard input", argument=True, metavar="DATA")
    relation: tuple[str, ...] = setting(
        (),
        "only these: learner settings such as 'pairs=split split_top=5'",
        flags=("--relation", "-r"),
        metavar="SETTINGS",
    )
    quantise: tuple[str, ...] = setting(
        (),
        "also with quantised labels: best, above=T, model=FILE, top=P%, kmeans=K, list-kmeans=K",
        metavar="HOW",
    )


@verb(Pairs)
def pairs(given: Pairs) -> None:
    """Count the pairs that pair relations give, with the labels as they are and quantised.

    \b
    rerank pairs train.txt -r pairs=ordinal -r 'pairs=all label_gap=1' --quantise top=30%
    """
    from rerank.models.pair_counts import count_pairs

    schemes = count_pairs(given.data, given.relation or [], given.quantise or [], reading=given.reading)
    write(given.as_, schemes.lines, lambda: [scheme.row() for scheme in schemes], schemes.tables)
