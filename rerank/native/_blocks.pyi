import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

def differing_values(
    indptr: Index,
    indices: Ints,
    data: Floats | None,
    lists: Index,
    offsets: Index,
    items: Index,
    seen: Ints,
    first: Floats,
    fill: bool,
    new_indptr: Index | None,
    new_indices: Ints | None,
    new_data: Floats | None,
) -> tuple[int, int]: ...
