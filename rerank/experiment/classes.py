"""Evaluation of predicted classes: which metrics judge them, and predictions as scores of classes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.data.arrays import cells
from rerank.data.columns.class_sets import HOW_READ
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading

if TYPE_CHECKING:
    from rerank.data.classes import Predictions

_FEW_EXAMPLES = 5


def reading_for(metrics: Sequence[str], reading: Reading | None) -> Reading:
    """Return how data are read for metrics: with classes if one of these judges classes."""
    from rerank.metrics.base import parse_all

    reading = reading or Reading()
    found = parse_all(metrics) if metrics else {}
    if any(metric.of_classes for metric in found.values()):
        return reading.with_settings(classes=True)
    return reading


def has_classes(lists: CandidateLists, reading: Reading | None = None) -> bool:
    """Return whether lists are examples with classes; raise DataError if they were read for that in vain."""
    if reading is not None and reading.classes and lists.classes is None:
        raise DataError(f"{lists.source}: found no classes to measure against {HOW_READ}")
    return lists.classes is not None and lists.labels is None


def judged(
    lists: CandidateLists, systems: Mapping[str, Predictions], metrics: Sequence[str]
) -> tuple[CandidateLists, dict[str, Floats]]:
    """Return lists and scores for metrics of examples with classes, see ``class_lists``.

    Metrics of classes take predictions as sets, metrics of rankings as rankings of all classes.

    Raises
    ------
    ConfigError
        If there are metrics of both kinds.
    """
    from rerank.data.classes import class_lists
    from rerank.metrics.base import parse_all

    of_sets = {name: metric.of_classes for name, metric in parse_all(metrics).items()}
    if len(set(of_sets.values())) > 1:
        sets, rankings = (
            next(name for name, own in of_sets.items() if own is kind) for kind in (True, False)
        )
        raise ConfigError(f"{sets} judges sets of classes and {rankings} rankings of them: ask for one kind")
    return class_lists(lists, systems, ranked=not all(of_sets.values()))


def predictions_of(values: Any, name: str, lists: CandidateLists) -> Predictions:
    """Return predictions given as one text, number or collection per row; DataError if they do not fit."""
    from rerank.data import array_inputs as given
    from rerank.data.classes import Predictions

    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise DataError(f"{name}: found {type(values).__name__}, expected a prediction for each example")
    if len(values) != lists.n_items:
        raise DataError(f"{name}: {len(values)} predictions, expected {lists.n_items}")
    numbers = any(isinstance(one, float | np.floating) and one % 1 for one in cells(values))
    return Predictions(name, given.class_names(values, "prediction", name), numbers)


def note_predictions(
    systems: Mapping[str, Predictions], expanded: CandidateLists, metrics: Sequence[str]
) -> None:
    """Warn about predictions and examples that cannot show anything; ``expanded`` is what ``judged`` made."""
    from rerank.metrics.base import parse_all

    def note(text: str) -> None:
        warnings.warn(text, DataNote, stacklevel=5)

    n_classes = int(expanded.lengths[0])
    ranked = not any(metric.of_classes for metric in parse_all(metrics).values())
    seen: dict[tuple[str, ...], str] = {}
    for name, one in systems.items():
        texts = tuple(one.texts)
        if len(set(texts)) == 1 < len(texts):
            note(f"{name}: predicts {texts[0]!r} for every example")
        earlier = seen.setdefault(texts, name)
        if earlier != name:
            note(f"{name}: predicts the same as {earlier}")
        if not ranked and n_classes > 2 and all(text.count(",") == n_classes - 1 for text in texts):
            note(f"{name}: every line has all {n_classes} classes: are these rankings (nDCG, AP, RR)?")
    if systems and expanded.n_lists < _FEW_EXAMPLES:
        note(f"{expanded.source}: tests and intervals of {count(expanded.n_lists, 'example')} show little")
