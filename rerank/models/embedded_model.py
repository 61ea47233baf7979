"""Models inside models: the file of one as an array of another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.types import Bytes
from rerank.data.npy import ArrayForm
from rerank.models.base import Model, model_of_file

PACKED = ArrayForm("|u1", (None,), packed=True)  # what ``packed_model`` returns, for ``Model.members``
_DEEPEST = 2

_depth: ContextVar[int] = ContextVar("depth", default=0)


def packed_model(model: Model) -> Bytes:
    """Return the file of a model, uint8 (n_bytes), to be an array of another model."""
    return np.frombuffer(model.as_file().getvalue(), dtype=np.uint8)


def unpacked_model(content: Bytes, what: str) -> Model:
    """Return the model of ``packed_model``, checked as a file from a stranger.

    - ``content``: uint8 (n_bytes).
    - ``what``: what the model is within the other one, for messages.

    Raises DataError if it is damaged, or holds a model that holds a model.
    """
    with _deeper(what):
        try:
            return model_of_file(content.tobytes(), what)
        except (FormatError, ConfigError) as error:
            raise DataError(str(error)) from None


@contextmanager
def _deeper(what: str) -> Iterator[None]:
    """Count how deep models are read; raise DataError if that is too deep."""
    depth = _depth.get() + 1
    if depth > _DEEPEST:
        raise DataError(f"{what}: more than {_DEEPEST} models inside each other")
    before = _depth.set(depth)
    try:
        yield
    finally:
        _depth.reset(before)
