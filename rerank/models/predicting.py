"""What a model predicts for lists: scores or grades, with a warning of features that it ignores."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from rerank.data.lists import CandidateLists
from rerank.data.types import Floats
from rerank.errors import ConfigError, DataError, DataNote
from rerank.models.base import Model
from rerank.text import count, some


def grader(model: Model) -> Callable[[CandidateLists], Floats]:
    """Return the function from lists to predicted labels (n_items), in the order of the caller's rows.

    Raises
    ------
    ConfigError
        If the model predicts no grades.
    """
    grades: Callable[[CandidateLists], Floats] | None = getattr(model, "grades", None)
    if grades is None:
        raise ConfigError(f"--as grades: a model of kind {model.kind} predicts no grades")
    return grades


def predicted(model: Model, lists: CandidateLists, *, strict: bool = False, grades: bool = False) -> Floats:
    """Return the scores of the items, or the predicted labels, in the order of the caller's rows.

    Parameters
    ----------
    model, lists
        Features that the model does not know are ignored, with a DataNote that counts them.
    strict
        Raise an error for such features instead.
    grades
        Return labels.

    Returns
    -------
    ndarray
        float64 (n_items).

    Raises
    ------
    DataError
        If ``strict`` and there are unknown features.
    ConfigError
        If ``grades`` and the model predicts none.
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
