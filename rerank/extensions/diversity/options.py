"""The options of ``rerank predict --diversify``, beside those of ``--decide``, and the model they ask for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.data.reading import Reading
from rerank.extensions.decision.options import Deciding, deciding

_OPTIONS = "Choice and tuning"
_SHARED = ("tune_on", "tune_metric")  # with --decide


class Diversifying(Deciding):
    """Settings of a ranking in which their first items differ."""

    diversify: str | None = setting(
        None,
        "rank lists so that their first items differ: mmr, dpp, xquad or pm2 and a number from 0 to 1, as "
        "in "
        "mmr:0.7; without the number --tune-on chooses it; see 'rerank help diversity'",
        metavar="METHOD",
        group=_OPTIONS,
    )
    similarity: str | None = setting(
        None,
        "similarity for mmr and dpp: words, kernel:EXPR, sBLEU, ngram1 .. ngram4, votes, matrix:PATH "
        "[words "
        "of texts, otherwise as --utility]",
        metavar="WHAT",
        group=_OPTIONS,
    )
    aspects: str | None = setting(
        None,
        "aspects of items for xquad and pm2: a file of query, aspect, document and value, or features:ITEMS; "
        ",max "
        "at the end divides by the largest value",
        metavar="FILE|features:ITEMS",
        group=_OPTIONS,
    )
    aspect_weights: str | None = setting(
        None,
        "weights of aspects for xquad and pm2, their probabilities given the query: query, aspect, weight on "
        "each line [equal ones]",
        metavar="FILE",
        group=_OPTIONS,
    )
    diversify_depth: int | None = setting(
        None,
        "diversify the first N places, others keep the order of the scores",
        metavar="N",
        ge=1,
        group=_OPTIONS,
    )

    def check_values(self) -> None:
        if self.diversify is None:
            for name in ("similarity", "aspects", "aspect_weights", "diversify_depth"):
                if getattr(self, name) is not None:
                    raise ConfigError(f"--{name.replace('_', '-')}: not used without --diversify")
            super().check_values()
            return
        for name in Deciding.settings:
            if name not in _SHARED and getattr(self, name) is not None:
                raise ConfigError(f"--{name.replace('_', '-')}: not used with --diversify")
        of_aspects = self.diversify.startswith(("xquad", "pm2"))
        for idle in ("similarity",) if of_aspects else ("aspects", "aspect_weights"):
            if getattr(self, idle) is not None:
                found = f"--{idle.replace('_', '-')}: not used by --diversify {self.diversify}"
                raise ConfigError(found)


def chosen_model(
    model: str, typed: Mapping[str, Any], out: str | None, keep_margin: str | None, reading: Reading
) -> Any:
    """Return the model that the options ask for, or ``model``, its file, as it is without any.

    Parameters
    ----------
    model : str
    typed : mapping of str to Any
        What was typed of ``Diversifying``.
    out, keep_margin, reading
        As for ``decision.options.deciding``. Judgements (qrels, subtopics) that ``reading`` names are those
        of the lists of --tune-on too.
    """
    given = Diversifying.checked(typed, "predict")
    if given.diversify is None:
        return deciding(model, typed, out, keep_margin, reading)
    if keep_margin not in (None, "none"):
        raise ConfigError("--keep-margin: not used with --diversify, whose scores are places")
    from rerank.extensions.diversity.model import diversify
    from rerank.formats.sources import check_outputs
    from rerank.models.base import load_model
    from rerank.models.predict import lists_for

    aspects = (given.aspects or "").removesuffix(",max") or None
    files = [path for path in (aspects, given.aspect_weights) if path is not None]
    inputs = [path for path in (model, given.tune_on, *files) if path is not None]
    check_outputs({} if out is None else {"--out": out}, inputs)
    base = load_model(model)
    if keep_margin == "none":
        base.keep_margin = None
    lists = None
    if given.tune_on is not None:
        kind = None if os.path.isdir(given.tune_on) else reading.format  # a folder is a store
        judged = {name: getattr(reading, name) for name in ("qrels", "subtopics")}
        lists = lists_for(base, given.tune_on, Reading(format=kind, **judged))
    return diversify(
        base,
        given.diversify,
        given.aspects if given.similarity is None else given.similarity,
        given.diversify_depth,
        tune_on=lists,
        metric=given.tune_metric,
        weights=given.aspect_weights,
    )
