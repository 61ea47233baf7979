"""``rerank features select``: the features that are worth keeping."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import Verb, Writes, inform, verb
from rerank.core.settings import setting
from rerank.extensions.feature_selection.options import Selecting


class Select(Writes, Verb):
    """Options of ``rerank features select``."""

    reads: ClassVar = True
    configures: ClassVar = Selecting

    data: str = setting(..., "training lists; - is standard input", argument=True, metavar="DATA")
    keep: int = setting(..., "number of features to keep", metavar="N", ge=1)


@verb(Select)
def select(given: Select) -> None:
    """Keep the features that tell good candidates from bad ones, by a method of choice.

    Only DATA is read. A model that is trained on OUT ignores the other features of any lists. To select
    within folds, train the learner select-features.

    \b
    rerank features select train.txt --method boosting --keep 50 --out selected.txt
    """
    from rerank.extensions.feature_selection.selected import select_features
    from rerank.formats.base import format_for

    made = select_features(given.data, **given.others("data"), **given.typed)
    inform(made.line)
    inform(f"{given.out} ({given.to or format_for(given.out)})")
