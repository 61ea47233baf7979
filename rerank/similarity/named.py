"""Kernels by the names and expressions that users type: of lists or of items."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rerank.core.errors import ConfigError
from rerank.core.registry import did_you_mean
from rerank.similarity.base import KERNELS, Kernel
from rerank.similarity.items.base import ITEM_KERNELS, PlainKernel
from rerank.similarity.items.expression import ItemKernel

_NAME = re.compile(r"[\w.-]+")


def kernel_class(name: str) -> type[Kernel] | type[PlainKernel]:
    """Return the kernel of lists or of items ``name``; raise ConfigError, with the nearest, if unknown."""
    if name in ITEM_KERNELS.names():
        return ITEM_KERNELS.get(name)
    try:
        return KERNELS.get(name)
    except ConfigError:
        known = [*KERNELS.names(), *ITEM_KERNELS.names()]
        raise ConfigError(f"unknown kernel {name!r}; {did_you_mean(name, known)}") from None


def kernel_of(text: str, settings: Mapping[str, Any] | None = None) -> Kernel | ItemKernel:
    """Return the kernel that ``text`` names or spells.

    Parameters
    ----------
    text : str
        The name of a kernel of lists or of items, or an expression over kernels of items.
    settings
        Settings of a kernel given by its name; an expression has its own.

    Raises
    ------
    ConfigError
        If the kernel or a setting is unknown or wrong, or settings are given with an expression.
    """
    if _NAME.fullmatch(text) is None:
        if settings:
            where = "settings of an expression are written within it, as in ptk(decay=0.3)"
            raise ConfigError(f"{next(iter(settings))}: {where}")
        return ItemKernel.parse(text)
    kind = kernel_class(text)
    if issubclass(kind, PlainKernel):
        return ItemKernel.of(text, settings)
    return kind.checked(settings or {}, f"kernel {text}")
