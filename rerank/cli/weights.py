"""``rerank weights``: models from and to other tools' files."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import Commands, inform, verb

Names = Annotated[
    str | None,
    typer.Option("--feature-names", metavar="FILE", help="File with the id of each feature (bllip)."),
]
app = Commands("Models from and to other tools' files.")


@app.callback()
def root() -> None:
    """Models from and to other tools' files: weights of linear models, models of SVM-light-TK."""


@app.add("import")
@verb
def import_(
    weights: Annotated[
        str, typer.Argument(metavar="FILE", help="A weight file or a model; - is standard input.")
    ],
    out: Annotated[str, typer.Option("--out", "-o", metavar="MODEL", help="Model file to write.")],
    format: Annotated[
        str | None,
        typer.Option(
            "--format", "-f", metavar="NAME", help="tsv, moses-ini, bllip or svmtk; default: by content."
        ),
    ] = None,
    feature_names: Names = None,
    tree_names: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            help="Names of an item's trees, in order (svmtk); default: tree, or tree1,tree2,...",
        ),
    ] = "",
) -> None:
    """Make a model from a weight file, or from a model of SVM-light-TK.

    \b
    rerank weights import moses.ini --out model
    rerank weights import svm_model --tree-names question,passage --out model
    """
    from rerank.core.text import count
    from rerank.models.exchange import import_weights
    from rerank.models.linear import LinearModel

    names = [name.strip() for name in tree_names.split(",")] if tree_names else []
    model = import_weights(weights, out, format, feature_names=feature_names, tree_names=names)
    if isinstance(model, LinearModel):
        inform(f"{count(len(model.weights), 'weight')} to {out}")
    else:
        inform(f"{count(len(model.explain()), 'support item')} to {out}")


@app.add("export")
@verb
def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A linear or preference model.")],
    to: Annotated[
        str, typer.Option("--as", metavar="NAME", help="tsv, moses-ini or bllip; svmtk, svmtk-pairs.")
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="File to write; - is standard output.")
    ],
    ini: Annotated[
        str | None,
        typer.Option("--ini", metavar="OLD.ini", help="A moses.ini whose other content is kept."),
    ] = None,
    feature_names: Names = None,
) -> None:
    """Write a linear model's weights of the raw features, or a preference model for SVM-light-TK.

    \b
    rerank weights export model --as moses-ini --ini moses.ini --out tuned.ini
    rerank weights export model --as svmtk-pairs --out svm_model
    """
    from rerank.models.exchange import export_weights
    from rerank.models.linear import Linear
    from rerank.models.preference import PreferenceModel

    found = export_weights(model, out, to, ini=ini, feature_names=feature_names)
    if isinstance(found, PreferenceModel):
        trees = ", ".join(found.support.tree_names() if found.support else ()) or "none"
        inform(f"note: {out}: the trees of each line, in this order: {trees}")
    if isinstance(found, Linear) and found.scaling_name != "none":
        left = f"without the constant {found.unscaled(model).constant:.6g}, which changes no order"
        inform(f"note: {out}: weights of the raw features, from scaling {found.scaling_name}, {left}")
    if found.keep_margin is not None:
        inform(f"note: {model}: its keep margin {found.keep_margin:.6g} is not a weight, so it is left out")
