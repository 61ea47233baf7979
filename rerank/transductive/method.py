"""The method in the file of a transductive model: its name and settings as JSON, checked when it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, TypeVar, cast

import numpy as np

from rerank.core.errors import DataError
from rerank.core.records import Record, fact, read_json
from rerank.core.types import Bytes
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.learners.base import LEARNERS
from rerank.transductive.adapter import Adapter

METHOD = ArrayForm("|u1", (None,))  # what ``packed_method`` returns, for ``Model.members``
_LONGEST = 1 << 20

R = TypeVar("R", bound=Record)


class Method(Protocol):
    """What a model needs of ``Transductive``."""

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
