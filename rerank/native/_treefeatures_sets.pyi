import numpy as np
import numpy.typing as npt

from rerank.native._treefeatures import Trees

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

class Counts:
    def count(self, trees: Trees, lists: Index, first: int, last: int) -> None: ...
    def merge(self, other: Counts) -> None: ...
    def __len__(self) -> int: ...
    def by_type(self) -> Index: ...
    def kept(self, cutoff: int) -> tuple[Words, Ints, Ints]: ...

class Columns:
    def __init__(self, keys: Words) -> None: ...
    def __len__(self) -> int: ...
    def fill(
        self,
        trees: Trees,
        lists: Index,
        first: int,
        last: int,
        lead: int,
        indices: Ints,
        values: Floats | None,
        lengths: Index,
    ) -> tuple[int, int, int, int, int]: ...
