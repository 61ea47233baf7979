"""Kernels of items by their definitions: one pair of items after the other."""

import math

from reference.tree_kernels import value as of_trees
from reference.trees import parse


def value(expression, x, y):
    """K(x, y) of two items: an expression is a number, a tuple (kernel, what, settings) or ("+"|"*", parts).

    An item is a pair: trees in brackets by name, and features by name.
    """
    if isinstance(expression, int | float):
        return float(expression)
    if expression[0] in "+*":
        values = [value(part, x, y) for part in expression[1]]
        return math.fsum(values) if expression[0] == "+" else math.prod(values)
    name, what, settings = expression
    if name in ("linear", "polynomial", "gaussian"):
        return _normalised(lambda a, b: _of_vectors(name, what, a, b, settings), x, y, settings, False)
    numbers = {key: number for key, number in settings.items() if key != "normalise"}

    def raw(a, b):
        trees = (parse(item[0][what]) for item in (a, b))
        return of_trees(name, *trees, **numbers)

    return _normalised(raw, x, y, settings, True)


def _normalised(raw, x, y, settings, default):
    found = raw(x, y)
    if not settings.get("normalise", default):
        return found
    norm = math.sqrt(raw(x, x)) * math.sqrt(raw(y, y))
    return found / norm if norm else 0.0


def _of_vectors(name, what, x, y, settings):
    pairs = [(x[1][key], y[1][key]) for key in what]
    if name == "gaussian":
        return math.exp(-settings.get("gamma", 1.0) * math.fsum((a - b) ** 2 for a, b in pairs))
    inner = math.fsum(a * b for a, b in pairs)
    if name == "linear":
        return inner
    return (settings.get("gamma", 1.0) * inner + settings.get("constant", 1.0)) ** settings.get("degree", 2)


def text(expression):
    """An expression as users write it."""
    if isinstance(expression, int | float):
        return repr(expression)
    if expression[0] in "+*":
        return "(" + f" {expression[0]} ".join(map(text, expression[1])) + ")"
    name, what, settings = expression
    values = {key: str(one).lower() for key, one in settings.items()}
    arguments = [*([what] if isinstance(what, str) else what), *(f"{k}={v}" for k, v in values.items())]
    return f"{name}({', '.join(arguments)})"
