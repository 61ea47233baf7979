"""What a model says of lists it is given."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from rerank.data.lists import CandidateLists
from rerank.data.types import Floats
from rerank.errors import ConfigError, DataError, DataNote
from rerank.models.base import Model
from rerank.text import count, some


def grader(model: Model) -> Callable[[CandidateLists], Floats]:
    """The model's ``grades``: lists to predicted labels (n_items); ConfigError where it has none."""
    grades: Callable[[CandidateLists], Floats] | None = getattr(model, "grades", None)
    if grades is None:
        raise ConfigError(f"--as grades: a model of kind {model.kind} predicts no grades")
    return grades


def predicted(model: Model, lists: CandidateLists, *, strict: bool = False, grades: bool = False) -> Floats:
    """Scores of the items (n_items), or with ``grades`` the labels that the model predicts.

    Features that the model does not know are counted and ignored. Raises DataError for those under
    ``strict``, ConfigError where the model has no grades.
    """
    answer = grader(model) if grades else model.score
    unknown = model.unknown_features(lists)
    if unknown:
        what = count(len(unknown), "feature")
        text = f"{lists.source}: {what} that the model does not know ({some(unknown)})"
        if strict:
            raise DataError(text)
        warnings.warn(f"{text}, ignored", DataNote, stacklevel=2)
    return answer(lists)
