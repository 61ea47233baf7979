"""``rerank weights``: linear models from and to other tools' weight files."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import Commands, say, verb

Names = Annotated[
    str | None,
    typer.Option("--feature-names", metavar="FILE", help="File with the id of each feature (bllip)."),
]
app = Commands("Linear models from and to other tools' weight files.")


@app.callback()
def root() -> None:
    """Linear models from and to other tools' weight files."""


@app.add("import")
@verb
def import_(
    weights: Annotated[str, typer.Argument(metavar="FILE", help="A weight file; - is standard input.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="MODEL", help="Model file to write.")],
    format: Annotated[
        str | None,
        typer.Option("--format", "-f", metavar="NAME", help="tsv, moses-ini or bllip; default: by content."),
    ] = None,
    feature_names: Names = None,
) -> None:
    """Make a linear model from a weight file.

    \b
    rerank weights import moses.ini --out model
    """
    from rerank.experiment import import_weights
    from rerank.text import count

    model = import_weights(weights, out, format, feature_names=feature_names)
    say(f"{count(len(model.weights), 'weight')} to {out}")


@app.add("export")
@verb
def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A linear model.")],
    to: Annotated[str, typer.Option("--as", metavar="NAME", help="tsv, moses-ini or bllip.")],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="File to write; - is standard output.")
    ],
    ini: Annotated[
        str | None,
        typer.Option("--ini", metavar="OLD.ini", help="A moses.ini whose other content is kept."),
    ] = None,
    feature_names: Names = None,
) -> None:
    """Write a linear model's weights of the raw features.

    \b
    rerank weights export model --as moses-ini --ini moses.ini --out tuned.ini
    """
    from rerank.experiment import export_weights

    found = export_weights(model, out, to, ini=ini, feature_names=feature_names)
    if found.keep_margin is not None:
        say(f"note: {model}: its keep margin {found.keep_margin:.6g} is not a weight, so it is left out")
