"""Kernels between items, by name: linear, poly2, gaussian:1, diffusion:10."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.types import Floats

Form = Literal["squared", "printed"]

_NAME = re.compile(r"(?P<kind>linear|poly|gaussian:|diffusion:)(?P<number>[0-9][0-9.e+-]{0,20})?")
_EXPECTED = "linear, polyP such as poly2, gaussian:S such as gaussian:1, or diffusion:T such as diffusion:10"
_HIGHEST_ORDER = 20
_LONGEST_WALK = 10_000


@dataclass(frozen=True)
class ItemKernel:
    """A kernel between items.

    linear       x·y
    polyP        (x·y)^P
    gaussian:S   exp(-d^2 / (2 S^2)), or as the thesis prints it exp(-d / (2 S)); d is the distance
    diffusion:T  T steps of a lazy random walk on the graph of nearest neighbours, see ``walks``

    Attributes
    ----------
    name : str
        The name by which ``kernel_of`` finds it.
    kind : str
        linear, poly, gaussian or diffusion.
    number : float
        P, S or T; 1 for linear.
    """

    name: str
    kind: str
    number: float = 1.0

    @property
    def walks(self) -> bool:
        """Whether it is a diffusion kernel, which only the items of a graph have values of."""
        return self.kind == "diffusion"

    @property
    def needs_distances(self) -> bool:
        """Whether its values come from distances."""
        return self.kind in ("gaussian", "diffusion")

    def of(self, products: Floats, distances: Floats, form: Form) -> Floats:
        """Return the values of a linear, polynomial or Gaussian kernel, float64 with the shape of products.

        Parameters
        ----------
        products, distances
            x·y and the squared distance of the same pairs of items; only one of them is used.
        form
            Of Gaussian kernels: squared, or printed.
        """
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            if self.kind == "linear":
                return products
            if self.kind == "poly":
                return products ** int(self.number)
            d = distances if form == "squared" else np.sqrt(distances)
            scale = 2.0 * self.number**2 if form == "squared" else 2.0 * self.number
            found: Floats = d * (-1.0 / scale)
            return np.exp(found, out=found)


def kernel_of(name: str) -> ItemKernel:
    """Return the kernel of a name.

    Raises
    ------
    ConfigError
        If the name is unknown, or its number out of range.
    """
    found = _NAME.fullmatch(name)
    try:
        if found is None or (found["kind"] == "linear") != (found["number"] is None):
            raise ValueError
        kind, number = found["kind"].rstrip(":"), float(found["number"] or 1)
    except ValueError:
        raise ConfigError(f"kernels: found {name!r}, expected {_EXPECTED}") from None
    low, high = {"poly": (2, _HIGHEST_ORDER), "diffusion": (1, _LONGEST_WALK)}.get(kind, (1e-100, 1e100))
    whole = kind in ("poly", "diffusion")
    if not low <= number <= high or (whole and number != int(number)):
        expected = f"a whole number from {low:g} to {high:g}" if whole else "a number above 0"
        raise ConfigError(f"kernels: found {name!r}, expected {expected} after {kind}")
    return ItemKernel(name, kind, number)
