"""Entries of the registries that other packages have: entry points of the group ``rerank.extensions``.

An entry point is named KIND.NAME, such as ``learner.median``, and names a class. The metadata of what is
installed are read for a name that the package itself lacks, and by ``rerank list``.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from rerank.core.errors import ConfigError
from rerank.core.index import INDEX

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "rerank.extensions"
# Kinds of registries that take entries of others; in names of entry points a hyphen stands for a blank.
OPEN = ("learner", "metric", "format", "weights format", "model", "exchange", "kernel", "kernel of items")


class Offer(NamedTuple):
    """A class that another distribution has: its name and version, and where the class is."""

    distribution: str
    entry: EntryPoint


@cache
def offers() -> tuple[dict[str, dict[str, list[Offer]]], list[str]]:
    """Return the offers of other distributions, kind -> name -> offers, and a line for each refused one."""
    from importlib import metadata

    found: dict[str, dict[str, list[Offer]]] = {kind: {} for kind in OPEN}
    faults: list[str] = []
    seen: set[str] = set()
    for distribution in metadata.distributions():
        try:  # each by itself, so that damaged metadata hide no other distribution
            name = distribution.name
            if not name:
                raise ValueError("no name")
            if name in seen:  # the first on the path counts, as for imports
                continue
            seen.add(name)
            label = f"{name} {distribution.version}"
            entries = list(distribution.entry_points.select(group=GROUP))
        except Exception as error:  # whatever a reader of metadata raises
            faults.append(f"the metadata of a distribution cannot be read: {type(error).__name__}: {error}")
            continue
        for entry in entries:
            kind, _, called = entry.name.partition(".")
            kind = kind.replace("-", " ")
            if kind not in found or not called:
                kinds = ", ".join(one.replace(" ", "-") for one in OPEN)
                faults.append(f"{label}: entry point {entry.name!r}, expected KIND.NAME with KIND of {kinds}")
            elif any(called in (own, *known[1]) for own, known in INDEX[kind].items()):
                faults.append(f"{label}: {kind} {called!r} is rerank's own; the entry point is not used")
            else:
                found[kind].setdefault(called, []).append(Offer(label, entry))
    return found, faults


def load_offer(kind: str, name: str, base: type) -> type | None:
    """Return the class that another distribution offers under ``name``, None if none does.

    Raises
    ------
    ConfigError
        In one line, if several offer it, it cannot be imported, or it is not a complete subclass of ``base``
        with that name.
    """
    given = offers()[0].get(kind, {}).get(name, [])
    if not given:
        return None
    what = f"{kind} {name!r} of {' and '.join(offer.distribution for offer in given)}"
    if len(given) > 1:
        raise ConfigError(f"{what}: found {len(given)} of that name, expected one; uninstall the others")
    entry = given[0].entry
    try:
        found = entry.load()
    except Exception as error:  # a module of others may raise anything
        text = " ".join(str(error).split())
        raise ConfigError(f"{what} cannot be loaded: {type(error).__name__}: {text}") from None
    if not (isinstance(found, type) and issubclass(found, base)):
        raise ConfigError(f"{what}: {entry.value} is not a subclass of {base.__name__}")
    missing = [one for one in dir(found) if getattr(getattr(found, one, None), "__isabstractmethod__", False)]
    if missing:
        raise ConfigError(f"{what}: {entry.value} does not implement {', '.join(missing)}")
    names = [getattr(found, key, None) for key in ("family", "kind", "name")]
    if name not in names:
        raise ConfigError(f"{what}: {entry.value} has the name {next(filter(None, names), None)!r}")
    return found
