"""``rerank list``: what there is to choose from."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import verb

KINDS = ("learners", "metrics", "formats", "scalings", "kernels")


@verb
def list_(
    kind: Annotated[
        str, typer.Argument(metavar="learners|metrics|formats|scalings|kernels", help="Of what kind.")
    ],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="One learner, metric or kernel: its settings, defaults, meanings."
        ),
    ] = None,
) -> None:
    """List learners, metrics, formats, scalings or kernels; with a name, the settings of one.

    \b
    rerank list learners perceptron
    rerank list metrics nDCG
    """
    from rerank.errors import ConfigError
    from rerank.registry import did_you_mean
    from rerank.report import listings

    if kind not in KINDS:
        raise ConfigError(f"unknown kind {kind!r}; {did_you_mean(kind, KINDS)}")
    if name is None:
        lines = listings.LISTINGS[kind]()
    elif kind in listings.DETAILS:
        lines = listings.DETAILS[kind](name)
    else:
        raise ConfigError(f"'rerank list {kind}' takes no name")
    print("\n".join(lines))
