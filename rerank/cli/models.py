"""``rerank show`` and ``rerank weights``: what a model has learnt, and models from and to other tools."""

from __future__ import annotations

from rerank.cli.frame import Printed, Verb, VerbGroup, inform, verb, write
from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.core.text import count


class Show(Printed, Verb):
    """Options of ``rerank show``."""

    model: str = setting(..., "a model file written by 'rerank train'", argument=True, metavar="MODEL")
    top: int | None = setting(None, "only the N heaviest weights", flags=("--top", "-n"), metavar="N", ge=0)
    fragments: int | None = setting(
        None,
        "the N fragments of highest weight for each tree kernel of a preference model, and how many "
        "support trees for and against contain them; 20 if not given, 0 = none",
        metavar="N",
        ge=0,
    )
    min_nodes: int | None = setting(None, "only fragments of K nodes or more", metavar="K", ge=1)
    features: tuple[str, ...] = setting(
        (),
        "only weights of these features: names, numbers, ranges, globs, separated by commas; a "
        "leading - excludes",
        metavar="ITEMS",
    )
    unscaled: bool = setting(False, "weights of the raw features (linear models): divided by the scaling")


@verb(Show)
def show(given: Show) -> None:
    """Print a model: learner, settings, training data, weights by name, fragments of trees.

    \b
    rerank show model --top 10
    rerank show model --unscaled --features 'prm*,-length'
    rerank show model --fragments 50 --min-nodes 4
    """
    from rerank.data.reading import checked_patterns
    from rerank.extensions.parsing.fragments import has_fragments, model_fragments
    from rerank.extensions.parsing.fragments.mining import DEFAULT
    from rerank.models import describe as models
    from rerank.models.base import load_model
    from rerank.models.describe import shown_weights

    if given.fragments == 0 and given.min_nodes is not None:
        raise ConfigError("--min-nodes: found --fragments 0, which shows none")
    loaded = load_model(given.model)
    found = None
    if given.fragments or given.min_nodes or (given.fragments is None and has_fragments(loaded)):
        found = model_fragments(loaded, given.fragments or DEFAULT, min_nodes=given.min_nodes or 1)
    shown = shown_weights(loaded, checked_patterns(given.features), given.unscaled, given.model)
    write(
        given.as_,
        lambda: models.model_lines(loaded, given.top, found, shown),
        lambda: models.model_record(loaded, given.top, found, shown),
        lambda: models.model_tables(loaded, given.top, found, shown),
        data=lambda: models.weight_table(loaded, given.top, shown),
    )


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


WEIGHTS = VerbGroup(
    "Models from and to other tools' files: weights of linear models, models of SVM-light-TK.",
    {"import": import_, "export": export},
)
