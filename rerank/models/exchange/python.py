"""A module of Python with a function, which imports nothing but math and nothing of this package."""

from __future__ import annotations

import keyword

import numpy as np

from rerank._version import __version__
from rerank.core.errors import ConfigError
from rerank.models.exchange.base import (
    BASE_SCORE,
    COUNTED,
    EXCHANGE,
    LINEAR,
    MARGIN,
    MIXED,
    STEPS,
    TREES,
    ExchangeFormat,
    ExportOptions,
)
from rerank.models.exchange.portable import Portable
from rerank.models.exchange.trees import TINY

ALL = frozenset({LINEAR, STEPS, TREES, COUNTED, BASE_SCORE, MIXED, MARGIN})

_MODULE = '''"""Scores of a rerank model of kind {kind}, exported by rerank {version}; larger is better.

{name}(features{base}) takes the values of FEATURES in their order, or a mapping from names to values.
None and NaN are missing values; a feature that a mapping lacks {absent}.
"""

import math
from bisect import bisect_right

FEATURES = {features}
# source, weight, shift, divisor, what a missing value adds (None: no score), what any other adds (None:
# ((x - shift) / divisor) * weight)
TERMS = {terms}
# source, thresholds, values by the number of thresholds passed, what a missing value adds (None: no score),
# and whether to a sum of its own
STEPS = {steps}
# source, threshold, missing goes left, zero is missing, left, right, leaves; a child c < 0 is the leaf -1 - c
TREES = {trees}
_PLACES = {{name: j for j, name in enumerate(FEATURES)}}


def {name}(features{base}):
    """Return the score of one item."""
    if hasattr(features, "keys"):
        x = [{fill}] * len(FEATURES)
        for key, value in features.items():
            if key in _PLACES:
                x[_PLACES[key]] = math.nan if value is None else float(value)
    else:
        x = [math.nan if value is None else float(value) for value in features]
        if len(x) != len(FEATURES):
            raise ValueError(f"found {{len(x)}} features, expected {{len(FEATURES)}}")
    total = 0.0
    for j, weight, shift, divisor, missing, present in TERMS:
        if x[j] != x[j]:
            total += _known(missing, j)
        else:
            total += (x[j] - shift) / divisor * weight if present is None else present
{counted}    part = gone = 0.0
    for j, at, values, missing, apart in STEPS:
        if x[j] != x[j] and apart:
            gone += _known(missing, j)
        elif x[j] != x[j]:
            part += _known(missing, j)
        else:
            part += values[bisect_right(at, x[j])]
    for source, threshold, nan_left, zero_missing, left, right, leaf in TREES:
        node = 0 if source else -1
        while node >= 0:
            value = x[source[node]]
            if value != value or (zero_missing[node] and abs(value) <= {tiny!r}):
                node = left[node] if nan_left[node] else right[node]
            else:
                node = left[node] if value <= threshold[node] else right[node]
        part += leaf[-1 - node]
    return total + part + gone{weighted}


def _known(missing, j):
    if missing is None:
        raise ValueError(f"feature {{FEATURES[j]!r}} is missing, and the model has no rule for that")
    return missing
'''

_GRADES = '''

THRESHOLDS = {thresholds}
GRADES = {labels}


def grade(score):
    """Return the grade of an item with a score."""
    return GRADES[bisect_right(THRESHOLDS, score)]
'''

_MARGIN = '''

KEEP_MARGIN = {margin}


def choose(scores, first):
    """Return the index of the chosen item of a list; ``first`` is that of the first stage's choice.

    It stays chosen unless another item leads it by more than KEEP_MARGIN.
    """
    best = max(range(len(scores)), key=lambda i: scores[i])
    return best if scores[best] - scores[first] > KEEP_MARGIN else first
'''


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


@EXCHANGE.register("python")
class Python(ExchangeFormat):
    """A module with a function without dependencies."""

    name = "python"
    summary = "a module with a function, without dependencies"
    holds = ALL
    writes = True
    honours = frozenset({"name"})

    def text(self, scorer: Portable, options: ExportOptions) -> str:
        name = options.name or "score"
        if (
            not name.isidentifier()
            or keyword.iskeyword(name)
            or name in ("grade", "choose", "math", "FEATURES")
        ):
            raise ConfigError(f"--name: found {name!r}, expected a name of a Python function")
        terms = tuple(
            (t.source, t.weight, t.shift, t.divisor, _or_none(t.missing), t.present)
            if t.present is None
            else (t.source, 0.0, 0.0, 1.0, _or_none(t.missing), t.present)
            for t in scorer.terms
        )
        steps = tuple(
            (s.source, tuple(s.at.tolist()), tuple(s.values.tolist()), _or_none(s.missing), s.apart)
            for s in scorer.steps
        )
        trees = tuple(
            tuple(
                tuple(part.tolist())
                for part in (t.feature, t.threshold, t.nan_left, t.zero_missing, t.left, t.right, t.leaf)
            )
            for t in scorer.trees
        )
        missing = np.isnan(scorer.absent)
        based = scorer.base_weight is not None
        text = _MODULE.format(
            kind=scorer.kind,
            version=__version__,
            name=name,
            base=", base" if based else "",
            absent="is missing" if missing else "is 0",
            fill="math.nan" if missing else "0.0",
            features=_names(scorer.inputs),
            terms=repr(terms),
            steps=repr(steps),
            trees=repr(trees),
            tiny=TINY,
            counted="    total *= sum(value == value for value in x)\n" if scorer.counted else "",
            weighted=f" + {scorer.base_weight!r} * base" if based else "",
        )
        if scorer.thresholds is not None and scorer.labels is not None:
            thresholds = [_number(value) for value in scorer.thresholds.tolist()]
            text += _GRADES.format(
                thresholds=f"({', '.join(thresholds)}{',' * bool(thresholds)})",
                labels=repr(tuple(scorer.labels.tolist())),
            )
        if scorer.keep_margin is not None:
            text += _MARGIN.format(margin=_number(scorer.keep_margin))
        return text


def _number(value: float) -> str:
    return repr(value).replace("inf", "math.inf")


def _names(names: list[str]) -> str:
    return f"({', '.join(map(ascii, names))}{',' * bool(names)})"
