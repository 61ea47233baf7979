"""Values that SVM-light-TK's definitions give examples: trees of two levels, normalised linear kernels."""

import math


def productions(tree):
    """The productions of ``(S (A a) (B b))``, as text."""
    inner = tree[1:-1]
    label, _, rest = inner.partition(" ")
    children = [part + ")" for part in rest.split(")") if part.strip()]
    children = [child.strip() for child in children]
    return [label + "->" + " ".join(child[1:].split()[0] for child in children), *children]


def st(a, b, decay):
    """Subtrees: equal pre-terminals count decay each, equal roots decay^(1 + children) if all below is."""
    if not a or not b:
        return 0.0
    first, second = productions(a), productions(b)
    total = sum(decay for x in first[1:] for y in second[1:] if x == y)
    if first[0] == second[0]:
        total += decay * math.prod(
            decay if x == y else 0.0 for x, y in zip(first[1:], second[1:], strict=True)
        )
    return total


def normalised(function, a, b):
    own = function(a, a) * function(b, b)
    return function(a, b) / math.sqrt(own) if own else 0.0


def linear(x, y):
    return sum(p * q for p, q in zip(x, y, strict=True))


def of_items(a, b, *, decay, factor):
    """T * the sum over trees + the sum over vectors, all normalised; an item is (trees, vector)."""
    trees = sum(normalised(lambda p, q: st(p, q, decay), p, q) for p, q in zip(a[0], b[0], strict=True))
    return factor * trees + normalised(linear, a[1], b[1])


def of_pairs(a, b, **settings):
    """The preference kernel of pairs of items."""
    (a1, a2), (b1, b2) = a, b
    k = of_items
    return k(a1, b1, **settings) + k(a2, b2, **settings) - k(a1, b2, **settings) - k(a2, b1, **settings)
