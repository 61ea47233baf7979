"""Heavy atoms in the order of a file, and their names as numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rerank.core.types import Bytes, Floats, Index, NDArray
from rerank.data.columns.traces import Keys

ALPHA = int.from_bytes(b"CA", "big")


class Rows(NamedTuple):
    """Heavy atoms in the order of a file: an entry of each column per atom."""

    keys: Keys
    xyz: Floats
    names: NDArray[np.uint32]
    residues: NDArray[np.uint32]
    altlocs: Bytes
    occupancies: Floats
    places: Index


def atom_code(name: str) -> int:
    """Return the name of an atom as structures pack it."""
    return int.from_bytes(name.encode("ascii"), "big")


def atom_name(code: int) -> str:
    """Return the name that ``atom_code`` packed."""
    return int(code).to_bytes(4, "big").lstrip(b"\0").decode("ascii", "replace")
