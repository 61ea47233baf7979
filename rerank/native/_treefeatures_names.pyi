import numpy as np
import numpy.typing as npt

from rerank.native._treefeatures import Trees

Bytes = npt.NDArray[np.uint8]
Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

def spell(
    trees: Trees, seen: Ints, data: Bytes, bounds: Index, type_data: Bytes, type_bounds: Index
) -> tuple[Bytes, Index]: ...
