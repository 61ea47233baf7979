import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Index = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

def parse_sparse(
    text: Bytes,
    origin: int,
    has_qid: bool,
    first: int,
    indptr: Index,
    indices: npt.NDArray[np.int32],
    data: Floats | None,
    labels: Floats,
    spans: Index,
) -> tuple[int, int, int, int, int]: ...
