import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

def rise(values: Floats, offsets: Index, lists: Ints, order: Ints, slopes: Floats) -> tuple[int, int]: ...
def rise_sparse(
    items: Ints, values: Floats, list_of: Ints, offsets: Index, lists: Ints, order: Ints, slopes: Floats
) -> tuple[int, int]: ...
