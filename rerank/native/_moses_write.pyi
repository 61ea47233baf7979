from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Index = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

def write_dense(
    X: npt.NDArray[Any],
    names: Bytes,
    name_bounds: Index,
    totals: Floats | None,
    items: Index,
    lists: Index,
    ids: Bytes,
    id_bounds: Index,
    texts: Bytes | None,
    text_bounds: Index | None,
    out: Bytes,
) -> int: ...
def write_sparse(
    indptr: Index,
    indices: npt.NDArray[np.int32],
    data: Floats | None,
    n_features: int,
    named: int,
    names: Bytes,
    name_bounds: Index,
    totals: Floats | None,
    items: Index,
    lists: Index,
    ids: Bytes,
    id_bounds: Index,
    texts: Bytes | None,
    text_bounds: Index | None,
    out: Bytes,
    is_last: bool,
) -> tuple[int, int]: ...
