"""Weights by name apart from a model: taken out of one, or put to the columns of other lists."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from rerank.data.lists import CandidateLists
from rerank.data.scaling import Scaling
from rerank.data.types import Floats
from rerank.errors import ConfigError, DataNote
from rerank.files import read_head, shown
from rerank.formats.weights import WeightOptions, read_weights
from rerank.models.base import load_model
from rerank.models.linear import LinearModel
from rerank.text import count, some


@dataclass(frozen=True)
class NamedWeights:
    """Weights (n) of raw features by name; ``source`` says where they are from."""

    names: list[str]
    weights: Floats
    source: str


def weights_of(model: LinearModel, source: str) -> NamedWeights:
    """The weights of raw features that give a model's scores, but for a constant.

    Raises ConfigError for a scaling within lists or by ranks, under which there are none.
    """
    if model.scaling is None:
        return NamedWeights(model.feature_names, model.weights, source)
    return NamedWeights(model.feature_names, model.weights / _divisor(model.scaling, source), source)


def load_weights(path: str, format: str | None = None, options: WeightOptions | None = None) -> NamedWeights:
    """The weights of a model file or of a file of weights (formats.weights).

    Raises ConfigError for a model that is not linear, FormatError where the file is neither.
    """
    if format is None and read_head(path).startswith(b"PK\x03\x04"):
        return weights_of(load_linear(path), path)
    names, weights = read_weights(path, format, options)
    return NamedWeights(names, weights, shown(path))


def load_linear(path: str) -> LinearModel:
    """The linear model at ``path``; ConfigError where it is of another kind."""
    model = load_model(path)
    if not isinstance(model, LinearModel):
        raise ConfigError(f"{path}: found a model of kind {model.kind}, expected a linear one")
    return model


def initial_for(named: NamedWeights, lists: CandidateLists, scaling: Scaling | None) -> Floats:
    """The weights (n_features) for ``lists`` scaled by ``scaling``: the same scores but for a constant.

    Features without a weight get 0; those, and weights without a feature, are noted. Raises ConfigError
    where nothing fits, or the scaling is one within lists or by ranks.
    """
    places = lists.places_in(named.names)
    known = places >= 0
    if not known.any():
        raise ConfigError(f"{named.source}: no weight bears the name of a feature of {lists.source}")
    names = lists.names()
    _note(named.source, "feature", "without a weight", [names[j] for j in np.flatnonzero(~known)])
    unused = np.setdiff1d(np.arange(len(named.names)), places[known])
    _note(named.source, "weight", "without a feature", [named.names[j] for j in unused])
    weights = np.zeros(lists.n_features)
    weights[known] = named.weights[places[known]]
    if scaling is None:
        return weights
    divisor = _divisor(scaling, f"initial weights {named.source}")
    return np.where(np.isfinite(divisor), weights * np.where(np.isfinite(divisor), divisor, 0.0), 0.0)


def _divisor(scaling: Scaling, source: str) -> Floats:
    """What the scaling divides each feature by (n_features), infinite where it is constant."""
    if "divisor" not in scaling.values:
        raise ConfigError(
            f"{source}: scaling {scaling.name} is no fixed factor of each feature; use none, minmax or zscore"
        )
    return scaling.values["divisor"]


def _note(source: str, what: str, lacking: str, names: list[str]) -> None:
    if names:
        warnings.warn(
            f"{source}: {count(len(names), what)} {lacking} ({some(names)})", DataNote, stacklevel=3
        )
