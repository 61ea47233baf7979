"""``rerank list``: what there is to choose from."""

from __future__ import annotations

from rerank.cli.frame import Printed, Verb, verb, write
from rerank.core.settings import setting

KINDS = ("learners", "metrics", "formats", "scalings", "kernels")


class List(Printed, Verb):
    """Options of ``rerank list``."""

    kind: str = setting(..., "kind of component to list", argument=True, metavar="|".join(KINDS))
    name: str | None = setting(
        None, "one learner, metric or kernel: its settings, defaults, meanings", argument=True, metavar="NAME"
    )


@verb(List)
def list_(given: List) -> None:
    """List learners, metrics, formats, scalings or kernels; with a name, the settings of one.

    \b
    rerank list learners perceptron
    rerank list metrics nDCG
    """
    from rerank.cli import listings
    from rerank.core.errors import ConfigError
    from rerank.core.registry import did_you_mean

    if given.kind not in KINDS:
        raise ConfigError(f"unknown kind {given.kind!r}; {did_you_mean(given.kind, KINDS)}")
    if given.name is None:
        table = listings.LISTINGS[given.kind]()
        lines = listings.lines_of(table)
    elif given.kind in listings.DETAILS:
        lines = listings.DETAILS[given.kind](given.name)
        table = listings.TABLES[given.kind](given.name)
    else:
        raise ConfigError(f"'rerank list {given.kind}' takes no name")
    write(given.as_, lambda: lines, lambda: list(table.records()), lambda: [table])
