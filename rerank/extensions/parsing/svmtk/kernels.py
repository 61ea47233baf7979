"""Kernels of SVM-light-TK as expressions, and expressions as its parameters.

A line has trees and vectors. With -W S (-V S) the kernels of the trees (vectors) at the same place are
summed; -W R (-V R) is the preference kernel of the same sum. -C adds or multiplies the sums, or takes one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from rerank.core.errors import ConfigError
from rerank.data.columns.schema import TREE
from rerank.data.lists import CandidateLists
from rerank.extensions.parsing.svmtk.model import SvmtkModel
from rerank.similarity.expression import ItemKernel
from rerank.similarity.grammar import Leaf, Product, Sum

MOST_CHILDREN = 5  # that a partial tree's node has, fixed in the program
TREE_KERNELS = {"0": "st", "1": "sst", "2": "sst-leaves", "3": "ptk"}
VECTOR_KERNELS = {"0": "linear", "1": "polynomial", "2": "gaussian"}

_KNOWN = {
    "t": ("5",),
    "C": ("+", "*", "T", "V"),
    "F": tuple(TREE_KERNELS),
    "S": tuple(VECTOR_KERNELS),
    "N": ("0", "1", "2", "3"),
    "U": ("0",),
}
_PRODUCT = "expected a product of a sum of trees' and a sum of vectors' kernels"
_APPROACHES = ("S", "R")
_VECTOR = re.compile(r"v([0-9]+):")
_DEFAULTS = {
    "t": "5",
    "d": "3",
    "g": "1",
    "s": "1",
    "r": "1",
    "u": "empty",
    "L": "0.4",
    "T": "1",
    "C": "T",
    "F": "1",
    "S": "0",
    "M": "0.4",
    "N": "0",
    "V": "S",
    "W": "S",
    "U": "0",
}


def kernel_text(model: SvmtkModel, support: CandidateLists) -> str:
    """Return the expression of a model's kernel.

    Raises ConfigError if a parameter has a value that is not supported; the message names the parameter.
    """
    given = model.parameters
    for letter in ("t", "U", "C", *("FN" if given["C"] != "V" else ""), *("SN" if given["C"] != "T" else "")):
        _check(letter, given[letter], _KNOWN[letter])
    sides = {"W": given["C"] != "V", "V": given["C"] != "T"}
    for letter in (letter for letter, used in sides.items() if used):
        _check(letter, given[letter], _APPROACHES)
    trees = _tree_terms(given, support) if sides["W"] else ""
    vectors = _vector_terms(given, support, model.pairs) if sides["V"] else ""
    if given["C"] in "TV":
        return trees or vectors
    if given["W"] != given["V"]:
        raise ConfigError(f"found -W {given['W']} with -V {given['V']}, expected the same letter")
    if given["C"] == "+":
        return f"{given['T']} * ({trees}) + {vectors}"
    if model.pairs:
        found = "-C * of pairs (-W R), the product of two preference kernels"
        raise ConfigError(f"found {found}, expected a kernel of items")
    return f"({trees}) * ({vectors})"


def _check(letter: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f"found the kernel parameter -{letter} {value}, expected {' or '.join(known)}")


def _tree_terms(given: Mapping[str, str], support: CandidateLists) -> str:
    """The sum of the kernels of an item's trees."""
    names = support.tree_names()
    if not names:
        raise ConfigError(f"found support vectors without trees, expected some for -C {given['C']}")
    settings = [f"decay={given['L']}", f"normalise={'true' if given['N'] in '13' else 'false'}"]
    if given["F"] == "3":
        settings += [f"mu={given['M']}", f"max_children={MOST_CHILDREN}"]
    kernel = TREE_KERNELS[given["F"]]
    return " + ".join(f"{kernel}({name}, {', '.join(settings)})" for name in names)


def _vector_terms(given: Mapping[str, str], support: CandidateLists, pairs: bool) -> str:
    """The sum of the kernels of an item's vectors."""
    if not support.n_features:
        raise ConfigError(f"found support vectors without features, expected some for -C {given['C']}")
    normalised = given["N"] in "23"
    kernel = VECTOR_KERNELS[given["S"]]
    settings = [] if kernel == "gaussian" else [f"normalise={'true' if normalised else 'false'}"]
    if kernel == "polynomial":
        settings += [f"degree={given['d']}", f"gamma={given['s']}", f"constant={given['r']}"]
    if kernel == "gaussian":
        _check_gaussian(pairs, normalised)
        settings += [f"gamma={given['g']}"]
    found = [_VECTOR.match(name) for name in support.feature_names or ()]
    chosen = dict.fromkeys(f"{match[0]}*, " for match in found if match is not None) or [""]
    return " + ".join(f"{kernel}({which}{', '.join(settings)})" for which in chosen)


def _check_gaussian(pairs: bool, normalised: bool) -> None:
    """Raise ConfigError for uses in which the program computes another kernel than the Gaussian."""
    if pairs:
        raise ConfigError(
            "-S 2 with -V R takes the norm of another vector in the program; expected -S 0 or 1"
        )
    if normalised:
        raise ConfigError("-S 2 with -N 2 or 3 divides by undefined norms in the program; expected -N 0 or 1")


@dataclass(frozen=True)
class Said:
    """A kernel as the program's parameters.

    Attributes
    ----------
    parameters : by letter.
    factor : what the program's kernel is multiplied by to be the kernel.
    support : items with the trees and vectors that the kernel compares, in the order of its terms.
    of_trees_or_linear : whether the kernel is 0 for an item without trees and features.
    """

    parameters: Mapping[str, str]
    factor: float
    support: CandidateLists
    of_trees_or_linear: bool


def parameters_of(kernel: ItemKernel, support: CandidateLists, *, pairs: bool) -> Said:
    """Return the parameters of a kernel whose text names its trees.

    Raises ConfigError if the program does not have it; it says why.
    """
    parameters = {**_DEFAULTS, "W": "R" if pairs else "S", "V": "R" if pairs else "S"}
    terms = kernel.expression.terms
    if len(terms) == 1 and len(terms[0].factors) == 2:
        if pairs:
            raise ConfigError("products of pairs are not products of kernels")
        sides = [_weighted(_as_sum(factor)) for factor in terms[0].factors]
        sides.sort(key=lambda side: side[0][1].kernel.compares == "features")
        trees, vectors = sides
        if [side[0][1].kernel.compares for side in sides] != ["trees", "features"]:
            raise ConfigError(_PRODUCT)
        parameters["C"], factor = "*", terms[0].weight
    else:
        leaves = _weighted(kernel.expression)
        trees = [one for one in leaves if one[1].kernel.compares == "trees"]
        vectors = [one for one in leaves if one[1].kernel.compares == "features"]
        parameters["C"], factor = "+" if trees and vectors else "T" if trees else "V", 1.0
    names = _trees_said(trees, parameters)
    of_features = _vectors_said(vectors, parameters, support, pairs)
    weights = [side[0][0] if side else 1.0 for side in (trees, vectors)]
    if parameters["C"] == "+":
        parameters["T"], factor = repr(weights[0] / weights[1]), factor * weights[1]
    else:
        factor *= weights[0] * weights[1]
    forests = {name: support.forest(name) for name in names}
    said = replace(support, trees=forests.pop(TREE, None), structures=forests)
    if not of_features:
        said = said.with_columns([])
    zero = not vectors or vectors[0][1].kernel.name == "linear" or parameters["r"] == "0"
    return Said(parameters, factor, said, zero)


def _as_sum(factor: Leaf | Sum) -> Sum:
    return factor if isinstance(factor, Sum) else Sum((Product(1.0, (factor,)),))


def _weighted(expression: Sum, weight: float = 1.0) -> list[tuple[float, Leaf]]:
    """The kernels of a sum with their weights; raises ConfigError if a term has not one kernel."""

    def leaves() -> Iterator[tuple[float, Leaf]]:
        for term in expression.terms:
            if len(term.factors) != 1:
                raise ConfigError("expected a sum of trees' and a sum of vectors' kernels, or their product")
            factor, own = term.factors[0], weight * term.weight
            if isinstance(factor, Leaf):
                yield own, factor
            else:
                yield from _weighted(factor, own)

    return list(leaves())


def _alike(side: list[tuple[float, Leaf]], known: Mapping[str, str]) -> Leaf:
    """The first kernel of a side; raises ConfigError unless all are of one name, settings and weight."""
    weight, first = side[0]
    for other, leaf in side:
        if leaf.kernel.compares != first.kernel.compares:
            raise ConfigError(_PRODUCT)
        if other != weight or str(replace(leaf, of=())) != str(replace(first, of=())):
            raise ConfigError(f"expected one kernel, with one weight, for all {first.kernel.compares}")
    if first.kernel.name not in known.values():
        raise ConfigError(f"it has {', '.join(known.values())}")
    return first


def _trees_said(side: list[tuple[float, Leaf]], parameters: dict[str, str]) -> list[str]:
    """Set the parameters of trees; return the names of the trees."""
    if not side:
        return []
    kernel = _alike(side, TREE_KERNELS).kernel
    names = [leaf.of[0] for _, leaf in side]
    if len(set(names)) < len(names):
        raise ConfigError("it takes each tree once")
    settings = kernel.get_params()
    parameters["F"] = next(key for key, name in TREE_KERNELS.items() if name == kernel.name)
    parameters["L"] = repr(settings["decay"])
    parameters["N"] = str(int(settings["normalise"]))
    if kernel.name == "ptk":
        if settings["max_children"] != MOST_CHILDREN:
            raise ConfigError(f"it has partial trees with max_children={MOST_CHILDREN} only")
        parameters["M"] = repr(settings["mu"])
    return names


def _vectors_said(
    side: list[tuple[float, Leaf]], parameters: dict[str, str], support: CandidateLists, pairs: bool
) -> bool:
    """Set the parameters of vectors; return whether there are any."""
    if not side:
        return False
    kernel = _alike(side, VECTOR_KERNELS).kernel
    vectors = list(dict.fromkeys(match[1] for match in map(_VECTOR.match, support.names()) if match))
    whole = [()] if len(vectors) < 2 else [(f"v{k}:*",) for k in vectors]
    if [leaf.of for _, leaf in side] != whole:
        raise ConfigError(f"it takes whole vectors: {' + '.join(str(Leaf(kernel, of)) for of in whole)}")
    settings = kernel.get_params()
    normalised = bool(settings.get("normalise", False))
    if kernel.name == "gaussian":
        _check_gaussian(pairs, normalised)
        parameters["g"] = repr(settings["gamma"])
    if kernel.name == "polynomial":
        parameters |= {"d": str(settings["degree"]), "s": repr(settings["gamma"])}
        parameters["r"] = repr(settings["constant"]).removesuffix(".0")
    parameters["S"] = next(key for key, name in VECTOR_KERNELS.items() if name == kernel.name)
    parameters["N"] = str(int(parameters["N"]) + 2 * normalised)
    return True
