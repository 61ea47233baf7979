"""Weights by name without a model: extracted from one, or matched to the columns of other lists."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import ConfigError, DataNote
from rerank.core.files.read import opening_once, read_head, shown
from rerank.core.text import count, some
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.names import Columns, match
from rerank.data.scaling import Scaling
from rerank.formats.weights import WeightOptions, read_weights
from rerank.models.base import load_model
from rerank.models.linear import LinearModel


@dataclass(frozen=True)
class NamedWeights:
    """Weights, float64 (n), of unscaled features by name.

    ``source`` is where they are from, for messages; ``selection`` is how their features were selected from
    others, "" if they were not.
    """

    names: list[str]
    weights: Floats
    source: str
    selection: str = ""


def weights_of(model: LinearModel, source: str) -> NamedWeights:
    """Return the weights of unscaled features that give a model's scores up to a constant.

    - ``model``: a linear model.
    - ``source``: where it is from, for messages.

    Raises ConfigError if the features were scaled within lists or by ranks, or the model has a base weight:
    there are no such weights.
    """
    if model.base_weight is not None:
        found = f"the base score, which is no feature, has the weight {model.base_weight:g}"
        raise ConfigError(f"{source}: {found}; weights of features alone would rank differently")
    raw = model.unscaled(source)
    return NamedWeights(raw.names, raw.weights, source, model.training.data.features or "")


@opening_once
def load_weights(path: str, format: str | None = None, options: WeightOptions | None = None) -> NamedWeights:
    """Return the weights of a model file or of a weight file.

    - ``path``: the file.
    - ``format``, ``options``: see formats.weights; by default a model, or the format that the content has.

    Raises ConfigError if it is a model that is not linear. Raises FormatError if it is neither a model nor
    weights.
    """
    if format is None and read_head(path).startswith(b"PK\x03\x04"):
        return weights_of(load_linear(path), path)
    names, weights = read_weights(path, format, options)
    return NamedWeights(names, weights, shown(path))


def load_linear(path: str) -> LinearModel:
    """Return the linear model at ``path``; raises ConfigError if it is of another kind."""
    model = load_model(path)
    if not isinstance(model, LinearModel):
        raise ConfigError(f"{path}: found a model of kind {model.kind}, expected a linear one")
    return model


def initial_for(named: NamedWeights, lists: CandidateLists, scaling: Scaling | None) -> Floats:
    """Return the weights for the scaled features of ``lists`` that give the same scores up to a constant.

    Features without a weight get 0. A DataNote warns of those, of weights without a feature, and of matching
    by position, if only one side has names.

    - ``named``: weights of unscaled features.
    - ``lists``: lists as they were read.
    - ``scaling``: the scaling that a learner sees them through, or None.

    Raises ConfigError if no name matches, or features are scaled within lists or by ranks.

    Returns
    -------
    ndarray
        float64 (n_features).
    """
    found = match(lists.columns(), Columns(named.names, len(named.names), named.selection))
    places, known = found.places, found.places >= 0
    if not known.any():
        raise ConfigError(f"{named.source}: no weight matches a feature of {lists.source} by name")
    names = lists.names()
    if found.by_position:
        text = f"{named.source}: weights are matched by position to the features of {lists.source}"
        warnings.warn(f"{text}, as only one of both has names", DataNote, stacklevel=2)
    _note(named.source, "feature", "without a weight", [names[j] for j in np.flatnonzero(~known)])
    unused = np.setdiff1d(np.arange(len(named.names)), places[known])
    _note(named.source, "weight", "without a feature", [named.names[j] for j in unused])
    weights = np.zeros(lists.n_features)
    weights[known] = named.weights[places[known]]
    return for_scaled(NamedWeights(names, weights, named.source), scaling)


def for_scaled(named: NamedWeights, scaling: Scaling | None) -> Floats:
    """Return initial weights of scaled features, float64 (n_features), from those of all raw ones.

    Raises ConfigError if features are scaled within lists or by ranks, or a weight overflows.
    """
    weights = named.weights
    if scaling is None:
        return weights
    divisor = scaling.divisors(f"initial weights {named.source}")
    with np.errstate(over="ignore"):
        scaled = np.where(np.isfinite(divisor), weights * np.where(np.isfinite(divisor), divisor, 0.0), 0.0)
    if not np.isfinite(scaled).all():
        name = named.names[int(np.argmin(np.isfinite(scaled)))]
        raise ConfigError(f"{named.source}: the weight of {name!r} is too large for its scaled feature")
    return scaled


def _note(source: str, what: str, lacking: str, names: list[str]) -> None:
    if names:
        warnings.warn(
            f"{source}: {count(len(names), what)} {lacking} ({some(names)})", DataNote, stacklevel=3
        )
