from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Index = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

def write_dense(
    X: npt.NDArray[Any],
    labels: Floats,
    items: Index,
    lists: Index,
    qids: Bytes | None,
    qid_bounds: Index | None,
    ids: Bytes | None,
    id_bounds: Index | None,
    out: Bytes,
) -> int: ...
def write_sparse(
    indptr: Index,
    indices: npt.NDArray[np.int32],
    data: Floats | None,
    last: int,
    labels: Floats,
    items: Index,
    lists: Index,
    qids: Bytes | None,
    qid_bounds: Index | None,
    ids: Bytes | None,
    id_bounds: Index | None,
    out: Bytes,
) -> int: ...
