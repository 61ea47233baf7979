"""``rerank validate``: what a file holds, or what is wrong with it."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli import options
from rerank.cli.common import EXIT_NO, verb


@verb
def validate(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Lists to look at; - is standard input.")],
    format: options.Format = None,
    feature_names: options.FeatureNames = None,
    missing: options.Missing = "zero",
    zero_based: options.ZeroBased = False,
    layout: options.Layout = "auto",
    strict: options.Strict = False,
) -> None:
    """Say what a file holds: lists, items, features, labels, oddities. Exit 1 if it has faults.

    rerank validate train.txt
    """
    from rerank.errors import FormatError
    from rerank.formats import load
    from rerank.report.contents import describe

    try:
        lists = load(
            data,
            format,
            feature_names=feature_names,
            missing=missing,
            zero_based=zero_based,
            layout=layout,
            strict=strict,
        )
    except FormatError as error:
        print(f"fault  {error}")
        raise typer.Exit(EXIT_NO) from None
    contents = describe(lists)
    for line in contents.lines():
        print(line)
    if contents.faults:
        raise typer.Exit(EXIT_NO)
