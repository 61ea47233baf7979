"""``rerank fuse``: several runs in, one run out."""

from __future__ import annotations

from rerank.cli.frame import Printed, Verb, inform, verb, write
from rerank.core.errors import ConfigError
from rerank.core.settings import setting


class Fuse(Printed, Verb):
    """Options of ``rerank fuse``."""

    runs: tuple[str, ...] = setting(
        ..., "two runs or more, in any format of runs", argument=True, metavar="RUNS"
    )
    out: str = setting(..., "run to write; - is standard output", flags=("--out", "-o"), metavar="RUN")
    method: str = setting(
        "rrf",
        "method of fusion ('rerank help fusion'), or another learner, such as ranksvm",
        flags=("--method",),
        metavar="NAME",
    )
    qrels: str | None = setting(
        None,
        "judgements: the metrics of all runs are printed, and methods that learn are cross-validated",
        metavar="FILE",
    )
    train: str | None = setting(
        None, "other judgements, which a method learns from instead of --qrels", metavar="FILE"
    )
    metrics: tuple[str, ...] = setting(
        (),
        "metric to print [AP, RR, nDCG@10]; weights are tuned on the first one [AP]",
        flags=("--metric", "-m"),
        metavar="METRIC",
    )
    folds: int = setting(5, "folds of the cross-validation", flags=("--folds", "-k"), metavar="K", ge=2)
    seed: int = setting(1, "random seed of the folds", metavar="N", ge=0)
    scaling: str | None = setting(
        None, "scaling of the scores; by default list-minmax for methods of scores", metavar="NAME"
    )
    settings_: tuple[str, ...] = setting(
        (), "a setting of the method, as k=10", flags=("--set",), metavar="NAME=VALUE", key="set"
    )
    depth: int | None = setting(None, "documents of each query to write [all]", metavar="N", ge=1)
    tag: str | None = setting(None, "name of the run [the method]", metavar="NAME")


@verb(Fuse)
def fuse(given: Fuse) -> None:
    """Fuse the runs of several systems into one, and judge it.

    \b
    rerank fuse bm25.run dense.run --out fused.run
    rerank fuse bm25.run dense.run --method ranksvm --qrels qrels.txt --out fused.run
    """
    from rerank.core.text import count
    from rerank.extensions.fusion.fuse import fuse_files
    from rerank.training.config import settings_of

    if given.qrels is None and (given.metrics and given.train is None):
        raise ConfigError("--metric: not used without --qrels or --train")
    wrong = next((text for text in given.settings_ if not text.strip("=").partition("=")[1]), None)
    if wrong is not None:
        raise ConfigError(f"--set: found {wrong!r}, expected NAME=VALUE")
    found = fuse_files(
        given.runs,
        given.out,
        given.method,
        metrics=given.metrics or (),
        settings=settings_of(given.settings_, {"scaling": given.scaling}),
        **{name: getattr(given, name) for name in ("qrels", "train", "folds", "seed", "depth", "tag")},
    )
    lists = found.lists
    size = f"{count(lists.n_features, 'run')}, {count(lists.n_lists, 'query', 'queries')}"
    inform(f"{found.method}: {size}, {count(lists.n_items, 'document')}")
    if found.learnt:
        inform(f"{found.method}: {found.learnt}")
    if found.judged is not None:
        judged = found.judged
        write(given.as_, judged.print, judged.as_json, judged.tables)
