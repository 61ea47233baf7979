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
_TIED = 1e-9  # of squared distances, relative
_SHORTEST = 0.01  # of an edge, relative to the mean length of edges that are longer than 0


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
        """Return whether it is a diffusion kernel, which only the items of a graph have values of."""
        return self.kind == "diffusion"

    @property
    def needs_distances(self) -> bool:
        """Return whether its values come from distances."""
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


def lazy_walk(distances: Floats, k: int) -> Floats:
    """Return one step of the lazy random walk on the graph of k nearest neighbours, normalised.

    An edge joins two items if one of them is among the ``k`` nearest of the other; items as near as the k-th
    one count as well. Its weight is 1 / distance. Distances below a hundredth of the mean length of edges
    (longer than 0) count as that, so that equal items get no infinite weight. With the weights W and their
    row sums D the walk is P = (I + D^-1 W) / 2: it stays with probability 1/2. What is returned is
    N = D^1/2 P D^-1/2 = (I + D^-1/2 W D^-1/2) / 2, which is symmetric, with eigenvalues from 0 to 1, for
    graphs that are not connected too. So N^t is a kernel, that of t steps.

    Parameters
    ----------
    distances : float64 (m, m)
        Squared, 0 on the diagonal.
    k : int
        1 or more; with m - 1 or more, all items are neighbours.

    Returns
    -------
    float64 (m, m)

    References
    ----------
    Kondor & Lafferty: Diffusion kernels on graphs and other discrete input spaces. ICML 2002.
    """
    m = len(distances)
    if m == 1:
        return np.ones((1, 1))
    others = distances.copy()
    np.fill_diagonal(others, np.inf)
    k = min(k, m - 1)
    farthest = np.partition(others, k - 1, axis=1)[:, k - 1]
    edges = others <= farthest[:, None] * (1.0 + _TIED)
    edges |= edges.T
    lengths = np.sqrt(distances[edges])
    mean = float(lengths[lengths > 0].mean()) if lengths.any() else 1.0
    weights = np.zeros((m, m))
    weights[edges] = 1.0 / np.maximum(lengths / mean, _SHORTEST)
    roots = np.sqrt(weights.sum(axis=1))
    walk = 0.5 * weights / roots[:, None] / roots
    walk = 0.5 * (walk + walk.T)
    walk[np.diag_indices(m)] += 0.5
    return walk


def walked(walk: Floats, steps: int, distances: Floats) -> Floats:
    """Return the kernel matrix of some steps of a walk N, float64 (m, m), exactly symmetric.

    That is N^steps; equal items have the mean of their rows and columns, so that no component tells them
    apart.

    Parameters
    ----------
    walk, distances : float64 (m, m)
        N, and the squared distances that it was made of.
    steps : int
        1 or more.
    """
    found = np.linalg.matrix_power(walk, steps)
    equal = distances == 0.0
    if np.count_nonzero(equal) > len(equal):
        means = equal / np.count_nonzero(equal, axis=1)[:, None]
        found = means @ found @ means.T
    return 0.5 * (found + found.T)


def extended(distances: Floats, k: int, values: Floats, out: Floats) -> None:
    """Extend functions on the graph to other items: a step into the graph, then the function.

    The row of an item x outside the graph is k(x, ·) = the sum over j of p(x, j) N^t(j, ·), where x goes to
    its k nearest items of the graph with probabilities proportional to 1 / distance. Nyström's formula then
    gives f(x) = the sum of p(x, j) f(j). An item equal to items of the graph goes to these, which is the
    limit, so that an item of the graph keeps its value.

    Parameters
    ----------
    distances : float64 (n, m)
        Squared, from the items to those of the graph.
    k : int
        1 or more; items as near as the k-th one count as well.
    values : float64 (m, c)
        The functions on the graph.
    out : float64 (n, c)
        Their values, to be filled.
    """
    k = min(k, len(values))
    farthest = (1.0 + _TIED) * np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    least = distances.min(axis=1, keepdims=True)
    weights = np.sqrt(least / np.where(distances > 0.0, distances, 1.0)) * (distances <= farthest)
    np.copyto(weights, distances == 0.0, where=least == 0.0)
    np.divide(np.einsum("ij,jf->if", weights, values), weights.sum(axis=1, keepdims=True), out=out)
