import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Index = npt.NDArray[np.int64]

def write_sentences(
    offsets: Index,
    edges: Index,
    indptr: Index,
    indices: npt.NDArray[np.int32],
    data: npt.NDArray[np.float64] | None,
    ids: Index,
    last: int,
    out: Bytes,
) -> int: ...
