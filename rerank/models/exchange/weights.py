"""Files of weights of the raw features, by name."""

from __future__ import annotations

import numpy as np

from rerank.formats.weights import WEIGHTS, WeightOptions, read_weights, write_weights
from rerank.models.base import Model
from rerank.models.exchange.base import (
    LINEAR,
    ExchangeFormat,
    ExportOptions,
    ImportOptions,
    check_parts,
    note,
)
from rerank.models.exchange.own import raw_weights
from rerank.models.exchange.portable import portable
from rerank.models.linear import LinearModel
from rerank.models.weights import weights_of


class WeightFile(ExchangeFormat):
    """A format of weights: what is left out changes no order, or is noted."""

    holds = frozenset({LINEAR})
    reads = writes = True

    def __init__(self, name: str) -> None:
        self.name = name  # type: ignore[misc]
        self.honours = WEIGHTS.get(name).honours  # type: ignore[misc]

    def read(self, path: str, options: ImportOptions, content: bytes | None = None) -> Model:
        return LinearModel(*read_weights(path, self.name, WeightOptions(options.feature_names)))

    def write(self, model: Model, source: str, out: str, options: ExportOptions) -> None:
        given = WeightOptions(options.feature_names, options.ini)
        if not isinstance(model, LinearModel):  # a dual model of a linear kernel, or one without weights
            scorer = portable(model, source)
            check_parts(scorer, self, source)
            weights = raw_weights(scorer.terms, scorer.inputs)["weights"]
            write_weights(out, list(weights), np.array(list(weights.values())), self.name, given)
            return
        named = weights_of(model, source)
        write_weights(out, named.names, named.weights, self.name, given)
        if model.missing_policy not in (None, "error"):
            text = f"what fills missing values ({model.missing_policy}) is no weight, so it is left out"
            note(f"{source}: {text}: fill them in the same way")
        if model.scaling_name != "none":
            left = f"without the constant {model.unscaled(source).constant:.6g}, which changes no order"
            note(f"{out}: weights of the raw features, from scaling {model.scaling_name}, {left}")
