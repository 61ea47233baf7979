"""Slow twins of the metrics of assemblies: every assignment of chains, every pair of residues and atoms.

Structures are those of ``reference.atoms``; chains whose residues agree by number stand for each other.
"""

import itertools
import math

import numpy as np
from reference.atoms import BACKBONE

PARTS = ("DockQ", "fnat", "iRMSD", "LRMSD")
ABSENT = (0.0, 0.0, math.nan, math.nan)


def by_chain(structure):
    out = {}
    for (chain, number, insertion), residue in sorted(structure.items()):
        out.setdefault(chain, {})[number, insertion] = residue
    return out


def closest(one, other):
    return min(math.dist(a, b) for a in one[1].values() for b in other[1].values())


def pairs_within(one, other, cutoff):
    """Pairs of residues of two chains with atoms closer than the cutoff."""
    return {(i, j) for i, j in itertools.product(one, other) if closest(one[i], other[j]) < cutoff}


def fit(moving, fixed):
    """A function that moves points as the first ones are brought onto the others."""
    moving, fixed = np.array(moving), np.array(fixed)
    a, b = moving.mean(axis=0), fixed.mean(axis=0)
    u, _, vt = np.linalg.svd((moving - a).T @ (fixed - b))
    flip = np.diag([1, 1, np.sign(np.linalg.det(u @ vt))])
    return lambda points: (np.array(points) - a) @ u @ flip @ vt + b


def rms(one, other):
    return math.sqrt(np.mean([math.dist(a, b) ** 2 for a, b in zip(one, other, strict=True)]))


def backbones(native, model, residues):
    """Positions of backbone atoms that residues of two chains have in common."""
    both = [(native[k][1], model[k][1]) for k in residues if k in model]
    return (
        [a[name] for a, b in both for name in BACKBONE if name in a and name in b],
        [b[name] for a, b in both for name in BACKBONE if name in a and name in b],
    )


def dockq(native, model, a, b, x, y):
    """DockQ, fnat, iRMSD and LRMSD of chains x and y of the model for a and b of the native."""
    one, other, ours, theirs = native[a], native[b], model[x], model[y]
    contacts = pairs_within(one, other, 5)
    kept = {(i, j) for i, j in contacts if i in ours and j in theirs and closest(ours[i], theirs[j]) < 5}
    fnat = len(kept) / len(contacts)
    near = {(i, j) for i, j in pairs_within(one, other, 10) if i in ours and j in theirs}
    first, second = backbones(one, ours, {i for i, _ in near}), backbones(other, theirs, {j for _, j in near})
    fixed, moving = first[0] + second[0], first[1] + second[1]
    irmsd = rms(fit(moving, fixed)(moving), fixed)
    receptor, ligand = backbones(other, theirs, other), backbones(one, ours, one)
    if len(one) > len(other):
        receptor, ligand = ligand, receptor
    lrmsd = rms(fit(receptor[1], receptor[0])(ligand[1]), ligand[0])
    return (fnat + 1 / (1 + (irmsd / 1.5) ** 2) + 1 / (1 + (lrmsd / 8.5) ** 2)) / 3, fnat, irmsd, lrmsd


def equal(one, other):
    """Whether chains stand for each other: the same amino acids at the numbers that both have."""
    both = one.keys() & other.keys()
    return len(both) * 2 >= min(len(one), len(other)) > 0 and all(one[k][0] == other[k][0] for k in both)


def best_mapping(native, model):
    """The assignment of chains with the largest sum of DockQ, and the interfaces by it."""
    names = list(native)
    interfaces = [
        (a, b) for a, b in itertools.combinations(names, 2) if pairs_within(native[a], native[b], 5)
    ]
    options = [[x for x in model if equal(native[a], model[x])] + [None] for a in names]
    known, best, value, found = {}, None, -1.0, None
    for chosen in itertools.product(*options):
        used = [x for x in chosen if x is not None]
        if len(set(used)) < len(used):
            continue
        mapping = dict(zip(names, chosen, strict=True))
        values = []
        for a, b in interfaces:
            x, y = mapping[a], mapping[b]
            if (a, b, x, y) not in known:
                known[a, b, x, y] = (
                    (0.0, 0.0, math.nan, math.nan) if None in (x, y) else dockq(native, model, a, b, x, y)
                )
            values.append(known[a, b, x, y])
        total = sum(one[0] for one in values)
        if total > value + 1e-9:
            best, value, found = mapping, total, values
    return best, interfaces, found


def weight(d):
    return 1.0 if d <= 5 else math.exp(-2 * ((d - 5) / 4.28) ** 2)


def beta(residue):
    return residue[1].get("CA" if residue[0] == "GLY" else "CB")


def metrics(model, native):
    """All metrics of an assembly by name; NaN if the native has no interface."""
    native, model = by_chain(native), by_chain(model)
    mapping, interfaces, values = best_mapping(native, model)
    if not interfaces:
        return dict.fromkeys(("DockQ", "fnat", "iRMSD", "LRMSD", "ICS", "IPS", "QS"), math.nan)
    out = {
        name: sum(v[k] for v in values) / len(values)
        for k, name in enumerate(("DockQ", "fnat", "iRMSD", "LRMSD"))
    }
    theirs, ours = set(), set()
    inverse = {x: a for a, x in mapping.items() if x is not None}
    for a, b in itertools.combinations(native, 2):
        theirs |= {((a, i), (b, j)) for i, j in pairs_within(native[a], native[b], 5)}
    for x, y in itertools.combinations(model, 2):
        a, b = inverse.get(x), inverse.get(y)
        if a and b:
            found = {
                ((a, i), (b, j))
                for i, j in pairs_within(model[x], model[y], 5)
                if i in native[a] and j in native[b]
            }
            ours |= {tuple(sorted(pair)) for pair in found}
    theirs = {tuple(sorted(pair)) for pair in theirs}
    out["ICS"] = 2 * len(theirs & ours) / (len(theirs) + len(ours))
    patches = [{residue for pair in contacts for residue in pair} for contacts in (theirs, ours)]
    out["IPS"] = len(patches[0] & patches[1]) / len(patches[0] | patches[1])

    def betas(chains, rename):
        found = {}
        for a, b in itertools.combinations(chains, 2):
            for i, j in itertools.product(chains[a], chains[b]):
                p, q = beta(chains[a][i]), beta(chains[b][j])
                if p is not None and q is not None and math.dist(p, q) < 12:
                    found[frozenset([(rename(a), i), (rename(b), j)])] = math.dist(p, q)
        return found

    one, other = betas(native, lambda a: a), betas(model, lambda x: inverse.get(x, f"unmapped {x}"))
    above = below = 0.0
    for pair in one.keys() | other.keys():
        if pair in one and pair in other:
            w = weight(min(one[pair], other[pair]))
            above += w * (1 - abs(one[pair] - other[pair]) / 12)
            below += w
        else:
            below += weight(one.get(pair, other.get(pair)))
    out["QS"] = above / below
    return out
