"""``rerank show``: a model and what it has learnt."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import verb


@verb
def show(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file written by 'rerank train'.")],
    top: Annotated[
        int | None, typer.Option("--top", "-n", metavar="N", min=0, help="Only the N heaviest weights.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Print a model: learner, settings, training data, weights by name.

    \b
    rerank show model --top 10
    """
    from rerank.models.base import load_model
    from rerank.report.models import model_json, model_lines

    loaded = load_model(model)
    print(model_json(loaded, top) if json else "\n".join(model_lines(loaded, top)))
