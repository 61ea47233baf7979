import numpy as np
import numpy.typing as npt

from rerank.native._names import Names

Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]

FAULTS: tuple[str, ...]
RECENT: int

def read(
    text: Bytes,
    spans: Index,
    names: Names,
    keys: npt.NDArray[np.uint64],
    numbers: Ints,
    strip: int,
    state: Index,
    symbols: Ints,
    sizes: Ints,
    ends: Index,
) -> tuple[int, int]: ...
def misfit(offsets: Index, symbols: Ints, sizes: Ints, n_symbols: int, ends: Ints) -> int: ...
def take(values: Ints, offsets: Index, index: Index, out_offsets: Index, out: Ints) -> None: ...
def lengths(offsets: Index, symbols: Ints, sizes: Ints, bounds: Index, out: Index) -> None: ...
def write(
    offsets: Index,
    symbols: Ints,
    sizes: Ints,
    strings: Bytes,
    bounds: Index,
    out_offsets: Index,
    ends: Ints,
    out: Bytes,
) -> None: ...
