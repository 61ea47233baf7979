"""Scales of features by an exhaustive grid, as language-model scales and word penalties are tuned."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from rerank.core.errors import DataNote, FitError
from rerank.core.registry import did_you_mean
from rerank.core.settings import setting
from rerank.core.system import added
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.data.base_scores import base_column
from rerank.data.first_best import first_largest
from rerank.data.judge import PreparedMetric, SelectingJudge, value_of
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs, Learner, checked_list_weights
from rerank.learners.initial import check_start, initial_weights
from rerank.models.base import Model
from rerank.models.linear import LinearModel
from rerank.models.training import FitRecord

_UNNAMED = "-1:1:1"  # the scales of all features if none is named
_FORM = "NAME=START:STOP:STEP or NAME=NUMBER"


class Scale(NamedTuple):
    """A feature and the values that its weight takes, ascending; one value is a fixed weight."""

    feature: str
    values: tuple[float, ...]

    @classmethod
    def read(cls, text: str) -> Scale:
        """Return the scale that ``lm=0:2:0.1`` or ``ac=1`` means; raise ValueError with the whole line.

        Values are computed in decimals: the third of 0:2:0.1 is 0.2. The last is at most STOP.
        """
        name, equals, given = text.strip().rpartition("=")
        try:
            numbers = [Decimal(part.strip()) for part in given.split(":")]
        except InvalidOperation:
            numbers = []
        if not equals or not name.strip() or len(numbers) not in (1, 3) or not all(map(_is_usual, numbers)):
            raise ValueError(f"scales: found {text.strip()!r}, expected {_FORM}, such as lm=0:2:0.1")
        if len(numbers) == 1:
            return cls(name.strip(), (float(numbers[0]),))
        start, stop, step = numbers
        if step <= 0 or stop < start:
            expected = "a step above 0, and STOP not below START"
            raise ValueError(f"scales: found {text.strip()!r}, expected {expected}")
        n = int((stop - start) / step) + 1
        if n > MOST_VALUES:
            raise ValueError(f"scales: {text.strip()!r} has {n:,} values, expected at most {MOST_VALUES:,}")
        return cls(name.strip(), tuple(float(start + i * step) + 0.0 for i in range(n)))


MOST_VALUES = 100_000


def _is_usual(number: Decimal) -> bool:
    return number.is_finite() and (number == 0 or -100 < number.adjusted() < 100)


def _texts(given: Any) -> Any:
    """Scales as a tuple of texts, checked: of one text those between commas, of a mapping its members."""
    if isinstance(given, dict):
        given = [f"{name}={value}" for name, value in given.items()]
    if isinstance(given, str):
        given = given.split(",")
    if isinstance(given, list | tuple) and all(isinstance(text, str) for text in given):
        texts = tuple(text.strip() for text in given)
        names = [Scale.read(text).feature for text in texts]
        again = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if again is not None:
            raise ValueError(f"scales: found {again!r} twice, expected each feature once")
        return texts
    return given


@LEARNERS.register("grid", "grid-search")
class Grid(Learner):
    """The weights of the best metric on the training lists among all points of a grid.

    ``scales`` names features with the values that their weights take: ``lm=0:2:0.1,n_words=-1:1:0.25`` are 21
    times 9 points. One number is a fixed weight. Features that are not named keep the weight of ``init``:
    that of ``--init``, else the one that reproduces the first stage's scores, else 0. Without scales every
    feature gets -1, 0 and 1.

    Each point is judged by the metric itself, on the training lists: these are the tuning lists, and the
    value there is the best of many. On ties the point nearest to the middle of the grid wins, then the first
    one. If the best value of a feature is an end of its range, a note says so.
    """

    name = "grid"
    summary = "exhaustive grid over the weights of named features, such as a language model's scale"
    needs_labels: ClassVar[bool] = False
    needs_judge: ClassVar[bool] = True
    accepts_list_weights: ClassVar[bool] = True
    accepts_initial: ClassVar[bool] = True

    scales: tuple[str, ...] = setting(
        (),
        f"features and the weights to try: {_FORM}, separated by commas; none = every feature {_UNNAMED}",
        metavar="NAME=START:STOP:STEP,...",
        parse=_texts,
    )
    init: Literal["auto", "given", "base", "zero"] = setting(
        "auto",
        "weights of features that are not named: given (with --init), base (they reproduce the first "
        "stage's scores) or zero; auto = given, else base if it fits, else zero",
    )
    most: int = setting(100_000, "largest number of points", ge=1)

    @property
    def takes_base_scale(self) -> bool:
        """A weight is found for the score as it is."""
        return False

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        judge = inputs.judge
        assert judge is not None  # needs_judge
        scales, columns = self._scales(lists)
        start, how = self._start(lists, inputs)
        check_start(lists, start)
        value = _values(lists, judge, inputs.list_weights)
        best, found, tied = -math.inf, start, 0
        nearest = (math.inf,)
        places: tuple[int, ...] = ()
        for at in itertools.product(*(range(len(scale.values)) for scale in scales)):
            weights = start.copy()
            weights[columns] = [scale.values[i] for scale, i in zip(scales, at, strict=True)]
            reached = value(weights)
            if math.isnan(reached) or reached < best:
                continue
            away = added(
                ((2 * i - len(s.values) + 1) / len(s.values)) ** 2 for s, i in zip(scales, at, strict=True)
            )
            tied = tied + 1 if reached == best else 1
            if reached > best or (away,) < nearest:
                best, found, nearest, places = reached, weights, (away,), at
        if best == -math.inf:
            raise FitError(f"{lists.source}: {judge.name} has no value, so no point of the grid is the best")
        chosen = [f"{s.feature}={s.values[i]:g}" for s, i in zip(scales, places, strict=True)]
        points = math.prod(len(scale.values) for scale in scales)
        if self.scales:
            _note_point(lists, scales, places, chosen, points, tied)
        model = LinearModel(lists.names(), found)
        model.initial = start
        model.training.rounds = FitRecord(train=judge.better * best)
        model.training.notes = {"points": points, "best points": tied, "other weights": how}
        model.training.notes["point"] = ", ".join(chosen)
        return model

    def _scales(self, lists: CandidateLists) -> tuple[list[Scale], list[int]]:
        """The scales and the columns of their features; raises FitError."""
        names = lists.names()
        scales = [Scale.read(text) for text in self.scales or [f"{name}={_UNNAMED}" for name in names]]
        for scale in scales:
            if scale.feature not in names:
                known = did_you_mean(scale.feature, names)
                raise FitError(f"{lists.source}: scales: no feature {scale.feature!r}; {known}")
            if names.count(scale.feature) > 1:
                raise FitError(f"{lists.source}: scales: two features are named {scale.feature!r}")
        points = math.prod(len(scale.values) for scale in scales)
        if points > self.most:
            sizes = " x ".join(str(len(scale.values)) for scale in scales[:6]) + " x ..." * (len(scales) > 6)
            what = f"the scales make {points:,} points ({sizes})"
            hint = "larger steps or fewer features make less"
            raise FitError(f"{lists.source}: {what}, expected at most {self.most:,} (most); {hint}")
        return scales, [names.index(scale.feature) for scale in scales]

    def _start(self, lists: CandidateLists, inputs: FitInputs) -> tuple[Floats, str]:
        """The weights of features that are not named, and what they are; raises FitError."""
        base = base_column(lists) if self.init in ("auto", "base") and inputs.initial is None else None
        if base is not None:  # as it is, without the rounding of least squares
            start = np.zeros(lists.n_features)
            start[base.index] = 1.0 / base.factor
            return start, "base"
        start, how = initial_weights(lists, inputs, self.init)
        return (np.zeros(lists.n_features), "zero") if how == "even" else (start, how)


def _note_point(
    lists: CandidateLists,
    scales: list[Scale],
    places: tuple[int, ...],
    chosen: list[str],
    points: int,
    tied: int,
) -> None:
    """Report the point, and which of its values are ends of their range."""
    text = f"{lists.source}: the best of {count(points, 'point')} is {', '.join(chosen)}"
    text += f", one of {tied} with this value" if tied > 1 else ""
    ends = [
        name
        for name, scale, i in zip(chosen, scales, places, strict=True)
        if len(scale.values) > 1 and i in (0, len(scale.values) - 1)
    ]
    if ends:
        verb = "is an end" if len(ends) == 1 else "are ends"
        text += f"; {', '.join(ends)} {verb} of the range: a wider one may be better"
    warnings.warn(text, DataNote, stacklevel=5)


def _values(
    lists: CandidateLists, judge: PreparedMetric, list_weights: Floats | None
) -> Callable[[Floats], float]:
    """The metric as a function of weights (n_features): larger is better, NaN if it has no value."""
    weights = checked_list_weights(list_weights, lists)
    rows: Floats | None = None
    if isinstance(judge, SelectingJudge):
        rows = judge.per_item * np.repeat(weights, lists.lengths)[:, None]

    def value(v: Floats) -> float:
        scores = lists.features.scores(v)
        if not np.isfinite(scores).all():
            raise FitError(f"{lists.source}: the scores overflow; scale the features (--scaling)")
        if rows is None:
            return judge.better * value_of(judge, scores, list_weights)
        sums = rows[first_largest(scores, lists.offsets)].sum(axis=0)
        return judge.better * float(judge.score_from_sums(sums))

    return value
