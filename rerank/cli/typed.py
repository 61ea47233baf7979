"""What was typed, as values: plain texts and numbers at once, everything else by typer.

Typer builds a converter for each option of a verb, which takes longer than the verb on a few lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any


class Typed:
    """In place of what typer has to convert the values of one parameter; the values are the same.

    Parameters
    ----------
    param : Any
        A parameter of a command of typer.
    """

    def __init__(self, param: Any) -> None:
        self._made: Callable[[], Any] = param.get_runtime_param
        self._kind: Any = param.type_descriptor.annotation
        self._info: Any = param.type_descriptor.parameter_info
        self._several: bool = param.multiple or param.nargs == -1

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value of a parameter; typer's errors if it has none."""
        if value is None:
            return () if self._several else None
        if self._info.parser is None and self._is_plain(value):
            return list(value) if self._several else value
        if self._info.parser is not None and type(value) is str and not self._several:
            with suppress(Exception):  # typer has the words for it
                return self._info.parser(value)
        return self._made().coerce(value, param=param, ctx=ctx)

    def _is_plain(self, value: Any) -> bool:
        """Whether a value stays as it is."""
        if self._several:
            return self._kind == list[str] and isinstance(value, list | tuple) and _are_texts(value)
        if self._kind is int:
            low, high = self._info.min, self._info.max
            return type(value) is int and (low is None or low <= value) and (high is None or value <= high)
        return (self._kind is str or self._kind is bool) and type(value) is self._kind


def _are_texts(values: Iterable[Any]) -> bool:
    return all(type(value) is str for value in values)


def quick(params: list[Any]) -> list[Any]:
    """Return parameters that take plain values as they are, if this release of typer has such models."""
    for param in params:
        if hasattr(param, "type_descriptor") and "get_runtime_param" not in vars(param):
            typed = Typed(param)
            param.get_runtime_param = lambda typed=typed: typed
    return params
