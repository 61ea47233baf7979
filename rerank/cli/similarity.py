"""``rerank similarity`` and ``rerank weigh-lists``: similarity of lists or items."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import OUTPUTS, Jobs, Printed, Verb, Workers, verb, write
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
    rerank similarity train.txt test.txt --kernel list --components 5 --out similar --figure map.svg
    rerank similarity parses.jsonl --kernel ptk --set decay=0.3 --out similar
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


class WeighLists(Printed, Jobs, Verb):
    """Options of ``rerank weigh-lists``."""

    reads: ClassVar = True

    train: str = setting(..., "training lists; - is standard input", argument=True, metavar="TRAIN")
    test: str = setting(
        ..., "the lists to be ranked; their labels are not used", argument=True, metavar="TEST"
    )
    out: str = setting(
        ..., "weights to write (TSV: list, items, weight)", flags=("--out", "-o"), metavar="FILE"
    )
    kernel: str | None = setting(
        None, "see 'rerank list kernels' [list]", flags=("--kernel", "-k"), metavar="NAME"
    )
    components: int | None = setting(
        None, "principal axes of each list [5]", flags=("--components", "-c"), metavar="N"
    )
    basis: str | None = setting(
        None,
        "basis functions of the weights: Gaussians of 2 - 2 K, or K itself [gaussian]",
        metavar="gaussian|kernel",
    )
    centres: int | None = setting(
        None, "maximum number of centres, drawn from the lists of TEST [100]", metavar="N"
    )
    set_: tuple[str, ...] = setting(
        (),
        "a setting: the ones above, ridge, widths or folds, as of the learner list-iw",
        flags=("--set", "-s"),
        metavar="KEY=VALUE",
        key="set",
    )
    scaling: str = setting("auto", "see 'rerank list scalings'; auto = zscore if dense", metavar="NAME")
    seed: int = setting(1, "random seed of centres and folds", ge=0)


@verb(WeighLists)
def weigh_lists(given: WeighLists) -> None:
    """Weigh training lists by how much they look like the lists to be ranked (KLIEP with a kernel on lists).

    \b
    rerank weigh-lists train.txt test.txt --kernel list --out weights.tsv
    rerank train --data train.txt --list-weights weights.tsv --learner mert --metric label@1 --out model
    """
    from rerank.extensions.transductive import weigh_lists as weighing
    from rerank.training.config import settings_of

    own = ("kernel", "components", "basis", "centres")
    settings = settings_of(given.set_, {name: getattr(given, name) for name in own})
    found = weighing.weigh_lists(settings=settings, **given.others(*own, "set_", "as_"))
    write(given.as_, found.lines, found.as_json, lambda: found.tables()[:1])
