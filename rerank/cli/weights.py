"""``rerank weights``: linear models from and to other tools' files of weights."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import say, verb

Names = Annotated[
    str | None,
    typer.Option("--feature-names", metavar="FILE", help="The list that says each feature's id (bllip)."),
]


@verb
def import_(
    weights: Annotated[str, typer.Argument(metavar="FILE", help="A file of weights; - is standard input.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="MODEL", help="Model file to write.")],
    format: Annotated[
        str | None,
        typer.Option("--format", "-f", metavar="NAME", help="tsv, moses-ini or bllip; else by content."),
    ] = None,
    feature_names: Names = None,
) -> None:
    """Make a linear model of a file of weights.

    \b
    rerank weights import moses.ini --out model
    """
    from rerank.formats.weights import WeightOptions, read_weights
    from rerank.models.linear import LinearModel
    from rerank.text import count

    names, values = read_weights(weights, format, WeightOptions(feature_names))
    LinearModel(names, values).save(out)
    say(f"{count(len(names), 'weight')} to {out}")


@verb
def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A linear model.")],
    to: Annotated[str, typer.Option("--as", metavar="NAME", help="tsv, moses-ini or bllip.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="Where to; - is standard output.")],
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
    from rerank.formats.weights import WeightOptions, write_weights
    from rerank.models.weights import load_linear, weights_of

    found = load_linear(model)
    named = weights_of(found, model)
    write_weights(out, named.names, named.weights, to, WeightOptions(feature_names, ini))
    if found.keep_margin is not None:
        say(f"note: {model}: its keep margin {found.keep_margin:.6g} is no weight, so it is left out")


app = typer.Typer(
    help="Linear models from and to other tools' files of weights.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("import")(import_)
app.command("export")(export)


@app.callback()
def root() -> None:
    """Linear models from and to other tools' files of weights."""
