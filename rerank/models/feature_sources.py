"""Sources of features from other columns of lists, such as texts: fitted in training, kept by the model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from msgspec import Struct

from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import Registry, did_you_mean
from rerank.core.types import AnyArray, Floats
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.data.reading import Reading
from rerank.data.text_reading import EncoderPlaces


class FeatureSource(Struct, frozen=True, eq=False, kw_only=True):
    """A fitted step that adds features, after those that lists have.

    It is the first step of its chain, or follows other sources. A subclass registers itself in SOURCES.

    Attributes
    ----------
    kind : the name in SOURCES.
    n_features : how many features lists have before it.
    """

    kind: ClassVar[str]

    n_features: int

    @classmethod
    @abstractmethod
    def fit(
        cls, lists: CandidateLists, settings: Any, query: str | None = None, text: tuple[str, ...] = ()
    ) -> Self:
        """Return what is fitted to training lists.

        Parameters
        ----------
        lists : without the features that it adds; labels are not looked at.
        settings : ``training.text_options.SourceSettings``.
        query, text : the columns of the files that have questions and texts; None, () = the usual ones.
        """

    @classmethod
    def check_settings(cls, settings: Any) -> None:
        """Raise ConfigError for settings that can be refused before any lists are read."""

    @classmethod
    def check_lists(cls, lists: CandidateLists, settings: Any) -> None:
        """Raise DataError if training lists lack what features are computed from."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of the features that it adds."""

    @abstractmethod
    def columns(self, lists: CandidateLists) -> Mapping[str, Floats]:
        """Return the features by name (n_items each); DataError if the lists lack what they need."""

    @abstractmethod
    def to_meta(self) -> dict[str, Any]:
        """Return what a model file keeps as JSON; ``arrays`` is the rest."""

    @abstractmethod
    def arrays(self) -> dict[str, AnyArray]:
        """Return what a model file keeps as arrays, by name."""

    @classmethod
    @abstractmethod
    def forms(cls, meta: Mapping[str, Any]) -> dict[str, ArrayForm]:
        """Return the form of every array that belongs to ``meta``, by name."""

    @classmethod
    @abstractmethod
    def restore(cls, n_features: int, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """Return what gave ``meta`` and ``arrays``; raise DataError if they do not fit each other."""

    @abstractmethod
    def summary(self) -> str:
        """Return what it computes, and from what it was fitted, in a line."""

    def located(self, places: Mapping[str, str]) -> Self | None:
        """Return the source with local models in other folders, by name of ``EncoderPlaces``.

        None = it has no local model. Raises ConfigError if one of the folders is not used.
        """
        return None

    def reading(self, reading: Reading) -> Reading:
        """Return how files with named columns are read for it."""
        return reading

    def apply(self, lists: CandidateLists, *, overwrite: bool = False, warn: bool = False) -> CandidateLists:
        """Return the lists with its features; DataError if their others are not as many, or texts lack."""
        if lists.n_features != self.n_features:
            found = f"{lists.source}: {lists.n_features} features"
            raise DataError(f"{found}, features from {self.kind} were fitted beside {self.n_features}")
        return lists.with_added(self.columns(lists))

    def unfold(self, weights: Floats, names: list[str], source: str) -> Floats:
        """Return the weights with 0 for each feature that it adds."""
        return np.append(weights, np.zeros(len(self.names)))


SOURCE = "source."  # how the names of the arrays of sources begin
SOURCES: Registry[type[FeatureSource]] = Registry("feature source", "rerank.extensions")


def kept(sources: Sequence[FeatureSource]) -> tuple[list[dict[str, Any]], dict[str, AnyArray]]:
    """Return what a model file keeps of sources: JSON of each, and arrays by name."""
    metas: list[dict[str, Any]] = []
    arrays: dict[str, AnyArray] = {}
    for i, one in enumerate(sources):
        metas.append({"kind": one.kind, "n_features": one.n_features, "names": one.names, **one.to_meta()})
        arrays |= {_member(i, name): array for name, array in one.arrays().items()}
    return metas, arrays


def forms_of(metas: tuple[dict[str, Any], ...]) -> dict[str, ArrayForm]:
    """Return the form of every array that ``kept`` sources have; DataError if one is damaged."""
    forms: dict[str, ArrayForm] = {}
    for i, meta in enumerate(metas):
        kind = SOURCES.get(str(meta.get("kind")))
        forms |= {_member(i, name): form for name, form in kind.forms(meta).items()}
    return forms


def restored(
    metas: tuple[dict[str, Any], ...], arrays: Mapping[str, AnyArray], names: list[str]
) -> list[FeatureSource]:
    """Return the sources that were ``kept``; DataError if they do not fit the model's features ``names``."""
    found: list[FeatureSource] = []
    for i, meta in enumerate(metas):
        n, prefix = meta.get("n_features"), _member(i, "")
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        before = found[-1].n_features + len(found[-1].names) if found else n
        if type(n) is not int or n < 0 or n != before:
            raise DataError(f"features from {meta.get('kind')} beside {n!r} others")
        one = SOURCES.get(str(meta.get("kind"))).restore(n, meta, own)
        if one.names != list(meta.get("names", ())) or names[n : n + len(one.names)] != one.names:
            raise DataError(f"features from {one.kind} that are not the model's, or of another release")
        found.append(one)
    return found


def _member(i: int, name: str) -> str:
    return f"{SOURCE}{i}.{name}"


def reading_for(
    sources: Sequence[FeatureSource], reading: Reading, honoured: Collection[str], categorical: Sequence[str]
) -> Reading:
    """Return how lists are read for sources of features, and for indicators of columns of categories.

    honoured : the options of reading that the format uses; columns have names, or a collection has the texts.
    """
    named = "categorical" in honoured
    if named:
        reading = reading.with_settings(categorical=(*reading.categorical, *categorical))
    for one in sources if named or (reading.queries and reading.collection) else ():
        reading = one.reading(reading)
    return reading


def move_encoders(model: Any, places: Mapping[str, str | None]) -> None:
    """Let a model take its encoders from other folders, or cache what they make.

    Parameters
    ----------
    model : a Model, which is changed.
    places : folders by name: encoder, cross_encoder and vector_cache; None = as it was.

    Raises
    ------
    ConfigError
        If the model does not use one of the folders, or a name is another one.
    """
    if unknown := [name for name in places if name not in EncoderPlaces.settings]:
        known = did_you_mean(unknown[0], EncoderPlaces.settings)
        raise ConfigError(f"unknown argument {unknown[0]!r}; {known}")
    given = {name: folder for name, folder in places.items() if folder is not None}
    if not given:
        return
    found = [one.located(given) if isinstance(one, FeatureSource) else None for one in model.chain.fitted]
    if all(one is None for one in found):
        option = f"--{next(iter(given)).replace('_', '-')}"
        raise ConfigError(f"{option}: not used by this model, whose features need no local model of texts")
    fitted = tuple(new or old for new, old in zip(found, model.chain.fitted, strict=True))
    model.chain = type(model.chain)(fitted)


def with_columns(reading: Reading, query: str | None, text: tuple[str, ...]) -> Reading:
    """Return reading of the columns of the training lists, unless others or files of texts are given.

    Several fields of texts are keys of a collection too.
    """
    given = {"query_column": query, "text_column": text}
    if reading.queries is not None:
        del given["query_column"]
    if reading.collection is not None and len(text) < 2:
        del given["text_column"]
    return reading.with_settings(**{k: v for k, v in given.items() if v and not getattr(reading, k)})


def kept_columns(columns: tuple[str, ...]) -> str | list[str] | None:
    """Return how a model file names columns of texts."""
    return list(columns) if len(columns) > 1 else next(iter(columns), None)


def columns_of(kept: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns that ``kept_columns`` gave."""
    return (kept,) if isinstance(kept, str) else tuple(kept or ())
