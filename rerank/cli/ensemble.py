"""``rerank ensemble``: saved models in, one model out."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import Verb, inform, verb
from rerank.core.settings import setting


class Ensemble(Verb):
    """Options of ``rerank ensemble``."""

    reads: ClassVar = True

    models: tuple[str, ...] = setting(..., "two model files or more", argument=True, metavar="MODEL")
    data: str = setting(
        ...,
        "lists on which scores are standardised, not those of training; labelled for learnt weights",
        flags=("--data",),
        metavar="FILE",
        path=True,
    )
    out: str = setting(..., "model file to write", flags=("--out", "-o"), metavar="FILE")
    weights: str = setting(
        "equal",
        "equal, a number for each model (2,1), or the linear learner that learns them, such as loglinear",
        metavar="HOW",
    )
    metric: str | None = setting(
        None, "metric that the learner of the weights optimises", flags=("--metric", "-m"), metavar="METRIC"
    )


@verb(Ensemble)
def ensemble(given: Ensemble) -> None:
    """Sum standardised scores of saved models into one model.

    \b
    rerank ensemble a.model b.model --data dev.txt --out both.model
    rerank ensemble a.model b.model --data dev.txt --weights loglinear --out both.model
    """
    from rerank.core.text import count
    from rerank.extensions.decision.combine import ensemble as combined

    made = combined(**given.others())
    lists = count(made.training.data.lists or 0, "list")
    for line in made.training_lines():
        inform(f"{line}, standardised on {lists}")
