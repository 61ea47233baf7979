"""The fragments of highest weight in a preference model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.core.errors import ConfigError
from rerank.data.columns.forests import Forest
from rerank.models.base import Model
from rerank.models.fragments.mining import HeavyFragments, heaviest_fragments
from rerank.models.preference import PreferenceModel
from rerank.similarity.grammar import Leaf, Product, Sum
from rerank.similarity.tree_kernels import OnTrees

DEFAULT = 20


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
