"""Models whose features come from local models of texts, and the folders where these are now."""

from __future__ import annotations

import os
from collections.abc import Mapping

from rerank.core.errors import ConfigError
from rerank.core.registry import did_you_mean
from rerank.data.text_reading import EncoderPlaces
from rerank.models.base import Model, load_model
from rerank.models.feature_sources import FeatureSource
from rerank.models.pipeline import Chain


def with_encoders(model: str | os.PathLike[str] | Model, places: Mapping[str, str | None]) -> Model:
    """Return a model that takes its encoders from other folders, or caches what they make.

    Parameters
    ----------
    model : a model, which is changed, or its file.
    places : folders by name: encoder, cross_encoder and vector_cache; None = as it was.

    Raises
    ------
    RerankError
        If the model cannot be read, or does not use one of the folders, or a name is another one.
    """
    if unknown := [name for name in places if name not in EncoderPlaces.settings]:
        known = did_you_mean(unknown[0], EncoderPlaces.settings)
        raise ConfigError(f"unknown argument {unknown[0]!r}; {known}")
    made = model if isinstance(model, Model) else load_model(os.fspath(model))
    given = {name: folder for name, folder in places.items() if folder is not None}
    found = [one.located(given) if isinstance(one, FeatureSource) else None for one in made.chain.fitted]
    if given and all(one is None for one in found):
        option = f"--{next(iter(given)).replace('_', '-')}"
        raise ConfigError(f"{option}: not used by this model, whose features need no local model of texts")
    made.chain = Chain(tuple(new or old for new, old in zip(found, made.chain.fitted, strict=True)))
    return made
