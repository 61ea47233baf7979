"""``rerank show``: a model and what it has learnt."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import verb
from rerank.cli.output_format import As, write


@verb
def show(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file written by 'rerank train'.")],
    top: Annotated[
        int | None, typer.Option("--top", "-n", metavar="N", min=0, help="Only the N heaviest weights.")
    ] = None,
    fragments: Annotated[
        int | None,
        typer.Option(
            "--fragments",
            metavar="N",
            min=0,
            help="The N fragments of highest weight for each tree kernel of a preference model, and how many "
            "support trees for and against contain them; 20 if not given, 0 = none.",
        ),
    ] = None,
    min_nodes: Annotated[
        int | None,
        typer.Option("--min-nodes", metavar="K", min=1, help="Only fragments of K nodes or more."),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            "--features",
            metavar="ITEMS",
            help="Only weights of these features: names, numbers, ranges, globs, separated by commas; a "
            "leading - excludes. Repeatable.",
        ),
    ] = None,
    unscaled: Annotated[
        bool,
        typer.Option(
            "--unscaled", help="Weights of the raw features (linear models): divided by the scaling."
        ),
    ] = False,
    as_: As = "text",
) -> None:
    """Print a model: learner, settings, training data, weights by name, fragments of trees.

    \b
    rerank show model --top 10
    rerank show model --unscaled --features 'prm*,-length'
    rerank show model --fragments 50 --min-nodes 4
    """
    from rerank.core.errors import ConfigError
    from rerank.data.reading import checked_patterns
    from rerank.models import describe as models
    from rerank.models.base import load_model
    from rerank.models.describe import shown_weights
    from rerank.models.fragments import has_fragments, model_fragments
    from rerank.models.fragments.mining import DEFAULT

    if fragments == 0 and min_nodes is not None:
        raise ConfigError("--min-nodes: found --fragments 0, which shows none")
    loaded = load_model(model)
    found = None
    if fragments or min_nodes or (fragments is None and has_fragments(loaded)):
        found = model_fragments(loaded, fragments or DEFAULT, min_nodes=min_nodes or 1)
    shown = shown_weights(loaded, checked_patterns(features), unscaled, model)
    write(
        as_,
        lambda: models.model_lines(loaded, top, found, shown),
        lambda: models.model_record(loaded, top, found, shown),
        lambda: models.model_sheets(loaded, top, found, shown),
        data=lambda: models.weight_sheet(loaded, top, shown),
    )
