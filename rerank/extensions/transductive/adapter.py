"""Adapters of labelled lists, which make a ranker for each list, and the method in a model file."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar, cast

import numpy as np

from rerank.core.errors import DataError
from rerank.core.records import Record, fact, read_json
from rerank.core.types import Bytes, Floats
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.learners.base import LEARNERS
from rerank.models.base import Model

METHOD = ArrayForm("|u1", (None,))  # what ``packed_method`` returns, for ``Model.members``
_LONGEST = 1 << 20
R = TypeVar("R", bound=Record)


@dataclass(frozen=True, eq=False)
class Adapted:
    """The ranker made for one list.

    Attributes
    ----------
    model
        It scores lists with the columns of the labelled lists. None = the unadapted model ranks this list.
    reason
        Why there is none, such as "one item".
    diagnostics
        Figures of the method by name; one that is NaN or absent is unknown for this list.
    scores
        float64 (n_items): the scores of the list itself by other lists' rankers, instead of a ranker.
    origin
        With a cache of rankers: made, reused, or whose rankers are used.
    """

    model: Model | None
    reason: str = ""
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    scores: Floats | None = None
    origin: str = ""

    def scored(self, one: CandidateLists) -> Floats | None:
        """Return the scores of the list, float64 (n_items); None if the unadapted model ranks it."""
        if self.scores is not None or self.model is None:
            return self.scores
        return self.model.score_prepared(one)


class Adapter(ABC):
    """A method prepared for labelled lists: it holds what all lists to be ranked share."""

    @abstractmethod
    def adapt(self, one: CandidateLists, rng: np.random.Generator) -> Adapted:
        """Return the ranker of one list.

        Parameters
        ----------
        one
            A single list with the columns of the labelled lists, scaled as they are. It has no labels,
            unless the method uses test labels.
        rng
            Seeded by the method's seed and the features of the list: neither the order nor the company of
            lists changes what is drawn.
        """


class Method(Protocol):
    """Interface of ``Transductive`` that the model uses."""

    name: ClassVar[str]
    seed: int

    @property
    def uses_test_labels(self) -> bool: ...

    def adapter(self, lists: CandidateLists) -> Adapter: ...

    def get_params(self) -> dict[str, Any]: ...


class _MethodRecord(Record):
    """The method, and below which tau the unadapted ranking is kept."""

    name: str = fact(max_length=100)
    settings: dict[str, Any]
    threshold: float | None = fact(None, ge=-1)


def packed_method(method: Method, threshold: float | None) -> Bytes:
    """Return a method and the threshold of its model as bytes, uint8 (n_bytes)."""
    return packed_json({"name": method.name, "settings": method.get_params(), "threshold": threshold})


def unpacked_method(content: Bytes) -> tuple[Method, float | None]:
    """Return what ``packed_method`` was given, from a file of a stranger.

    Raises
    ------
    ConfigError, DataError
        If it is damaged, names no transductive learner, or a setting is wrong.
    """
    known = unpacked_json(content, _MethodRecord)
    if known.name not in LEARNERS.names():
        raise DataError(f"method: unknown learner {known.name!r}")
    method = LEARNERS.get(known.name).checked(known.settings, f"method {known.name}")
    if not hasattr(method, "adapter"):
        raise DataError(f"method: learner {known.name} is not transductive")
    return cast(Method, method), known.threshold


def packed_json(known: Mapping[str, Any]) -> Bytes:
    """Return the settings of a method and other facts as bytes, uint8 (n_bytes)."""
    text = json.dumps(known, ensure_ascii=False, allow_nan=False)
    return np.frombuffer(text.encode("utf-8", "surrogateescape"), dtype=np.uint8)


def unpacked_json(content: Bytes, kind: type[R]) -> R:
    """Return the record of what ``packed_json`` was given, from a file of a stranger.

    Raises
    ------
    DataError
        If it is too long, no JSON, or does not fit the record.
    """
    if len(content) > _LONGEST:
        raise DataError(f"method: found {len(content):,} bytes, expected {_LONGEST:,} at most")
    try:
        return kind.from_json(read_json(content.tobytes()))
    except ValueError as error:
        raise DataError(f"method: {error}") from None
