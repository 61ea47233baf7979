"""Columns of CA traces: the residues of a protein structure with the positions of their alpha carbons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from rerank.core.errors import DataError
from rerank.core.types import AnyArray, Bytes, Floats, Index, Mask, NDArray
from rerank.data.columns.offsets import are_bounds, offsets_of, places_of

Keys = NDArray[np.uint64]

SUPERPOSITIONS = "superposition"  # the counts of a set that were made of its structures

# A key holds a chain (4 bytes of ASCII, padded with 0), a number (24 bits) and an insertion code (a byte, 0 =
# none), so that keys in rising order are residues in order.
CHAIN_LENGTH = 4
_CHAIN_SHIFT = 32
_NUMBER_SHIFT = 8
FIRST_NUMBER = -(1 << 23)
LAST_NUMBER = (1 << 23) - 1
_FURTHEST = 1e6  # Å; squares and their sums stay exact to far less than a distance matters


class Traces(Struct, frozen=True, eq=False):
    """A column with one structure for each entry: its residues in the order of their keys.

    Raises DataError if the arrays are not of this form.

    Attributes
    ----------
    offsets : int64 (n + 1), residues of structure i are ``offsets[i]:offsets[i + 1]``; none = no structure.
    keys : uint64 (n_residues)
        Chain, number and insertion code, see ``key_of``; strictly rising within a structure.
    xyz : float64 (n_residues, 3), positions of the alpha carbons in Å.
    residues : uint8 (n_residues), amino acids by their letter, X = unknown.
    """

    offsets: Index
    keys: Keys
    xyz: Floats
    residues: Bytes

    def __post_init__(self) -> None:
        n = len(self.keys)
        types = [array.dtype.str for array in (self.offsets, self.keys, self.xyz, self.residues)]
        if types != ["<i8", "<u8", "<f8", "|u1"]:
            raise DataError(
                "traces: expected int64 offsets, uint64 keys, float64 positions and uint8 letters"
            )
        if self.offsets.ndim != 1 or self.keys.ndim != 1 or not are_bounds(self.offsets, n):
            raise DataError("traces: offsets must rise from 0 to the number of residues")
        if self.xyz.shape != (n, 3) or self.residues.shape != (n,):
            raise DataError("traces: expected three coordinates and a letter for each residue")
        if not np.all(np.abs(self.xyz) <= _FURTHEST):
            raise DataError(f"traces: coordinates must be numbers up to {_FURTHEST:,.0f} Å")
        rises = self.keys[1:] > self.keys[:-1]
        bounds = self.offsets[1:-1]
        rises[bounds[(bounds > 0) & (bounds < n)] - 1] = True
        if not rises.all():
            raise DataError("traces: keys must rise within a structure")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Index:
        """The number of residues of each structure, int64 (n)."""
        return np.diff(self.offsets)

    def arrays(self) -> dict[str, AnyArray]:
        """Return the column's arrays by name."""
        return {"offsets": self.offsets, "keys": self.keys, "xyz": self.xyz, "residues": self.residues}

    def take(self, which: Index) -> Traces:
        """Return the structures at ``which`` (not negative), in that order."""
        places, offsets = places_of(self.offsets, which)
        return Traces(offsets, self.keys[places], self.xyz[places], self.residues[places])

    def kept(self, which: Mask) -> Traces:
        """Return the same structures with only the residues of the mask (n_residues)."""
        return Traces(
            offsets_of(which)[self.offsets], self.keys[which], self.xyz[which], self.residues[which]
        )

    @classmethod
    def joined(cls, parts: Sequence[Traces]) -> Traces:
        """Return the structures of one or more columns, one after the other."""
        return cls(
            offsets_of(np.concatenate([part.lengths for part in parts])),
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.xyz for part in parts]),
            np.concatenate([part.residues for part in parts]),
        )

    def of(self, i: int) -> slice:
        """Return where the residues of structure ``i`` are."""
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))


def key_of(chain: str, number: int, insertion: str = "") -> int:
    """Return the key of a residue; raises DataError if one of them is something else.

    chain : up to four printable ASCII characters, "" = no chain.
    number : of the residue, -8388608 to 8388607.
    insertion : a printable ASCII character, or "".
    """
    if len(chain) > CHAIN_LENGTH or not all("!" <= letter <= "~" for letter in chain):
        raise DataError(f"chain {chain!r}, expected up to {CHAIN_LENGTH} printable ASCII characters")
    if not FIRST_NUMBER <= number <= LAST_NUMBER:
        raise DataError(f"residue number {number}, expected {FIRST_NUMBER} to {LAST_NUMBER}")
    if len(insertion) > 1 or not all("!" <= letter <= "~" for letter in insertion):
        raise DataError(f"insertion code {insertion!r}, expected one printable ASCII character or none")
    packed = int.from_bytes(chain.encode().ljust(CHAIN_LENGTH, b"\0"), "big") << _CHAIN_SHIFT
    return packed | (number - FIRST_NUMBER) << _NUMBER_SHIFT | (ord(insertion) if insertion else 0)


def keys_of(numbers: Index) -> Keys:
    """Return the keys of residues by their numbers, in no chain and without insertion codes: uint64 (n)."""
    return (numbers - FIRST_NUMBER).astype(np.uint64) << np.uint64(_NUMBER_SHIFT)


def chain_codes(keys: Keys) -> Keys:
    """Return the part of keys that is their chain, which ``chain_name`` shows: uint64 (n)."""
    return keys >> np.uint64(_CHAIN_SHIFT)


def without_chain(keys: Keys) -> Keys:
    """Return the keys of the same residues in no chain: uint64 (n)."""
    return keys & np.uint64((1 << _CHAIN_SHIFT) - 1)


def in_chain(keys: Keys, code: int | Keys) -> Keys:
    """Return the keys of the same residues in the chain of this code, see ``chain_codes``: uint64 (n).

    ``code`` is one for all residues, or one for each (n).
    """
    return without_chain(keys) | np.asarray(code, dtype=np.uint64) << np.uint64(_CHAIN_SHIFT)


def numbers(keys: Keys) -> Index:
    """Return the residue numbers of keys, int64 (n)."""
    return ((without_chain(keys) >> np.uint64(_NUMBER_SHIFT)).astype(np.int64)) + FIRST_NUMBER


def chain_name(code: int) -> str:
    """Return the name of a chain by its code; "" = no chain."""
    return int(code).to_bytes(CHAIN_LENGTH, "big").rstrip(b"\0").decode("ascii", "replace")


def residue_name(key: int) -> str:
    """Return a residue as people write it: "A:12", "A:12B" with an insertion code, "12" without a chain."""
    value = int(key)
    chain, insertion = chain_name(value >> _CHAIN_SHIFT), value & 0xFF
    number = ((value & ((1 << _CHAIN_SHIFT) - 1)) >> _NUMBER_SHIFT) + FIRST_NUMBER
    return f"{chain}:" * bool(chain) + str(number) + (chr(insertion) if insertion else "")
