"""``rerank list``: what there is to choose from."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli import completing
from rerank.cli.common import verb
from rerank.cli.output_format import As, write

KINDS = ("learners", "metrics", "formats", "scalings", "kernels")


def _names(ctx: typer.Context) -> list[str]:
    """What completes the name, after the kind."""
    return completing.names_of(str(ctx.params.get("kind")))


@verb
def list_(
    kind: Annotated[
        str, typer.Argument(metavar="|".join(KINDS), autocompletion=lambda: list(KINDS), help="Of what kind.")
    ],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            autocompletion=_names,
            help="One learner, metric or kernel: its settings, defaults, meanings.",
        ),
    ] = None,
    as_: As = "text",
) -> None:
    """List learners, metrics, formats, scalings or kernels; with a name, the settings of one.

    \b
    rerank list learners perceptron
    rerank list metrics nDCG
    """
    from rerank.cli import listings
    from rerank.core.errors import ConfigError
    from rerank.core.registry import did_you_mean

    if kind not in KINDS:
        raise ConfigError(f"unknown kind {kind!r}; {did_you_mean(kind, KINDS)}")
    if name is None:
        sheet = listings.LISTINGS[kind]()
        lines = listings.lines_of(sheet)
    elif kind in listings.DETAILS:
        lines = listings.DETAILS[kind](name)
        sheet = listings.SHEETS[kind](name)
    else:
        raise ConfigError(f"'rerank list {kind}' takes no name")
    write(as_, lambda: lines, lambda: list(sheet.records()), lambda: [sheet])
