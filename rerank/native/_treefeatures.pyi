import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

def hash_strings(data: Bytes, bounds: Index, out: Words) -> None: ...

class Trees:
    n_trees: int
    def __init__(
        self,
        offsets: Index,
        symbols: Ints,
        sizes: Ints,
        hashes: Words,
        facts: Bytes,
        heads: tuple[Ints, Ints, Ints, Bytes, Ints, Bytes],
        types: int,
        lexicalised: bool,
        key_bits: int = 64,
    ) -> None: ...
