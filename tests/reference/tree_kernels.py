"""Tree kernels, by all fragments of both trees and by the recursive definitions; slow.

A tree is a pair of a label and its children as in reference.trees; a word is a string; a missing one is None.
"""

from collections import Counter
from itertools import combinations, product


def value(name, x, y, decay=0.4, mu=0.4, max_children=None):
    """K(x, y) by the recursive definition, not normalised."""
    if x is None or y is None:
        return 0.0
    if name == "bow":
        return float(_equal_words(x, y))
    if name == "sst-leaves":
        return value("sst", x, y, decay) + decay * _equal_words(x, y)
    known = {}
    delta = {
        "st": lambda u, v: _equal(u, v) * decay ** _inner(u),
        "sst": lambda u, v: _subset(u, v, decay, known),
        "ptk": lambda u, v: _partial(u, v, decay, mu, max_children, known),
    }[name]
    total = 0.0
    for u in _nodes(x):
        for v in _nodes(y):
            total += delta(u, v)
    return total


def fragment_value(name, x, y, decay=0.4, mu=0.4, max_children=None):
    """K(x, y) as the product of both trees' weights of each fragment."""
    mine, theirs = (fragments(name, tree, decay, mu, max_children) for tree in (x, y))
    return sum(weight * theirs[fragment] for fragment, weight in mine.items())


def fragments(name, tree, decay=0.4, mu=0.4, max_children=None):
    """The weight of each fragment of a tree, a Counter; a fragment is a label and fragments below it."""
    out = Counter()
    for node in _nodes(tree) if tree is not None else ():
        word = not _children(node)
        if name == "bow" or (name == "sst-leaves" and word):
            if word:
                out[node, ()] += 1.0 if name == "bow" else decay**0.5
        elif name == "ptk":
            for fragment, weight in _partial_fragments(node, decay, mu, max_children):
                out[fragment] += weight
        elif not word and name == "st":
            out[_whole(node)] += decay ** (_inner(node) / 2)
        elif not word:
            for fragment, n in _subset_fragments(node):
                out[fragment] += decay ** (n / 2)
    return out


def _label(node):
    return node if isinstance(node, str) else node[0]


def _children(node):
    return () if isinstance(node, str) else tuple(node[1])


def _nodes(tree):
    return [tree, *(node for child in _children(tree) for node in _nodes(child))]


def _inner(node):
    return sum(1 for below in _nodes(node) if _children(below))


def _whole(node):
    return _label(node), tuple(map(_whole, _children(node)))


def _equal(u, v):
    return bool(_children(u)) and _whole(u) == _whole(v)


def _equal_words(x, y):
    mine, theirs = (Counter(node for node in _nodes(tree) if not _children(node)) for tree in (x, y))
    return sum(n * theirs[word] for word, n in mine.items())


def _production(node):
    return _label(node), tuple(map(_label, _children(node)))


def _subset(u, v, decay, known):
    """Nodes of one production: decay times the product of 1 + delta of their children."""
    if not _children(u) or not _children(v) or _production(u) != _production(v):
        return 0.0
    if (id(u), id(v)) not in known:
        out = decay
        for a, b in zip(_children(u), _children(v), strict=True):
            out *= 1.0 + _subset(a, b, decay, known)
        known[id(u), id(v)] = out
    return known[id(u), id(v)]


def _partial(u, v, decay, mu, max_children, known):
    """Nodes of one label: mu * (decay^2 + sum over pairs of equally long subsequences of children)."""
    if _label(u) != _label(v):
        return 0.0
    if (id(u), id(v)) not in known:
        mine, theirs = _children(u), _children(v)
        total = decay**2
        for n in range(1, min(len(mine), len(theirs), max_children or len(mine)) + 1):
            for I in combinations(range(len(mine)), n):
                for J in combinations(range(len(theirs)), n):
                    part = decay ** (_gaps(I) + _gaps(J))
                    for i, j in zip(I, J, strict=True):
                        part *= _partial(mine[i], theirs[j], decay, mu, max_children, known)
                    total += part
        known[id(u), id(v)] = mu * total
    return known[id(u), id(v)]


def _gaps(places):
    """How many places between the first and the last are left out."""
    return places[-1] - places[0] + 1 - len(places)


def _subset_fragments(node):
    """The subset trees with this root and how many of their nodes have children."""
    ways = [
        [((_label(child), ()), 0), *(_subset_fragments(child) if _children(child) else ())]
        for child in _children(node)
    ]
    for chosen in product(*ways):
        yield (_label(node), tuple(part for part, _ in chosen)), 1 + sum(n for _, n in chosen)


def _partial_fragments(node, decay, mu, max_children):
    """The partial trees with this root, each with the weight of one of its places."""
    yield (_label(node), ()), mu**0.5 * decay
    below = [list(_partial_fragments(child, decay, mu, max_children)) for child in _children(node)]
    for n in range(1, min(len(below), max_children or len(below)) + 1):
        for places in combinations(range(len(below)), n):
            for chosen in product(*(below[i] for i in places)):
                weight = mu**0.5 * decay ** _gaps(places)
                for _, part in chosen:
                    weight *= part
                yield (_label(node), tuple(part for part, _ in chosen)), weight
