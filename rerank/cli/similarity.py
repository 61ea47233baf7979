"""``rerank similarity``: which lists or items are alike."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import OUTPUTS, Printed, Verb, Workers, verb, write
from rerank.core.settings import setting


class Similarity(Printed, Workers, Verb):
    """Options of ``rerank similarity``."""

    reads: ClassVar = True

    data: tuple[str, ...] = setting(
        ..., "files of lists, compared as one set; - is standard input", argument=True, metavar="DATA"
    )
    kernel: str = setting(
        "list",
        "see 'rerank list kernels'; or an expression, such as 'ptk(question) + 0.5 * linear'",
        flags=("--kernel", "-k"),
        metavar="NAME",
    )
    components: int | None = setting(
        None, "principal axes of each list [5]", flags=("--components", "-c"), metavar="N"
    )
    set_: tuple[str, ...] = setting(
        (), "a setting of the kernel", flags=("--set", "-s"), metavar="KEY=VALUE", key="set"
    )
    scaling: str = setting("auto", "see 'rerank list scalings'; auto = zscore if dense", metavar="NAME")
    out: str | None = setting(
        None,
        "folder for gram.npy, lists.tsv or items.tsv (with a map) and nearest.tsv",
        flags=("--out", "-o"),
        metavar="DIR",
    )
    figure: str | None = setting(
        None, "draw the map (SVG; needs rerank[report])", metavar="FILE", group=OUTPUTS
    )
    nearest: int | None = setting(
        None,
        "neighbours in nearest.tsv for each list or item [5]",
        flags=("--nearest", "-n"),
        metavar="N",
        group=OUTPUTS,
    )
    repair: str = setting(
        "none", "make gram.npy positive semi-definite", metavar="none|clip|flip", group=OUTPUTS
    )


@verb(Similarity)
def similarity(given: Similarity) -> None:
    """Compare every list, or item, with every other: a Gram matrix, the nearest ones, a map.

    \b
    rerank similarity train.txt test.txt --kernel list --components 5 --out alike --figure map.svg
    rerank similarity parses.jsonl --kernel ptk --set decay=0.3 --out alike
    """
    from rerank.similarity.compare import list_similarity
    from rerank.training.config import settings_of

    settings = settings_of(given.set_ or [], {"components": given.components})
    found = list_similarity(
        settings=settings,
        neighbours=given.nearest,
        **given.others("components", "set_", "nearest", "as_"),
    )
    write(given.as_, found.lines, found.as_json, found.tables, data=found.alike_table)
