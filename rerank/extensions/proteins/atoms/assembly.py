"""Assemblies: chains of structures with all atoms, their contacts, and which residues of two are the same."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rerank.core.types import Bytes, Floats, Index, Mask
from rerank.data.columns.traces import Keys, chain_codes, chain_name, without_chain
from rerank.extensions.proteins.atoms.rows import ALPHA, atom_code
from rerank.extensions.proteins.atoms.structures import Structure
from rerank.extensions.proteins.matching import align
from rerank.extensions.proteins.native import _contacts

CONTACT, INTERFACE, BETA = 5.0, 10.0, 12.0
"""Å: atoms of residues in contact, residues of an interface, beta carbons that count for the QS-score."""

_BACKBONE = [atom_code(name) for name in ("N", "CA", "C", "O")]
_BETA = atom_code("CB")
_GLYCINE, _UNKNOWN = ord("G"), ord("X")
_IDENTITY = 0.9  # share of equal amino acids from which on chains may stand for each other
_OVERLAP = 0.5  # share of the shorter chain that must be matched


class Chain(NamedTuple):
    """A chain and where its residues are in the structure."""

    name: str
    first: int
    last: int

    @property
    def size(self) -> int:
        """The number of residues."""
        return self.last - self.first


@dataclass(frozen=True, eq=False, slots=True)
class Assembly:
    """A structure with what its interfaces need.

    Attributes
    ----------
    whole : Structure
    chains : list of Chain, by their names.
    backbone : float64 (n_residues, 4, 3), positions of N, CA, C and O; NaN for one that is absent.
    beta : float64 (n_residues, 3), of CB, of CA for glycine; NaN if absent.
    """

    whole: Structure
    chains: list[Chain]
    backbone: Floats
    beta: Floats
    _spheres: tuple[Floats, Floats]
    _squares: dict[tuple[int, int, float], Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, whole: Structure) -> Assembly:
        """Return the assembly of a structure."""
        codes, n = chain_codes(whole.keys), len(whole.keys)
        bounds = [0, *(np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist(), n] if n else []
        chains = [Chain(chain_name(int(codes[a])), a, b) for a, b in itertools.pairwise(bounds)]
        residue = whole.residue
        backbone, beta = np.full((n, 4, 3), np.nan), np.full((n, 3), np.nan)
        for k, name in enumerate(_BACKBONE):
            at = np.flatnonzero(whole.names == name)
            backbone[residue[at], k] = whole.xyz[at]
        glycine = whole.letters == _GLYCINE
        at = np.flatnonzero(np.where(glycine[residue], whole.names == ALPHA, whole.names == _BETA))
        beta[residue[at]] = whole.xyz[at]
        sizes = np.maximum(np.diff(whole.starts), 1)[:, None]
        centres = np.add.reduceat(whole.xyz, whole.starts[:-1]) / sizes if n else np.empty((0, 3))
        far = np.sqrt(np.square(whole.xyz - centres[residue]).sum(axis=1))
        radii = np.maximum.reduceat(far, whole.starts[:-1]) if n else np.empty(0)
        return cls(whole, chains, backbone, beta, (centres, radii))

    def squares(self, a: int, b: int, cutoff: float) -> Floats:
        """Return the squared distances of the closest atoms of residues, infinite from the cutoff on.

        float64 (residues of chain ``a``, residues of chain ``b``).
        """
        if a > b:
            return self.squares(b, a, cutoff).T
        name = a, b, cutoff
        if name not in self._squares:
            one, other = self.chains[a], self.chains[b]
            out = np.full((one.size, other.size), np.inf)
            if self._are_near(one, other, cutoff):
                whole, bounds = self.whole, (one.first, one.last, other.first, other.last)
                _contacts.closest(whole.xyz, whole.starts, *self._spheres, *bounds, cutoff, out)
            self._squares[name] = out
        return self._squares[name]

    def betas(self, a: int, b: int) -> Floats:
        """Return the distances of beta carbons of two chains, NaN where one is absent: float64 (n_a, n_b)."""
        one, other = (self.beta[self.chains[c].first : self.chains[c].last] for c in (a, b))
        return np.sqrt(np.square(one[:, None] - other[None, :]).sum(axis=2))

    def are_near(self, a: int, b: int, cutoff: float) -> bool:
        """Return whether atoms of two chains can be closer than ``cutoff``, by the boxes around them."""
        return self._are_near(self.chains[a], self.chains[b], cutoff)

    def _are_near(self, one: Chain, other: Chain, cutoff: float) -> bool:
        centres, radii = self._spheres
        low, high = [], []
        for chain in (one, other):
            own = slice(chain.first, chain.last)
            low.append((centres[own] - radii[own, None]).min(axis=0))
            high.append((centres[own] + radii[own, None]).max(axis=0))
        return bool((low[0] - high[1] < cutoff).all() and (low[1] - high[0] < cutoff).all())


class Matcher:
    """Matching of residues and chains of a model with those of a native.

    Residues are the same that have the same number and insertion code, if at least 90 % of them are the same
    amino acids and they are half of the shorter chain; else those beside each other in an alignment of the
    sequences, under the same condition. Residues of different amino acids are left out. Without either the
    chains cannot stand for each other.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, ...], Index | None] = {}

    def partners(self, model: Assembly, x: int, native: Assembly, a: int) -> Index | None:
        """Return the residue of the model's chain ``x`` for each of the native's chain ``a``, -1 = none.

        int64 (residues of ``a``), counted from the beginning of the chain; None if the chains differ.
        """
        one, other = model.chains[x], native.chains[a]
        ours, theirs = slice(one.first, one.last), slice(other.first, other.last)
        numbers = without_chain(model.whole.keys[ours]), without_chain(native.whole.keys[theirs])
        letters = model.whole.letters[ours], native.whole.letters[theirs]
        name = tuple(array.tobytes() for array in (*numbers, *letters))
        if name not in self._known:
            found = _checked(_by_number(*numbers), *letters)
            if found is None:
                found = _checked(_aligned(*letters), *letters)
            self._known[name] = found
        return self._known[name]


def _by_number(ours: Keys, theirs: Keys) -> Index:
    places = np.minimum(np.searchsorted(ours, theirs), len(ours) - 1)
    return np.where(ours[places] == theirs, places, -1)


def _aligned(ours: Bytes, theirs: Bytes) -> Index:
    return align(theirs, ours)[1]


def _checked(partners: Index, ours: Bytes, theirs: Bytes) -> Index | None:
    """The partners of the same amino acid; None if they are too few."""
    has = partners >= 0
    own = ours[partners]
    unknown: Mask = (own == _UNKNOWN) | (theirs == _UNKNOWN)
    same = has & ((own == theirs) | unknown)
    n = np.count_nonzero(has)
    if n == 0 or n < _OVERLAP * min(len(ours), len(theirs)) or np.count_nonzero(same) < _IDENTITY * n:
        return None
    return np.where(same, partners, -1)
