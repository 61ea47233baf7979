from typing import Any

import numpy as np
import numpy.typing as npt

from rerank.native._names import Names

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Index = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Kinds = npt.NDArray[np.int8]

def fill_dense(
    text: Bytes,
    spans: Index,
    kinds: Kinds,
    names: Names,
    followers: Ints,
    columns: Index,
    places: Index,
    nothing: float,
    at: Ints,
    values: Floats,
    X: npt.NDArray[Any],
) -> tuple[int, int]: ...
def fill_sparse(
    text: Bytes,
    spans: Index,
    kinds: Kinds,
    names: Names,
    followers: Ints,
    columns: Index,
    places: Index,
    indptr: Index,
    indices: Ints,
    data: Floats,
) -> tuple[int, int]: ...
