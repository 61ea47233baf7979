"""``rerank show``: a model and what it has learnt."""

from __future__ import annotations

from rerank.cli.frame import Printed, Verb, verb, write
from rerank.core.settings import setting


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
    from rerank.core.errors import ConfigError
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
