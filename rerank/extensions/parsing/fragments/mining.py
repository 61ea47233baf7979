"""The fragments of highest weight in a sum of tree kernels, or in a preference model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, DataError, printable
from rerank.core.tables.table import Column, Row, Table
from rerank.core.types import Floats, Index
from rerank.data.columns.forests import Forest
from rerank.extensions.parsing.fragments.search import Search
from rerank.extensions.parsing.fragments.spaces import Part, PartialTrees, Space, SubsetTrees, SupportTrees
from rerank.extensions.parsing.tree_kernels import OnTrees, TreeFunction
from rerank.models.base import Model
from rerank.models.preference import PreferenceModel
from rerank.similarity.grammar import Leaf, Product, Sum
from rerank.similarity.tree_sets import TreeSet

MOST_WORK = 30_000_000  # rows: about ten seconds


@dataclass(frozen=True)
class HeavyFragment:
    """A fragment and its weight in a model.

    Attributes
    ----------
    text : str
        The fragment in brackets, ``(NP (DT the) (NN))``: a label without children here stands alone in its
        brackets, a word has none.
    weight : float
        Positive for trees that the model prefers.
    raising, lowering : int
        How many trees with a coefficient above and below 0 contain it.
    """

    text: str
    weight: float
    raising: int
    lowering: int


@dataclass(frozen=True)
class HeavyFragments:
    """Fragments of high weight.

    Attributes
    ----------
    found : list of HeavyFragment
        The heaviest first.
    n_proved : int
        The first so many are surely the heaviest, in this order.
    missed : float
        No other fragment has a larger weight, by magnitude, than this or the last of ``found``; 0 if the
        search was complete.
    """

    found: list[HeavyFragment]
    n_proved: int
    missed: float


def heaviest_fragments(
    trees: Forest,
    coefficients: Floats,
    kernel: TreeFunction,
    n: int = 20,
    *,
    min_nodes: int = 1,
    most_work: int = MOST_WORK,
) -> HeavyFragments:
    """Return the fragments with the largest weights, by magnitude, in a sum of a tree kernel.

    The sum f(t) = sum_i coefficients[i] K(t, trees[i]) is a linear function of the fragments phi(t) of t
    (see ``spaces``; sst-leaves: also words, sqrt(decay) for each occurrence; st: whole subtrees; bow: words,
    1 for each occurrence). The weight of fragment j is sum_i coefficients[i] phi_j(trees[i]), and f(t) is the
    sum of weights times phi_j(t). If the kernel is normalised, phi(t) is divided by sqrt(K(t, t)) in both.

    - ``trees``: Forest (n_trees); missing trees have no fragments.
    - ``coefficients``: float64 (n_trees)
    - ``kernel``: K.
    - ``n``: how many fragments.
    - ``min_nodes``: only fragments of so many nodes or more, labels without children and words included.
    - ``most_work``: where the search for a proof ends, in rows of occurrences visited. A greedy search
      then continues for half as long; ``HeavyFragments.missed`` bounds what neither has visited.

    Raises DataError if the numbers of trees and coefficients differ, or a coefficient is not finite. Raises
    ConfigError if ``n`` or ``min_nodes`` is not positive.

    Examples
    --------
    >>> trees = Forest.from_strings(["(NP (DT the) (NN dog))", "(NP (NN dog))"])
    >>> sst = TreeFunction("sst", decay=0.25, normalise=False)
    >>> for one in heaviest_fragments(trees, np.array([1.0, -1.0]), sst, 3).found:
    ...     print(one)
    HeavyFragment(text='(DT the)', weight=0.5, raising=1, lowering=0)
    HeavyFragment(text='(NP (DT) (NN))', weight=0.5, raising=1, lowering=0)
    HeavyFragment(text='(NP (NN))', weight=-0.5, raising=0, lowering=1)
    """
    for name, value in (("n", n), ("min_nodes", min_nodes)):
        if value < 1:
            raise ConfigError(f"{name}: found {value}, expected 1 or more")
    if coefficients.shape != (len(trees),) or not np.isfinite(coefficients).all():
        raise DataError(f"fragments: expected {len(trees)} finite coefficients, one for each tree")
    (own,) = TreeSet.of(trees)
    scaled = coefficients
    if kernel.normalise:
        roots = np.sqrt(kernel.diagonal(own))
        scaled = np.divide(coefficients, roots, out=np.zeros(len(roots)), where=roots > 0)
    support = SupportTrees.of(own, scaled)
    writer = _Writer(trees, support)
    entries = _listed(support, kernel, n, min_nodes)
    space, missed = _space(support, kernel), 0.0
    if space is not None:
        search = Search(space, n, min_nodes, most_work)
        entries += [
            (weight, search.part(step), support.node[search.places(step)]) for weight, step in search.run()
        ]
        missed = search.missed
    entries = sorted(entries, key=lambda entry: -abs(entry[0]))[:n]
    found = [
        HeavyFragment(writer.text(part), weight, *_signs(coefficients[support.containing(nodes)]))
        for weight, part, nodes in entries
    ]
    if len(entries) == n and missed <= abs(entries[-1][0]):
        missed = 0.0
    proved = sum(abs(one.weight) >= missed for one in found)
    return HeavyFragments(found, proved, missed)


def _space(support: SupportTrees, kernel: TreeFunction) -> Space | None:
    """The space to search, None if single nodes and whole subtrees are all there is."""
    if kernel.name in ("st", "bow"):
        return None
    assert kernel.decay is not None
    if kernel.name == "ptk":
        assert kernel.mu is not None
        return PartialTrees.of(support, kernel.decay, kernel.mu, kernel.max_children)
    return SubsetTrees.of(support, kernel.decay)


def _listed(
    support: SupportTrees, kernel: TreeFunction, n: int, min_nodes: int
) -> list[tuple[float, Part, Index]]:
    """The heaviest whole subtrees and words, for kernels with such fragments: weight, fragment, its node."""
    nodes = support.nodes
    decay = 1.0 if kernel.decay is None else kernel.decay
    if kernel.name == "st":
        eligible, logarithms = nodes.productions >= 0, nodes.inner() / 2
    elif kernel.name == "bow" or kernel.name == "sst-leaves":
        eligible, logarithms = nodes.productions < 0, np.full(len(nodes), 0.5)
    else:
        return []
    eligible = eligible & (support.sizes >= min_nodes)
    weights = np.where(eligible, support.totals * decay**logarithms, 0.0)
    order = np.argsort(-np.abs(weights), kind="stable")[:n]
    order = order[weights[order] != 0]
    return [(float(weights[v]), support.subtree(int(v)), np.array([v])) for v in order]


def _signs(values: Floats) -> tuple[int, int]:
    """Return the numbers of values above and below 0."""
    return int((values > 0).sum()), int((values < 0).sum())


class _Writer:
    """Writes fragments as text; a symbol is a word if no node with children has it."""

    def __init__(self, trees: Forest, support: SupportTrees) -> None:
        self._strings = list(dict.fromkeys(trees.vocabulary))  # numbered as by TreeSet
        nodes = support.nodes
        self._labels = np.zeros(nodes.n_symbols, dtype=bool)
        self._labels[nodes.symbols[nodes.productions >= 0]] = True

    def text(self, whole: Part) -> str:
        """Return a fragment in brackets."""
        out: list[str] = []
        waiting: list[Part | str] = [whole]  # a stack: fragments may be deeper than Python can recurse
        while waiting:
            part = waiting.pop()
            if isinstance(part, str):
                out.append(part)
                continue
            symbol, children = part
            space = " " if out else ""
            if not children and not self._labels[symbol]:
                out.append(f"{space}{self._strings[symbol]}")
                continue
            out.append(f"{space}({self._strings[symbol]}")
            waiting.append(")")
            waiting.extend(reversed(children))
        return "".join(out)


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

    def tables(self) -> list[Table]:
        """Return a table for each tree kernel."""
        columns = (
            Column("fragment", ("fragment",), left=True),
            Column("weight", ("weight",), "{:.6g}".format),
            Column("for", ("for",), note=COUNTS),
            Column("against", ("against",)),
        )
        tables = []
        for kernel, some in self.kernels.items():
            rows = tuple(Row((one.text, one.weight, one.raising, one.lowering)) for one in some.found)
            tables.append(Table(columns, rows, f"fragments of {kernel}, {_proof(some)}"))
        return tables

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
    """Return what is proved of the rank of fragments."""
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


def shown_fragments(model: Model, n: int | None, min_nodes: int | None) -> ModelFragments | None:
    """Return what ``rerank show`` prints of a model: None without fragments, or if ``n`` is 0.

    Raises ConfigError as ``model_fragments``, or if ``min_nodes`` would have no effect.
    """
    if n == 0 and min_nodes is not None:
        raise ConfigError("--min-nodes: found --fragments 0, which shows none")
    if n or min_nodes or (n is None and has_fragments(model)):
        return model_fragments(model, n or DEFAULT, min_nodes=min_nodes or 1)
    return None


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
