"""The fragments of highest weight in a preference model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, printable
from rerank.core.tables.sheet import Column, Row, Sheet
from rerank.data.columns.forests import Forest
from rerank.models.base import Model
from rerank.models.fragments.mining import HeavyFragments, heaviest_fragments
from rerank.models.preference import PreferenceModel
from rerank.similarity.items.parsing import Leaf, Product, Sum
from rerank.similarity.items.trees import OnTrees

DEFAULT = 20
COUNTS = "for, against: support trees with a coefficient above and below 0 that contain the fragment"
_HEADS = ("weight", "for", "against")


@dataclass(frozen=True)
class ModelFragments:
    """The heaviest fragments of each tree kernel of a model.

    Attributes
    ----------
    kernels : dict of str to HeavyFragments
        By tree kernel with its weight, as in the model's expression.
    products : list of str
        Products of the expression with tree kernels: a score is not a sum over the fragments of their trees.
    """

    kernels: dict[str, HeavyFragments]
    products: list[str]

    def lines(self) -> list[str]:
        """Return tables of fragments as text, one for each tree kernel."""
        lines = []
        for kernel, some in self.kernels.items():
            lines += ["", f"fragments of {printable(kernel)}, {_proof(some)}"]
            cells = [
                (f"{one.weight: .6g}", str(one.raising), str(one.lowering), printable(one.text))
                for one in some.found
            ]
            widths = [max(map(len, column)) for column in list(zip(*cells, (*_HEADS, ""), strict=True))[:-1]]
            for first, *others, text in [(*_HEADS, "fragment"), *cells] if cells else ():
                counts = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
                lines.append("  ".join([first.ljust(widths[0]), *counts, text]))
        alone = "trees within a product have no weights of their own"
        for product in self.products:
            lines += ["", f"no fragments of {printable(product)}: {alone}"]
        return lines

    def sheets(self) -> list[Sheet]:
        """Return a table for each tree kernel."""
        columns = (
            Column("fragment", ("fragment",), left=True),
            Column("weight", ("weight",), "{:.6g}".format),
            Column("for", ("for",), note=COUNTS),
            Column("against", ("against",)),
        )
        sheets = []
        for kernel, some in self.kernels.items():
            rows = tuple(Row((one.text, one.weight, one.raising, one.lowering)) for one in some.found)
            sheets.append(Sheet(columns, rows, f"fragments of {kernel}, {_proof(some)}"))
        return sheets

    def as_json(self) -> dict[str, Any]:
        """Return plain values; ``missed`` is null if weights of other fragments have no bound."""
        return {
            "fragments": [
                {
                    "kernel": kernel,
                    "proved": some.n_proved,
                    "missed": some.missed if math.isfinite(some.missed) else None,
                    "heaviest": [
                        {
                            "fragment": one.text,
                            "weight": one.weight,
                            "for": one.raising,
                            "against": one.lowering,
                        }
                        for one in some.found
                    ],
                }
                for kernel, some in self.kernels.items()
            ],
            "products": self.products,
        }


def _proof(some: HeavyFragments) -> str:
    """What is known about the rank of fragments."""
    n = len(some.found)
    if n == 0:
        return "none has a weight" if some.missed == 0 else "none was found before the search gave up"
    if some.n_proved == n:
        return "the heaviest" if n == 1 else f"the {n} heaviest"
    bound = f", no other weighs more than {some.missed:.6g}" if math.isfinite(some.missed) else ""
    return f"found by a search that gave up: the first {some.n_proved} are surely the heaviest{bound}"


def has_fragments(model: Model) -> bool:
    """Return whether a model compares trees."""
    return isinstance(model, PreferenceModel) and model.kernel.compares("trees")


def model_fragments(model: Model, n: int = DEFAULT, *, min_nodes: int = 1) -> ModelFragments:
    """Return the fragments of highest weight in a preference model, for each tree kernel that stands alone.

    A tree's part of the score is the sum over its fragments of weight times component, see
    ``heaviest_fragments``; a weight in the kernel's expression is part of the weights of its fragments.

    Parameters
    ----------
    model
        A model of kind preference.
    n, min_nodes
        As for ``heaviest_fragments``.

    Raises
    ------
    ConfigError
        If the model compares no trees.
    """
    if not isinstance(model, PreferenceModel) or not has_fragments(model):
        which = f"kernel {model.kernel.text}" if isinstance(model, PreferenceModel) else f"kind {model.kind}"
        raise ConfigError(f"fragments: found a model of {which}, expected one with a tree kernel")
    alone, products = _terms(model.kernel.expression)
    found = {}
    for leaf, weight in alone.items():
        assert isinstance(leaf.kernel, OnTrees)
        trees = Forest.from_strings([]) if model.support is None else model.support.forest(leaf.of[0])
        with np.errstate(over="ignore"):  # reported as a coefficient that is not finite
            coefficients = weight * model.coefficients
        function = leaf.kernel.function()
        name = str(Product(weight, (leaf,)))
        found[name] = heaviest_fragments(trees, coefficients, function, n, min_nodes=min_nodes)
    return ModelFragments(found, products)


def _terms(expression: Sum) -> tuple[dict[Leaf, float], list[str]]:
    """The tree kernels that stand alone, with their weights, and the products that contain others."""
    alone: dict[Leaf, float] = {}
    products = []
    waiting = [(1.0, term) for term in reversed(expression.terms)]
    while waiting:
        outer, term = waiting.pop()
        weight = outer * term.weight
        if len(term.factors) == 1:
            (only,) = term.factors
            if isinstance(only, Sum):
                waiting += [(weight, inner) for inner in reversed(only.terms)]
            elif only.kernel.compares == "trees":
                alone[only] = alone.get(only, 0.0) + weight
        elif any(leaf.kernel.compares == "trees" for leaf in Sum((term,)).leaves()):
            products.append(str(Product(weight, term.factors)))
    return alone, products
