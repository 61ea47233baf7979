"""Packages whose names are imported when they are first used."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any


class LazyPackage(ModuleType):
    """A package that imports the module of a name when the name is first used.

    Functions get paths as strings: alone, in a list or tuple, as values of a dictionary. A submodule never
    hides a name that the package offers, such as a function that is called like its module.
    """

    _homes: dict[str, tuple[str, str]]  # name -> module, name there; "" = the module itself

    def __getattr__(self, name: str) -> Any:
        if name not in self._homes:
            # With name and obj, Python suggests the nearest name.
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        module, original = self._homes[name]
        home = importlib.import_module(module)
        value = getattr(home, original) if original else home
        self.__dict__[name] = _with_plain_paths(value) if isinstance(value, FunctionType) else value
        return self.__dict__[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and self._homes.get(name, ("", ""))[1]):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *self._homes})


def _with_plain_paths(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})

    return call


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    inner = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    if not any(isinstance(one, os.PathLike) for one in inner):
        return value
    plain = [_plain(one) for one in inner]
    return dict(zip(value, plain, strict=True)) if type(value) is dict else plain


def attach_stub(package: str) -> None:
    """Offer the names that the stub ``__init__.pyi`` of a package imports; each is imported at its first use.

    The stub, which type checkers read, is the only list of these names; it has one import on each line.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    """
    module = sys.modules[package]
    assert module.__file__ is not None
    with open(f"{module.__file__}i", encoding="utf-8") as stub:
        lines = [line.split() for line in stub if line.startswith("from ")]  # from M import X as Y
    homes = {
        words[-1]: (f"{package}.{words[3]}", "") if words[1] == package else (words[1], words[3])
        for words in lines
    }
    module.__dict__["_homes"] = homes
    module.__dict__["__all__"] = sorted(homes)
    module.__class__ = LazyPackage
