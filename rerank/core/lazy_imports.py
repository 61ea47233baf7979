"""Packages whose names are imported when they are first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any


class _Late(ModuleType):
    """A package that imports the module of a name when the name is first used.

    Its modules never hide functions of the same name: ``rerank.training.ablation`` is the function, and
    ``from rerank.training.ablation import ablation_files`` reads the module.
    """

    _homes: dict[str, str]

    def __getattr__(self, name: str) -> Any:
        home = self._homes.get(name)
        if home is None:
            # With name and obj, Python suggests the nearest name.
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        value = getattr(importlib.import_module(f"{self.__name__}.{home}"), name)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._homes or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *self._homes})


def attach(package: str, names: Mapping[str, str]) -> None:
    """Let names of a package be imported when they are first used.

    The package imports the same names under ``TYPE_CHECKING``.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    names : mapping of str to str
        Module, relative to the package -> the names that it has, separated by blanks.
    """
    module = sys.modules[package]
    module.__dict__["_homes"] = {name: home for home, listed in names.items() for name in listed.split()}
    module.__class__ = _Late
