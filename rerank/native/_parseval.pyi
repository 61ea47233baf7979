import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Kinds = npt.NDArray[np.int8]

KINDS: dict[str, int]

class Scratch:
    def __init__(self, n_nodes: int) -> None: ...

def count(
    lists: Index,
    offsets: Index,
    symbols: Ints,
    sizes: Ints,
    classes: Ints,
    kinds: Kinds,
    gold_offsets: Index,
    gold_symbols: Ints,
    gold_sizes: Ints,
    gold_classes: Ints,
    gold_kinds: Kinds,
    n_classes: int,
    scratch: Scratch,
    out: npt.NDArray[np.float64],
) -> int: ...
