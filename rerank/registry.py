"""Registries: names to classes. An unknown name is an error that suggests the nearest known one."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from rerank.errors import ConfigError

T = TypeVar("T")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the tail of an error message: the nearest name if one is near, and the known names."""
    names = sorted(known)
    near = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=1, cutoff=0.5)
    hint = next((f"did you mean {n!r}? " for n in names if near and n.lower() == near[0]), "")
    shown = names if len(names) <= 40 else [*names[:40], f"... ({len(names)} in all)"]
    return f"{hint}known: {', '.join(shown) or 'none'}"


class Registry(Generic[T]):
    """Classes of one kind by name, found by importing every module of some packages and their sub-packages.

    A new entry is a new file in one of them; no list needs editing.

    Parameters
    ----------
    kind : str
        What the entries are, for messages, such as "learner".
    *packages : str
        The packages to search.
    """

    def __init__(self, kind: str, *packages: str) -> None:
        self.kind = kind
        self.packages = packages
        self._entries: dict[str, T] = {}
        self._aliases: dict[str, str] = {}
        self._imported = False

    def register(self, name: str, *aliases: str) -> Callable[[T], T]:
        """Return a class decorator that registers a class under ``name`` and its aliases.

        Raises
        ------
        ValueError
            If a name is taken (when the class is decorated).
        """

        def enter(entry: T) -> T:
            for new in (name, *aliases):
                if new in self._entries or new in self._aliases:
                    raise ValueError(f"two {self.kind}s are named {new!r}")
            self._entries[name] = entry
            self._aliases.update(dict.fromkeys(aliases, name))
            return entry

        return enter

    def _import_all(self) -> None:
        if not self._imported:
            for name in self.packages:
                package = importlib.import_module(name)
                for module in pkgutil.walk_packages(package.__path__, f"{name}."):
                    importlib.import_module(module.name)
            self._imported = True

    def names(self) -> list[str]:
        """Return the canonical names, sorted."""
        self._import_all()
        return sorted(self._entries)

    def aliases(self, name: str) -> list[str]:
        """Return the other names of the entry ``name``, sorted."""
        self._import_all()
        return sorted(alias for alias, target in self._aliases.items() if target == name)

    def get(self, name: str) -> T:
        """Return the entry called ``name``; raise ConfigError, with the nearest name, if there is none."""
        self._import_all()
        key = self._aliases.get(name, name)
        if key not in self._entries:
            known = [*self._entries, *self._aliases]
            raise ConfigError(f"unknown {self.kind} {name!r}; {did_you_mean(name, known)}")
        return self._entries[key]
