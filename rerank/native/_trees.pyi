import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]

def misfit(offsets: Index, symbols: Ints, sizes: Ints, n_symbols: int, ends: Ints) -> int: ...
def other_words(
    lists: Index,
    offsets: Index,
    symbols: Ints,
    sizes: Ints,
    gold_offsets: Index,
    gold_symbols: Ints,
    gold_sizes: Ints,
    trace: int,
) -> int: ...
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
