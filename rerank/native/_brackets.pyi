import numpy as np
import numpy.typing as npt

from rerank.native._names import Names

Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

FAULTS: tuple[str, ...]
RECENT: int

def read(
    text: npt.NDArray[np.uint8],
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
