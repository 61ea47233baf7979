"""Options that several verbs take, declared once."""

from __future__ import annotations

from typing import Annotated

import typer

Format = Annotated[
    str | None,
    typer.Option("--format", "-f", metavar="NAME", help="Format of the data; by default by name or content."),
]
FirstBest = Annotated[
    str | None,
    typer.Option(
        "--first-best",
        metavar="input|FEATURE",
        help="The first stage's order: that of the input's lines, or a feature (larger first).",
    ),
]
FeatureNames = Annotated[
    str | None,
    typer.Option("--feature-names", metavar="FILE", help="Names of the features, one a line."),
]
Missing = Annotated[
    str, typer.Option("--missing", metavar="zero|nan", help="What a feature that a line leaves out is.")
]
ZeroBased = Annotated[bool, typer.Option("--zero-based", help="The first feature has index 0.")]
Layout = Annotated[
    str,
    typer.Option("--layout", metavar="auto|dense|sparse", help="How features are kept in memory."),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse what is otherwise mended or ignored with a note.")
]
