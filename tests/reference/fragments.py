"""The weights of all fragments of some trees, by enumeration; slow."""

import re

from reference import tree_kernels


def weights_of(found, coefficients, settings, normalise):
    """The weight of every fragment, and the trees that contain it."""
    weights, where = {}, {}
    for i, (tree, coefficient) in enumerate(zip(found, coefficients, strict=True)):
        components = tree_kernels.fragments(tree=tree, **settings)
        root = sum(value**2 for value in components.values()) ** 0.5 if normalise else 1.0
        for fragment, value in components.items():
            weights[plain(fragment)] = weights.get(plain(fragment), 0.0) + coefficient * value / root
            where.setdefault(plain(fragment), set()).add(i)
    return weights, where


def plain(fragment):
    """A fragment of the reference as text that does not tell words and labels apart."""
    label, children = fragment
    return f"({' '.join([label, *map(plain, children)])})" if children else label


def bare(text):
    """A fragment found, as ``plain`` writes it."""
    return re.sub(r"\(([^() ]+)\)", r"\1", text)
