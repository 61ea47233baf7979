import numpy as np
import numpy.typing as npt

FAULTS: tuple[str, ...]
MOST_FEATURES: int

Bytes = npt.NDArray[np.uint8]
Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

def scan(text: Bytes) -> tuple[int, int, int, int]: ...
def fill(
    text: Bytes, sizes: Ints, edges: Floats, indptr: Index, indices: Ints, data: Floats | None
) -> tuple[int, int, int, int]: ...
