"""``rerank show``, ``rerank export`` and ``rerank import``: models for people and other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rerank.cli.frame import Output, Verb, inform, verb, write
from rerank.core.settings import setting
from rerank.core.text import count
from rerank.models.exchange.settings import ExportModel, ImportModel

if TYPE_CHECKING:
    from rerank.models.base import Model


class Show(Output, Verb):
    """Options of ``rerank show``."""

    reads: ClassVar = True

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
    items: bool = setting(False, "list the coefficients of support items (models with kernels)")
    features: tuple[str, ...] = setting(
        (),
        "only weights of these features: names, numbers, ranges, globs, separated by commas; a "
        "leading - excludes",
        metavar="ITEMS",
    )
    unscaled: bool = setting(False, "weights of the raw features (linear models): divided by the scaling")
    bounds: str | None = setting(None, "theoretical bounds of a perceptron on judged lists", metavar="DATA")


@verb(Show)
def show(given: Show) -> None:
    """Print a model: learner, settings, training data, weights by name, fragments of trees.

    \b
    rerank show model --top 10
    rerank show model --unscaled --features 'prm*,-length'
    rerank show model --fragments 50 --min-nodes 4
    rerank show model --bounds train.txt
    """
    from rerank.data.reading import Reading, checked_patterns
    from rerank.extensions.parsing.fragments import shown_fragments
    from rerank.learners.bounds import bounds_on
    from rerank.models import describe as models
    from rerank.models.base import load_model
    from rerank.models.describe import shown_weights

    given.check_out(given.model, *filter(None, [given.bounds]))
    loaded = load_model(given.model)
    people = given.as_ not in ("json", "csv")
    top = 0 if loaded.weighs_items and people and given.top is None and not given.items else given.top
    found: Any = shown_fragments(loaded, given.fragments, given.min_nodes)
    if given.bounds is not None or given.reading != Reading():
        found = bounds_on(loaded, given.bounds, given.reading)
    shown = shown_weights(loaded, checked_patterns(given.features), given.unscaled, given.model)
    write(
        given.as_,
        lambda: models.model_lines(loaded, top, found, shown),
        lambda: models.model_record(loaded, top, found, shown),
        lambda: models.model_tables(loaded, top, found, shown),
        data=lambda: models.weight_table(loaded, top, shown),
        out=given.out,
    )


def _size(model: Model) -> str:
    """Count the weights of a model, or its support items, or its features."""
    from rerank.models.linear import LinearModel
    from rerank.models.preference import PreferenceModel

    if isinstance(model, LinearModel):
        return count(len(model.weights), "weight")
    if isinstance(model, PreferenceModel):
        return count(len(model.explain()), "support item")
    return count(len(model.input_names), "feature")


class Export(ExportModel, Verb):
    """Options of ``rerank export``."""


@verb(Export)
def export_(given: Export) -> None:
    """Write a model for another program: code, SQL, or the format of a server or library.

    \b
    rerank export model --to c --out model.h
    rerank export model --to sql --dialect duckdb --out score.sql
    rerank export model --to moses-ini --ini moses.ini --out tuned.ini
    """
    from rerank.models.exchange.calls import export

    found = export(**given.others())
    inform(f"{given.to}: a {found.kind} model, {_size(found)}, to {given.out}")


class Import(ImportModel, Verb):
    """Options of ``rerank import``."""


@verb(Import)
def import_(given: Import) -> None:
    """Make a model from one that another program has trained.

    \b
    rerank import ensemble.xml --from ranklib --out model
    rerank import booster.json --from xgboost --out model
    rerank import moses.ini --out model
    """
    from rerank.models.exchange.calls import import_model

    names = [name.strip() for name in given.tree_names.split(",")] if given.tree_names else None
    found = import_model(**given.others("tree_names"), tree_names=names)
    format = found.training.notes["imported from"]
    inform(f"{format}: a {found.kind} model, {_size(found)}, to {given.out}")
