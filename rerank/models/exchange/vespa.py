"""A rank profile of Vespa with the scorer as a ranking expression, in doubles; NaN is a missing value."""

from __future__ import annotations

import re

import numpy as np

from rerank._version import __version__
from rerank.core.errors import ConfigError
from rerank.models.exchange.base import (
    BASE_SCORE,
    COUNTED,
    EXCHANGE,
    LINEAR,
    MIXED,
    STEPS,
    TREES,
    ExchangeFormat,
    ExportOptions,
)
from rerank.models.exchange.portable import Portable, Steps
from rerank.models.exchange.trees import TINY, PortableTree

_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_FEATURE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\([A-Za-z0-9_., ]*\)(?:\.[A-Za-z0-9_.]+)?", re.ASCII)
_PROFILE = """# A rerank model of kind {kind}, exported by rerank {version}.
rank-profile {name} {{
    function {name}_score() {{
        expression: {score}
    }}
    second-phase {{
        expression: {name}_score
    }}
}}
"""


@EXCHANGE.register("vespa")
class Vespa(ExchangeFormat):
    """A rank profile."""

    name = "vespa"
    summary = "a rank profile of Vespa with an expression"
    holds = frozenset({LINEAR, STEPS, TREES, COUNTED, BASE_SCORE, MIXED})
    writes = True
    honours = frozenset({"name"})

    def text(self, scorer: Portable, options: ExportOptions) -> str:
        name = options.name or "rerank"
        if not _FIELD.fullmatch(name):
            raise ConfigError(f"--name: found {name!r}, expected letters, digits and _, a letter first")
        words = {"kind": scorer.kind, "version": __version__, "name": name}
        return _PROFILE.format(score=expression(scorer), **words)


def expression(scorer: Portable) -> str:
    """Return the score as a ranking expression."""
    features = [_feature(name) for name in scorer.inputs]
    terms = []
    for t in scorer.terms:
        x = features[t.source]
        value = f"({x} - {_number(t.shift)})" if t.shift != 0.0 else x
        value = f"{value} / {_number(t.divisor)}" if t.divisor != 1.0 else value
        there = f"{value} * {_number(t.weight)}" if t.present is None else _number(t.present)
        if np.isnan(t.missing):  # NaN then is the score
            terms.append(there if t.present is None else f"{there} + 0 * {x}")
        else:
            terms.append(f"if(isNan({x}), {_number(t.missing)}, {there})")
    total = " + ".join(terms)
    if scorer.counted:
        total = f"({total}) * ({' + '.join(f'if(isNan({x}), 0, 1)' for x in features)})"
    parts = [total] if terms else []
    parts += [_steps(one, features[one.source]) for one in scorer.steps]
    parts += [_tree(tree, features) for tree in scorer.trees]
    if scorer.base_weight is not None:
        parts.append(f"{_number(scorer.base_weight)} * firstPhase")
    return " + ".join(parts) or "0.0"


def _feature(name: str) -> str:
    """A rank feature as it is, or the attribute of this name."""
    if _FEATURE.fullmatch(name):
        return name
    if _FIELD.fullmatch(name):
        return f"attribute({name})"
    raise ConfigError(f"vespa: no rank feature or field is called {name!r}: give names with --names")


def _number(value: float) -> str:
    return f"({value!r})" if value < 0 else repr(float(value))


def _steps(steps: Steps, x: str) -> str:
    """A step function: a tree of comparisons with the middle threshold."""

    def between(low: int, high: int) -> str:
        if low == high:
            return _number(float(steps.values[low]))
        middle = (low + high) // 2
        at = _number(float(steps.at[middle]))
        return f"if({x} >= {at}, {between(middle + 1, high)}, {between(low, middle)})"

    found = between(0, len(steps.at))
    gone = f"0 * {x}" if np.isnan(steps.missing) else _number(steps.missing)
    return f"if(isNan({x}), {gone}, {found})"


def _tree(tree: PortableTree, features: list[str]) -> str:
    """A tree: nested conditions, built from the leaves up."""
    made: dict[int, str] = {-1 - k: _number(v) for k, v in enumerate(tree.leaf.tolist())}
    for i in range(len(tree.feature) - 1, -1, -1):
        x, t = features[int(tree.feature[i])], _number(float(tree.threshold[i]))
        left, right = made.pop(int(tree.left[i])), made.pop(int(tree.right[i]))
        gone = f"isNan({x})"
        if tree.zero_missing[i]:
            gone = f"isNan({x}) || abs({x}) <= {TINY!r}"
        if tree.nan_left[i]:
            made[i] = f"if({gone} || {x} <= {t}, {left}, {right})"
        elif tree.zero_missing[i]:
            made[i] = f"if({gone} || {x} > {t}, {right}, {left})"
        else:
            made[i] = f"if({x} <= {t}, {left}, {right})"
    return made[tree.root]
