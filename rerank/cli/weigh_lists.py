"""``rerank weigh-lists``: training lists weighted for the lists to be ranked."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import Jobs, Printed, Verb, verb, write
from rerank.core.settings import setting


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
