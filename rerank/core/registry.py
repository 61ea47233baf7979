"""Registries: names to classes. An unknown name is an error that suggests the nearest known one."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from rerank.core.errors import ConfigError
from rerank.core.index import INDEX

T = TypeVar("T")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the tail of an error message: the nearest name if one is near, and the known names."""
    import difflib

    names = sorted(known)
    near = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=1, cutoff=0.5)
    hint = next((f"did you mean {n!r}? " for n in names if near and n.lower() == near[0]), "")
    shown = names if len(names) <= 40 else [*names[:40], f"... ({len(names)} in all)"]
    return f"{hint}known: {', '.join(shown) or 'none'}"


class Registry(Generic[T]):
    """Classes of one kind by name, in the modules of some packages and their sub-packages.

    A new entry is a new file in one of them. ``make index`` notes the names, aliases and modules of all
    entries in ``rerank.core.index``, so that only the module that is asked for is imported. An unknown name,
    or a kind that the index lacks, imports all modules.

    Parameters
    ----------
    kind : str
        What the entries are, for messages, such as "learner".
    *packages : str
        The packages to search.
    facts : tuple of str
        Class attributes that the index has, too: what choosing an entry requires.
    base : callable, optional
        Returns the class that entries of other distributions derive from, see ``core.other_packages``; None =
        there are none.
    """

    def __init__(
        self,
        kind: str,
        *packages: str,
        facts: tuple[str, ...] = (),
        base: Callable[[], type] | None = None,
    ) -> None:
        self.kind = kind
        self._base = base
        self.packages = packages
        self.facts = facts
        self._index = INDEX.get(kind, {})
        self._indexed = {alias: name for name, entry in self._index.items() for alias in entry[1]}
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
                home = self._index.get(self._indexed.get(new, new))
                elsewhere = home is not None and home[0] != entry.__module__
                if new in self._entries or new in self._aliases or elsewhere:
                    raise ValueError(f"two {self.kind}s are named {new!r}")
            self._entries[name] = entry
            self._aliases.update(dict.fromkeys(aliases, name))
            return entry

        return enter

    def _import_all(self) -> None:
        if not self._imported:
            import pkgutil

            for name in self.packages:
                package = importlib.import_module(name)
                for module in pkgutil.walk_packages(package.__path__, f"{name}."):
                    importlib.import_module(module.name)
            self._imported = True

    def names(self) -> list[str]:
        """Return the canonical names, sorted."""
        if not self._index:
            self._import_all()
        return sorted({*self._index, *self._entries})

    def aliases(self, name: str) -> list[str]:
        """Return the other names of the entry ``name``, sorted."""
        spellings = self.spellings().items()
        return sorted(alias for alias, target in spellings if target == name != alias)

    def spellings(self) -> dict[str, str]:
        """Return the canonical name of every name and alias."""
        return {**{name: name for name in self.names()}, **self._indexed, **self._aliases}

    def get(self, name: str) -> T:
        """Return the entry called ``name``, which may be one of another distribution.

        Raises ConfigError, with the nearest name, if there is none.
        """
        key = self._aliases.get(name, self._indexed.get(name, name))
        if key not in self._entries:
            if key in self._index:
                importlib.import_module(self._index[key][0])
            elif (offered := self._offered(name)) is not None:
                self._entries[key] = offered
            else:
                self._import_all()
                key = self._aliases.get(name, name)
        if key not in self._entries:
            known = [*self._entries, *self._aliases, *self.offers()]
            raise ConfigError(f"unknown {self.kind} {name!r}; {did_you_mean(name, known)}")
        return self._entries[key]

    def _offered(self, name: str) -> Any:
        if self._base is None:
            return None
        from rerank.core.other_packages import load_offer

        return load_offer(self.kind, name, self._base())

    def offers(self) -> dict[str, str]:
        """Return the names that other distributions offer, and the distributions; reads what is installed."""
        if self._base is None:
            return {}
        from rerank.core.other_packages import offers

        found = offers()[0].get(self.kind, {})
        return {name: " and ".join(one.distribution for one in found[name]) for name in sorted(found)}

    def fact(self, name: str, attribute: str) -> Any:
        """Return a class attribute, one of ``facts``, of the entry ``name``; only a new one is imported."""
        if name in self._index and name not in self._entries:
            return self._index[name][2][self.facts.index(attribute)]
        return getattr(self.get(name), attribute)

    def entries(self) -> dict[str, T]:
        """Return all entries by their canonical names, sorted; all of them are imported."""
        self._import_all()
        return dict(sorted(self._entries.items()))
