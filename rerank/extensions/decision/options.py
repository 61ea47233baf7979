"""The options of ``rerank predict --decide mbr``, and the model that they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from rerank.core.errors import ConfigError
from rerank.core.settings import Settings, setting
from rerank.data.reading import Reading

_OPTIONS = "Choice and tuning"


class Deciding(Settings):
    """Options of decisions by the scores of a model."""

    decide: Literal["mbr"] | None = setting(
        None,
        "choose the item with the largest expected utility under the posterior of the scores "
        "(minimum Bayes risk); see 'rerank help decision'",
        metavar="mbr",
        group=_OPTIONS,
    )
    utility: str | None = setting(
        None,
        "a metric, ngram1 .. ngram4, votes, kernel:EXPR, feature:NAME or matrix:PATH "
        "[PARSEVAL of trees, GDT-TS of structures, votes of answers, sBLEU of texts]",
        metavar="WHAT",
        group=_OPTIONS,
    )
    posterior: Literal["softmax", "given"] | None = setting(
        None,
        "softmax of scores / temperature, or the scores as weights of 0 or more [softmax]",
        metavar="softmax|given",
        group=_OPTIONS,
    )
    temperature: float | Literal["inf"] | None = setting(
        None, "temperature of the softmax; inf = equal probabilities [1]", metavar="T", group=_OPTIONS, ge=0
    )
    tune_on: str | None = setting(
        None,
        "choose the temperature on these lists, by the utility or --tune-metric",
        metavar="FILE",
        path=True,
        group=_OPTIONS,
    )
    tune_metric: str | None = setting(
        None, "metric that chooses the temperature on --tune-on", metavar="METRIC", group=_OPTIONS
    )
    references_from: str | None = setting(
        None,
        "lists with the same ids whose items are the pseudo-references, instead of the candidates",
        metavar="FILE",
        path=True,
        group=_OPTIONS,
    )
    prune: float | None = setting(
        None,
        "leave out candidates of long lists that lose in this share of bootstrap samples of drawn "
        "pseudo-references, such as 0.99",
        metavar="SHARE",
        group=_OPTIONS,
        gt=0.5,
        le=1,
    )
    prune_seed: int | None = setting(None, "random seed of --prune [1]", metavar="N", group=_OPTIONS, ge=0)

    def check_values(self) -> None:
        others = [name for name in self.settings if name != "decide"]
        given = [name for name in others if getattr(self, name) is not None]
        if given and self.decide is None:
            raise ConfigError(f"--{given[0].replace('_', '-')}: not used without --decide mbr")
        for option, other in (("temperature", "tune_on"), ("tune_on", "references_from")):
            if getattr(self, option) is not None and getattr(self, other) is not None:
                names = [name.replace("_", "-") for name in (option, other)]
                raise ConfigError(f"--{names[0]} and --{names[1]}: give one of both")
        if self.tune_metric is not None and self.tune_on is None:
            raise ConfigError("--tune-metric: not used without --tune-on")
        if self.prune_seed is not None and self.prune is None:
            raise ConfigError("--prune-seed: not used without --prune")
        if self.posterior == "given" and (self.temperature, self.tune_on) != (None, None):
            raise ConfigError("--posterior given: the scores are the weights, no temperature is used")


def deciding(
    model: str, typed: Mapping[str, Any], out: str | None, keep_margin: str | None, reading: Reading
) -> Any:
    """Return the model that the options ask for, or ``model``, its file, as it is without --decide.

    Parameters
    ----------
    model : str
    typed : mapping of str to Any
        What was typed of ``Deciding``.
    out, keep_margin, reading
        Of the command line: the file of the predictions, which must be no input, the keep margin instead of
        the model's, and how files are read.
    """
    given = Deciding.checked(typed, "predict")
    if given.decide is None:
        return model
    from rerank.extensions.decision.tuning import decided_model

    return decided_model(model, given, out, keep_margin, reading)
