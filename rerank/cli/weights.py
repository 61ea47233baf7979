"""``rerank weights``: models from and to other tools' files."""

from __future__ import annotations

from rerank.cli.frame import Verb, VerbGroup, inform, verb
from rerank.core.settings import setting


class Import(Verb):
    """Options of ``rerank weights import``."""

    weights: str = setting(
        ..., "a weight file or a model; - is standard input", argument=True, metavar="FILE"
    )
    out: str = setting(..., "model file to write", flags=("--out", "-o"), metavar="MODEL")
    format: str | None = setting(
        None, "tsv, moses-ini, bllip or svmtk; default: by content", flags=("--format", "-f"), metavar="NAME"
    )
    feature_names: str | None = setting(None, "file with the id of each feature (bllip)", metavar="FILE")
    tree_names: str = setting(
        "",
        "names of an item's trees, in order (svmtk); default: tree, or tree1,tree2,...",
        metavar="NAME,...",
    )


@verb(Import)
def import_(given: Import) -> None:
    """Make a model from a weight file, or from a model of SVM-light-TK.

    \b
    rerank weights import moses.ini --out model
    rerank weights import svm_model --tree-names question,passage --out model
    """
    from rerank.core.text import count
    from rerank.models.exchange import import_weights
    from rerank.models.linear import LinearModel

    names = [name.strip() for name in given.tree_names.split(",")] if given.tree_names else []
    model = import_weights(
        given.weights, given.out, given.format, feature_names=given.feature_names, tree_names=names
    )
    if isinstance(model, LinearModel):
        inform(f"{count(len(model.weights), 'weight')} to {given.out}")
    else:
        inform(f"{count(len(model.explain()), 'support item')} to {given.out}")


class Export(Verb):
    """Options of ``rerank weights export``."""

    model: str = setting(..., "a linear or preference model", argument=True, metavar="MODEL")
    to: str = setting(..., "tsv, moses-ini or bllip; svmtk, svmtk-pairs", flags=("--as",), metavar="NAME")
    out: str = setting(..., "file to write; - is standard output", flags=("--out", "-o"), metavar="FILE")
    ini: str | None = setting(None, "a moses.ini whose other content is kept", metavar="OLD.ini")
    feature_names: str | None = setting(None, "file with the id of each feature (bllip)", metavar="FILE")


@verb(Export)
def export(given: Export) -> None:
    """Write a linear model's weights of the raw features, or a preference model for SVM-light-TK.

    \b
    rerank weights export model --as moses-ini --ini moses.ini --out tuned.ini
    rerank weights export model --as svmtk-pairs --out svm_model
    """
    from rerank.models.exchange import export_weights
    from rerank.models.linear import Linear
    from rerank.models.preference import PreferenceModel

    found = export_weights(given.model, given.out, given.to, ini=given.ini, feature_names=given.feature_names)
    if isinstance(found, PreferenceModel):
        trees = ", ".join(found.support.tree_names() if found.support else ()) or "none"
        inform(f"note: {given.out}: the trees of each line, in this order: {trees}")
    if isinstance(found, Linear) and found.scaling_name != "none":
        left = f"without the constant {found.unscaled(given.model).constant:.6g}, which changes no order"
        inform(f"note: {given.out}: weights of the raw features, from scaling {found.scaling_name}, {left}")
    if found.keep_margin is not None:
        inform(
            f"note: {given.model}: its keep margin {found.keep_margin:.6g} is not a weight, so it is left out"
        )


GROUP = VerbGroup(
    "Models from and to other tools' files: weights of linear models, models of SVM-light-TK.",
    {"import": import_, "export": export},
)
