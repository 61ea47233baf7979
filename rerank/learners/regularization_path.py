"""Warm-started regularisation path; the dev set selects the strength."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from rerank.core import progress
from rerank.core.errors import ConfigError, FitError
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs
from rerank.learners.rounds import Rounds, linear_scores

Strength = float | Literal["dev"]
_PATIENCE = 3  # steps in a row that are worse on dev


class Step(Protocol):
    """A fitted model on a path; a linear one has ``weights``, float64 (n_features)."""

    def row(self) -> dict[str, float]:
        """Return what the learning curve shows of it besides the metric, such as its strength."""
        ...


AnyStep = TypeVar("AnyStep", bound=Step)


def path(strengths: Iterable[float], fit: Callable[[float, AnyStep | None], AnyStep]) -> Iterator[AnyStep]:
    """Yield the fit under each strength, when it is asked for.

    - ``strengths``: in the order in which they are tried.
    - ``fit``: ``fit(strength, before)`` returns the fit under a strength; ``before`` is the one under the
      strength before, from which it can start, None for the first.
    """
    before: AnyStep | None = None
    for strength in strengths:
        before = fit(strength, before)
        yield before


def watched(
    steps: Iterable[AnyStep],
    watch: Rounds,
    *,
    on_dev: bool,
    strictly: bool = False,
    scores: Callable[[Any, CandidateLists], Floats] | None = None,
) -> AnyStep:
    """Return the last step, or the best on the dev lists.

    - ``steps``: one or more.
    - ``watch``: gets a row for each step. It keeps the best one, on ties the first, if its ``keep`` is
      "best".
    - ``on_dev``: whether the steps end after three that are worse than the best on the dev lists, with no new
      best between them.
    - ``strictly``: whether those that equal the best count as worse.
    - ``scores``: ``scores(step, lists)`` returns the scores of items, float64 (n_items); None for linear
      models.
    """
    found: AnyStep | None = None
    best, behind = -np.inf, 0
    with progress.step("training", None, "fit") as advance:
        for found in steps:
            scored = scores or (lambda step, lists: linear_scores(step.weights, lists))
            watch.record(found, scored, **found.row())
            advance(value=watch.latest)
            if on_dev:
                assert watch.dev is not None
                value = watch.dev[1].better * watch.curve[-1]["dev"]
                behind = 0 if value > best else behind + int(strictly or value < best)
                best = max(best, value)
                if behind == _PATIENCE:
                    break
    kept: AnyStep = watch.kept(found)[0]
    return kept


def require_dev(name: str, key: str, inputs: FitInputs) -> None:
    """Raise FitError if there are no dev lists, by which setting ``key`` of learner ``name`` is chosen."""
    if inputs.dev is None:
        raise FitError(f"learner {name}: {key}=dev needs development lists and a metric")


def check_strength(key: str, strength: Strength) -> None:
    """Raise ConfigError if ``strength`` is neither above 0 nor "dev"."""
    if strength != "dev" and not 0 < strength < np.inf:
        raise ConfigError(f"{key}: found {strength:g}, expected more than 0 or dev")
