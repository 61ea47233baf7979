"""DockQ of interfaces, and which chains of a model stand for which of the native.

References
----------
Basu, Wallner: DockQ: a quality measure for protein-protein docking models. PLoS ONE 11, 2016. Mirabello,
Wallner: DockQ v2. Bioinformatics 40, 2024.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rerank.core.types import Floats, Index
from rerank.extensions.proteins.atoms.assembly import CONTACT, INTERFACE, Assembly, Matcher

MOST = 5040
"""Assignments of chains up to which all are tried: those of seven equal chains."""


class Interface(NamedTuple):
    """Two chains of a native with residues in contact.

    Attributes
    ----------
    a, b : int
        The chains.
    contacts : int64 (n) twice, residues in contact, counted within their chains.
    near : bool (residues of a, residues of b), whether residues belong to the interface.
    """

    a: int
    b: int
    contacts: tuple[Index, ...]
    near: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


class Docked(NamedTuple):
    """Values of one interface; the RMSD are NaN without a common atom."""

    dockq: float
    fnat: float
    irmsd: float
    lrmsd: float


def interfaces_of(native: Assembly) -> list[Interface]:
    """Return the pairs of chains with residues in contact: heavy atoms less than 5 Å apart."""
    found = []
    for a, b in itertools.combinations(range(len(native.chains)), 2):
        squares = native.squares(a, b, INTERFACE)
        contacts = np.nonzero(squares < CONTACT**2)
        if len(contacts[0]):
            found.append(Interface(a, b, contacts, squares < INTERFACE**2))
    return found


def superposed(moving: Floats, fixed: Floats) -> tuple[Floats, Floats]:
    """Return the turn (3, 3) and the shift (3) that bring points onto others by least squares."""
    centre, target = moving.mean(axis=0), fixed.mean(axis=0)
    left, _, right = np.linalg.svd((moving - centre).T @ (fixed - target))
    left[:, 2] *= np.sign(np.linalg.det(left) * np.linalg.det(right)) or 1.0
    turn = left @ right
    return turn, target - centre @ turn


def _deviation(one: Floats, other: Floats) -> float:
    return math.sqrt(float(np.square(one - other).sum(axis=1).mean()))


def _common(native: Floats, model: Floats) -> tuple[Floats, Floats]:
    """Positions (n, 3) of the atoms that both have, from those of matched residues (k, 4, 3)."""
    native, model = native.reshape(-1, 3), model.reshape(-1, 3)
    both = ~(np.isnan(native[:, 0]) | np.isnan(model[:, 0]))
    return native[both], model[both]


def docked(
    native: Assembly,
    interface: Interface,
    model: Assembly,
    chains: tuple[int, int],
    partners: tuple[Index, Index],
) -> Docked:
    """Return DockQ of two chains of a model that stand for those of an interface.

    ``partners`` are the model's residues for those of each chain of the native, see ``Matcher``. The receptor
    is the chain of the native with more residues, on ties the second one.
    """
    of_a, of_b = partners
    i, j = interface.contacts
    both = (of_a[i] >= 0) & (of_b[j] >= 0)
    squares = model.squares(*chains, CONTACT)
    kept = np.count_nonzero(squares[of_a[i[both]], of_b[j[both]]] < CONTACT**2)
    fnat = kept / len(i)
    near = interface.near & (of_a >= 0)[:, None] & (of_b >= 0)[None, :]
    sides = []  # backbones (native, model) of residues of the interface, then of whole chains
    for whole in (False, True):
        for axis, c, x, of in ((1, interface.a, chains[0], of_a), (0, interface.b, chains[1], of_b)):
            rows = np.flatnonzero(of >= 0 if whole else near.any(axis=axis))
            ours = model.backbone[model.chains[x].first + of[rows]]
            sides.append(_common(native.backbone[native.chains[c].first + rows], ours))
    irmsd = lrmsd = math.nan
    ours, theirs = (np.concatenate([sides[0][k], sides[1][k]]) for k in (1, 0))
    if len(ours):
        turn, shift = superposed(ours, theirs)
        irmsd = _deviation(ours @ turn + shift, theirs)
    larger = native.chains[interface.a].size > native.chains[interface.b].size
    receptor, ligand = (sides[2], sides[3]) if larger else (sides[3], sides[2])
    if len(receptor[0]) and len(ligand[0]):
        turn, shift = superposed(receptor[1], receptor[0])
        lrmsd = _deviation(ligand[1] @ turn + shift, ligand[0])
    return Docked((fnat + _scaled(irmsd, 1.5) + _scaled(lrmsd, 8.5)) / 3, fnat, irmsd, lrmsd)


def _scaled(deviation: float, scale: float) -> float:
    return 0.0 if math.isnan(deviation) else 1.0 / (1.0 + (deviation / scale) ** 2)


class Mapping:
    """Mapping of the chains of a native to chains of a model that has the largest sum of DockQ.

    Every assignment is tried if there are at most MOST of them. Otherwise a chain of the model is superposed
    on the first of its equals in the native and the others are assigned by the places of their centres, for
    each such chain; the best assignment is improved by exchanges until none helps. On ties the first
    assignment wins, chains in the order of their names. Chains without a contact get what is left.

    Attributes
    ----------
    chains : list of int, the model's chain of each chain of the native, -1 = none.
    exact : bool
        Whether every assignment was tried.
    total : float, the sum of DockQ over the native's interfaces.
    """

    def __init__(
        self, native: Assembly, interfaces: Sequence[Interface], model: Assembly, matcher: Matcher
    ) -> None:
        self.native, self.interfaces, self.model = native, interfaces, model
        n = len(native.chains)
        self.partners = {
            (a, x): found
            for a in range(n)
            for x in range(len(model.chains))
            if (found := matcher.partners(model, x, native, a)) is not None
        }
        self.options = [[x for x in range(len(model.chains)) if (a, x) in self.partners] for a in range(n)]
        self._docked: dict[tuple[int, int, int], Docked] = {}
        self.active = sorted({chain for one in interfaces for chain in (one.a, one.b)})
        self.exact = self._assignments() <= MOST
        self.chains = self._best() if self.exact else self._climbed()
        self._fill()
        self.total = self._total(self.chains)

    def docked(self, k: int, x: int, y: int) -> Docked:
        """Return DockQ of interface ``k`` by chains ``x`` and ``y`` of the model, -1 = none."""
        if x < 0 or y < 0:
            return Docked(0.0, 0.0, math.nan, math.nan)
        if (k, x, y) not in self._docked:
            one = self.interfaces[k]
            partners = self.partners[one.a, x], self.partners[one.b, y]
            self._docked[k, x, y] = docked(self.native, one, self.model, (x, y), partners)
        return self._docked[k, x, y]

    def of_interfaces(self) -> list[Docked]:
        """Return what is known of each interface."""
        return [
            self.docked(k, self.chains[one.a], self.chains[one.b]) for k, one in enumerate(self.interfaces)
        ]

    def _total(self, chains: Sequence[int]) -> float:
        return math.fsum(
            self.docked(k, chains[one.a], chains[one.b]).dockq for k, one in enumerate(self.interfaces)
        )

    def _assignments(self) -> int:
        groups = Counter(tuple(self.options[a]) for a in self.active)
        return math.prod(math.perm(max(len(own), n), min(len(own), n)) for own, n in groups.items())

    def _best(self) -> list[int]:
        """The best of all assignments."""
        groups = Counter(tuple(self.options[a]) for a in self.active)
        shared = Counter(x for a in self.active for x in self.options[a])
        chains = [-1] * len(self.options)
        best, value = list(chains), -1.0
        ends = [[k for k, one in enumerate(self.interfaces) if max(one.a, one.b) == a] for a in self.active]
        left = [sum(map(len, ends[depth:])) for depth in range(len(ends) + 1)]

        def descend(depth: int, so_far: float) -> None:
            nonlocal best, value
            if so_far + left[depth] <= value:
                return
            if depth == len(self.active):
                best, value = list(chains), so_far
                return
            a = self.active[depth]
            own = self.options[a]
            free = [x for x in own if x not in chains]
            spare = groups[tuple(own)] > len(own) or any(shared[x] > groups[tuple(own)] for x in own)
            for x in [*free, *[-1] * (spare or not free)]:
                chains[a] = x
                gained = (
                    self.docked(k, chains[self.interfaces[k].a], chains[self.interfaces[k].b]).dockq
                    for k in ends[depth]
                )
                descend(depth + 1, so_far + math.fsum(gained))
            chains[a] = -1

        descend(0, 0.0)
        return best

    def _climbed(self) -> list[int]:
        """A good assignment where there are too many to try."""
        first = max(self.active, key=lambda a: (len(self.options[a]), -a))
        chains = max((self._placed(first, x) for x in self.options[first]), key=self._total)
        value = self._total(chains)
        better = True
        while better:
            better = False
            for a, b in itertools.combinations(self.active, 2):
                swapped = list(chains)
                swapped[a], swapped[b] = chains[b], chains[a]
                fits = all(x < 0 or x in self.options[c] for c, x in ((a, swapped[a]), (b, swapped[b])))
                if fits and (now := self._total(swapped)) > value + 1e-12:
                    chains, value, better = swapped, now, True
        return chains

    def _placed(self, a: int, x: int) -> list[int]:
        """Chains by the distance of their centres once ``x`` lies on ``a``."""
        of = self.partners[a, x]
        rows = np.flatnonzero(of >= 0)
        alpha = self.model.backbone[:, 1]
        theirs = self.native.backbone[self.native.chains[a].first + rows, 1]
        turn, shift = superposed(alpha[self.model.chains[x].first + of[rows]], theirs)
        centres = [
            [part.backbone[chain.first : chain.last, 1].mean(axis=0) for chain in part.chains]
            for part in (self.native, self.model)
        ]
        moved = np.array(centres[1]) @ turn + shift
        distances = [
            (float(np.square(centres[0][c] - moved[y]).sum()), c, y)
            for c in self.active
            for y in self.options[c]
        ]
        chains = [-1] * len(self.options)
        chains[a] = x
        for _, c, y in sorted(distances):
            if chains[c] < 0 and y not in chains:
                chains[c] = y
        return chains

    def _fill(self) -> None:
        """Give the chains that have none those that are left: of the same name first, then the first one."""
        for a, own in enumerate(self.options):
            free = [x for x in own if x not in self.chains]
            if self.chains[a] < 0 and free:
                name = self.native.chains[a].name
                self.chains[a] = next((x for x in free if self.model.chains[x].name == name), free[0])
